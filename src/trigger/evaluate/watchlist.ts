import * as v from 'valibot'
import { watchBlockList, watchListChanged, watchListLine } from '../../../sql/queries.ts'
import type { Database } from '../../db/database.ts'
import type { ConfirmedFigures, WatchSubject } from '../../family/watch.ts'
import { createYielder } from '../../lib/async/cooperative.ts'
import type { Clock } from '../../lib/clock.ts'
import {
  type Bounds,
  createRule,
  type NotifiedChange,
  type Rule,
  restoreReorgState,
  type TriggerReorgState,
} from '../step.ts'
import { clauseSchema, type Trigger, type TriggerState } from '../trigger.ts'
import type { TriggerPartition } from './partition.ts'

/** A trigger in memory. */
export interface WatchedTrigger {
  readonly trigger: Trigger
  readonly rule: Rule
  readonly subject: WatchedSubject
  /** Milliseconds of the wall clock; infinite if never. */
  readonly expiresAtMs: number
  /** Since when it is to be evaluated, Unix seconds: what happened before does not concern it. */
  readonly activeAtSec: number
  /** Changed by `setReorgState` alone. */
  life: TriggerReorgState
  /** The same as the database has it. */
  stored: TriggerReorgState
}

/** What triggers watch, once for all that watch the same. */
export interface WatchedSubject {
  readonly family: string
  readonly subject: WatchSubject
  readonly entries: Set<WatchedTrigger>
  /** As it was confirmed last; absent if it never was. */
  confirmed?: ConfirmedFigures | 'gone'
  confirmedAt: bigint
  /** True if it must be confirmed whatever a screen says. */
  isDue: boolean
  /** Spreads the sweep: below the number of its blocks. */
  readonly phase: number
  /** What the triggers wait for; absent since one of them changed. */
  waits?: WakeConditions | undefined
}

/** What the triggers of a subject wait for, as long as none of them changes. */
export interface WakeConditions {
  /** Where each figure changes none of them. */
  readonly figures: readonly (Bounds & { readonly figure: string })[]
  readonly hasEvents: boolean
  /** True if the next block changes one of them, whatever its figure is. */
  readonly isOpen: boolean
}

/** The triggers of a line in memory, as of the last look into the database. */
export interface Watchlist {
  /** Looks what changed since; all of it now and then. Throws as `Database.run`. */
  refresh(nowMs: number, at: bigint): Promise<void>
  /** Forgets a trigger that somebody else changed; a refresh brings it back. */
  drop(trigger: Trigger): void
  /** Forgets those that have expired. */
  dropExpired(nowMs: number): void
  /** Subjects by family. */
  subjectsOf(family: string): readonly WatchedSubject[]
  readonly families: readonly string[]
  entries(): Iterable<WatchedTrigger>
  readonly size: number
}

/** Everybody is confirmed once in so many blocks, whatever a screen says, each block its share of them. */
export const SWEEP_BLOCKS = 300
const PAGE = 5_000
/** Time for a page. */
const LIST_MS = 10_000
/** What was deleted, and whose organization was suspended, is found by looking at all again. */
const RELOAD_MS = 900_000
/** Has no divisor in common with the blocks of the sweep. */
const PHASE_STEP = 7_919

type Row = Awaited<ReturnType<typeof watchListChanged>>[number]

const toldSchema = v.nullable(v.array(v.tuple([v.number(), v.string(), v.string()])))
const subjectSchema = v.record(v.string(), v.string())

/** Makes of a trigger what a block, or its undoing, made of it. */
export function setReorgState(entry: WatchedTrigger, life: TriggerReorgState): void {
  entry.life = life
  entry.subject.waits = undefined
}

/** Makes an empty list of a line. */
export function createWatchlist(
  { db, clock }: { readonly db: Database; readonly clock: Pick<Clock, 'monotonicMs'> },
  { chainId, finality, shard }: TriggerPartition,
): Watchlist {
  const entries = new Map<string, WatchedTrigger>()
  const expiring = new Set<WatchedTrigger>()
  const families = new Map<string, Map<string, WatchedSubject>>()
  let phases = 0
  let seen = ''
  let loadedMs = Number.NEGATIVE_INFINITY

  function subjectOf(family: string, subject: WatchSubject): WatchedSubject {
    const known = families.get(family) ?? new Map<string, WatchedSubject>()
    families.set(family, known)
    const key = JSON.stringify(subject)
    const phase = (phases++ * PHASE_STEP) % SWEEP_BLOCKS
    const made = known.get(key) ?? { family, subject, entries: new Set(), confirmedAt: -1n, isDue: true, phase }
    known.set(key, made)
    return made
  }

  function remove(key: string): void {
    const entry = entries.get(key)
    if (entry === undefined) return
    entries.delete(key)
    leave(entry)
  }

  function leave(entry: WatchedTrigger): void {
    const { subject } = entry
    subject.entries.delete(entry)
    subject.waits = undefined
    expiring.delete(entry)
    if (subject.entries.size > 0) return
    const known = families.get(subject.family)
    known?.delete(JSON.stringify(subject.subject))
    if (known?.size === 0) families.delete(subject.family)
  }

  function add(row: Row, at: bigint): void {
    const key = keyOf(row.organization_id ?? '', row.id ?? '')
    const state = stateOf(row)
    const before = entries.get(key)
    if (row.active !== true) {
      remove(key)
      return
    }
    const trigger: Trigger = {
      organizationId: row.organization_id ?? '',
      id: row.id ?? '',
      family: row.family ?? '',
      subject: v.parse(subjectSchema, row.subject),
      clause: v.parse(clauseSchema, row.clause),
      clear: row.clear,
      forBlocks: row.for_blocks ?? 1,
      finality,
      name: row.name,
    }
    // What it was before blocks that may be replaced is known here alone.
    const isSame = before?.stored.state.edition === state.edition && before.stored.state.changes === state.changes
    const life = isSame ? before.life : restoreReorgState(state, toldOf(row), at)
    const subject = subjectOf(trigger.family, trigger.subject)
    const entry: WatchedTrigger = {
      trigger,
      rule: createRule(trigger),
      subject,
      expiresAtMs: row.expires_at?.getTime() ?? Number.POSITIVE_INFINITY,
      activeAtSec: Math.floor((row.active_at?.getTime() ?? 0) / 1_000),
      life,
      stored: isSame ? before.stored : life,
    }
    entries.set(key, entry)
    subject.entries.add(entry)
    subject.waits = undefined
    if (Number.isFinite(entry.expiresAtMs)) expiring.add(entry)
    // Only now: a subject that nobody watches is forgotten, with what was confirmed of it.
    if (before !== undefined) leave(before)
    // It may hold already.
    if (!isSame) subject.isDue = true
  }

  return {
    async refresh(nowMs, at) {
      const isWhole = nowMs - loadedMs >= RELOAD_MS
      const found = new Set<string>()
      const breaks = createYielder(clock)
      let next: string | undefined
      let after = { afterOrganization: '', afterId: '' }
      for (;;) {
        const page = { chainId, finality, shard, ...after, max: PAGE }
        const rows = await (isWhole
          ? watchListLine(db, page, { deadlineMs: LIST_MS })
          : watchListChanged(db, { ...page, seen }, { deadlineMs: LIST_MS }))
        next ??= rows[0]?.seen
        for (const row of rows) {
          if (row.organization_id === null || row.id === null) continue
          if (breaks.isDue()) await breaks.take()
          add(row, at)
          after = { afterOrganization: row.organization_id, afterId: row.id }
          found.add(keyOf(row.organization_id, row.id))
        }
        if (rows.length < PAGE) break
      }
      seen = next ?? seen
      if (!isWhole) return
      loadedMs = nowMs
      for (const key of [...entries.keys()]) if (!found.has(key)) remove(key)
    },
    drop({ organizationId, id }) {
      remove(keyOf(organizationId, id))
    },
    dropExpired(nowMs) {
      for (const { expiresAtMs, trigger } of [...expiring]) {
        if (expiresAtMs <= nowMs) remove(keyOf(trigger.organizationId, trigger.id))
      }
    },
    subjectsOf: (family) => [...(families.get(family)?.values() ?? [])],
    get families() {
      return [...families.keys()]
    },
    entries: () => entries.values(),
    get size() {
      return entries.size
    },
  }
}

/** Hashes of the newest blocks that the line was evaluated at. Throws as `Database.run`. */
export async function listEvaluatedBlocks(db: Database, line: TriggerPartition): Promise<Map<bigint, string>> {
  const rows = await watchBlockList(db, line)
  return new Map(rows.map(({ number, hash }) => [BigInt(number), `0x${hash}`]))
}

function keyOf(organizationId: string, id: string): string {
  return `${organizationId}/${id}`
}

function stateOf(row: Row): TriggerState {
  return {
    edition: row.edition ?? 1,
    phase: v.parse(v.picklist(['armed', 'pending', 'fired']), row.phase),
    heldBlocks: row.held_blocks ?? 0,
    changes: Number(row.changes ?? 0),
    value: row.value,
    since: row.since_block === null ? null : BigInt(row.since_block),
  }
}

function toldOf({ told }: Row): readonly NotifiedChange[] {
  return (v.parse(toldSchema, told) ?? []).map(([change, block, name]) => ({ change, block: BigInt(block), name }))
}
