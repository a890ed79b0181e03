import { expect, test } from 'bun:test'
import { createFailureTracker } from '../../../src/lib/failure_tracker.ts'
import { createFixedClock } from '../../support/test_clock.ts'

const full = new Error('outer', { cause: new Error('inner', { cause: new Error('No space left on device (53100)') }) })

function scene() {
  let nowMs = 0
  const trouble = createFailureTracker(createFixedClock(0, () => nowMs))
  return {
    trouble,
    at(ms: number) {
      nowMs = ms
      return trouble
    },
  }
}

test('reason is the innermost cause once failures have lasted a second without a success', () => {
  const { trouble, at } = scene()
  at(0).recordFailure('settle', full)
  at(999).recordFailure('settle', full)
  expect(trouble.reason).toBeUndefined()
  at(1_000).recordFailure('settle', full)
  expect(trouble.reason).toBe('No space left on device (53100)')
  trouble.recordSuccess('settle')
  expect(trouble.reason).toBeUndefined()
})

test('failures are tracked by step', () => {
  const { trouble, at } = scene()
  at(0).recordFailure('void', full)
  at(2_000).recordSuccess('admit')
  trouble.recordFailure('settle', new Error('once'))
  expect(trouble.reason).toBeUndefined()
  trouble.recordFailure('void', full)
  expect(trouble.reason).toBe('No space left on device (53100)')
})

test('a failure that lasts is known until a success, or until it is cleared', () => {
  const { at, trouble } = scene()
  at(0).recordFailure('admit', full)
  at(5_000).recordFailure('admit', full)
  expect(at(3_600_000).reason).toBe('No space left on device (53100)')
  trouble.clear()
  expect(trouble.reason).toBeUndefined()
})
