import type { Hex } from 'viem'
import type { PinnedBlock } from '../chain/block.ts'
import type { ChainClient } from '../chain/rpc/client.ts'
import type { Database } from '../db/database.ts'
import { UpstreamError } from '../lib/error.ts'
import type { Range } from './range.ts'
import type { PendingTip } from './tip.ts'

/** One log, as an endpoint gave it and as the checks of its shape accepted it. All hexadecimal is lower case. */
export interface HistoryLog {
  readonly address: Hex
  readonly topics: readonly Hex[]
  readonly data: Hex
  readonly blockNumber: number
  readonly blockHash: Hex
  readonly transactionHash: Hex
  readonly transactionIndex: number
  /** Position in the block, over all its transactions. */
  readonly logIndex: number
  /** Unix seconds of the block; null if the endpoint does not give it with its logs. */
  readonly timestampSec: number | null
}

/** The block of a log, as a range. */
export function toBlockRange({ blockNumber }: HistoryLog): Range {
  return { fromBlock: blockNumber, toBlock: blockNumber }
}

/**
 * A filter of `eth_getLogs`: any of the addresses (null: every contract's logs), and at each position any of the topics
 * (null: every topic).
 */
export interface LogFilter {
  readonly addresses: readonly Hex[] | null
  readonly topics: readonly (readonly Hex[] | null)[]
}

/**
 * What is followed on a chain: one contract, many, or none in particular; the stream's filters say which logs those are.
 * A stream may want a wider type that says what decoding needs.
 */
export interface StreamTarget {
  readonly chainId: number
  /**
   * What the place is called by in the database, lower case: its contract, such as a manager of positions. Without one
   * of its own, whatever tells it from others: the id of a pool, or `0x` for all contracts of the chain.
   */
  readonly contract: Hex
  /** No log of the place is older. */
  readonly startBlock: number
}

export interface DecodedRows<Row> {
  /** Ordered by block, log index and whatever tells rows of one log apart. */
  readonly rows: readonly Row[]
  /** Transactions of which all logs are needed before their rows can be known. They have no rows here. */
  readonly unsettled: readonly Hex[]
}

/** Rows that were made of blocks `fromBlock` to `toBlock`, both included. */
export interface StoredPart<Row> {
  readonly place: Pick<StreamTarget, 'chainId' | 'contract'>
  readonly stream: string
  /** Whose history the blocks are complete for; null: everybody's. */
  readonly subjects: readonly Hex[] | null
  readonly fromBlock: number
  readonly toBlock: number
  /** How many different endpoints gave the logs; each block was read twice at least. Of 1 it is marked as one's word. */
  readonly witnesses: number
  /** Of the chain's history when this was read; nothing is stored if it was taken back since. */
  readonly epoch: number
  readonly rows: readonly Row[]
}

/** How rows of a stream are stored. Rows that are there already stay, but what two endpoints gave replaces one's word. */
export interface StreamTable<Row> {
  /** Whose row it is, as `EnsureRequest.subject` names it. */
  subjectOf(row: Row): Hex
  /** Stores rows and what is complete with them, at once or piece by piece. Throws as `Database.run`, `NotStoredError`. */
  store(db: Database, part: StoredPart<Row>): Promise<void>
}

/** What a family tells history to follow; history knows no protocol. All functions are pure unless they say so. */
export interface Stream<Row, Place extends StreamTarget = StreamTarget> {
  /** Name in the database, never changed: that of the family and of what it follows. */
  readonly name: string
  readonly table: StreamTable<Row>
  /**
   * Filters whose union finds every log that `decode` needs for these subjects, or with null for everybody. For
   * everybody it should be a single filter: the unfinalized end is read with it for each answer, and shared.
   */
  filters(place: Place, subjects: readonly Hex[] | null): readonly LogFilter[]
  /**
   * True if everybody's logs are far too many, such as all Transfers of a chain. Then nothing is ever read for everybody:
   * the unfinalized end, too, is each subject's alone. @default {false}
   */
  readonly subjectsOnly?: boolean
  /**
   * Rows of all logs that the filters found in a range of blocks, ordered by block and log index; rows of subjects that
   * were not asked for may be among them. `receipts` holds all logs of transactions that an earlier call left
   * unsettled: those transactions must then be settled from them. Throws `IncompleteError` if logs must be missing.
   */
  decode(
    place: Place,
    logs: readonly HistoryLog[],
    context: {
      readonly subjects: readonly Hex[] | null
      readonly receipts: ReadonlyMap<Hex, readonly HistoryLog[]>
    },
  ): DecodedRows<Row>
  /**
   * Checks that everybody's logs of neighbouring ranges leave no gap in a chain of values that the contract itself
   * keeps, such as an index that follows from the previous rate. Ranges come newest first. `later` is what the
   * previous call returned, for the range that begins after the last of these logs; null if that is not known. Throws
   * `IncompleteError` naming the check.
   */
  readonly continuity?: (place: Place, logs: readonly HistoryLog[], later: unknown) => unknown
  /**
   * True if it is proven, by the contracts' state at a block, that no row of a subject up to it can exist, and that
   * costs a request or two; asked before its logs are read. Reads. Throws as `ChainClient.read`.
   */
  readonly isUntouched?: (
    place: Place,
    of: { readonly subject: Hex; readonly client: ChainClient; readonly block: PinnedBlock },
    signal: AbortSignal,
  ) => Promise<boolean>
  /**
   * Begins to read what `verify` will need if this block turns out to be final. It is used at most once, and dropped
   * when `signal` fires.
   */
  readonly foresee?: (
    place: Place,
    of: { readonly subject: Hex; readonly client: ChainClient; readonly finalized: ExpectedFinalBlock },
    signal: AbortSignal,
  ) => void
  /**
   * Checks one subject's stored rows of these blocks against the chain's state, and reads for it. Throws
   * `IncompleteError` naming the check and the blocks if rows must be missing.
   */
  readonly verify?: (
    place: Place,
    part: {
      readonly subject: Hex
      readonly client: ChainClient
      readonly db: Database
      readonly fromBlock: number
      /** A finalized block. */
      readonly toBlock: number
    },
    signal: AbortSignal,
  ) => Promise<void>
}

/** A block that will probably be final. Its own time may be earlier than `timestampSec`. */
export type ExpectedFinalBlock = Pick<PinnedBlock, 'number' | 'timestampSec'>

/** The check that disputed logs be decided: it fails if endpoints differ and nobody can say who is right. */
export const SECOND_WITNESS_CHECK = 'second witness'

/** That check cannot be made now, because no endpoint can be its witness. */
export class NoWitnessError extends UpstreamError {
  override readonly name = 'NoWitnessError'

  constructor(message = 'A second endpoint does not answer at the moment') {
    super(message)
  }
}

/** Logs must be missing in `fromBlock` to `toBlock`; `check` names what found it, for the caller: `pairing`. */
export class IncompleteError extends Error {
  override readonly name: string = 'IncompleteError'
  readonly check: string
  readonly fromBlock: number
  readonly toBlock: number

  constructor(
    check: string,
    { fromBlock, toBlock }: Range,
    message = `The check "${check}" found that logs are missing in blocks ${fromBlock} to ${toBlock}`,
  ) {
    super(message)
    this.check = check
    this.fromBlock = fromBlock
    this.toBlock = toBlock
  }
}

/** A check failed twice in the same place although different endpoints gave the same logs: it is the check that is wrong. */
export class FaultyCheckError extends IncompleteError {
  override readonly name = 'FaultyCheckError'

  constructor({ check, ...range }: IncompleteError) {
    const { fromBlock, toBlock } = range
    super(
      check,
      range,
      `The check "${check}" fails in blocks ${fromBlock} to ${toBlock} although different endpoints gave the same logs`,
    )
  }
}

/** What a failed check says: that logs are missing, or, if it failed before over logs that are agreed, that it is wrong. */
export function classifyFailedCheck(
  error: IncompleteError,
  { before, witnesses }: { readonly before: IncompleteError | undefined; readonly witnesses: number },
): IncompleteError {
  // Its last block may be the newest, which moves on.
  const isSame = before?.check === error.check && before.fromBlock === error.fromBlock
  return isSame && witnesses > 1 ? new FaultyCheckError(error) : error
}

/** A place that must be read first: beside the newest block, not before it. */
interface UnreadTarget<Place extends StreamTarget> {
  readonly chainId: number
  /** Throws as `ChainClient.read`. */
  read(): Promise<Place>
}

export interface EnsureRequest<Row, Place extends StreamTarget> {
  readonly stream: Stream<Row, Place>
  readonly place: Place | UnreadTarget<Place>
  /** A wallet (20 bytes) or a token id (32 bytes), lower case. */
  readonly subject: Hex
  /** No log of the subject is older, if that is known to be later than the place's own start. */
  readonly startBlock?: number
  /** The block that the answer is about, if it may be any of the past; absent: the newest. */
  readonly upTo?: bigint | undefined
  /** What was begun before it was known whose history is wanted. */
  readonly begun?: PendingTip | undefined
}

/** A request whose place is known. */
export type TargetedRequest<Row, Place extends StreamTarget> = EnsureRequest<Row, Place> & { readonly place: Place }

/** A history that is complete: rows in the database up to a finalized block, and the rows after it. */
export interface CompleteHistory<Row> {
  /** The subject's rows up to this block are in the database. */
  readonly storedTo: number
  /** The subject's rows after `storedTo`, up to `block`; never stored. */
  readonly tail: readonly Row[]
  /** True if no row can exist up to `block`; nothing was stored of that, which one endpoint's state tells. */
  readonly isUntouched: boolean
  /**
   * Names what is stored: as long as it is the same, stored rows stay as they are. Undefined if they may still be
   * replaced, since one endpoint alone said them and there is another.
   */
  readonly version: string | undefined
  /** Where the history ends: the newest block, or a finalized one if the end is too long to be read with an answer. */
  readonly block: PinnedBlock
}

/** The history of every stream. */
export interface History {
  /** Begins to read what every history of a chain needs, beside other reads of whoever will ask for one. */
  readonly prepare?: (chainId: number, signal: AbortSignal) => PendingTip
  /**
   * Makes a subject's history complete. Work that takes longer than the caller can wait goes on in the background.
   * Throws `UnavailableError` with the progress, when to come back or what to configure; or naming the check that found
   * logs to be missing.
   */
  ensure<Row, Place extends StreamTarget>(
    request: EnsureRequest<Row, Place>,
    signal: AbortSignal,
  ): Promise<CompleteHistory<Row>>
}

/** Reads histories of everybody ahead. */
export interface HistoryReader {
  /**
   * Reads everybody's history of a place ahead, however long it takes. Throws `UnavailableError` if it cannot go on,
   * and `AbortedError` if `signal` fires.
   */
  complete<Row, Place extends StreamTarget>(
    of: { readonly stream: Stream<Row, Place>; readonly place: Place },
    signal: AbortSignal,
  ): Promise<void>
}
