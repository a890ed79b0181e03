import type { Hex } from 'viem'
import { historyFallBack, historyForget } from '../../sql/functions.ts'
import {
  historyChainFind,
  historyChainMove,
  historyChainResume,
  historyChainStop,
  historyCoverageLease,
  historyCoverageList,
  historyCoverageRelease,
  historyCoverageUpdateChecked,
  historyProgressList,
} from '../../sql/queries.ts'
import type { Database } from '../db/database.ts'
import { coalesce } from '../lib/async/coalesce.ts'
import type { Range } from './range.ts'
import { type HistoryName, toHexDigits, toNameParams, toSubjectParam } from './stored_part.ts'

/** The stored blocks of one subject. */
export interface SubjectCoverage {
  /** Disjoint ranges of blocks, ascending. */
  readonly ranges: readonly Range[]
  /** The subset of `ranges` that two different endpoints agreed on; a single endpoint gave the remaining blocks. */
  readonly agreed: readonly Range[]
  /** Last block at which the rows matched on-chain state; -1 if never checked. */
  readonly checkedTo: number
  /** True while another process works on the subject. */
  readonly isLeased: boolean
}

/** The last finalized block that a chain's history was built on. */
export interface Anchor extends FinalMark {
  /** Number of endpoints that had the block when the anchor moved to it. */
  readonly witnesses: number
  /** The previous anchor. */
  readonly previous: FinalMark | undefined
  readonly isStopped: boolean
}

export interface FinalMark {
  readonly number: number
  readonly hash: Hex
}

/** A chain's anchor and its epoch. */
export interface AnchorState {
  /** Undefined if nothing is stored yet. */
  readonly anchor: Anchor | undefined
  /** Number of rollbacks of the history. */
  readonly epoch: number
}

/** Progress of one history, for the operator. */
export interface StoredProgress extends HistoryName {
  /** Number of subjects with a history of their own. */
  readonly subjects: number
  /** Ranges of the global history. */
  readonly globalRanges: readonly Range[]
  /** Requested blocks of the global history, and how many of them are missing; undefined without a request. */
  readonly requested: { readonly blocks: number; readonly missing: number } | undefined
  /** Undefined before the first extension. */
  readonly anchor: number | undefined
  readonly isStopped: boolean
}

/** Stored ranges, anchors and leases of histories. Every change is one statement. */
export type Coverage = ReturnType<typeof createCoverage>

/** The block an anchor moves to, and the number of endpoints that have it. */
type WitnessedMark = Pick<Anchor, 'number' | 'hash' | 'witnesses'>

/** Time limit of deleting history, milliseconds: the statement reads all rows of all chains. */
const FORGET_DEADLINE_MS = 600_000
/** Another process takes over the work of a dead process after this time. */
const LEASE_SEC = 30

/** Queries that one statement answers. */
const QUERIES_MAX = 200

interface CoverageQuery {
  readonly name: HistoryName
  readonly subjects: readonly (Hex | null)[]
}

/** Creates the access to coverage in a database; `holder` names this process in leases. */
export function createCoverage(db: Database, holder: string) {
  const findBatched = coalesce<CoverageQuery, ReadonlyMap<Hex | null, SubjectCoverage>>({
    getKey: ({ name: { target, stream } }) => `${target.chainId}:${target.contract}:${stream}`,
    itemsMax: QUERIES_MAX,
    async answer(queries) {
      const [first] = queries
      if (first === undefined) return []
      const coverageBySubject = await findAll(first.name, new Set(queries.flatMap(({ subjects }) => subjects)))
      return queries.map(
        ({ subjects }) =>
          new Map(
            subjects.flatMap((subject) => {
              const coverage = coverageBySubject.get(subject)
              return coverage === undefined ? [] : [[subject, coverage] as const]
            }),
          ),
      )
    },
  })

  async function findAll(name: HistoryName, subjects: Iterable<Hex | null>) {
    const names = [...subjects].map((subject) => (subject === null ? '' : toHexDigits(subject)))
    const rows = await historyCoverageList(db, { ...toNameParams(name), subjects: names, holder })
    return new Map(
      rows.map((row) => [
        toSubject(row.subject),
        {
          ranges: toRanges(row.first_blocks, row.last_blocks),
          agreed: toRanges(row.first_agreed, row.last_agreed),
          checkedTo: Number(row.checked_to ?? -1),
          isLeased: row.is_leased,
        },
      ]),
    )
  }

  return {
    /** Coverage by subject; the key `null` is the global history. Subjects without coverage are absent. */
    find: (name: HistoryName, subjects: readonly (Hex | null)[]) => findBatched({ name, subjects }),
    /** Acquires or renews leases on subjects (null: the global history); returns those that no other process holds. */
    async lease(
      name: HistoryName,
      subjects: readonly Hex[] | null,
      { fromBlock, toBlock }: Range,
    ): Promise<readonly (Hex | null)[]> {
      const params = { ...toNameParams(name), subjects: toSubjectParam(subjects), fromBlock, toBlock }
      const rows = await historyCoverageLease(db, { ...params, holder, sec: LEASE_SEC })
      return rows.map(({ subject }) => toSubject(subject))
    },
    async release(name: HistoryName, subjects: readonly Hex[] | null): Promise<void> {
      await historyCoverageRelease(db, { ...toNameParams(name), subjects: toSubjectParam(subjects), holder })
    },
    async recordCheck(name: HistoryName, subject: Hex, toBlock: number): Promise<void> {
      await historyCoverageUpdateChecked(db, {
        ...toNameParams(name),
        subject: toHexDigits(subject),
        checkedTo: toBlock,
      })
    },
    async readAnchorState(chainId: number): Promise<AnchorState> {
      const [row] = await historyChainFind(db, { chainId })
      if (row === undefined) return { anchor: undefined, epoch: 0 }
      const anchor = toFinalMark(row.anchor_number, row.anchor_hash)
      const previous = toFinalMark(row.previous_number, row.previous_hash)
      return {
        anchor: anchor && { ...anchor, previous, witnesses: row.anchor_witnesses, isStopped: row.stopped },
        epoch: Number(row.epoch),
      }
    },
    /** Moves the anchor forward and keeps the old one as the previous anchor. */
    async moveAnchor(chainId: number, { number, hash, witnesses }: WitnessedMark, epoch: number): Promise<void> {
      await historyChainMove(db, { chainId, number, hash: toHexDigits(hash), witnesses, epoch })
    },
    /** Moves the anchor back and deletes what was stored after it; false if another process has already done so. */
    async rollBack(chainId: number, { number, hash, witnesses }: WitnessedMark, epoch: number): Promise<boolean> {
      const newAnchor = { number, hash: toHexDigits(hash), witnesses }
      return await historyFallBack(db, { chainId, epoch, ...newAnchor }, { deadlineMs: FORGET_DEADLINE_MS })
    },
    /** Resumes a stopped history. */
    async resume(chainId: number, epoch: number): Promise<void> {
      await historyChainResume(db, { chainId, epoch })
    },
    /** Stops a chain's history if its anchor is still this block. */
    async stop(chainId: number, { number, hash }: FinalMark): Promise<void> {
      await historyChainStop(db, { chainId, number, hash: toHexDigits(hash) })
    },
    async listProgress(): Promise<readonly StoredProgress[]> {
      const rows = await historyProgressList(db, {})
      return rows.map((row) => ({
        target: { chainId: Number(row.chain_id), contract: `0x${row.contract}` as const },
        stream: row.stream,
        subjects: row.subjects,
        globalRanges: toRanges(row.first_blocks, row.last_blocks),
        requested: row.wanted === null ? undefined : { blocks: Number(row.wanted), missing: Number(row.missing ?? 0) },
        anchor: row.anchor_number === null ? undefined : Number(row.anchor_number),
        isStopped: row.stopped,
      }))
    },
  }
}

/** True if any block is stored. */
export function hasCoverage(coverageBySubject: ReadonlyMap<Hex | null, SubjectCoverage>): boolean {
  return [...coverageBySubject.values()].some(({ ranges }) => ranges.length > 0)
}

/**
 * Deletes a chain's rows and prices and clears its stop, so that all of it is read again. Returns the numbers of
 * deleted rows and prices. Throws as `Database.run`.
 */
export async function forgetHistory(db: Database, chainId: number) {
  const [row] = await historyForget(db, { chainId }, { deadlineMs: FORGET_DEADLINE_MS })
  return { rows: Number(row?.rows), prices: Number(row?.prices) }
}

function toSubject(digits: string): Hex | null {
  return digits === '' ? null : `0x${digits}`
}

function toFinalMark(number: string | null, hash: string | null): FinalMark | undefined {
  return number === null || hash === null ? undefined : { number: Number(number), hash: `0x${hash}` }
}

function toRanges(firstBlocks: readonly string[], lastBlocks: readonly string[]): readonly Range[] {
  return firstBlocks.map((first, index) => ({ fromBlock: Number(first), toBlock: Number(lastBlocks[index]) }))
}
