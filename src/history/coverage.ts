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
import { type HistoryName, nameParams, subjectParam, toHexDigits } from './stored_part.ts'

/** What is stored of one subject. */
export interface SubjectCoverage {
  /** Ranges of blocks, ascending, apart. */
  readonly ranges: readonly Range[]
  /** Those of them that two different endpoints agreed on; of the others there is one's word. */
  readonly agreed: readonly Range[]
  /** The block up to which its rows agreed with the chain's state; -1 if that was never checked. */
  readonly checkedTo: number
  /** True if another process works on it at the moment. */
  readonly isLeased: boolean
}

/** The block that a chain's history was built on last. */
export interface Anchor extends FinalMark {
  /** How many different endpoints had it then. */
  readonly witnesses: number
  /** The one before it. */
  readonly previous: FinalMark | undefined
  readonly isStopped: boolean
}

export interface FinalMark {
  readonly number: number
  readonly hash: Hex
}

/** What a chain's history stands on. */
export interface AnchorState {
  /** Undefined if nothing was built yet. */
  readonly anchor: Anchor | undefined
  /** Counts how often the history was taken back. */
  readonly epoch: number
}

/** What is stored of one history, for the operator. */
export interface StoredProgress extends HistoryName {
  /** Subjects that have a history of their own. */
  readonly subjects: number
  /** What is stored of everybody. */
  readonly everybody: readonly Range[]
  /** Blocks of everybody that were asked for, and those of them that are missing; undefined if nobody asked. */
  readonly asked: { readonly wanted: number; readonly missing: number } | undefined
  /** Undefined before the first extension. */
  readonly anchor: number | undefined
  readonly isStopped: boolean
}

/** What is stored, and who works on what. Every change is one statement. */
export type Coverage = ReturnType<typeof createCoverage>

/** Where an anchor moves, and how many different endpoints have it. */
type WitnessedMark = Pick<Anchor, 'number' | 'hash' | 'witnesses'>

/** Time limit of forgetting, milliseconds: it reads all rows of all chains. */
const FORGET_DEADLINE_MS = 600_000
/** A process that died leaves its work to others after this time. */
const LEASE_SEC = 30

/** Questions that are answered by one statement. */
const SOUGHT_MAX = 200

interface CoverageQuery {
  readonly name: HistoryName
  readonly subjects: readonly (Hex | null)[]
}

/** What is stored in a database; `holder` names this process in leases. */
export function createCoverage(db: Database, holder: string) {
  const findGathered = coalesce<CoverageQuery, ReadonlyMap<Hex | null, SubjectCoverage>>({
    nameOf: ({ name: { place, stream } }) => `${place.chainId}:${place.contract}:${stream}`,
    itemsMax: SOUGHT_MAX,
    async answer(sought) {
      const [first] = sought
      if (first === undefined) return []
      const found = await findAll(first.name, new Set(sought.flatMap(({ subjects }) => subjects)))
      return sought.map(
        ({ subjects }) =>
          new Map(
            subjects.flatMap((subject) => {
              const covered = found.get(subject)
              return covered === undefined ? [] : [[subject, covered] as const]
            }),
          ),
      )
    },
  })

  async function findAll(name: HistoryName, subjects: Iterable<Hex | null>) {
    const names = [...subjects].map((subject) => (subject === null ? '' : toHexDigits(subject)))
    const rows = await historyCoverageList(db, { ...nameParams(name), subjects: names, holder })
    return new Map(
      rows.map((row) => [
        subjectOf(row.subject),
        {
          ranges: rangesOf(row.first_blocks, row.last_blocks),
          agreed: rangesOf(row.first_agreed, row.last_agreed),
          checkedTo: Number(row.checked_to ?? -1),
          isLeased: row.is_leased,
        },
      ]),
    )
  }

  return {
    /** What is stored of subjects and of everybody, which is `null`. Nothing is known of subjects that are absent. */
    find: (name: HistoryName, subjects: readonly (Hex | null)[]) => findGathered({ name, subjects }),
    /** Takes the work on subjects (null: on everybody) or keeps it; gives those that no other process has. */
    async lease(
      name: HistoryName,
      subjects: readonly Hex[] | null,
      { fromBlock, toBlock }: Range,
    ): Promise<readonly (Hex | null)[]> {
      const what = { ...nameParams(name), subjects: subjectParam(subjects), fromBlock, toBlock }
      const rows = await historyCoverageLease(db, { ...what, holder, sec: LEASE_SEC })
      return rows.map(({ subject }) => subjectOf(subject))
    },
    async release(name: HistoryName, subjects: readonly Hex[] | null): Promise<void> {
      await historyCoverageRelease(db, { ...nameParams(name), subjects: subjectParam(subjects), holder })
    },
    async checked(name: HistoryName, subject: Hex, toBlock: number): Promise<void> {
      await historyCoverageUpdateChecked(db, { ...nameParams(name), subject: toHexDigits(subject), checkedTo: toBlock })
    },
    async ground(chainId: number): Promise<AnchorState> {
      const [row] = await historyChainFind(db, { chainId })
      if (row === undefined) return { anchor: undefined, epoch: 0 }
      const anchor = markOf(row.anchor_number, row.anchor_hash)
      const previous = markOf(row.previous_number, row.previous_hash)
      return {
        anchor: anchor && { ...anchor, previous, witnesses: row.anchor_witnesses, isStopped: row.stopped },
        epoch: Number(row.epoch),
      }
    },
    /** Moves the anchor forward, and keeps it as the previous one. */
    async moveAnchor(chainId: number, { number, hash, witnesses }: WitnessedMark, epoch: number): Promise<void> {
      await historyChainMove(db, { chainId, number, hash: toHexDigits(hash), witnesses, epoch })
    },
    /** Takes the anchor back to an older block and forgets what was stored after it; false if that was done meanwhile. */
    async fallBack(chainId: number, { number, hash, witnesses }: WitnessedMark, epoch: number): Promise<boolean> {
      const to = { number, hash: toHexDigits(hash), witnesses }
      return await historyFallBack(db, { chainId, epoch, ...to }, { deadlineMs: FORGET_DEADLINE_MS })
    },
    /** Ends the stop. */
    async resume(chainId: number, epoch: number): Promise<void> {
      await historyChainResume(db, { chainId, epoch })
    },
    /** Stops a chain's history, if its anchor is still this one. */
    async stop(chainId: number, { number, hash }: FinalMark): Promise<void> {
      await historyChainStop(db, { chainId, number, hash: toHexDigits(hash) })
    },
    async progress(): Promise<readonly StoredProgress[]> {
      const rows = await historyProgressList(db, {})
      return rows.map((row) => ({
        place: { chainId: Number(row.chain_id), contract: `0x${row.contract}` as const },
        stream: row.stream,
        subjects: row.subjects,
        everybody: rangesOf(row.first_blocks, row.last_blocks),
        asked: row.wanted === null ? undefined : { wanted: Number(row.wanted), missing: Number(row.missing ?? 0) },
        anchor: row.anchor_number === null ? undefined : Number(row.anchor_number),
        isStopped: row.stopped,
      }))
    },
  }
}

/** True if something is stored. */
export function hasCoverage(covered: ReadonlyMap<Hex | null, SubjectCoverage>): boolean {
  return [...covered.values()].some(({ ranges }) => ranges.length > 0)
}

/**
 * Forgets a chain's rows and prices, and that its history was stopped: all of it is then read anew. Gives how
 * many of each were forgotten. Throws as `Database.run`.
 */
export async function forgetHistory(db: Database, chainId: number) {
  const [row] = await historyForget(db, { chainId }, { deadlineMs: FORGET_DEADLINE_MS })
  return { rows: Number(row?.rows), prices: Number(row?.prices) }
}

function subjectOf(digits: string): Hex | null {
  return digits === '' ? null : `0x${digits}`
}

function markOf(number: string | null, hash: string | null): FinalMark | undefined {
  return number === null || hash === null ? undefined : { number: Number(number), hash: `0x${hash}` }
}

function rangesOf(firstBlocks: readonly string[], lastBlocks: readonly string[]): readonly Range[] {
  return firstBlocks.map((first, index) => ({ fromBlock: Number(first), toBlock: Number(lastBlocks[index]) }))
}
