import { expect, test } from 'bun:test'
import { createFailureTracker } from '../../src/lib/failure_tracker.ts'

const full = new Error('outer', { cause: new Error('inner', { cause: new Error('No space left on device (53100)') }) })

function scene() {
  let nowMs = 0
  const trouble = createFailureTracker({ now: () => 0, monotonicMs: () => nowMs })
  return {
    trouble,
    at(ms: number) {
      nowMs = ms
      return trouble
    },
  }
}

test('one failure is no trouble, those of a second without a success are, in the words of the innermost cause', () => {
  const { trouble, at } = scene()
  at(0).failed('settle', full)
  at(999).failed('settle', full)
  expect(trouble.reason).toBeUndefined()
  at(1_000).failed('settle', full)
  expect(trouble.reason).toBe('No space left on device (53100)')
  trouble.succeeded('settle')
  expect(trouble.reason).toBeUndefined()
})

test('each step has its own failures', () => {
  const { trouble, at } = scene()
  at(0).failed('void', full)
  at(2_000).succeeded('admit')
  trouble.failed('settle', new Error('once'))
  expect(trouble.reason).toBeUndefined()
  trouble.failed('void', full)
  expect(trouble.reason).toBe('No space left on device (53100)')
})

test('what nobody has tried for ten seconds is not known', () => {
  const { at } = scene()
  at(0).failed('admit', full)
  at(5_000).failed('admit', full)
  expect(at(14_999).reason).toBe('No space left on device (53100)')
  expect(at(15_000).reason).toBeUndefined()
})
