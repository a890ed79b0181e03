import { expect, test } from 'bun:test'
import { createWriteCheck } from '../../../../src/account/gate/write_check.ts'
import { type Database, SqlError } from '../../../../src/db/database.ts'
import { createFailureTracker } from '../../../../src/lib/failure_tracker.ts'
import { createTestClock } from '../../../support/test_clock.ts'

test('what a request met counts until a try succeeds, however young the last success is', async () => {
  const clock = createTestClock()
  const trouble = createFailureTracker(clock)
  const full = new SqlError('No space left on device', { code: '53100', constraint: undefined })
  let isFull = true
  let tries = 0
  const db: Database = {
    async run<Row>() {
      tries++
      if (isFull) throw full
      return [{ value: null }] as readonly unknown[] as readonly Row[]
    },
    async close() {},
  }
  const check = createWriteCheck({ db, clock, trouble })
  trouble.recordFailure('settle', full)
  await clock.advance(1_000)
  trouble.recordFailure('settle', full)
  // A smaller batch had room.
  check.recordSuccess()
  expect(await check.findTrouble()).toBe('No space left on device')
  isFull = false
  expect(await check.findTrouble()).toBeUndefined()
  expect(tries).toBe(2)
  // The try itself shows it for some time.
  expect(await check.findTrouble()).toBeUndefined()
  expect(tries).toBe(2)
})
