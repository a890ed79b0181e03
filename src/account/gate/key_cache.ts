import type { RefusalCode } from '../../http/exchange/gate.ts'
import type { Clock } from '../../lib/clock.ts'
import { isInNetworks, type Network, parseNetwork } from '../../lib/text/network.ts'

/** The organization of a key and its limits. A job has a record of its organization without a key. */
export interface KeyRecord {
  readonly organizationId: string
  /** Empty for a job. */
  readonly apiKeyId: string
  /** Why the organization is refused; empty if it is not. */
  readonly refusal: RefusalCode | ''
  readonly rateLimit: number
  /** Milliseconds since the epoch; 0 for a key that does not expire. */
  readonly expiresAtMs: number
  /** Networks from which the key works; undefined for all. */
  readonly networks: readonly Network[] | undefined
  /** Endpoints for which the key works; undefined for all. */
  readonly endpoints: ReadonlySet<string> | undefined
  /** Most credits that the key may spend in one day (UTC); undefined for no limit. */
  readonly creditsPerDay: bigint | undefined
}

/** Account changes that the database reports; `epoch` is the number of the last one. */
interface AccountChanges {
  readonly epoch: number
  /** Organizations that changed since the epoch in the request; `*` stands for all. */
  readonly changed: readonly string[]
}

interface SwitchedOff {
  readonly endpoints: ReadonlySet<string>
  readonly features: ReadonlySet<string>
}

interface KeyRecordBatch extends AccountChanges {
  readonly endpointsOff: readonly string[]
  readonly featuresOff: readonly string[]
  readonly keys: readonly { readonly name: string; readonly record: KeyRecord }[]
}

interface CachedKey extends KeyRecord {
  readonly epoch: number
  readonly readMs: number
}

const ENTRIES_MAX = 100_000
/** Beyond this many changed organizations, the cache is cleared. */
const CHANGES_MAX = 10_000
/** Records expire: a database that lost its last changes, as a promoted standby may, cannot report the loss. */
const AGE_MAX_MS = 60_000

export type KeyCache = ReturnType<typeof createKeyCache>

/**
 * Creates a cache of key records, each with the change number as of which it was true. The cache decides nothing: each
 * request sends its change number, and the database returns the organizations that changed since. Unknown keys are not
 * cached. `featuresOff` stay off regardless of the database.
 */
export function createKeyCache(options: {
  readonly clock: Clock
  readonly entriesMax?: number
  readonly featuresOff?: readonly string[]
}) {
  const { clock, entriesMax = ENTRIES_MAX, featuresOff = [] } = options
  const records = new Map<string, CachedKey>()
  /** Epoch of the last change by organization. */
  const changeEpochs = new Map<string, number>()
  let allChangedEpoch = 0
  let epoch = 0
  let switchedOff: SwitchedOff = { endpoints: new Set(), features: new Set(featuresOff) }

  function clear(): void {
    records.clear()
    changeEpochs.clear()
    allChangedEpoch = 0
  }

  /** Records the changes after `since`, the cache's epoch when the request was sent. */
  function recordChanges(changes: AccountChanges, since: number): void {
    // A lower number comes from another database, or from one that lost its last changes.
    if (changes.epoch < since) clear()
    else if (changes.epoch <= epoch) return
    epoch = changes.epoch
    for (const id of changes.changed) {
      if (id === '*') allChangedEpoch = epoch
      else changeEpochs.set(id, epoch)
    }
    if (changeEpochs.size > CHANGES_MAX) clear()
  }

  return {
    get epoch(): number {
      return epoch
    },
    /** The current time, for all look-ups of one batch. */
    get nowMs(): number {
      return clock.monotonicMs()
    },
    /** Finds the record of a key by its hash, or of a job's organization by its id, if it is still true at `epoch`. */
    find(name: string, nowMs = clock.monotonicMs()): KeyRecord | undefined {
      const record = records.get(name)
      if (record === undefined || record.epoch < allChangedEpoch) return undefined
      if (changeEpochs.size > 0 && record.epoch < (changeEpochs.get(record.organizationId) ?? 0)) return undefined
      return nowMs - record.readMs < AGE_MAX_MS ? record : undefined
    },
    /** True if the key was recognised before, even if its record is out of date. */
    has: (name: string) => records.has(name),
    get switchedOff(): SwitchedOff {
      return switchedOff
    },
    note: recordChanges,
    /** Adds records and their changes; false if a later change is known, so that the records may be out of date. */
    addRecords(batch: KeyRecordBatch, since: number): boolean {
      recordChanges(batch, since)
      if (batch.epoch < epoch) return false
      switchedOff = {
        endpoints: new Set(batch.endpointsOff),
        features: new Set([...featuresOff, ...batch.featuresOff]),
      }
      const readMs = clock.monotonicMs()
      for (const { name, record } of batch.keys) {
        records.delete(name)
        records.set(name, { ...record, epoch, readMs })
      }
      for (const oldest of records.keys()) {
        if (records.size <= entriesMax) break
        records.delete(oldest)
      }
      return true
    },
    forget: (name: string) => void records.delete(name),
  }
}

type Limit = 'networks' | 'endpoints' | 'creditsPerDay'

/**
 * Parses the limits of a key from the database's columns: lines, empty for no limit; a decimal number, 0 for none. An
 * unparsable network matches no address.
 */
export function parseKeyLimits({ networks, endpoints, creditsPerDay }: Record<Limit, string>): Pick<KeyRecord, Limit> {
  return {
    networks: networks === '' ? undefined : networks.split('\n').flatMap((text) => parseNetwork(text) ?? []),
    endpoints: endpoints === '' ? undefined : new Set(endpoints.split('\n')),
    creditsPerDay: creditsPerDay === '0' ? undefined : BigInt(creditsPerDay),
  }
}

/** True if the key works from the client's address, which is computed only if the key has networks. */
export function isAllowedNetwork(client: { readonly ip: string } | undefined, { networks }: KeyRecord): boolean {
  return networks === undefined || isInNetworks(networks, client?.ip ?? '')
}

/** Returns why the key may not call the endpoint; empty if it may, and for a path without an endpoint. */
export function getEndpointRefusal(endpoint: string | null, { endpoints }: KeyRecord): RefusalCode | '' {
  return endpoint === null || endpoints === undefined || endpoints.has(endpoint) ? '' : 'KEY_ENDPOINT_DISABLED'
}

const PER_SECOND_MAX = 1_000

/**
 * Limits look-ups of unknown keys in one process: keys with a valid checksum can be invented, and each would cost a
 * look-up. A known key holds a slot only during its lookup, so a cold start does not throttle real callers.
 */
export function createUnknownKeyLimiter({ clock, max = PER_SECOND_MAX }: { clock: Clock; max?: number }) {
  /** Number of requests that wait for each look-up under way, by the key's hash. */
  const waitingByHash = new Map<string, number>()
  let unknownKeys = 0
  let secondStartMs = 0
  return {
    /** Reserves a lookup for a key not seen before in this process; false if the limit is reached. */
    acquire(hash: string): boolean {
      const nowMs = clock.monotonicMs()
      if (nowMs - secondStartMs >= 1_000) {
        secondStartMs = nowMs
        unknownKeys = 0
      }
      const waiting = waitingByHash.get(hash) ?? 0
      if (waiting === 0 && waitingByHash.size + unknownKeys >= max) return false
      waitingByHash.set(hash, waiting + 1)
      return true
    },
    /** Releases the slot; an unknown key keeps it for the rest of its second. */
    release(hash: string, { isStranger: isUnknown }: { readonly isStranger: boolean }): void {
      const waiting = waitingByHash.get(hash) ?? 1
      if (waiting > 1) {
        waitingByHash.set(hash, waiting - 1)
        return
      }
      waitingByHash.delete(hash)
      if (isUnknown) unknownKeys++
    },
  }
}
