import { gateAdmit, gateFacts, rateWindowPrime } from '../../../sql/functions.ts'
import type { Database } from '../../db/database.ts'
import type {
  Admission,
  Caller,
  GateRequest,
  Principal,
  RefusalCode,
  SessionRequest,
  SpendingLimit,
} from '../../http/exchange/gate.ts'
import { UnavailableError } from '../../lib/error.ts'
import { getEndpointRefusal, isAllowedNetwork, type KeyCache, type KeyRecord, parseKeyLimits } from './key_cache.ts'

interface Call {
  readonly request: GateRequest
  readonly record: KeyRecord
  /** Id of the key or name of the job, for the log. */
  readonly apiKeyId: string
  /** Why the request is refused regardless of the rate window; empty if it is not. */
  readonly refusal: RefusalCode | ''
  /** Limits besides the balance, without their spending. */
  readonly limits: readonly Bound[]
}

type Bound = Omit<SpendingLimit, 'spent'>

interface OrganizationBatch {
  readonly id: string
  readonly rateLimit: number
  /** Number of requests for a slot in the rate window. */
  candidates: number
  /** Limits of its requests besides the balance, by row key; undefined while there is none, the usual case. */
  bounds: Map<string, BoundSpent> | undefined
  verdict: Verdict | undefined
}

/** A limit and its spending, which is negative if the limit has no row. */
interface BoundSpent {
  readonly organizationId: string
  readonly bound: Bound
  spent: bigint
}

/** The database's decision about an organization. */
interface Verdict {
  readonly credits: bigint
  readonly used: number
  readonly admitted: number
  /** When the oldest slot of the window frees: microseconds since the epoch, which a number holds exactly. */
  readonly resetUs: number
  /** Number of requests of this batch admitted so far. */
  passed: number
}

function getFactKey(principal: Principal): string {
  return principal.kind === 'job' ? principal.organizationId : principal.hash
}

/** Attempts for a batch: key records may be out of date, or a rate window may be missing. */
const ATTEMPTS_MAX = 8
const UNKNOWN_KEY: Admission = { kind: 'unknown_key' }
const NO_LIMITS: readonly never[] = []
const NO_FEATURES: readonly never[] = []
const NO_KEYS: ReadonlySet<string> = new Set()

/**
 * Decides all requests of a batch in one statement, in order of arrival: key, organization, endpoint, then the strict
 * one-second window over all processes. `keyCache` holds key records; the statement reports which have changed, and
 * those are read again before the next attempt. Throws `UnavailableError` if the database is unreachable.
 */
export async function admitBatch(
  db: Database,
  requests: readonly GateRequest[],
  keyCache: KeyCache,
): Promise<readonly Admission[]> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const calls = await resolveCalls(db, requests, keyCache)
    if (calls === undefined) continue
    const organizations = groupByOrganization(calls)
    if (organizations.size === 0) return requests.map(() => UNKNOWN_KEY)
    const requestedAtMs = await decide(db, organizations, keyCache)
    if (requestedAtMs !== undefined) {
      return calls.map((call) => toAdmission(call, { organizations, keyCache, requestedAtMs }))
    }
  }
  throw new UnavailableError('The database could not admit a batch of requests')
}

/** Looks up keys by their hashes, caches their records, and returns which exist. */
export async function lookUpKeys(
  db: Database,
  hashes: readonly string[],
  keyCache: KeyCache,
): Promise<readonly boolean[]> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const unknown = await readMissing(db, new Map(hashes.map((hash) => [hash, 'key'])), keyCache)
    if (unknown !== undefined) return hashes.map((hash) => !unknown.has(hash))
  }
  throw new UnavailableError('The database could not look up a batch of keys')
}

/** Finds the record of each request, undefined for an unknown key. Returns undefined if a record went out of date. */
async function resolveCalls(
  db: Database,
  requests: readonly GateRequest[],
  keyCache: KeyCache,
): Promise<readonly (Call | undefined)[] | undefined> {
  const cached = toCalls(requests, keyCache, NO_KEYS)
  if (cached.missing.size === 0) return cached.calls
  const unknownNames = await readMissing(db, cached.missing, keyCache)
  if (unknownNames === undefined) return undefined
  const { calls, missing } = toCalls(requests, keyCache, unknownNames)
  return missing.size === 0 ? calls : undefined
}

type MissingKeys = ReadonlyMap<string, Principal['kind']>

/** Reads missing records; returns the names that do not exist, or undefined if the records are out of date already. */
async function readMissing(
  db: Database,
  missingKeys: MissingKeys,
  keyCache: KeyCache,
): Promise<ReadonlySet<string> | undefined> {
  const listNames = (requestedKind: Principal['kind']) =>
    [...missingKeys].flatMap(([name, kind]) => (kind === requestedKind ? name : []))
  const [hashes, organizations] = [listNames('key'), listNames('job')]
  const names = [...hashes, ...organizations]
  const missing = new Set(names)
  const sinceEpoch = keyCache.epoch
  const [row] = await gateFacts(db, { epoch: sinceEpoch, hashes, organizations })
  if (row === undefined) throw new Error('Cannot read key records: the database returned no row')
  const keys = row.key_nos.map((keyNo, index) => ({
    name: names[keyNo - 1] ?? '',
    record: {
      organizationId: row.organization_ids[index] ?? '',
      apiKeyId: row.api_key_ids[index] ?? '',
      refusal: (row.refusals[index] ?? '') as KeyRecord['refusal'],
      rateLimit: row.rate_limits[index] ?? 0,
      expiresAtMs: Number(row.expire_at_ms[index]),
      ...parseKeyLimits({
        networks: row.networks[index] ?? '',
        endpoints: row.endpoints[index] ?? '',
        creditsPerDay: row.credits_per_day[index] ?? '0',
      }),
    },
  }))
  const { changed, endpoints_off: endpointsOff, features_off: featuresOff } = row
  if (!keyCache.addRecords({ epoch: Number(row.epoch), changed, endpointsOff, featuresOff, keys }, sinceEpoch))
    return undefined
  for (const { name } of keys) missing.delete(name)
  for (const name of missing) keyCache.forget(name)
  return missing
}

function toCalls(
  requests: readonly GateRequest[],
  keyCache: KeyCache,
  unknownNames: ReadonlySet<string>,
): { readonly calls: readonly (Call | undefined)[]; readonly missing: MissingKeys } {
  const calls: (Call | undefined)[] = []
  const missing = new Map<string, Principal['kind']>()
  const { nowMs } = keyCache
  for (const request of requests) {
    const { principal, endpoint } = request
    const name = getFactKey(principal)
    const record = keyCache.find(name, nowMs)
    if (record === undefined && !unknownNames.has(name)) missing.set(name, principal.kind)
    // A key used from a disallowed network answers like an unknown key, so a finder cannot tell that it is valid.
    if (record === undefined || (principal.kind === 'key' && !isAllowedNetwork(principal.client, record))) {
      calls.push(undefined)
      continue
    }
    const apiKeyId = principal.kind === 'job' ? principal.name : record.apiKeyId
    const refusal = record.refusal || getSwitchRefusal(request, keyCache) || getEndpointRefusal(endpoint, record)
    calls.push({ request, record, apiKeyId, refusal, limits: toBounds(record, request.session) })
  }
  return { calls, missing }
}

/** The limits of the key's day and of the session, if the request has them. */
function toBounds({ apiKeyId, creditsPerDay }: KeyRecord, session: SessionRequest | undefined): readonly Bound[] {
  if (creditsPerDay === undefined && session === undefined) return NO_LIMITS
  const bounds: Bound[] = []
  if (creditsPerDay !== undefined) bounds.push({ scope: 'key', id: apiKeyId, period: 'day', most: creditsPerDay })
  if (session !== undefined) {
    const { id, creditsMax: most, isNew: begins } = session
    bounds.push({ scope: 'session', id, period: 'ever', most, ...(begins ? { opens: true } : {}) })
  }
  return bounds
}

function getRowKey({ id, period }: Bound): string {
  return `${period} ${id}`
}

function getSwitchRefusal(
  { endpoint, features = NO_FEATURES }: GateRequest,
  { switchedOff }: KeyCache,
): RefusalCode | '' {
  if (endpoint !== null && switchedOff.endpoints.has(endpoint)) return 'ENDPOINT_DISABLED'
  return features.some((feature) => switchedOff.features.has(feature)) ? 'FEATURE_DISABLED' : ''
}

/** Groups calls by organization id. */
function groupByOrganization(calls: readonly (Call | undefined)[]): ReadonlyMap<string, OrganizationBatch> {
  const byId = new Map<string, OrganizationBatch>()
  for (const call of calls) {
    if (call === undefined) continue
    const { organizationId: id, rateLimit } = call.record
    let organization = byId.get(id)
    if (organization === undefined) {
      organization = { id, rateLimit, candidates: 0, bounds: undefined, verdict: undefined }
      byId.set(id, organization)
    }
    if (call.refusal === '') organization.candidates++
    for (const bound of call.limits) {
      organization.bounds ??= new Map()
      organization.bounds.set(getRowKey(bound), { organizationId: id, bound, spent: -1n })
    }
  }
  return byId
}

/** Returns the time of the decision, milliseconds since the epoch; undefined if the batch must be retried. */
async function decide(
  db: Database,
  organizations: ReadonlyMap<string, OrganizationBatch>,
  keyCache: KeyCache,
): Promise<number | undefined> {
  const all = [...organizations.values()]
  // Code units of these ids sort in byte order.
  if (all.length > 1) all.sort((a, b) => (a.id < b.id ? -1 : 1))
  const ids = all.map(({ id }) => id)
  const sinceEpoch = keyCache.epoch
  const bounds: BoundSpent[] = []
  for (const each of all) if (each.bounds !== undefined) bounds.push(...each.bounds.values())
  const [row] = await gateAdmit(db, {
    epoch: sinceEpoch,
    organizations: ids,
    rateLimits: all.map(({ rateLimit }) => rateLimit),
    candidates: all.map(({ candidates }) => candidates),
    limited: bounds.map(({ organizationId }) => organizationId),
    scopes: bounds.map(({ bound }) => bound.id),
    daily: bounds.map(({ bound }) => (bound.period === 'day' ? 1 : 0)),
  })
  if (row === undefined) {
    await rateWindowPrime(db, { organizations: ids })
    return undefined
  }
  const epoch = Number(row.epoch)
  if (epoch !== sinceEpoch) keyCache.note({ epoch, changed: row.changed }, sinceEpoch)
  if (row.is_stale) return undefined
  for (const [index, limit] of bounds.entries()) limit.spent = BigInt(row.spent[index] ?? -1)
  all.forEach((organization, index) => {
    organization.verdict = {
      credits: BigInt(row.balances[index] ?? 0),
      used: Number(row.used[index]),
      admitted: Number(row.admitted[index]),
      resetUs: Number(row.resets_us[index]),
      passed: 0,
    }
  })
  return Number(row.requested_at_ms)
}

/** Admits the organization's first `admitted` candidates, in order of arrival over all its keys. */
function toAdmission(
  call: Call | undefined,
  {
    organizations,
    keyCache,
    requestedAtMs,
  }: {
    readonly organizations: ReadonlyMap<string, OrganizationBatch>
    readonly keyCache: KeyCache
    readonly requestedAtMs: number
  },
): Admission {
  const organization = call && organizations.get(call.record.organizationId)
  const verdict = organization?.verdict
  if (call === undefined || verdict === undefined) return UNKNOWN_KEY
  const { record, apiKeyId, refusal } = call
  if (record.expiresAtMs > 0 && record.expiresAtMs <= requestedAtMs) {
    keyCache.forget(getFactKey(call.request.principal))
    return UNKNOWN_KEY
  }
  const { rateLimit: limit, organizationId } = record
  const { used, admitted, resetUs, credits } = verdict
  const caller = { organizationId, apiKeyId, credits, limits: toSpendingLimits(call, organization) }
  const isAdmitted = refusal === '' && verdict.passed < admitted
  if (isAdmitted) verdict.passed++
  const remaining = Math.max(0, limit - used - (isAdmitted ? verdict.passed : Math.min(verdict.passed, admitted)))
  // Both times are truncated to milliseconds; otherwise a wait of one second would be rounded up to two.
  const waitMs = Math.floor(resetUs / 1_000) - requestedAtMs
  const rateLimit = { limit, remaining, resetSec: Math.ceil(resetUs / 1_000_000), waitMs }
  if (isAdmitted) return { kind: 'admitted', caller, rateLimit, requestedAtMs }
  const code = refusal === '' ? 'RATE_LIMIT_EXCEEDED' : refusal
  return { kind: 'refused', code, caller, rateLimit, requestedAtMs }
}

/** Returns the limits of a call with their spending. A session without a row was never opened and is left out. */
function toSpendingLimits({ limits }: Call, organization: OrganizationBatch | undefined): Caller['limits'] {
  if (limits.length === 0) return NO_LIMITS
  return limits.flatMap((bound) => {
    const spent = organization?.bounds?.get(getRowKey(bound))?.spent ?? -1n
    if (spent >= 0n) return { ...bound, spent }
    return bound.scope === 'key' || bound.opens === true ? { ...bound, spent: 0n } : []
  })
}
