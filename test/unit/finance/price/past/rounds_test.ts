import { describe, expect, test } from 'bun:test'
import { decodeFunctionData, type Hex, parseAbi } from 'viem'
import { type CallContracts, decodeLatestRound, readRoundAt } from '../../../../../src/finance/price/past/rounds.ts'
import { toWalletAddress } from '../../../../devnet/addresses.ts'

const ABI = parseAbi([
  'function latestRoundData()',
  'function getRoundData(uint80 id)',
  'function decimals()',
  'function phaseAggregators(uint16 phase)',
  'function latestRound()',
])
const FEED = toWalletAddress('feed')

const words = (...values: readonly bigint[]): Hex =>
  `0x${values.map((value) => value.toString(16).padStart(64, '0')).join('')}`
const roundWords = (id: bigint, updatedAtSec: bigint) => words(id, id & 0xffffn, updatedAtSec, updatedAtSec, id)

/**
 * A feed of phases, the oldest first, each the seconds of its rounds; 0 is a round that never finished. The aggregator of
 * a phase may be a feed with phases itself: then it gives its last round by its own phase.
 */
function createFeed(phases: readonly (readonly bigint[])[], { ownPhase = 0n }: { readonly ownPhase?: bigint } = {}) {
  const requests: number[] = []
  const roundAt = (id: bigint) => {
    const updatedAtSec = phases[Number(id >> 64n) - 1]?.[Number(BigInt.asUintN(64, id)) - 1]
    return updatedAtSec === undefined ? undefined : roundWords(id, updatedAtSec)
  }
  const newest = (BigInt(phases.length) << 64n) | BigInt(phases.at(-1)?.length ?? 0)
  const ask: CallContracts = async (questions) => {
    requests.push(questions.length)
    return questions.map(({ to, data }) => {
      const { functionName, args } = decodeFunctionData({ abi: ABI, data })
      if (functionName === 'latestRoundData') return roundAt(newest)
      if (functionName === 'decimals') return words(8n)
      if (functionName === 'getRoundData') return roundAt(args[0])
      // The address of an aggregator is the number of its phase.
      if (functionName === 'phaseAggregators') return words(BigInt(args[0]))
      return words((ownPhase << 64n) | BigInt(phases[Number(BigInt(to)) - 1]?.length ?? 0))
    })
  }
  const at = async (timeSec: bigint) => (await readRoundAt(FEED, timeSec, ask))?.updatedAtSec
  return { at, requests }
}

describe('readRoundAt()', () => {
  test('returns the last round at or before the moment, in phases of any length', async () => {
    for (const length of [1, 2, 29, 30, 31, 32, 900, 30_000]) {
      const older = Array.from({ length }, (_, index) => BigInt(10 * (index + 1)))
      const { at, requests } = createFeed([older, [10_000_000n]])
      const seconds = length < 40 ? older : [10n, 20n, 4_440n, BigInt(10 * length - 10), BigInt(10 * length)]
      for (const second of seconds.filter((each) => each <= 10 * length)) {
        requests.length = 0
        expect(await at(second)).toBe(second)
        expect(await at(second + 9n)).toBe(second)
        expect(Math.max(...requests)).toBeLessThanOrEqual(30)
        expect(requests.length).toBeLessThan(2 * 9)
      }
      expect(await at(9n)).toBeUndefined()
    }
  })

  test('accepts the first second', async () => {
    const { at, requests } = createFeed([[1n]])
    expect(await at(1n)).toBe(1n)
    expect(requests).toEqual([2])
  })

  test('finds the round if an older phase’s aggregator numbers its rounds with phases of its own', async () => {
    const phases = [[10n, 20n], [30n]]
    expect(await createFeed(phases, { ownPhase: 1n }).at(29n)).toBe(20n)
  })

  test('reads a number once where rounds never finished', async () => {
    const { at, requests } = createFeed([[10n, 0n, 0n, 20n, 30n]])
    expect(await at(19n)).toBe(10n)
    expect(requests).toEqual([2, 5])
  })

  test('searches at most twelve phases', async () => {
    const young = Array.from({ length: 11 }, (_, index) => [BigInt(1_000 + index)])
    expect(await createFeed([[5n], ...young]).at(9n)).toBe(5n)
    expect(await createFeed([[5n], [999n], ...young]).at(9n)).toBeUndefined()
  })

  test('stops after twelve requests at an aggregator without an end', async () => {
    let requests = 0
    const ask: CallContracts = async (questions) => {
      requests++
      return questions.map(({ data }) => {
        const { functionName, args } = decodeFunctionData({ abi: ABI, data })
        if (functionName === 'decimals') return words(8n)
        const newest = (1n << 64n) | ((1n << 64n) - 1n)
        if (functionName === 'latestRoundData') return roundWords(newest, 1_000n)
        // Only the round right before the newest is of the time.
        return functionName === 'getRoundData' ? roundWords(args[0], args[0] >= newest - 1n ? 1_000n : 10n) : undefined
      })
    }
    expect(await readRoundAt(FEED, 500n, ask)).toMatchObject({ updatedAtSec: 10n })
    expect(requests).toBe(1 + 12)
  })
})

test('decodeLatestRound() rejects decimals above a uint8, like contracts on the chain', () => {
  const round = roundWords(3n, 900n)
  expect(decodeLatestRound(round, words(255n))).toMatchObject({ decimals: 255 })
  for (const odd of [256n, (1n << 32n) | 8n]) expect(decodeLatestRound(round, words(odd))).toBeUndefined()
})
