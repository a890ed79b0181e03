import { type Address, encodeFunctionData, parseAbi } from 'viem'
import type { ContractCall, ReturnData } from '../../../chain/call/many/multicall.ts'
import { decodeWord, tryDecodeAddress, tryDecodeUint } from '../../../chain/call/words.ts'
import type { FeedRound } from '../price.ts'

/** Calls contracts at one block; results are in the order of the calls. */
export type CallContracts = (calls: readonly ContractCall[]) => Promise<readonly ReturnData[]>

const ABI = parseAbi([
  'function latestRoundData() view returns (uint80, int256, uint256, uint256, uint80)',
  'function getRoundData(uint80 id) view returns (uint80, int256, uint256, uint256, uint80)',
  'function decimals() view returns (uint8)',
  'function phaseAggregators(uint16 phase) view returns (address)',
  'function latestRound() view returns (uint256)',
])
/** Rounds per request of a search: 30 of them find one round of a million in four requests. */
const PROBES = 30n
/** Bounds the search for aggregators with inconsistent answers; a regular search ends long before. */
const REQUESTS_MAX = 12
/** Most phases to search, newest first. */
const PHASES_MAX = 12
const PHASE_BITS = 64n
/** Largest uint8, the type of `decimals`. */
const DECIMALS_MAX = 255n

/** A round and its number in its phase. */
interface Round extends Omit<FeedRound, 'decimals'> {
  readonly number: bigint
}

/** Which time of a round counts: when it began, or when it was last updated. */
export type RoundTime = 'startedAt' | 'updatedAt'

/** Words of a round's answer. */
const TIME_WORDS: Readonly<Record<RoundTime, number>> = { startedAt: 2, updatedAt: 3 }

/** Creates the call for the latest round of a feed. */
export function createLatestRoundCall(feed: Address): ContractCall {
  return { to: feed, data: encodeFunctionData({ abi: ABI, functionName: 'latestRoundData' }) }
}

/** Creates the calls for the latest round of a feed and its decimals. */
export function createLatestRoundCalls(feed: Address): readonly ContractCall[] {
  return [createLatestRoundCall(feed), { to: feed, data: encodeFunctionData({ abi: ABI, functionName: 'decimals' }) }]
}

/** A round and its id at the feed: the phase, and the number within the phase. */
export interface NamedRound extends FeedRound {
  readonly id: bigint
}

/** Decodes the results of those calls; undefined if the feed does not answer. */
export function decodeLatestRound(
  round: ReturnData,
  decimals: ReturnData,
  time: RoundTime = 'updatedAt',
): NamedRound | undefined {
  const named = decodeRound(round, time)
  if (named === undefined || round === undefined || decimals === undefined || decimals.length < 66) return undefined
  const digits = decodeWord(decimals, 0)
  // Contracts that decode a uint8 would revert.
  if (digits > DECIMALS_MAX) return undefined
  return { ...named, id: decodeWord(round, 0), decimals: Number(digits) }
}

/** Creates the call for one round of a feed. */
export function createRoundCall(feed: Address, id: bigint): ContractCall {
  return { to: feed, data: encodeFunctionData({ abi: ABI, functionName: 'getRoundData', args: [id] }) }
}

/** Decodes the result of that call; `updatedAtSec` is the asked time. Undefined if the feed does not have the round. */
export function decodeRound(
  answer: ReturnData,
  time: RoundTime = 'updatedAt',
): Omit<FeedRound, 'decimals'> | undefined {
  if (answer === undefined || answer.length < 2 + 5 * 64) return undefined
  return { answer: BigInt.asIntN(256, decodeWord(answer, 1)), updatedAtSec: decodeWord(answer, TIME_WORDS[time]) }
}

/** Returns the phase of a round: 0 if its feed has no phases. */
export function getPhase(id: bigint): bigint {
  return id >> PHASE_BITS
}

/**
 * Finds the round that a Chainlink feed returned at a moment, among the rounds that it keeps: the last one updated at
 * or before the moment, or the last one that began by then. Searches the rounds of a phase, and if all are later, those of the phase before. Undefined if
 * the feed keeps no rounds, or none that old. Where the aggregators of two phases were updated at the same time, the
 * newer one wins; rounds of the moment's own second count, though their block may be a later one.
 */
export async function readRoundAt(
  feed: Address,
  timeSec: bigint,
  callContracts: CallContracts,
  time: RoundTime = 'updatedAt',
): Promise<NamedRound | undefined> {
  const [round, digits] = await callContracts(createLatestRoundCalls(feed))
  const latest = decodeLatestRound(round, digits, time)
  if (latest === undefined) return undefined
  const { decimals } = latest
  if (latest.updatedAtSec > 0n && latest.updatedAtSec <= timeSec) return latest
  let phase = getPhase(latest.id)
  let last = BigInt.asUintN(64, latest.id)
  for (let searched = 0; searched < PHASES_MAX; searched++) {
    const match = await searchPhase(feed, { phase, last, timeSec, time }, callContracts)
    if (match !== undefined) {
      const { number, answer, updatedAtSec } = match
      return { id: (phase << PHASE_BITS) | number, answer, updatedAtSec, decimals }
    }
    if (phase <= 1n) return undefined
    phase -= 1n
    const lastRound = await readLastRound(feed, phase, callContracts)
    if (lastRound === undefined) return undefined
    last = lastRound
  }
  return undefined
}

/** Finds the last round of a phase at or before the moment; undefined if all are later or the aggregator keeps none. */
async function searchPhase(
  feed: Address,
  {
    phase,
    last,
    timeSec,
    time,
  }: { readonly phase: bigint; readonly last: bigint; readonly timeSec: bigint; readonly time: RoundTime },
  callContracts: CallContracts,
): Promise<Round | undefined> {
  let best: Round | undefined
  let above = last + 1n
  for (let request = 0; request < REQUESTS_MAX; request++) {
    const numbers = selectProbes(best?.number ?? 0n, above)
    if (numbers.length === 0) return best
    const rounds = await readRounds(feed, { phase, numbers, time }, callContracts)
    const earlier = rounds.findLast(({ updatedAtSec }) => updatedAtSec <= timeSec)
    best = earlier ?? best
    const lowest = best?.number ?? 0n
    const later = rounds.find(({ number, updatedAtSec }) => number > lowest && updatedAtSec > timeSec)
    // Numbers that turned out not to be rounds need not be read again.
    const isExhaustive = numbers.length < Number(PROBES)
    if (isExhaustive || (earlier === undefined && later === undefined)) return best
    above = later?.number ?? above
  }
  return best
}

/** Selects numbers between two bounds, evenly spread; all of them if they are few. */
function selectProbes(low: bigint, high: bigint): bigint[] {
  const between = high - low - 1n
  if (between <= 0n) return []
  const count = between < PROBES ? between : PROBES
  return Array.from(
    { length: Number(count) },
    (_, index) => low + ((BigInt(index) + 1n) * (between + 1n)) / (count + 1n),
  )
}

/** Reads the rounds among these numbers, in their order. */
async function readRounds(
  feed: Address,
  { phase, numbers, time }: { readonly phase: bigint; readonly numbers: readonly bigint[]; readonly time: RoundTime },
  callContracts: CallContracts,
): Promise<Round[]> {
  const answers = await callContracts(numbers.map((number) => createRoundCall(feed, (phase << PHASE_BITS) | number)))
  return answers.flatMap((answer, index) => {
    const number = numbers[index]
    const round = decodeRound(answer, time)
    // A round that never finished has no timestamp.
    return number === undefined || round === undefined || round.updatedAtSec === 0n ? [] : [{ number, ...round }]
  })
}

/** Reads the number of the last round of a phase's aggregator, 0 without rounds; undefined if it does not answer. */
async function readLastRound(feed: Address, phase: bigint, callContracts: CallContracts): Promise<bigint | undefined> {
  const args = [Number(phase)] as const
  const [aggregatorAnswer] = await callContracts([
    { to: feed, data: encodeFunctionData({ abi: ABI, functionName: 'phaseAggregators', args }) },
  ])
  const aggregator = tryDecodeAddress(aggregatorAnswer)
  if (aggregator === undefined) return undefined
  const [roundAnswer] = await callContracts([
    { to: aggregator, data: encodeFunctionData({ abi: ABI, functionName: 'latestRound' }) },
  ])
  const number = tryDecodeUint(roundAnswer)
  return number === undefined ? undefined : BigInt.asUintN(64, number)
}
