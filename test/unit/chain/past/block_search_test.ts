import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { findBracket, nextProbe } from '../../../../src/chain/past/block_at.ts'
import type { PastBlock } from '../../../../src/chain/rpc/client.ts'
import { caseCount } from '../../../support/cases.ts'

/** Height of the last block at or before the time, and how many headers that took besides the newest. */
function search(times: readonly number[], timeSec: number, blockTimeMs: number | undefined) {
  const header = (number: bigint): PastBlock => ({ number, timestampSec: BigInt(times[Number(number)] ?? Number.NaN) })
  let known: readonly PastBlock[] = [header(BigInt(times.length - 1))]
  for (let probes = 0; ; probes++) {
    const bracket = findBracket(known, BigInt(timeSec))
    if (bracket === undefined) throw new Error('The moment is after the newest block')
    const number = nextProbe(bracket, { timeSec: BigInt(timeSec), blockTimeMs, probes })
    if (number === undefined) return { found: bracket.before?.number, probes }
    if (probes > 100) throw new Error('The search does not end')
    known = [...known, header(number)].sort((a, b) => Number(a.number - b.number))
  }
}

test('the search finds the last block at or before any time, however uneven the blocks', () => {
  const steps = fc.array(fc.oneof(fc.constant(0), fc.nat(3), fc.nat(1_000), fc.nat(1_000_000)), {
    minLength: 1,
    maxLength: 300,
  })
  fc.assert(
    fc.property(
      steps,
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.constantFrom(undefined, 250, 12_000),
      (gaps, share, blockTimeMs) => {
        let now = 1_000
        const times = [now, ...gaps.map((gap) => (now += gap))]
        const last = times.at(-1) ?? 0
        const timeSec = 900 + Math.floor(share * (last - 900))
        if (last <= timeSec) return
        const index = times.findLastIndex((time) => time <= timeSec)
        expect(search(times, timeSec, blockTimeMs).found).toBe(index < 0 ? undefined : BigInt(index))
      },
    ),
    { numRuns: caseCount(3_000) },
  )
})

test('on a chain with missed slots the search takes a handful of headers', () => {
  let seed = 7
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed / 2_147_483_647
  }
  let now = 1_600_000_000
  const times = Array.from({ length: 400_000 }, () => (now += random() < 0.01 ? 24 : 12))
  const counts = Array.from(
    { length: 300 },
    () => search(times, 1_600_000_100 + Math.floor(random() * 4_000_000), 12_000).probes,
  )
  expect(counts.reduce((sum, each) => sum + each, 0) / counts.length).toBeLessThan(8)
  expect(Math.max(...counts)).toBeLessThan(16)
})
