import { type Hex, toEventSelector } from 'viem'
import type { LendingEvent } from '../../../../../src/family/lending/lending_event.ts'
import type { HistoryLog, LogFilter, StreamTarget } from '../../../../../src/history/stream.ts'
import { UpstreamError } from '../../../../../src/lib/error.ts'

const LENT = toEventSelector(
  'event Lent(address indexed wallet, bytes32 indexed counter, address asset, uint256 amount)',
)
const REDEEMED = toEventSelector(
  'event Redeemed(address indexed wallet, bytes32 indexed counter, address asset, uint256 amount)',
)
const APPRAISED = toEventSelector('event Appraised(address indexed wallet, bytes32 indexed counter, uint256 cents)')

/** What a shop says that a wallet's pawn is worth. Addresses, counters and hashes are lower case. */
export interface Appraisal {
  readonly wallet: Hex
  readonly counter: Hex
  readonly block: number
  readonly logIndex: number
  readonly cents: bigint
  readonly transactionHash: Hex
}

/** Filters of loans: see `Stream.filters`. */
export function loanFilters(place: StreamTarget, subjects: readonly Hex[] | null): readonly LogFilter[] {
  return [createFilter(place, [LENT, REDEEMED], subjects)]
}

/** Filters of appraisals. */
export function appraisalFilters(place: StreamTarget, subjects: readonly Hex[] | null): readonly LogFilter[] {
  return [createFilter(place, [APPRAISED], subjects)]
}

function createFilter({ contract }: StreamTarget, events: readonly Hex[], subjects: readonly Hex[] | null): LogFilter {
  const wallets = subjects?.map((subject): Hex => `0x${subject.slice(2).padStart(64, '0')}`)
  return { addresses: [contract], topics: [events, ...(wallets === undefined ? [] : [wallets])] }
}

/** Rows of logs that the filters of loans found. */
export function decodeLoans(logs: readonly HistoryLog[]): LendingEvent[] {
  return logs.map((log) => {
    const { wallet, counter, at } = decodeFields(log, 2)
    return {
      ...at,
      wallet,
      market: counter,
      leg: 0,
      kind: log.topics[0] === LENT ? 'borrow' : 'repay',
      asset: `0x${log.data.slice(26, 66)}`,
      amount: BigInt(`0x${log.data.slice(66, 130)}`),
      counterparty: wallet,
      timestampSec: log.timestampSec,
      indexRay: null,
    }
  })
}

/** Rows of logs that the filters of appraisals found. */
export function decodeAppraisals(logs: readonly HistoryLog[]): Appraisal[] {
  return logs.map((log) => {
    const { wallet, counter, at } = decodeFields(log, 1)
    return { ...at, wallet, counter, cents: BigInt(log.data) }
  })
}

function decodeFields(log: HistoryLog, words: number) {
  const { topics, data, blockNumber: block, logIndex, transactionHash } = log
  const [, wallet, counter] = topics
  if (wallet === undefined || counter === undefined || data.length !== 2 + 64 * words) {
    throw new UpstreamError(`Cannot decode a log of block ${block}: it does not have the shape of its event`)
  }
  return { wallet: `0x${wallet.slice(26)}` as const, counter, at: { block, logIndex, transactionHash } }
}
