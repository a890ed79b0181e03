import { type Address, encodeFunctionData, parseAbi } from 'viem'
import type { ContractCall, ReturnData } from '../../../chain/call/many/multicall.ts'
import { decodeWord, tryDecodeAddress, tryDecodeUint } from '../../../chain/call/words.ts'
import type { FeedRound } from '../price.ts'

/** Asks contracts as they are now; answers in the order of the questions. */
export type CallContracts = (questions: readonly ContractCall[]) => Promise<readonly ReturnData[]>

const ABI = parseAbi([
  'function latestRoundData() view returns (uint80, int256, uint256, uint256, uint80)',
  'function getRoundData(uint80 id) view returns (uint80, int256, uint256, uint256, uint80)',
  'function decimals() view returns (uint8)',
  'function phaseAggregators(uint16 phase) view returns (address)',
  'function latestRound() view returns (uint256)',
])
/** Rounds that one request of a search asks for: 30 of them find one round of a million in four requests. */
const PROBES = 30n
/** A search by thirds of a thirtieth ends long before; an aggregator that answers nonsense ends here. */
const REQUESTS_MAX = 12
/** Phases that are searched, newest first. */
const PHASES_MAX = 12
const PHASE_BITS = 64n
/** Decimals are a uint8. */
const DECIMALS_MAX = 255n

/** A round and its number in its phase. */
interface Round extends Omit<FeedRound, 'decimals'> {
  readonly number: bigint
}

/** Questions for the latest round of a feed. */
export function createLatestRoundCalls(feed: Address): readonly ContractCall[] {
  return [
    { to: feed, data: encodeFunctionData({ abi: ABI, functionName: 'latestRoundData' }) },
    { to: feed, data: encodeFunctionData({ abi: ABI, functionName: 'decimals' }) },
  ]
}

/** A round and the id that its feed gives it: the phase, and the number in it. */
export interface NamedRound extends FeedRound {
  readonly id: bigint
}

/** What their answers say; undefined if the feed does not answer. */
export function decodeLatestRound(round: ReturnData, decimals: ReturnData): NamedRound | undefined {
  const named = decodeRound(round)
  if (named === undefined || round === undefined || decimals === undefined || decimals.length < 66) return undefined
  const digits = decodeWord(decimals, 0)
  // Contracts that ask would revert.
  if (digits > DECIMALS_MAX) return undefined
  return { ...named, id: decodeWord(round, 0), decimals: Number(digits) }
}

/** The question for one round of a feed. */
export function createRoundCall(feed: Address, id: bigint): ContractCall {
  return { to: feed, data: encodeFunctionData({ abi: ABI, functionName: 'getRoundData', args: [id] }) }
}

/** What its answer says; undefined if the feed does not have the round. */
export function decodeRound(answer: ReturnData): Omit<FeedRound, 'decimals'> | undefined {
  if (answer === undefined || answer.length < 2 + 5 * 64) return undefined
  return { answer: BigInt.asIntN(256, decodeWord(answer, 1)), updatedAtSec: decodeWord(answer, 3) }
}

/** The phase that a round is of: 0 if its feed has none. */
export function getPhase(id: bigint): bigint {
  return id >> PHASE_BITS
}

/**
 * The round that a Chainlink feed answered at a moment, from what it keeps of its past: the last one that was updated
 * at or before it. The rounds of a phase are searched, and if all are later, those of the phase before. Undefined if
 * the feed keeps no rounds, or none so old. Where two phases' aggregators were updated at the same time, the round is
 * that of the newer one; rounds of the moment's own second count, though their block may be a later one.
 */
export async function readRoundAt(feed: Address, timeSec: bigint, ask: CallContracts): Promise<FeedRound | undefined> {
  const [round, digits] = await ask(createLatestRoundCalls(feed))
  const latest = decodeLatestRound(round, digits)
  if (latest === undefined) return undefined
  const { decimals } = latest
  if (latest.updatedAtSec > 0n && latest.updatedAtSec <= timeSec) return latest
  let phase = getPhase(latest.id)
  let last = BigInt.asUintN(64, latest.id)
  for (let searched = 0; searched < PHASES_MAX; searched++) {
    const found = await searchPhase(feed, { phase, last, timeSec }, ask)
    if (found !== undefined) return { answer: found.answer, updatedAtSec: found.updatedAtSec, decimals }
    if (phase <= 1n) return undefined
    phase -= 1n
    const newest = await lastRoundOf(feed, phase, ask)
    if (newest === undefined) return undefined
    last = newest
  }
  return undefined
}

/** The last round of a phase at or before the moment; undefined if all are later, or the aggregator keeps none. */
async function searchPhase(
  feed: Address,
  { phase, last, timeSec }: { readonly phase: bigint; readonly last: bigint; readonly timeSec: bigint },
  ask: CallContracts,
): Promise<Round | undefined> {
  let best: Round | undefined
  let above = last + 1n
  for (let request = 0; request < REQUESTS_MAX; request++) {
    const numbers = probes(best?.number ?? 0n, above)
    if (numbers.length === 0) return best
    const rounds = await askRounds(feed, { phase, numbers }, ask)
    const earlier = rounds.findLast(({ updatedAtSec }) => updatedAtSec <= timeSec)
    best = earlier ?? best
    const lowest = best?.number ?? 0n
    const later = rounds.find(({ number, updatedAtSec }) => number > lowest && updatedAtSec > timeSec)
    // Numbers that were asked and are not rounds need not be asked again.
    const isAll = numbers.length < Number(PROBES)
    if (isAll || (earlier === undefined && later === undefined)) return best
    above = later?.number ?? above
  }
  return best
}

/** Numbers between two others, evenly spread; all of them if they are few. */
function probes(low: bigint, high: bigint): bigint[] {
  const between = high - low - 1n
  if (between <= 0n) return []
  const count = between < PROBES ? between : PROBES
  return Array.from(
    { length: Number(count) },
    (_, index) => low + ((BigInt(index) + 1n) * (between + 1n)) / (count + 1n),
  )
}

/** The rounds among these numbers, in their order. */
async function askRounds(
  feed: Address,
  { phase, numbers }: { readonly phase: bigint; readonly numbers: readonly bigint[] },
  ask: CallContracts,
): Promise<Round[]> {
  const answers = await ask(numbers.map((number) => createRoundCall(feed, (phase << PHASE_BITS) | number)))
  return answers.flatMap((answer, index) => {
    const number = numbers[index]
    const round = decodeRound(answer)
    // A round that never finished has no time.
    return number === undefined || round === undefined || round.updatedAtSec === 0n ? [] : [{ number, ...round }]
  })
}

/** Number of the last round of a phase's aggregator, 0 without any; undefined if it cannot be asked. */
async function lastRoundOf(feed: Address, phase: bigint, ask: CallContracts): Promise<bigint | undefined> {
  const args = [Number(phase)] as const
  const [found] = await ask([
    { to: feed, data: encodeFunctionData({ abi: ABI, functionName: 'phaseAggregators', args }) },
  ])
  const aggregator = tryDecodeAddress(found)
  if (aggregator === undefined) return undefined
  const [last] = await ask([{ to: aggregator, data: encodeFunctionData({ abi: ABI, functionName: 'latestRound' }) }])
  const number = tryDecodeUint(last)
  return number === undefined ? undefined : BigInt.asUintN(64, number)
}
