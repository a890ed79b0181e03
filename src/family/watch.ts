import type * as v from 'valibot'
import type { PinnedBlock } from '../chain/block.ts'
import type { FinanceClient } from '../finance/chain.ts'
import type { HistoryLog, LogFilter } from '../history/stream.ts'
import type { Rational } from '../lib/number/rational.ts'

/*
 * What triggers can watch in a family. A subject is what a route of the family takes: a wallet in a market, a position.
 * Its figures are those of that route, exact. Only `confirm` decides; a screen merely says whom it is worth to confirm.
 */

/** What names a subject on a chain, as the family's schema made it: addresses checksummed, keys in one order. */
export type WatchSubject = Readonly<Record<string, string>>

/** A figure, compared before it is rounded; `MAX` is above everything. Undefined: the chain does not tell it now. */
export type FigureValue = Rational | 'MAX' | boolean | undefined

/** What a family can say of one subject at one block. */
export interface ConfirmedFigures {
  /** The figure, for comparing. */
  value(figure: string): FigureValue
  /** The same as the family's route shows it; null if the route would. */
  text(figure: string): string | boolean | null
  /** What a screen needs to foresee figures at later blocks, as long as the subject itself is not touched. */
  readonly memo: unknown
}

/** The block at which subjects are read, always in the background: callers come first. */
export interface WatchTarget {
  readonly client: FinanceClient
  readonly block: PinnedBlock
}

/** Something that a family's events say happened to a subject. */
export interface SubjectEvent {
  readonly subject: WatchSubject
  /** One of the family's `events`. */
  readonly type: string
  readonly blockNumber: number
  readonly blockHash: string
  readonly transactionHash: string
  readonly logIndex: number
}

/** Foresees figures in memory, from what all subjects share and what was last confirmed of each. */
export interface FigureForecaster {
  /**
   * Reads what the subjects of these memos share (indexes and prices of reserves, ticks of pools), in one call of a lens
   * that may leave together with those of other families. The result foresees figures at this block.
   */
  share(memos: Iterable<unknown>, place: WatchTarget, signal: AbortSignal): Promise<FigureForecast>
  /** What finds every log of a block that may change what a subject holds. */
  filters(chainId: number): readonly LogFilter[]
  /** Tells of a subject whether the logs may have changed it. */
  touched(logs: readonly HistoryLog[], chainId: number): (subject: WatchSubject) => boolean
}

export interface FigureForecast {
  /** About what the figure is now; undefined if only confirming can tell. */
  estimate(memo: unknown, figure: string): FigureValue
}

/** Reads what triggers watch. */
export interface Watcher {
  /** Chains on which subjects can be watched. */
  readonly chainIds: ReadonlySet<number>
  /**
   * The subjects at this block, in their order; `gone` if there is no such subject there (a burned position, a market
   * that was never). One or few requests, however many there are. Throws `UnavailableError` as the family's routes do.
   */
  confirm(
    subjects: readonly WatchSubject[],
    place: WatchTarget,
    signal: AbortSignal,
  ): Promise<readonly (ConfirmedFigures | 'gone')[]>
  /** Absent: subjects are confirmed at each block. */
  readonly screen?: FigureForecaster
  /** What happens to subjects. Absent: the family has no such events. */
  readonly events?: SubjectEventReader
}

/** Tells what happened to subjects from the logs of a block. */
export interface SubjectEventReader {
  filters(chainId: number): readonly LogFilter[]
  /**
   * What happened to these subjects, in the order of the logs, of which others may be among them. Now and then it reads
   * which contracts are the family's, so that nobody else's log is believed. Throws `UnavailableError`.
   */
  happenings(
    logs: readonly HistoryLog[],
    subjects: readonly WatchSubject[],
    place: WatchTarget,
    signal: AbortSignal,
  ): Promise<readonly SubjectEvent[]>
}

/** Subjects as of a slot of Solana. */
export interface ConfirmedAtSlot {
  /** Confirmed by the cluster, so that it is never taken back; none of the subjects was read before it. */
  readonly slot: bigint
  /** By the cluster's clock, Unix seconds. */
  readonly timestampSec: bigint
  /** In the order of the subjects. */
  readonly subjects: readonly (ConfirmedFigures | 'gone')[]
}

/**
 * Reads what triggers watch on Solana, where nobody can choose the slot of an answer. There are no screens: subjects are
 * confirmed in turn.
 */
export interface AccountWatcher {
  /** How long a slot usually lasts, milliseconds. */
  readonly slotMs: number
  /** The subjects at a slot that is `minSlot` or later, at most as many as `subjectsMax`. Throws `UpstreamError`. */
  confirm(subjects: readonly WatchSubject[], minSlot: bigint, signal: AbortSignal): Promise<ConfirmedAtSlot>
  readonly subjectsMax: number
}

/** What can be watched, known before anything is connected. */
export interface Watchable {
  /** Checks and canonicalizes the subject of a request on one of the chains that have the family. */
  readonly subject: (chainId: number) => v.GenericSchema<unknown, WatchSubject>
  /** Figures, and whether they are compared as numbers or are true or false. */
  readonly figures: Readonly<Record<string, 'number' | 'boolean'>>
  /** Types of events. */
  readonly events: readonly string[]
  /** Path and query of the route that answers the same figures at a block: `/v1/lending/aave-v3?wallet=…&at_block=…`. */
  readonly answerPath: (subject: WatchSubject, chainId: number, blockNumber: bigint) => string
}
