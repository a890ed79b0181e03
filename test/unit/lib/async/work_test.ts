import { expect, test } from 'bun:test'
import { withinDeadline } from '../../../../src/lib/async/abort.ts'
import { allOrAbort } from '../../../../src/lib/async/parallel.ts'
import {
  createWork,
  limitWork,
  noteUnwitnessed,
  tellUnwitnessed,
  type Work,
  withSignal,
} from '../../../../src/lib/async/work.ts'
import { UnavailableError } from '../../../../src/lib/error.ts'
import { createTestClock } from '../../../support/test_clock.ts'

function start(): Work {
  return createWork(new AbortController().signal)
}

test('works are told apart', () => {
  const [one, other] = [start(), start()]
  noteUnwitnessed(one, [1, 10])
  expect([one, other].map(({ unwitnessed }) => [...unwitnessed])).toEqual([[1, 10], []])
})

test('derived work notes for the whole, and has its requesters', async () => {
  const work = createWork(new AbortController().signal, { requesters: new Set(['a']) })
  const clock = createTestClock()
  const seen: string[][] = []
  const note = (chainId: number) => async (within: Work) => {
    seen.push([...within.requesters])
    noteUnwitnessed(within, [chainId])
  }
  await allOrAbort([note(1), note(2)], work)
  await withinDeadline((deadline) => note(3)(deadline.work), { ms: 10, work, clock })
  await note(4)(limitWork(work, new AbortController().signal))
  await note(5)(withSignal(work, new AbortController().signal))
  expect([...work.unwitnessed]).toEqual([1, 2, 3, 4, 5])
  expect(seen).toEqual([['a'], ['a'], ['a'], ['a'], ['a']])
})

test('limitWork() ends with the whole, or with the limit alone', () => {
  const [whole, limit] = [new AbortController(), new AbortController()]
  const work = createWork(whole.signal)
  const [limited, other] = [limit.signal, new AbortController().signal].map((signal) => limitWork(work, signal))
  limit.abort()
  expect([work, limited, other].map((each) => each?.signal.aborted)).toEqual([false, true, false])
  whole.abort()
  expect(other?.signal.aborted).toBe(true)
})

test('the whole alone reports a timeout, not what is derived from it', async () => {
  const reported: string[] = []
  const { signal } = new AbortController()
  const work = createWork(signal, { onTimeout: (createError) => reported.push(createError().message) })
  const report = (name: string) => async (within: Work) => within.onTimeout(() => new UnavailableError(name))
  await report('whole')(work)
  await report('limited')(limitWork(work, signal))
  await tellUnwitnessed(work, report('part'))
  await allOrAbort([report('first'), report('second')], work)
  await allOrAbort([report('only')], work)
  expect(reported).toEqual(['whole', 'only'])
})

test('a part of a work tells its own notes, which are notes of the whole too', async () => {
  const work = start()
  noteUnwitnessed(work, [1])
  const part = await tellUnwitnessed(work, async (own) => {
    noteUnwitnessed(own, [10])
    return 'read'
  })
  expect([part.value, ...part.unwitnessed]).toEqual(['read', 10])
  expect([...work.unwitnessed]).toEqual([1, 10])
})

test('a part of a work ends with it', async () => {
  const controller = new AbortController()
  const part = await tellUnwitnessed(createWork(controller.signal), async (own) => {
    controller.abort()
    return own.signal.aborted
  })
  expect(part.value).toBe(true)
})
