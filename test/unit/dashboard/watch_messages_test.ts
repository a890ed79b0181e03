import { expect, test } from 'bun:test'
import { join } from 'node:path'

interface Message {
  readonly id: string
}
type Answer = { ok: true; body: { data: readonly Message[] } } | { ok: false; status: number }
interface Pages {
  addMessages(list: readonly Message[], messages: readonly Message[]): readonly Message[]
  watchMessages(options: {
    read: (path: string, waits: boolean) => Promise<Answer>
    onMessages: (messages: readonly Message[], areNew: boolean) => void
    onFailure: (failure: { status: number } | undefined) => void
    signal: AbortSignal
    wait: (ms: number, signal: AbortSignal) => Promise<void>
  }): Promise<void>
}

const PATH: string = join(import.meta.dir, '../../../src/dashboard/lib/watch_messages.ts')
const { addMessages, watchMessages }: Pages = await import(PATH)

const list = (...ids: readonly string[]): Answer => ({ ok: true, body: { data: ids.map((id) => ({ id })) } })
const full = (from: number) => list(...Array.from({ length: 100 }, (_, index) => `m${from + index}`))

/** Watches a feed that gives these answers in turn, and ends with the last of them. */
async function watch(answers: readonly Answer[]) {
  const controller = new AbortController()
  const left = [...answers]
  const [paths, waits, heard, failures]: [string[], number[], [string, boolean][], (number | undefined)[]] = [
    [],
    [],
    [],
    [],
  ]
  await watchMessages({
    read: async (path, isWaiting) => {
      const answer = left.shift()
      if (answer === undefined) {
        controller.abort()
        return list()
      }
      paths.push(`${path}${isWaiting ? ' waits' : ''}`)
      return answer
    },
    onMessages: (messages, areNew) => heard.push([messages.map(({ id }) => id).join(), areNew]),
    onFailure: (failure) => failures.push(failure?.status),
    signal: controller.signal,
    wait: async (ms) => void waits.push(ms),
  }).catch((error) => {
    if (!controller.signal.aborted) throw error
  })
  return { paths, waits, heard, failures }
}

test('what was said is read first, then each further message as it comes', async () => {
  const { paths, heard } = await watch([list('a', 'b'), list(), list('c'), list()])
  expect(paths).toEqual([
    'v1/events?limit=100',
    'v1/events?limit=100&after=b&wait=25 waits',
    'v1/events?limit=100&after=b&wait=25 waits',
    'v1/events?limit=100&after=c&wait=25 waits',
  ])
  expect(heard).toEqual([
    ['a,b', false],
    ['c', true],
  ])
})

test('of a long past only so many pages are read before it waits', async () => {
  const { paths } = await watch(Array.from({ length: 11 }, (_, page) => full(page * 100)))
  expect(paths.filter((path) => !path.endsWith(' waits'))).toHaveLength(10)
  expect(paths.at(-1)).toBe('v1/events?limit=100&after=m999&wait=25 waits')
})

test('an outage is waited for, and a refusal ends it', async () => {
  const outage = await watch([list(), { ok: false, status: 503 }, { ok: false, status: 0 }, list('a')])
  expect([outage.waits, outage.failures]).toEqual([
    [15_000, 15_000],
    [undefined, 503, 0, undefined],
  ])
  expect(outage.heard).toEqual([['a', true]])
  const refused = await watch([list(), { ok: false, status: 401 }, list('a')])
  expect([refused.heard, refused.failures]).toEqual([[], [undefined, 401]])
})

test('a watch that begins anew after a refusal tells nothing twice', () => {
  const told = [['a', 'b'], ['c'], ['a', 'b'], ['c', 'd']].reduce(
    (list: readonly Message[], ids) =>
      addMessages(
        list,
        ids.map((id) => ({ id })),
      ),
    [],
  )
  expect(told.map(({ id }) => id)).toEqual(['d', 'c', 'b', 'a'])
})
