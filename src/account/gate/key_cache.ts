import type { RefusalCode } from '../../http/exchange/gate.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Network } from '../../lib/text/network.ts'

/** Whose a key is, and what its organization may do. A job's organization has the same without a key. */
export interface KeyRecord {
  readonly organizationId: string
  /** Empty for a job's. */
  readonly apiKeyId: string
  /** Why its organization is refused; empty if it is not. */
  readonly refusal: RefusalCode | ''
  readonly rateLimit: number
  /** Milliseconds since the epoch; 0 for a key that does not expire. */
  readonly expiresAtMs: number
  /** Networks from which it works; undefined for all. */
  readonly networks: readonly Network[] | undefined
  /** Endpoints for which it works; undefined for all. */
  readonly endpoints: ReadonlySet<string> | undefined
  /** Most credits that it may spend in one day (UTC); undefined for no limit. */
  readonly creditsPerDay: bigint | undefined
}

/** Changes that the database reports; `epoch` is the number of the last one. */
export interface AccountChanges {
  readonly epoch: number
  /** Organizations that changed since the epoch that was asked about; `*` stands for all. */
  readonly changed: readonly string[]
}

interface SwitchedOff {
  readonly endpoints: ReadonlySet<string>
  readonly features: ReadonlySet<string>
}

interface FactsRead extends AccountChanges {
  readonly endpointsOff: readonly string[]
  readonly featuresOff: readonly string[]
  readonly keys: readonly { readonly name: string; readonly fact: KeyRecord }[]
}

interface CachedKey extends KeyRecord {
  readonly epoch: number
  readonly readMs: number
}

const ENTRIES_MAX = 100_000
/** With more changes than this, everything is read again. */
const CHANGES_MAX = 10_000
/** A database that lost its last changes, as a standby may, cannot report that: older facts are read again. */
const AGE_MAX_MS = 60_000

export type KeyCache = ReturnType<typeof createKeyCache>

/**
 * Remembers facts about keys, each with the number of the change as of which it was true. Nothing is decided here: every
 * request sends that number to the database, which reports the organizations that changed since. Unknown keys are not
 * remembered. `featuresOff` are off whatever the database says.
 */
export function createKeyCache(options: {
  readonly clock: Clock
  readonly entriesMax?: number
  readonly featuresOff?: readonly string[]
}) {
  const { clock, entriesMax = ENTRIES_MAX, featuresOff = [] } = options
  const facts = new Map<string, CachedKey>()
  /** Epoch of the last change, by organization. */
  const changedAt = new Map<string, number>()
  let allChangedAt = 0
  let epoch = 0
  let off: SwitchedOff = { endpoints: new Set(), features: new Set(featuresOff) }

  function clear(): void {
    facts.clear()
    changedAt.clear()
    allChangedAt = 0
  }

  /** Takes in the changes after `since`, the last one known when the database was asked. */
  function note(changes: AccountChanges, since: number): void {
    // The numbers went back: it is another database, or one that lost its last changes.
    if (changes.epoch < since) clear()
    else if (changes.epoch <= epoch) return
    epoch = changes.epoch
    for (const id of changes.changed) {
      if (id === '*') allChangedAt = epoch
      else changedAt.set(id, epoch)
    }
    if (changedAt.size > CHANGES_MAX) clear()
  }

  return {
    get epoch(): number {
      return epoch
    },
    /** The time by which facts are old, for all look-ups of one batch. */
    get nowMs(): number {
      return clock.monotonicMs()
    },
    /** The fact about a key by its hash, or about a job's organization by its id, if it is still true at `epoch`. */
    find(name: string, nowMs = clock.monotonicMs()): KeyRecord | undefined {
      const fact = facts.get(name)
      if (fact === undefined || fact.epoch < allChangedAt) return undefined
      if (changedAt.size > 0 && fact.epoch < (changedAt.get(fact.organizationId) ?? 0)) return undefined
      return nowMs - fact.readMs < AGE_MAX_MS ? fact : undefined
    },
    /** True if the key was once recognised, even if its fact is out of date. */
    knows: (name: string) => facts.has(name),
    get off(): SwitchedOff {
      return off
    },
    note,
    /** Takes in facts too; false if a later change is known already, so that they may be out of date. */
    learn(read: FactsRead, since: number): boolean {
      note(read, since)
      if (read.epoch < epoch) return false
      off = { endpoints: new Set(read.endpointsOff), features: new Set([...featuresOff, ...read.featuresOff]) }
      const readMs = clock.monotonicMs()
      for (const { name, fact } of read.keys) {
        facts.delete(name)
        facts.set(name, { ...fact, epoch, readMs })
      }
      for (const oldest of facts.keys()) {
        if (facts.size <= entriesMax) break
        facts.delete(oldest)
      }
      return true
    },
    forget: (name: string) => void facts.delete(name),
  }
}
