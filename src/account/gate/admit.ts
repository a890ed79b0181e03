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
import type { KeyCache, KeyRecord } from './key_cache.ts'
import { getEndpointRefusal, isAllowedNetwork, parseKeyLimits } from './key_limits.ts'

interface Call {
  readonly request: GateRequest
  readonly fact: KeyRecord
  /** Who asks, for the log. */
  readonly apiKeyId: string
  /** Why it is refused whatever the window holds; empty if it is not. */
  readonly refusal: RefusalCode | ''
  /** Limits besides the balance, as far as they are known without the database. */
  readonly limits: readonly Bound[]
}

type Bound = Omit<SpendingLimit, 'spent'>

interface OrganizationBatch {
  readonly id: string
  readonly rateLimit: number
  /** Requests that ask for a place in the window. */
  candidates: number
  /** Other limits of its requests, by what names their rows; undefined while there is none, as nearly always. */
  bounds: Map<string, BoundSpent> | undefined
  verdict: Verdict | undefined
}

/** A limit and what was spent of it, which is below zero if it has no row. */
interface BoundSpent {
  readonly organizationId: string
  readonly bound: Bound
  spent: bigint
}

/** What the database decided about an organization. */
interface Verdict {
  readonly credits: bigint
  readonly used: number
  readonly admitted: number
  /** When the oldest place in the window frees: microseconds since the epoch, which a number holds exactly. */
  readonly resetUs: number
  /** Requests of this batch that passed so far. */
  taken: number
}

function getFactKey(principal: Principal): string {
  return principal.kind === 'job' ? principal.organizationId : principal.hash
}

/** How often a batch is tried: facts about keys may be out of date, or a window missing. */
const ATTEMPTS_MAX = 8
const UNKNOWN_KEY: Admission = { kind: 'unknown_key' }
const NO_LIMITS: readonly never[] = []
const NO_FEATURES: readonly never[] = []
const NOBODY: ReadonlySet<string> = new Set()

/**
 * Decides all requests of a batch in one statement, in order of arrival: key, organization, endpoint, then the strict
 * one-second window over all processes. `facts` remembers keys; the statement reports whether they have changed, and
 * those that have are read again first. Throws `UnavailableError` if the database is away.
 */
export async function admitBatch(
  db: Database,
  requests: readonly GateRequest[],
  facts: KeyCache,
): Promise<readonly Admission[]> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const calls = await knownCalls(db, requests, facts)
    if (calls === undefined) continue
    const organizations = organizationsOf(calls)
    if (organizations.size === 0) return requests.map(() => UNKNOWN_KEY)
    const requestedAtMs = await decide(db, organizations, facts)
    if (requestedAtMs !== undefined) {
      return calls.map((call) => admission(call, { organizations, facts, requestedAtMs }))
    }
  }
  throw new UnavailableError('The database could not admit a batch of requests')
}

/** Each request with its fact, undefined for an unknown key. Undefined altogether if a fact went out of date. */
async function knownCalls(
  db: Database,
  requests: readonly GateRequest[],
  facts: KeyCache,
): Promise<readonly (Call | undefined)[] | undefined> {
  const remembered = callsOf(requests, facts, NOBODY)
  if (remembered.missing.size === 0) return remembered.calls
  const unknown = await readMissing(db, remembered.missing, facts)
  if (unknown === undefined) return undefined
  const { calls, missing } = callsOf(requests, facts, unknown)
  return missing.size === 0 ? calls : undefined
}

type MissingKeys = ReadonlyMap<string, Principal['kind']>

/** Reads missing facts; returns the names that do not exist, or undefined if the facts were out of date on arrival. */
async function readMissing(
  db: Database,
  asked: MissingKeys,
  facts: KeyCache,
): Promise<ReadonlySet<string> | undefined> {
  const namesOf = (wanted: Principal['kind']) => [...asked].flatMap(([name, kind]) => (kind === wanted ? name : []))
  const [hashes, organizations] = [namesOf('key'), namesOf('job')]
  const names = [...hashes, ...organizations]
  const missing = new Set(names)
  const since = facts.epoch
  const [read] = await gateFacts(db, { epoch: since, hashes, organizations })
  if (read === undefined) throw new Error('Cannot read facts about keys: the database answered no row')
  const keys = read.key_nos.map((no, place) => ({
    name: names[no - 1] ?? '',
    fact: {
      organizationId: read.organization_ids[place] ?? '',
      apiKeyId: read.api_key_ids[place] ?? '',
      refusal: (read.refusals[place] ?? '') as KeyRecord['refusal'],
      rateLimit: read.rate_limits[place] ?? 0,
      expiresAtMs: Number(read.expire_at_ms[place]),
      ...parseKeyLimits({
        networks: read.networks[place] ?? '',
        endpoints: read.endpoints[place] ?? '',
        creditsPerDay: read.credits_per_day[place] ?? '0',
      }),
    },
  }))
  const { changed, endpoints_off: endpointsOff, features_off: featuresOff } = read
  if (!facts.learn({ epoch: Number(read.epoch), changed, endpointsOff, featuresOff, keys }, since)) return undefined
  for (const { name } of keys) missing.delete(name)
  for (const name of missing) facts.forget(name)
  return missing
}

function callsOf(
  requests: readonly GateRequest[],
  facts: KeyCache,
  unknown: ReadonlySet<string>,
): { readonly calls: readonly (Call | undefined)[]; readonly missing: MissingKeys } {
  const calls: (Call | undefined)[] = []
  const missing = new Map<string, Principal['kind']>()
  const { nowMs } = facts
  for (const request of requests) {
    const { principal, endpoint } = request
    const name = getFactKey(principal)
    const fact = facts.find(name, nowMs)
    if (fact === undefined && !unknown.has(name)) missing.set(name, principal.kind)
    // From another network the key does not exist: whoever found it must not learn that it is one.
    if (fact === undefined || (principal.kind === 'key' && !isAllowedNetwork(principal.client, fact))) {
      calls.push(undefined)
      continue
    }
    const apiKeyId = principal.kind === 'job' ? principal.name : fact.apiKeyId
    const refusal = fact.refusal || switchedOff(request, facts) || getEndpointRefusal(endpoint, fact)
    calls.push({ request, fact, apiKeyId, refusal, limits: boundsOf(fact, request.session) })
  }
  return { calls, missing }
}

/** A key's day and a session, if the request has them. */
function boundsOf({ apiKeyId, creditsPerDay }: KeyRecord, session: SessionRequest | undefined): readonly Bound[] {
  if (creditsPerDay === undefined && session === undefined) return NO_LIMITS
  const bounds: Bound[] = []
  if (creditsPerDay !== undefined) bounds.push({ scope: 'key', id: apiKeyId, period: 'day', most: creditsPerDay })
  if (session !== undefined) {
    const { id, most, begins } = session
    bounds.push({ scope: 'session', id, period: 'ever', most, ...(begins ? { opens: true } : {}) })
  }
  return bounds
}

function getRowKey({ id, period }: Bound): string {
  return `${period} ${id}`
}

function switchedOff({ endpoint, features = NO_FEATURES }: GateRequest, { off }: KeyCache): RefusalCode | '' {
  if (endpoint !== null && off.endpoints.has(endpoint)) return 'ENDPOINT_DISABLED'
  return features.some((feature) => off.features.has(feature)) ? 'FEATURE_DISABLED' : ''
}

/** Those of all calls, by id. */
function organizationsOf(calls: readonly (Call | undefined)[]): ReadonlyMap<string, OrganizationBatch> {
  const byId = new Map<string, OrganizationBatch>()
  for (const call of calls) {
    if (call === undefined) continue
    const { organizationId: id, rateLimit } = call.fact
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

/** Returns when all was decided, milliseconds since the epoch; undefined if it must be tried again. */
async function decide(
  db: Database,
  organizations: ReadonlyMap<string, OrganizationBatch>,
  facts: KeyCache,
): Promise<number | undefined> {
  const all = [...organizations.values()]
  // By code units, which for these ids is byte order.
  if (all.length > 1) all.sort((a, b) => (a.id < b.id ? -1 : 1))
  const ids = all.map(({ id }) => id)
  const since = facts.epoch
  const bounds: BoundSpent[] = []
  for (const each of all) if (each.bounds !== undefined) bounds.push(...each.bounds.values())
  const [row] = await gateAdmit(db, {
    epoch: since,
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
  if (epoch !== since) facts.note({ epoch, changed: row.changed }, since)
  if (row.is_stale) return undefined
  for (const [place, limit] of bounds.entries()) limit.spent = BigInt(row.spent[place] ?? -1)
  all.forEach((organization, place) => {
    organization.verdict = {
      credits: BigInt(row.balances[place] ?? 0),
      used: Number(row.used[place]),
      admitted: Number(row.admitted[place]),
      resetUs: Number(row.resets_us[place]),
      taken: 0,
    }
  })
  return Number(row.requested_at_ms)
}

/** The organization's first `admitted` candidates pass, in order of arrival over all its keys. */
function admission(
  call: Call | undefined,
  {
    organizations,
    facts,
    requestedAtMs,
  }: {
    readonly organizations: ReadonlyMap<string, OrganizationBatch>
    readonly facts: KeyCache
    readonly requestedAtMs: number
  },
): Admission {
  const organization = call && organizations.get(call.fact.organizationId)
  const verdict = organization?.verdict
  if (call === undefined || verdict === undefined) return UNKNOWN_KEY
  const { fact, apiKeyId, refusal } = call
  if (fact.expiresAtMs > 0 && fact.expiresAtMs <= requestedAtMs) {
    facts.forget(getFactKey(call.request.principal))
    return UNKNOWN_KEY
  }
  const { rateLimit: limit, organizationId } = fact
  const { used, admitted, resetUs, credits } = verdict
  const caller = { organizationId, apiKeyId, credits, limits: limitsAt(call, organization) }
  const passes = refusal === '' && verdict.taken < admitted
  if (passes) verdict.taken++
  const remaining = Math.max(0, limit - used - (passes ? verdict.taken : Math.min(verdict.taken, admitted)))
  // Both moments are cut to milliseconds, or a wait of one second would be rounded up to two.
  const waitMs = Math.floor(resetUs / 1_000) - requestedAtMs
  const rateLimit = { limit, remaining, resetSec: Math.ceil(resetUs / 1_000_000), waitMs }
  if (passes) return { kind: 'admitted', caller, rateLimit, requestedAtMs }
  const code = refusal === '' ? 'RATE_LIMIT_EXCEEDED' : refusal
  return { kind: 'refused', code, caller, rateLimit, requestedAtMs }
}

/** The limits of a call with what was spent of them. A session without a row is none: nobody began it. */
function limitsAt({ limits }: Call, organization: OrganizationBatch | undefined): Caller['limits'] {
  if (limits.length === 0) return NO_LIMITS
  return limits.flatMap((bound) => {
    const spent = organization?.bounds?.get(getRowKey(bound))?.spent ?? -1n
    if (spent >= 0n) return { ...bound, spent }
    return bound.scope === 'key' || bound.opens === true ? { ...bound, spent: 0n } : []
  })
}
