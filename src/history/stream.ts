import type { Hex } from 'viem'
import type { PinnedBlock } from '../chain/block.ts'
import type { ChainClient } from '../chain/rpc/client.ts'
import type { Database } from '../db/database.ts'
import type { Work } from '../lib/async/work.ts'
import { UnavailableError, UpstreamError } from '../lib/error.ts'
import type { Range } from './range.ts'
import type { Tip } from './tip.ts'

/** One log from an endpoint, after the checks of its shape. All hexadecimal is lower case. */
export interface HistoryLog {
  readonly address: Hex
  readonly topics: readonly Hex[]
  readonly data: Hex
  readonly blockNumber: number
  readonly blockHash: Hex
  readonly transactionHash: Hex
  readonly transactionIndex: number
  /** Position in the block, across all transactions. */
  readonly logIndex: number
  /** Unix seconds of the block; null if the endpoint omits it from its logs. */
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
 * What a stream follows on a chain: one contract, several, or none in particular. The stream's filters select the logs.
 * A stream may use a wider type with the facts that decoding needs.
 */
export interface StreamTarget {
  readonly chainId: number
  /**
   * Names the target in the database, lower case: its contract, such as a position manager. Without a contract of its
   * own: a unique id, such as a pool's, or `0x` for all contracts of the chain.
   */
  readonly contract: Hex
  /** No log of the target is older. */
  readonly startBlock: number
}

export interface DecodedRows<Row> {
  /** Ordered by block, log index and the field that distinguishes rows of one log. */
  readonly rows: readonly Row[]
  /** Transactions whose rows need all logs of the transaction. They have no rows here. */
  readonly unsettled: readonly Hex[]
}

/** Rows of blocks `fromBlock` to `toBlock`, both inclusive. */
export interface StoredPart<Row> {
  readonly target: Pick<StreamTarget, 'chainId' | 'contract'>
  readonly stream: string
  /** The subjects for which the blocks are complete; null: all (the global history). */
  readonly subjects: readonly Hex[] | null
  readonly fromBlock: number
  readonly toBlock: number
  /** Number of endpoints that gave the logs; each block was read at least twice. 1 is stored as unconfirmed. */
  readonly witnesses: number
  /** Epoch of the chain's history at the read; nothing is stored if the history was rolled back since. */
  readonly epoch: number
  readonly rows: readonly Row[]
}

/** How rows of a stream are stored. Existing rows stay, except that rows of two endpoints replace unconfirmed ones. */
export interface StreamTable<Row> {
  /** The subject of a row, in the form of `EnsureRequest.subject`. */
  toSubject(row: Row): Hex
  /** Stores rows and their coverage, at once or in chunks. Throws `NotStoredError`, and as `Database.run`. */
  store(db: Database, part: StoredPart<Row>): Promise<void>
}

/** What history follows for a family; history knows no protocol. All functions are pure unless stated otherwise. */
export interface Stream<Row, Target extends StreamTarget = StreamTarget> {
  /** Name in the database, made of the family and what it follows. It never changes. */
  readonly name: string
  readonly table: StreamTable<Row>
  /**
   * Filters whose union finds every log that `decode` needs for these subjects, or for all subjects if null. For all
   * subjects it should be a single filter: each answer reads the shared unfinalized tail with it.
   */
  filters(target: Target, subjects: readonly Hex[] | null): readonly LogFilter[]
  /**
   * True if the logs of all subjects are far too many, such as all Transfers of a chain. Then there are no global
   * scans; each subject reads its own tail. @default {false}
   */
  readonly subjectsOnly?: boolean
  /**
   * Rows of all logs that the filters found in a range of blocks, ordered by block and log index; they may include rows
   * of other subjects. `receipts` holds all logs of transactions that an earlier call left unsettled; this call must
   * settle them. Throws `IncompleteError` if logs must be missing.
   */
  decode(
    target: Target,
    logs: readonly HistoryLog[],
    context: {
      readonly subjects: readonly Hex[] | null
      readonly receipts: ReadonlyMap<Hex, readonly HistoryLog[]>
    },
  ): DecodedRows<Row>
  /**
   * Checks that logs of neighbouring ranges of a global history leave no gap in a chain of values that the contract
   * keeps, such as an index that follows from the previous rate. Ranges come newest first. `later` is the result of the
   * previous call, for the range after these logs; null if unknown. Throws `IncompleteError` naming the check.
   */
  readonly checkContinuity?: (target: Target, logs: readonly HistoryLog[], later: unknown) => unknown
  /**
   * True if the contracts' state at a block proves that the subject has no row up to it. Costs a request or two, before
   * any log is read. Throws as `ChainClient.read`.
   */
  readonly isUntouched?: (
    target: Target,
    input: { readonly subject: Hex; readonly client: ChainClient; readonly block: PinnedBlock },
    work: Work,
  ) => Promise<boolean>
  /**
   * Starts to read what `verify` will need at this block, while the logs up to it are read. The result is used at most
   * once, and dropped when `work` ends.
   */
  readonly prefetch?: (
    target: Target,
    input: { readonly subject: Hex; readonly client: ChainClient; readonly finalized: PinnedBlock },
    work: Work,
  ) => void
  /**
   * Checks one subject's stored rows of these blocks against on-chain state. Reads. Throws `IncompleteError` naming the
   * check and the blocks if rows must be missing.
   */
  readonly verify?: (
    target: Target,
    part: {
      readonly subject: Hex
      readonly client: ChainClient
      readonly db: Database
      readonly fromBlock: number
      /** A finalized block. */
      readonly toBlock: number
    },
    work: Work,
  ) => Promise<void>
}

/** A history cannot be served until an operator acts. */
export class HistoryUnavailableError extends UnavailableError {
  /**
   * `stopped`: the chain no longer contains the block that its history was built on. `faulty`: rereading does not
   * complete it, so the endpoints are wrong alike, or a check has a bug.
   */
  readonly reason: 'stopped' | 'faulty'

  constructor(
    reason: HistoryUnavailableError['reason'],
    message: string,
    options?: ConstructorParameters<typeof UnavailableError>[1],
  ) {
    super(message, options)
    this.reason = reason
  }
}

/** Name of the check that decides disputed logs: it fails if endpoints differ and no evidence decides. */
export const SECOND_WITNESS_CHECK = 'second witness'

/** The second-witness check cannot run now: no endpoint is available as a witness. */
export class NoWitnessError extends UpstreamError {
  override readonly name = 'NoWitnessError'

  constructor(message = 'A second endpoint does not answer now') {
    super(message)
  }
}

/** Logs must be missing in `fromBlock` to `toBlock`. `check` names the failed check for the caller: `pairing`. */
export class IncompleteError extends Error {
  override readonly name = 'IncompleteError'
  readonly check: string
  readonly fromBlock: number
  readonly toBlock: number
  /** True if the check failed twice at one block although different endpoints gave the same logs. */
  readonly isFaulty: boolean

  constructor(check: string, { fromBlock, toBlock }: Range, { isFaulty = false } = {}) {
    super(
      isFaulty
        ? `The check "${check}" fails in blocks ${fromBlock} to ${toBlock} although different endpoints gave the same logs`
        : `The check "${check}" found that logs are missing in blocks ${fromBlock} to ${toBlock}`,
    )
    this.check = check
    this.fromBlock = fromBlock
    this.toBlock = toBlock
    this.isFaulty = isFaulty
  }
}

/** Classifies a failed check: logs are missing, or, if it failed before on agreed logs, the endpoints are wrong alike or the check is. */
export function classifyFailedCheck(
  error: IncompleteError,
  { before, witnesses }: { readonly before: IncompleteError | undefined; readonly witnesses: number },
): IncompleteError {
  // Compare first blocks only: the last block may be the newest, which advances.
  const isSame = before?.check === error.check && before.fromBlock === error.fromBlock
  return isSame && witnesses > 1 ? new IncompleteError(error.check, error, { isFaulty: true }) : error
}

/** A target that must be read first, at the same time as the newest block. */
interface UnreadTarget<Target extends StreamTarget> {
  readonly chainId: number
  /** Throws as `ChainClient.read`. */
  read(): Promise<Target>
}

export interface EnsureRequest<Row, Target extends StreamTarget> {
  readonly stream: Stream<Row, Target>
  readonly target: Target | UnreadTarget<Target>
  /** A wallet (20 bytes) or a token id (32 bytes), lower case. */
  readonly subject: Hex
  /** No log of the subject is older. Set if later than the target's own start. */
  readonly startBlock?: number
  /** The block of the answer if it may lie in the past; absent: the newest block. */
  readonly upTo?: bigint | undefined
  /** The tip, if its read started before the subject was known. */
  readonly pendingTip?: Promise<Tip> | undefined
}

/** A request whose target is known. */
export type TargetedRequest<Row, Target extends StreamTarget> = EnsureRequest<Row, Target> & { readonly target: Target }

/** A complete history: rows in the database up to a finalized block, and the rows after it. */
export interface CompleteHistory<Row> {
  /** The subject's rows up to this block are in the database. */
  readonly storedTo: number
  /** The subject's rows after `storedTo`, up to `block`; never stored. */
  readonly tail: readonly Row[]
  /** True if no row can exist up to `block`, by one endpoint's state; nothing is stored in that case. */
  readonly isUntouched: boolean
  /** True if two endpoints agreed on all stored rows, or if there are none to store. */
  readonly isAgreed: boolean
  /**
   * Version of the stored rows: they do not change while it is the same. Undefined if they may still be replaced,
   * because a single endpoint gave them and another one exists.
   */
  readonly version: string | undefined
  /** Last block of the history: the newest block, or a finalized one if the tail is too long for one answer. */
  readonly block: PinnedBlock
}

/** The history of every stream. */
export interface History {
  /** Reads the tip that every history of a chain needs, for callers that read something else at the same time. */
  readonly readTip?: (chainId: number, work: Work) => Promise<Tip>
  /**
   * Completes a subject's history. Work that takes longer than the caller can wait continues in the background. Throws
   * `UnavailableError` with the progress, the time to retry or the setting to change; or naming the check that failed.
   */
  ensure<Row, Target extends StreamTarget>(
    request: EnsureRequest<Row, Target>,
    work: Work,
  ): Promise<CompleteHistory<Row>>
}

/** Indexes global histories ahead of requests. */
export interface HistoryReader {
  /**
   * Indexes the global history of a target, however long it takes. Throws `UnavailableError` if it cannot continue, and
   * `AbortedError` if `work` ends.
   */
  complete<Row, Target extends StreamTarget>(
    input: { readonly stream: Stream<Row, Target>; readonly target: Target },
    work: Work,
  ): Promise<void>
}
