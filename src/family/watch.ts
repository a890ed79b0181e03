import type * as v from 'valibot'
import type { PinnedBlock } from '../chain/block.ts'
import type { FinanceClient } from '../finance/chain.ts'
import { type LogRange, mergeLogs } from '../history/logs/check_logs.ts'
import { createLogSource } from '../history/logs/source.ts'
import type { HistoryLog, LogFilter } from '../history/stream.ts'
import { mapChunks } from '../lib/async/parallel.ts'
import type { Work } from '../lib/async/work.ts'
import type { Rational } from '../lib/number/rational.ts'

/*
 * Subjects that triggers can watch in a family. A subject is the input of a route of the family: a wallet in a market,
 * a position. Its figures are the exact figures of that route. Only `confirm` decides. The forecast selects which
 * subjects are worth confirming.
 */

/** Identifies a subject on a chain, as parsed by the family's schema: addresses checksummed, keys in one order. */
export type WatchSubject = Readonly<Record<string, string>>

/** A figure, compared before rounding; `MAX` is above every number. Undefined: the chain does not answer it now. */
export type FigureValue = Rational | 'MAX' | boolean | undefined

/** Figures of one subject at one block. */
export interface ConfirmedFigures {
  /** The figure, for comparing. */
  value(figure: string): FigureValue
  /** The figure as the family's route shows it; null if the route returns null. */
  text(figure: string): string | boolean | null
  /** State from which a forecaster estimates figures at later blocks, as long as the subject itself does not change. */
  readonly memo: unknown
  /** The wallet of a subject that need not name it. */
  readonly owner?: string
}

/** What an answer is to show of a subject. */
interface AnsweredFigure {
  /** Undefined for an event. */
  readonly figure?: string | undefined
  /** As `ConfirmedFigures` tell it. */
  readonly owner?: string | undefined
}

/** Client and block of a read of subjects, always at background priority, after callers. */
export interface WatchTarget {
  readonly client: FinanceClient
  readonly block: PinnedBlock
}

/** An event of a subject, from the family's logs. */
export interface SubjectEvent {
  readonly subject: WatchSubject
  /** One of the family's `events`. */
  readonly type: string
  readonly blockNumber: number
  readonly blockHash: string
  readonly transactionHash: string
  readonly logIndex: number
}

/** Estimates figures in memory, from the state that all subjects share and the last confirmed memo of each. */
export interface FigureForecaster {
  /**
   * Reads the state that the subjects of these memos share (indexes and prices of reserves, ticks of pools), in one
   * lens call that may be bundled with those of other families. The result estimates figures at this block.
   */
  readShared(memos: Iterable<unknown>, target: WatchTarget, work: Work): Promise<FigureForecast>
  /** Filters for every log of a block that may change a subject. */
  filters(chainId: number): readonly LogFilter[]
  /** Returns a check whether these logs may have changed a subject. */
  toTouchedCheck(logs: readonly HistoryLog[], chainId: number): (subject: WatchSubject) => boolean
}

export interface FigureForecast {
  /** Approximate current figure; undefined if only confirming gives it. */
  estimate(memo: unknown, figure: string): FigureValue
}

/** Reads subjects of triggers. */
export interface Watcher {
  /** Chains on which subjects can be watched. */
  readonly chainIds: ReadonlySet<number>
  /**
   * The subjects at this block, in their order; `gone` if there is no such subject (a burned position, a market that
   * does not exist). Takes few requests for any number of subjects. Throws `UnavailableError` as the family's routes.
   */
  confirm(
    subjects: readonly WatchSubject[],
    target: WatchTarget,
    work: Work,
  ): Promise<readonly (ConfirmedFigures | 'gone')[]>
  /** Absent: subjects are confirmed at each block. */
  readonly forecaster?: FigureForecaster
  /** Reader of the subjects' events. Absent: the family has none. */
  readonly events?: SubjectEventReader
}

/** Reads events of subjects from the logs of a block. */
interface SubjectEventReader {
  filters(chainId: number): readonly LogFilter[]
  /**
   * Events of these subjects, in the order of the logs; unrelated logs are ignored. It reads the family's contracts
   * from time to time, so that it trusts only their logs. Throws `UnavailableError`.
   */
  read(
    logs: readonly HistoryLog[],
    subjects: readonly WatchSubject[],
    target: WatchTarget,
    work: Work,
  ): Promise<readonly SubjectEvent[]>
}

/** Subjects as of a slot of Solana. */
export interface ConfirmedAtSlot {
  /** Confirmed by the cluster, so it is never rolled back; all subjects were read at this slot or later. */
  readonly slot: bigint
  /** Cluster time, Unix seconds. */
  readonly timestampSec: bigint
  /** In the order of the subjects. */
  readonly subjects: readonly (ConfirmedFigures | 'gone')[]
}

/**
 * Reads subjects of triggers on Solana, where a request cannot choose the slot of its answer. There are no forecasters:
 * subjects are confirmed in turn.
 */
export interface AccountWatcher {
  /** Usual duration of a slot, milliseconds. */
  readonly slotMs: number
  /**
   * The subjects at a slot that is `minSlot` or later, at most as many as `subjectsMax`; without subjects the slot alone,
   * which tells whether the chain can be read. Throws `UpstreamError`.
   */
  confirm(subjects: readonly WatchSubject[], minSlot: bigint, work: Work): Promise<ConfirmedAtSlot>
  readonly subjectsMax: number
}

/**
 * Limits of the evaluation of sampled figures at a block, whose lease must outlast it: subjects of a family, and
 * milliseconds that its watcher takes for so many.
 */
export const SAMPLING = { subjectsMax: 4, ms: 8_000 } as const

/** Description of a family's subjects, available without a connection. */
export interface Watchable {
  /** Checks and canonicalizes the subject of a request on one of the chains that have the family. */
  readonly subject: (chainId: number) => v.GenericSchema<unknown, WatchSubject>
  /** Figures, and whether they are compared as numbers or are true or false. */
  readonly figures: Readonly<Record<string, 'number' | 'boolean'>>
  /** Those of the figures that take long to read: they are looked at now and then, and others at each block. */
  readonly sampled?: readonly string[]
  /** Types of events. */
  readonly events: readonly string[]
  /** Path and query of the route with the same figures at a block: `/v1/lending/aave-v3?wallet=…&at_block=…`. */
  readonly answerPath: (
    subject: WatchSubject,
    chainId: number,
    blockNumber: bigint,
    answered?: AnsweredFigure,
  ) => string
}

export type WatchedLogs = readonly HistoryLog[]
/** A block by its hash, or several by their numbers. */
export type WatchedRange = LogRange

/** Time for the logs of a block, over all endpoints. */
const BUDGET_MS = 10_000
/** Blocks that every endpoint accepts in one request, and concurrent requests. */
const BLOCKS_MAX = 1_000
const PIECES = { size: 1, runningMax: 4 } as const

/**
 * The logs of a block or a range that match any of these filters, in their order, with one request for 1,000 blocks if
 * the merged filters are narrow. Throws as `ChainClient.read`.
 */
export async function readWatchedLogs(
  client: FinanceClient,
  { filters, range }: { readonly filters: readonly LogFilter[]; readonly range: WatchedRange },
  work: Work,
): Promise<WatchedLogs> {
  // A filter with an empty address list would match all contracts, although none is known yet.
  const merged = mergeFilters(filters.filter(({ addresses }) => addresses === null || addresses.length > 0))
  if (merged.length === 0) return []
  const read = (one: LogRange, shared: Work) =>
    client.read(
      async (endpoint, within) => {
        const source = createLogSource(endpoint, client.chain.id)
        return mergeLogs(await Promise.all(merged.map((filter) => source.logs(filter, one, within))))
      },
      { work: shared, budgetMs: BUDGET_MS, priority: 'background' },
    )
  const readPiece = (piece: readonly LogRange[], shared: Work) => Promise.all(piece.map((one) => read(one, shared)))
  return (await mapChunks(splitRange(range), PIECES, readPiece, work)).flat()
}

function splitRange(range: LogRange): readonly LogRange[] {
  if (!('fromBlock' in range)) return [range]
  const { fromBlock, toBlock } = range
  return Array.from({ length: Math.ceil((toBlock - fromBlock + 1) / BLOCKS_MAX) }, (_, index) => {
    const from = fromBlock + index * BLOCKS_MAX
    return { fromBlock: from, toBlock: Math.min(toBlock, from + BLOCKS_MAX - 1) }
  })
}

/** Merges the filters with addresses into one, which matches slightly more; the others stay as they are. */
function mergeFilters(filters: readonly LogFilter[]): readonly LogFilter[] {
  const named = filters.filter(({ addresses }) => addresses !== null)
  const [first] = named
  if (named.length < 2 || first === undefined) return filters
  const joined = named.slice(1).reduce<LogFilter>(
    (a, b) => ({
      addresses: [...new Set([...(a.addresses ?? []), ...(b.addresses ?? [])])],
      topics: a.topics.slice(0, b.topics.length).map((each, index) => {
        const other = b.topics[index] ?? null
        return each === null || other === null ? null : [...new Set([...each, ...other])]
      }),
    }),
    first,
  )
  return [...filters.filter(({ addresses }) => addresses === null), joined]
}
