import { expect, test } from 'bun:test'
import { choosePlan, computeShortfall } from '../../../../src/history/follow/follower.ts'

const nothing = { missing: [], globalMissing: [], hasGlobalRanges: false, canScan: true, widest: undefined }
const range = (blocks: number, fromBlock = 1) => ({ fromBlock, toBlock: fromBlock + blocks - 1 })

/** The plan for a subject that lacks all of a chain of so many blocks, of which nothing is stored. */
function planFor(blocks: number, widest?: number) {
  return choosePlan({ ...nothing, missing: [range(blocks)], globalMissing: [range(blocks)], widest })
}

test('a subject is read alone if that takes at most 64 ranges of the widest endpoint', () => {
  expect(planFor(64 * 2_000, 2_000)).toBe('subject')
  expect(planFor(64 * 2_000 + 1, 2_000)).toBe('global')
  expect(planFor(1, 2_000)).toBe('subject')
})

test('an endpoint that never refused a range is thought to take a million blocks for a subject', () => {
  expect(planFor(64 * 1_000_000)).toBe('subject')
  expect(planFor(64 * 1_000_000 + 1)).toBe('global')
})

test('with ranges below 1,000 blocks no whole chain is scanned, but short histories are read', () => {
  expect(planFor(64 * 999, 999)).toBe('subject')
  expect(planFor(64 * 999 + 1, 999)).toBe('impossible')
  expect(planFor(64 * 1_000 + 1, 1_000)).toBe('global')
  expect(planFor(65, 1)).toBe('impossible')
})

test('a stream without global scans reads a subject alone or not at all', () => {
  const plan = (blocks: number, widest?: number) =>
    choosePlan({ ...nothing, missing: [range(blocks)], globalMissing: [range(blocks)], canScan: false, widest })
  expect(plan(64 * 2_000, 2_000)).toBe('subject')
  expect(plan(64 * 2_000 + 1, 2_000)).toBe('impossible')
  const stream = { subjectsOnly: true }
  expect(computeShortfall([range(64 * 2_000 + 1)], { stream, sources: [] })).toEqual({ needed: 2_001, widest: 0 })
  // No endpoint has refused a range yet.
  expect(plan(64 * 1_000_000 + 1)).toBe('subject')
})

test('ranges that lie apart take a request more each', () => {
  const apart = [range(32_000, 100_001), range(31_000, 1)]
  const plan = (missing: typeof apart) =>
    choosePlan({ ...nothing, missing, globalMissing: [range(200_000)], widest: 1_000 })
  expect(plan(apart)).toBe('subject')
  expect(plan([range(32_000, 100_001), range(32_000, 1)])).toBe('global')
})

test('with a stored global history, few missing ranges are scanned for all subjects, and many are not', () => {
  const wanted = { missing: [range(10)], hasGlobalRanges: true, canScan: true, widest: undefined }
  expect(choosePlan({ ...wanted, globalMissing: [range(64 * 10_000)] })).toBe('global')
  expect(choosePlan({ ...wanted, globalMissing: [range(64 * 10_000 + 1)] })).toBe('subject')
  // Its ranges are shorter than those of a subject, unless the endpoint's cap is shorter still.
  expect(choosePlan({ ...wanted, globalMissing: [range(64 * 500)], widest: 500 })).toBe('global')
  expect(choosePlan({ ...wanted, globalMissing: [range(64 * 500 + 1)], widest: 500 })).toBe('subject')
  expect(choosePlan({ ...wanted, hasGlobalRanges: false, globalMissing: [range(10)] })).toBe('subject')
})
