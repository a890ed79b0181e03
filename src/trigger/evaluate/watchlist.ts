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
  /** Expiry, milliseconds of the wall clock; infinite if never. */
  readonly expiresAtMs: number
  /** Start of the evaluation, Unix seconds; earlier events are ignored. */
  readonly activeAtSec: number
  /** Only `setReorgState` may change it. */
  reorgState: TriggerReorgState
  /** The state stored in the database. */
  stored: TriggerReorgState
  /** Set while the evaluation leaves it out; only `setUnseen` may change it. */
  unseen: UnseenState | undefined
  /** True once the database refused its change: it is left out until it is edited, or another process evaluates it. */
  isRefused?: boolean
}

/** Since when the evaluation leaves a trigger out, in this process. */
interface UnseenState {
  /** Monotonic milliseconds. */
  readonly sinceMs: number
  /** True once its owner was notified, if that was due. */
  isReported: boolean
}

/** A watched subject, shared by all triggers that watch it. */
export interface WatchedSubject {
  readonly family: string
  readonly subject: WatchSubject
  readonly entries: Set<WatchedTrigger>
  /** The last confirmed figures; absent if never confirmed. */
  confirmed?: ConfirmedFigures | 'gone'
  confirmedAt: bigint
  /** The last block at which it was to be confirmed, even in vain, or the one before it was added. */
  triedAt: bigint
  /** True if it could not be read even alone, so that it shares no read with others. */
  isApart: boolean
  /** True if it must be confirmed whatever a screen returns. */
  isDue: boolean
  /** Offset in the sweep, below `SWEEP_BLOCKS`. */
  readonly phase: number
  /** Cached conditions of the triggers; absent after one of them changed. */
  wakeConditions?: WakeConditions | undefined
}

/** The conditions that the triggers of a subject wait for, valid until one of them changes. */
export interface WakeConditions {
  /** By figure, the bounds within which it changes no trigger. */
  readonly figures: readonly (Bounds & { readonly figure: string })[]
  readonly hasEvents: boolean
  /** True if the next block changes a trigger, whatever its figure. */
  readonly isOpen: boolean
}

/** The triggers of a partition in memory, as of the last refresh. */
export interface Watchlist {
  /** Loads changed triggers from the database; periodically all. Throws as `Database.run`. */
  refresh(at: bigint): Promise<void>
  /** Drops a trigger that was changed elsewhere; a refresh loads it again. */
  drop(trigger: Trigger): void
  /**
   * Triggers of figures that were loaded or edited after the newest evaluated block, at most `max`; none that counts
   * blocks, which may have counted that one.
   */
  listAdded(max: number): readonly WatchedTrigger[]
  /**
   * The triggers of a subject, without added ones that were made after a time in Unix seconds; the very set if those are
   * all.
   */
  listMadeBy(subject: WatchedSubject, timestampSec: bigint): Iterable<WatchedTrigger>
  /** Records that triggers, by default all, were evaluated at the newest block. */
  dropAdded(entries?: Iterable<WatchedTrigger>): void
  /** Drops expired triggers. */
  dropExpired(nowMs: number): void
  /** Subjects by family. */
  listSubjects(family: string): readonly WatchedSubject[]
  readonly families: readonly string[]
  entries(): Iterable<WatchedTrigger>
  /** Triggers that the evaluation leaves out. */
  readonly unseen: ReadonlySet<WatchedTrigger>
  /** Records that the evaluation leaves a trigger out, or no longer. */
  setUnseen(entry: WatchedTrigger, isUnseen: boolean): void
  readonly size: number
}

/** Every subject is fully re-read once per `SWEEP_BLOCKS`, spread evenly over the blocks. */
export const SWEEP_BLOCKS = 300
const PAGE = 5_000
/** Time limit of a page, milliseconds. */
const LIST_MS = 10_000
/** Interval of full reloads, which find deleted triggers and suspended organizations, milliseconds. */
const RELOAD_MS = 900_000
/** Coprime to `SWEEP_BLOCKS`. */
const PHASE_STEP = 7_919

type Row = Awaited<ReturnType<typeof watchListChanged>>[number]

const notifiedSchema = v.nullable(v.array(v.tuple([v.number(), v.string(), v.string()])))
const subjectSchema = v.record(v.string(), v.string())

/** Sets the state of a trigger and drops the cached conditions of its subject. */
export function setReorgState(entry: WatchedTrigger, reorgState: TriggerReorgState): void {
  entry.reorgState = reorgState
  entry.subject.wakeConditions = undefined
}

/** Creates an empty list for a partition. */
export function createWatchlist(
  { db, clock }: { readonly db: Database; readonly clock: Pick<Clock, 'monotonicMs'> },
  { chainId, finality, shard }: TriggerPartition,
): Watchlist {
  const entries = new Map<string, WatchedTrigger>()
  const expiring = new Set<WatchedTrigger>()
  const unseen = new Set<WatchedTrigger>()
  const added = new Set<WatchedTrigger>()
  const families = new Map<string, Map<string, WatchedSubject>>()
  let phases = 0
  let seenVersion = ''
  let loadedMs = Number.NEGATIVE_INFINITY

  function getSubject(family: string, subject: WatchSubject, at: bigint): WatchedSubject {
    const subjects = families.get(family) ?? new Map<string, WatchedSubject>()
    families.set(family, subjects)
    const key = JSON.stringify(subject)
    const phase = (phases++ * PHASE_STEP) % SWEEP_BLOCKS
    const watched = subjects.get(key) ?? {
      family,
      subject,
      entries: new Set(),
      confirmedAt: -1n,
      triedAt: at,
      isApart: false,
      isDue: true,
      phase,
    }
    subjects.set(key, watched)
    return watched
  }

  function remove(key: string): void {
    const entry = entries.get(key)
    if (entry === undefined) return
    entries.delete(key)
    detach(entry)
  }

  function detach(entry: WatchedTrigger): void {
    const { subject } = entry
    subject.entries.delete(entry)
    subject.wakeConditions = undefined
    expiring.delete(entry)
    unseen.delete(entry)
    added.delete(entry)
    if (subject.entries.size > 0) return
    const subjects = families.get(subject.family)
    subjects?.delete(JSON.stringify(subject.subject))
    if (subjects?.size === 0) families.delete(subject.family)
  }

  function add(row: Row, at: bigint): void {
    const key = getKey(row.organization_id ?? '', row.id ?? '')
    const state = toState(row)
    const previous = entries.get(key)
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
    // The states before replaceable blocks exist only in memory, so keep them.
    const isSame = previous?.stored.state.edition === state.edition && previous.stored.state.changes === state.changes
    const reorgState = isSame ? previous.reorgState : restoreReorgState(state, parseNotified(row), at)
    const subject = getSubject(trigger.family, trigger.subject, at)
    const entry: WatchedTrigger = {
      trigger,
      rule: createRule(trigger),
      subject,
      expiresAtMs: row.expires_at?.getTime() ?? Number.POSITIVE_INFINITY,
      activeAtSec: Math.floor((row.active_at?.getTime() ?? 0) / 1_000),
      reorgState,
      stored: isSame ? previous.stored : reorgState,
      isRefused: isSame && previous.isRefused === true,
      // One that another process left out may have to be reported by now.
      unseen: row.unseen ? (previous?.unseen ?? { sinceMs: Number.NEGATIVE_INFINITY, isReported: false }) : undefined,
    }
    entries.set(key, entry)
    subject.entries.add(entry)
    subject.wakeConditions = undefined
    if (Number.isFinite(entry.expiresAtMs)) expiring.add(entry)
    if (entry.unseen !== undefined) unseen.add(entry)
    const isUnevaluated = !isSame || (previous !== undefined && added.has(previous))
    if (isUnevaluated && !('event' in trigger.clause) && state.phase !== 'pending') added.add(entry)
    // Detach last: a subject without triggers is dropped with its confirmed figures.
    if (previous !== undefined) detach(previous)
    // The condition may already hold.
    if (!isSame) subject.isDue = true
  }

  return {
    async refresh(at) {
      // The wall clock may be set back.
      const nowMs = clock.monotonicMs()
      const isFullReload = nowMs - loadedMs >= RELOAD_MS
      const foundKeys = new Set<string>()
      const yielder = createYielder(clock)
      let nextSeen: string | undefined
      let after = { afterOrganization: '', afterId: '' }
      for (;;) {
        const page = { chainId, finality, shard, ...after, max: PAGE }
        const rows = await (isFullReload
          ? watchListLine(db, page, { deadlineMs: LIST_MS })
          : watchListChanged(db, { ...page, seen: seenVersion }, { deadlineMs: LIST_MS }))
        nextSeen ??= rows[0]?.seen
        for (const row of rows) {
          if (row.organization_id === null || row.id === null) continue
          if (yielder.isDue()) await yielder.take()
          add(row, at)
          after = { afterOrganization: row.organization_id, afterId: row.id }
          foundKeys.add(getKey(row.organization_id, row.id))
        }
        if (rows.length < PAGE) break
      }
      seenVersion = nextSeen ?? seenVersion
      if (!isFullReload) return
      loadedMs = nowMs
      for (const key of [...entries.keys()]) if (!foundKeys.has(key)) remove(key)
    },
    drop({ organizationId, id }) {
      remove(getKey(organizationId, id))
    },
    listAdded: (max) => [...added].slice(0, max),
    listMadeBy({ entries: all }, timestampSec) {
      const isLater = (entry: WatchedTrigger) => added.has(entry) && entry.activeAtSec > timestampSec
      return added.size > 0 && [...all].some(isLater) ? [...all].filter((entry) => !isLater(entry)) : all
    },
    dropAdded(evaluated = added) {
      for (const entry of evaluated) added.delete(entry)
    },
    dropExpired(nowMs) {
      for (const { expiresAtMs, trigger } of [...expiring]) {
        if (expiresAtMs <= nowMs) remove(getKey(trigger.organizationId, trigger.id))
      }
    },
    listSubjects: (family) => [...(families.get(family)?.values() ?? [])],
    get families() {
      return [...families.keys()]
    },
    entries: () => entries.values(),
    unseen,
    setUnseen(entry, isUnseen) {
      entry.unseen = isUnseen ? (entry.unseen ?? { sinceMs: clock.monotonicMs(), isReported: false }) : undefined
      if (isUnseen) unseen.add(entry)
      else unseen.delete(entry)
    },
    get size() {
      return entries.size
    },
  }
}

/** Hashes of the newest evaluated blocks of a partition, by number. Throws as `Database.run`. */
export async function listEvaluatedBlocks(db: Database, partition: TriggerPartition): Promise<Map<bigint, string>> {
  const rows = await watchBlockList(db, partition)
  return new Map(rows.map(({ number, hash }) => [BigInt(number), `0x${hash}`]))
}

function getKey(organizationId: string, id: string): string {
  return `${organizationId}/${id}`
}

function toState(row: Row): TriggerState {
  return {
    edition: row.edition ?? 1,
    phase: v.parse(v.picklist(['armed', 'pending', 'fired']), row.phase),
    heldBlocks: row.held_blocks ?? 0,
    changes: Number(row.changes ?? 0),
    value: row.value,
    since: row.since_block === null ? null : BigInt(row.since_block),
  }
}

function parseNotified({ told }: Row): readonly NotifiedChange[] {
  return (v.parse(notifiedSchema, told) ?? []).map(([change, block, name]) => ({ change, block: BigInt(block), name }))
}
