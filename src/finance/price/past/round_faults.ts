import { type Address, encodeFunctionData, isAddressEqual, parseAbi } from 'viem'
import type { ContractCall, ReturnData } from '../../../chain/call/many/multicall.ts'
import { decodeWord, tryDecodeAddress } from '../../../chain/call/words.ts'
import { createLru } from '../../../lib/lru.ts'
import type { DirectAnswers, FeedRound } from '../price.ts'
import { type CallContracts, decodeRound, getPhase, type NamedRound, readRoundAt } from './rounds.ts'

/** The least and the greatest answer that an aggregator can give. */
export interface AnswerRange {
  readonly least: bigint
  readonly greatest: bigint
}

/** Since when a chain's sequencer is up or down, by its feed. */
export interface SequencerStatus {
  readonly isDown: boolean
  readonly sinceSec: bigint
}

/** What is known beside a feed's round at a block. */
interface RoundSurroundings {
  /** Undefined if the aggregator tells none. */
  readonly range: AnswerRange | undefined
  /** Undefined without a sequencer feed, or if it does not answer. */
  readonly sequencer: SequencerStatus | undefined
  readonly blockTimestampSec: bigint
}

/** How long feeds get to tell of what happened while the sequencer was down, seconds. */
const HALT_GRACE_SEC = 3_600n
const FEEDS_MAX = 10_000

const ABI = parseAbi([
  'function aggregator() view returns (address)',
  'function phaseAggregators(uint16 phase) view returns (address)',
  'function minAnswer() view returns (int192)',
  'function maxAnswer() view returns (int192)',
])

/** The aggregators that feeds had when they were last asked: where that still holds at a block, one request is enough. */
const lastAggregators = createLru<Address>({ entriesMax: FEEDS_MAX })

/**
 * Finds why a round says nothing, by the rule of `isBound` and `isOfBeforeHalt` of `prices.sol`: it is a bound of its
 * aggregator, or of before a halt of the sequencer that lasts or ended less than an hour before the block.
 */
export function findRoundFault(
  { answer, updatedAtSec }: Pick<FeedRound, 'answer' | 'updatedAtSec'>,
  { range, sequencer, blockTimestampSec }: RoundSurroundings,
): DirectAnswers['roundFault'] {
  const isRange = range !== undefined && range.least < range.greatest
  if (isRange && (answer <= range.least || answer >= range.greatest)) return 'bound'
  if (sequencer === undefined) return undefined
  const { isDown, sinceSec } = sequencer
  const isRecent = isDown || blockTimestampSec < sinceSec + HALT_GRACE_SEC
  return updatedAtSec < sinceSec && isRecent ? 'halt' : undefined
}

/** The calls for the range of a feed: its aggregator, and the bounds of the one that it probably has. */
export interface RangeQuestion {
  readonly feed: Address
  readonly expected: Address
  readonly calls: readonly ContractCall[]
}

/** Creates the calls for the range of a feed. */
export function createRangeQuestion(feed: Address): RangeQuestion {
  const expected = lastAggregators.get(feed) ?? feed
  return { feed, expected, calls: [createCall(feed, 'aggregator'), ...createBoundCalls(expected)] }
}

/** Decodes the results of those calls, by feed; asks again about aggregators that were not expected. */
export async function readRanges(
  asked: readonly { readonly question: RangeQuestion; readonly answers: readonly ReturnData[] }[],
  callContracts: CallContracts,
): Promise<ReadonlyMap<Address, AnswerRange | undefined>> {
  const ranges = new Map<Address, AnswerRange | undefined>()
  const unexpected = new Map<Address, Address>()
  for (const { question, answers } of asked) {
    const { feed, expected } = question
    const [aggregatorAnswer, ...bounds] = answers
    const aggregator = tryDecodeAddress(aggregatorAnswer) ?? feed
    lastAggregators.set(feed, aggregator)
    if (isAddressEqual(aggregator, expected)) ranges.set(feed, decodeRange(bounds))
    else unexpected.set(feed, aggregator)
  }
  if (unexpected.size === 0) return ranges
  const bounds = [...(await callContracts([...unexpected.values()].flatMap(createBoundCalls)))]
  for (const feed of unexpected.keys()) ranges.set(feed, decodeRange(bounds.splice(0, 2)))
  return ranges
}

/** Decodes the latest round of a sequencer feed; undefined if the feed does not answer. */
export function decodeSequencer(answer: ReturnData): SequencerStatus | undefined {
  return toStatus(decodeRound(answer, 'startedAt'))
}

/** Reads what is known beside a round that a feed keeps, from what contracts keep at a later block. */
export async function readSurroundings(
  {
    feed,
    round,
    sequencerFeed,
  }: { readonly feed: Address; readonly round: NamedRound; readonly sequencerFeed: Address | undefined },
  blockTimestampSec: bigint,
  callContracts: CallContracts,
): Promise<RoundSurroundings> {
  const [range, status] = await Promise.all([
    readRangeOfRound(feed, round, callContracts),
    // The feed updates the round of a status while it lasts: what tells a moment's status is when each began.
    sequencerFeed === undefined ? undefined : readRoundAt(sequencerFeed, blockTimestampSec, callContracts, 'startedAt'),
  ])
  return { range, sequencer: toStatus(status), blockTimestampSec }
}

/** Reads the range of the aggregator of a round's phase. */
async function readRangeOfRound(
  feed: Address,
  { id }: NamedRound,
  callContracts: CallContracts,
): Promise<AnswerRange | undefined> {
  const phase = Number(getPhase(id))
  const [ofPhase, now] = await callContracts([
    { to: feed, data: encodeFunctionData({ abi: ABI, functionName: 'phaseAggregators', args: [phase] }) },
    createCall(feed, 'aggregator'),
  ])
  const aggregator = (phase > 0 ? tryDecodeAddress(ofPhase) : undefined) ?? tryDecodeAddress(now) ?? feed
  return decodeRange(await callContracts(createBoundCalls(aggregator)))
}

function createBoundCalls(aggregator: Address): readonly ContractCall[] {
  return [createCall(aggregator, 'minAnswer'), createCall(aggregator, 'maxAnswer')]
}

function createCall(to: Address, functionName: 'aggregator' | 'minAnswer' | 'maxAnswer'): ContractCall {
  return { to, data: encodeFunctionData({ abi: ABI, functionName }) }
}

function decodeRange([least, greatest]: readonly ReturnData[]): AnswerRange | undefined {
  const bounds = [least, greatest].map(decodeInt)
  const [first, second] = bounds
  return first === undefined || second === undefined ? undefined : { least: first, greatest: second }
}

function decodeInt(answer: ReturnData): bigint | undefined {
  return answer === undefined || answer.length < 66 ? undefined : BigInt.asIntN(256, decodeWord(answer, 0))
}

function toStatus(round: Pick<FeedRound, 'answer' | 'updatedAtSec'> | undefined): SequencerStatus | undefined {
  return round === undefined ? undefined : { isDown: round.answer !== 0n, sinceSec: round.updatedAtSec }
}
