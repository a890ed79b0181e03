import { expect, test } from 'bun:test'
import { join } from 'node:path'

interface Poll {
  pollRepeatedly(
    read: () => Promise<string>,
    options: {
      readonly everyMs: number | undefined
      readonly signal: AbortSignal
      isVisible(): boolean
      onAnswer(answer: string): void
      wait?(ms: number, signal: AbortSignal): Promise<void>
    },
  ): Promise<void>
}

const PATH: string = join(import.meta.dir, '../../../src/dashboard/lib/poll.ts')
const { pollRepeatedly } = (await import(PATH)) as Poll

function setUp(everyMs: number | undefined) {
  const events: string[] = []
  const controller = new AbortController()
  const { signal } = controller
  let visible = true
  let answers = 0
  const run = (waitsMax: number, read = async () => `answer ${++answers}`) =>
    pollRepeatedly(
      () => {
        events.push('ask')
        return read()
      },
      {
        everyMs,
        signal,
        isVisible: () => visible,
        onAnswer: (answer) => events.push(answer),
        wait: async (ms) => {
          events.push(`wait ${ms}`)
          if (events.filter((event) => event.startsWith('wait')).length > waitsMax) controller.abort()
          signal.throwIfAborted()
        },
      },
    ).catch(() => {})
  return { events, run, controller, hide: (hidden: boolean) => (visible = !hidden) }
}

test('the next look comes after the answer, and none ends the one before it', async () => {
  const { events, run } = setUp(2_500)
  await run(2)
  const round = (count: number) => ['ask', `answer ${count}`, 'wait 2500']
  expect(events).toEqual([...round(1), ...round(2), ...round(3)])
})

test('a slow answer is waited for, and one that comes after the end is not shown', async () => {
  const { events, run, controller } = setUp(2_500)
  const slow = Promise.withResolvers<string>()
  const polling = run(0, () => slow.promise)
  expect(events).toEqual(['ask'])
  controller.abort()
  slow.resolve('late')
  await polling
  expect(events).toEqual(['ask'])
})

test('a hidden page does not look, and without an interval there is one look', async () => {
  const hidden = setUp(10)
  hidden.hide(true)
  await hidden.run(3)
  expect(hidden.events.filter((event) => event === 'ask')).toHaveLength(1)
  const once = setUp(undefined)
  await once.run(9)
  expect(once.events).toEqual(['ask', 'answer 1'])
})
