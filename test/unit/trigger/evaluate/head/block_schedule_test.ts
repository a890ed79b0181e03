import { expect, test } from 'bun:test'
import { createBlockSchedule } from '../../../../../src/trigger/evaluate/block_loop.ts'

const NOW_MS = 1_800_000_000_000
const block = (number: number, timestampSec: number) => ({ number: BigInt(number), timestampSec: BigInt(timestampSec) })

test('it waits until about when the next block can be read, and then looks often', () => {
  const pace = createBlockSchedule(12_000)
  pace.recordBlock(block(1, NOW_MS / 1_000), NOW_MS + 2_000)
  expect(pace.pauseMs(NOW_MS + 2_000)).toBe(10_000)
  // Blocks come two seconds after their time: that is learned.
  for (let at = 2; at < 60; at++) {
    const timeMs = NOW_MS + at * 12_000
    pace.recordBlock(block(at, timeMs / 1_000), timeMs + 2_000)
  }
  const lastMs = NOW_MS + 59 * 12_000
  expect(pace.pauseMs(lastMs + 2_000)).toBeCloseTo(11_800, 0)
  expect(pace.pauseMs(lastMs + 14_000)).toBe(500)
})

test('it learns an unknown block time, and never trusts a clock for long', () => {
  const pace = createBlockSchedule(undefined)
  for (let at = 0; at < 50; at++) pace.recordBlock(block(at, NOW_MS / 1_000 + 3 * at), NOW_MS + 3_000 * at)
  expect(pace.pauseMs(NOW_MS + 49 * 3_000)).toBeCloseTo(3_000, 0)
  pace.recordBlock(block(50, NOW_MS / 1_000 + 10_000_000), NOW_MS)
  expect(pace.pauseMs(NOW_MS)).toBeLessThanOrEqual(12_000)
})

test('it follows blocks whose times are ahead of the clock', () => {
  const pace = createBlockSchedule(1_000)
  for (let at = 0; at < 50; at++) pace.recordBlock(block(at, NOW_MS / 1_000 + 5 + at), NOW_MS + 1_000 * at)
  // What was read takes some time to evaluate.
  expect(pace.pauseMs(NOW_MS + 49 * 1_000 + 300)).toBe(700)
})
