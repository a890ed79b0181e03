import { expect, test } from 'bun:test'
import { type Address, decodeFunctionData, type Hex, numberToHex, parseAbi } from 'viem'
import { findRoundFault, readSurroundings } from '../../../../../src/finance/price/past/round_faults.ts'
import { type CallContracts, readRoundAt } from '../../../../../src/finance/price/past/rounds.ts'
import { toWalletAddress } from '../../../../devnet/addresses.ts'

const ABI = parseAbi([
  'function latestRoundData()',
  'function getRoundData(uint80 id)',
  'function decimals()',
  'function phaseAggregators(uint16 phase)',
  'function latestRound()',
  'function aggregator()',
  'function minAnswer()',
  'function maxAnswer()',
])
const FEED = toWalletAddress('feed of a token')
const SEQUENCER = toWalletAddress('feed of a sequencer')

/** A round of a feed: answer, when it began and when it was last updated. */
type Round = readonly [answer: bigint, startedAt: bigint, updatedAt: bigint]

/** An aggregator: its range, if it tells one, and its rounds. */
interface Phase {
  readonly range?: readonly [least: bigint, greatest: bigint]
  readonly rounds: readonly Round[]
}

const words = (...values: readonly bigint[]): Hex =>
  `0x${values.map((value) => numberToHex(value, { size: 32 }).slice(2)).join('')}`

/** Contracts of feeds by address, each with its phases, the oldest first; an aggregator's address is feed + phase. */
function createContracts(feeds: ReadonlyMap<Address, readonly Phase[]>): CallContracts {
  const toAggregator = (feed: Address, phase: number) => BigInt(feed) + BigInt(phase)
  const answerTo = (to: Address, data: Hex): Hex | undefined => {
    const { functionName, args } = decodeFunctionData({ abi: ABI, data })
    const phases = feeds.get(to)
    if (phases === undefined) {
      for (const [feed, each] of feeds) {
        const phase = each[Number(BigInt(to) - toAggregator(feed, 1))]
        if (phase === undefined) continue
        if (functionName === 'minAnswer') return phase.range && words(phase.range[0])
        if (functionName === 'maxAnswer') return phase.range && words(phase.range[1])
        if (functionName === 'latestRound') return words(BigInt(phase.rounds.length))
      }
      return undefined
    }
    const getRound = (id: bigint) => {
      const round = phases[Number(id >> 64n) - 1]?.rounds[Number(BigInt.asUintN(64, id)) - 1]
      return round && words(id, ...round, id)
    }
    if (functionName === 'latestRoundData')
      return getRound((BigInt(phases.length) << 64n) | BigInt(phases.at(-1)?.rounds.length ?? 0))
    if (functionName === 'decimals') return words(8n)
    if (functionName === 'getRoundData') return getRound(args[0])
    if (functionName === 'phaseAggregators') return words(toAggregator(to, Number(args[0])))
    if (functionName === 'aggregator') return words(toAggregator(to, phases.length))
    return undefined
  }
  return async (calls) => calls.map(({ to, data }) => answerTo(to, data))
}

/** The fault of the round that the feed had at a time, as far as rounds that are kept tell. */
async function findFaultAt(
  timeSec: bigint,
  { phases, statuses }: { readonly phases: readonly Phase[]; readonly statuses?: readonly Round[] },
) {
  const sequencer: [Address, readonly Phase[]][] = statuses === undefined ? [] : [[SEQUENCER, [{ rounds: statuses }]]]
  const callContracts = createContracts(new Map([[FEED, phases], ...sequencer]))
  const round = await readRoundAt(FEED, timeSec, callContracts)
  if (round === undefined) throw new Error('The feed has no round at that time')
  const asked = { feed: FEED, round, sequencerFeed: SEQUENCER }
  return findRoundFault(round, await readSurroundings(asked, timeSec, callContracts))
}

test('a kept round is held against the range of the aggregator that made it', async () => {
  const phases: readonly Phase[] = [
    {
      range: [10n, 100n],
      rounds: [
        [10n, 1_000n, 1_000n],
        [11n, 2_000n, 2_000n],
      ],
    },
    {
      range: [1n, 20n],
      rounds: [
        [10n, 3_000n, 3_000n],
        [20n, 4_000n, 4_000n],
      ],
    },
    { rounds: [[10n, 5_000n, 5_000n]] },
  ]
  const faults = []
  for (const timeSec of [1_500n, 2_500n, 3_500n, 4_500n, 5_500n]) faults.push(await findFaultAt(timeSec, { phases }))
  expect(faults).toEqual(['bound', undefined, undefined, 'bound', undefined])
})

test('a kept round is held against the status of the sequencer at the time, however long that lasted', async () => {
  const phases: readonly Phase[] = [
    {
      rounds: [
        [50n, 9_000n, 9_000n],
        [51n, 20_500n, 20_500n],
      ],
    },
  ]
  const statuses: readonly Round[] = [
    // Each is updated while it lasts.
    [0n, 1_000n, 9_900n],
    [1n, 10_000n, 19_000n],
    [0n, 20_000n, 90_000n],
  ]
  const faults = []
  for (const timeSec of [9_999n, 10_000n, 19_999n, 20_000n, 20_499n, 20_500n])
    faults.push(await findFaultAt(timeSec, { phases, statuses }))
  expect(faults).toEqual([undefined, 'halt', 'halt', 'halt', 'halt', undefined])
  const quiet: readonly Phase[] = [{ rounds: [[50n, 9_000n, 9_000n]] }]
  for (const [timeSec, fault] of [
    [23_599n, 'halt'],
    [23_600n, undefined],
  ] as const)
    expect(await findFaultAt(timeSec, { phases: quiet, statuses })).toBe(fault)
  expect(await findFaultAt(20_000n, { phases: quiet })).toBeUndefined()
})
