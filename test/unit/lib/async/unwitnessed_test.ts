import { expect, test } from 'bun:test'
import { withinDeadline } from '../../../../src/lib/async/abort.ts'
import { allOrAbort } from '../../../../src/lib/async/all_or_abort.ts'
import { getRequesters, withRequesters } from '../../../../src/lib/async/requesters.ts'
import {
  continueWork,
  getUnwitnessed,
  noteUnwitnessed,
  tellUnwitnessed,
  trackUnwitnessed,
} from '../../../../src/lib/async/unwitnessed.ts'
import { createTestClock } from '../../../support/test_clock.ts'

function track(): AbortSignal {
  return trackUnwitnessed(new AbortController().signal)
}

test('works are told apart, and one that is not tracked notes nothing', () => {
  const [one, other, untracked] = [track(), track(), new AbortController().signal]
  for (const signal of [one, untracked]) noteUnwitnessed(signal, [1, 10])
  expect([one, other, untracked].map((signal) => [...getUnwitnessed(signal)])).toEqual([[1, 10], [], []])
})

test('signals of the same work note for it, and have its requesters', async () => {
  const signal = withRequesters(new Set(['a']), track())
  const clock = createTestClock()
  const seen: string[][] = []
  const note = (chainId: number) => async (within: AbortSignal) => {
    seen.push([...getRequesters(within)])
    noteUnwitnessed(within, [chainId])
  }
  await allOrAbort([note(1), note(2)], signal)
  await withinDeadline((deadline) => note(3)(deadline.signal), { ms: 10, signal, clock })
  await note(4)(continueWork(signal, new AbortController().signal))
  expect([...getUnwitnessed(signal)]).toEqual([1, 2, 3, 4])
  expect(seen).toEqual([['a'], ['a'], ['a'], ['a']])
})

test('a part of a work tells its own notes, which are notes of the work too', async () => {
  const signal = track()
  noteUnwitnessed(signal, [1])
  const part = await tellUnwitnessed(signal, async (own) => {
    noteUnwitnessed(own, [10])
    return 'read'
  })
  expect([part.value, ...part.unwitnessed]).toEqual(['read', 10])
  expect([...getUnwitnessed(signal)]).toEqual([1, 10])
})

test('a part of a work ends with it', async () => {
  const controller = new AbortController()
  const aborted = await tellUnwitnessed(controller.signal, async (own) => {
    controller.abort()
    return own.aborted
  })
  expect(aborted.value).toBe(true)
  expect((await tellUnwitnessed(controller.signal, async (own) => own.aborted)).value).toBe(true)
})
