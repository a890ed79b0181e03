import type { Clock } from '../lib/clock.ts'

/** What a key is: whose, and what its organization may do. */
export interface KeyFact {
  readonly organizationId: string
  readonly apiKeyId: string
  /** Why its organization is refused; empty if it is not. */
  readonly refusal: string
  /** Requests admitted in any one second. */
  readonly rateLimit: number
  /** Milliseconds since the epoch; 0 for a key that does not expire. */
  readonly expiresAtMs: number
}

/** What the database says has changed: `epoch` is the number of the last change, `changed` who changed since then. */
export interface Changes {
  readonly epoch: number
  /** Organizations; `*` stands for all. */
  readonly changed: readonly string[]
}

/** Facts as of one change. */
interface FactsRead extends Changes {
  readonly disabled: readonly string[]
  readonly keys: readonly { readonly hash: string; readonly fact: KeyFact }[]
}

/**
 * What was read about keys, with the number of the change that it was true at. Nothing here decides: the database is
 * told that number with every request, and says which organizations changed since. Keys that do not exist are not
 * remembered.
 */
export interface Facts {
  /** Of the last change that is known. */
  readonly epoch: number
  /** The fact about a key, if it is still true at `epoch`. */
  find(hash: string): KeyFact | undefined
  /** True for a key that was once recognised, even if what is known of it is out of date. */
  knows(hash: string): boolean
  isDisabled(endpoint: string): boolean
  /** Takes in what changed after the change `since`, which was the last known when the database was asked. */
  note(changes: Changes, since: number): void
  /** Takes in facts as well; false if a later change is known already, so that they may not be true any more. */
  learn(read: FactsRead, since: number): boolean
  forget(hash: string): void
}

interface Remembered extends KeyFact {
  readonly epoch: number
  readonly readMs: number
}

const ENTRIES_MAX = 100_000
/** Far more changes than organizations that call while they change: then all is read again. */
const CHANGES_MAX = 10_000
/** A database that lost its last changes, as a standby does, cannot say so: facts are read again after this time. */
const AGE_MAX_MS = 60_000

/** Makes an empty memory. */
export function createFacts({ clock, entriesMax = ENTRIES_MAX }: { clock: Clock; entriesMax?: number }): Facts {
  const facts = new Map<string, Remembered>()
  /** When organizations changed last, of those that did. */
  const changedAt = new Map<string, number>()
  let allChangedAt = 0
  let epoch = 0
  let disabled: ReadonlySet<string> = new Set()

  function clear(): void {
    facts.clear()
    changedAt.clear()
    allChangedAt = 0
  }

  function note(changes: Changes, since: number): void {
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
    get epoch() {
      return epoch
    },
    find(hash) {
      const fact = facts.get(hash)
      if (fact === undefined || fact.epoch < allChangedAt) return undefined
      if (changedAt.size > 0 && fact.epoch < (changedAt.get(fact.organizationId) ?? 0)) return undefined
      return clock.monotonicMs() - fact.readMs < AGE_MAX_MS ? fact : undefined
    },
    knows: (hash) => facts.has(hash),
    isDisabled: (endpoint) => disabled.has(endpoint),
    note,
    learn(read, since) {
      note(read, since)
      if (read.epoch < epoch) return false
      disabled = new Set(read.disabled)
      const readMs = clock.monotonicMs()
      for (const { hash, fact } of read.keys) {
        facts.delete(hash)
        facts.set(hash, { ...fact, epoch, readMs })
      }
      for (const oldest of facts.keys()) {
        if (facts.size <= entriesMax) break
        facts.delete(oldest)
      }
      return true
    },
    forget: (hash) => void facts.delete(hash),
  }
}
