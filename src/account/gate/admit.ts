import gateAdmitSql from '../../../sql/queries/gate_admit.sql' with { type: 'text' }
import gateFactsSql from '../../../sql/queries/gate_facts.sql' with { type: 'text' }
import ratePrimeSql from '../../../sql/queries/rate_window_prime.sql' with { type: 'text' }
import type { Database } from '../../db/database.ts'
import { query } from '../../db/query.ts'
import type { Admission, Principal, RefusalCode } from '../../http/exchange/gate.ts'
import type { Feature } from '../../http/route/route.ts'
import { UnavailableError } from '../../lib/error.ts'
import type { Facts, KeyFact } from './facts.ts'
import { comesFrom, dayOf, limitsOf, notAllowed } from './key_limits.ts'

const gateAdmit = query(gateAdmitSql, 'gate')
const gateFacts = query(gateFactsSql, 'gate')
const ratePrime = query(ratePrimeSql, 'gate')

/** One request before its work. */
export interface AdmitRequest {
  readonly principal: Principal
  /** `GET /v1/…` as OpenAPI names it; null for an unknown path. */
  readonly endpoint: string | null
  /** What must be switched on for it. */
  readonly features: readonly Feature[]
}

/** A request whose key is known. */
interface Call {
  readonly request: AdmitRequest
  readonly fact: KeyFact
  /** Who asks, for the log. */
  readonly apiKeyId: string
  /** Why it is refused whatever the window holds; empty if it is not. */
  readonly refusal: RefusalCode | ''
}

/** An organization's requests in one batch. */
interface Organization {
  readonly id: string
  readonly rateLimit: number
  /** Requests that ask for a place in the window. */
  candidates: number
  /** Keys that may spend only so much a day, and what they have spent of it. */
  readonly spentByKey: Map<string, bigint>
  verdict: Verdict | undefined
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

/** Under what the facts about a principal are remembered. */
export function factNameOf(principal: Principal): string {
  return principal.kind === 'job' ? principal.organizationId : principal.hash
}

/** How often a batch is tried: facts about keys may be out of date, or a window missing. */
const ATTEMPTS_MAX = 8
const UNKNOWN_KEY: Admission = { kind: 'unknown_key' }

/**
 * Decides all requests of a batch in one statement, in order of arrival: key, organization, endpoint, then the strict
 * one-second window over all processes. `facts` remembers keys; the statement reports whether they have changed, and
 * those that have are read again first. Throws `UnavailableError` if the database is away.
 */
export async function admitBatch(
  db: Database,
  requests: readonly AdmitRequest[],
  facts: Facts,
): Promise<readonly Admission[]> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const unknown = await readMissing(db, requests, facts)
    const calls = unknown === undefined ? undefined : callsOf(requests, { facts, unknown })
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

/** Reads missing facts; returns the names that do not exist, or undefined if the facts were out of date on arrival. */
async function readMissing(
  db: Database,
  requests: readonly AdmitRequest[],
  facts: Facts,
): Promise<ReadonlySet<string> | undefined> {
  const hashes = new Set<string>()
  const organizations = new Set<string>()
  for (const { principal } of requests) {
    const name = factNameOf(principal)
    if (facts.find(name) === undefined) (principal.kind === 'job' ? organizations : hashes).add(name)
  }
  const names = [...hashes, ...organizations]
  const missing = new Set(names)
  if (missing.size === 0) return missing
  const since = facts.epoch
  const [read] = await gateFacts(db, [since, [...hashes], [...organizations]])
  if (read === undefined) throw new Error('Cannot read facts about keys: the database answered no row')
  const keys = read.key_nos.map((no, place) => ({
    name: names[no - 1] ?? '',
    fact: {
      organizationId: read.organization_ids[place] ?? '',
      apiKeyId: read.api_key_ids[place] ?? '',
      refusal: (read.refusals[place] ?? '') as KeyFact['refusal'],
      rateLimit: read.rate_limits[place] ?? 0,
      expiresAtMs: Number(read.expire_at_ms[place]),
      ...limitsOf({
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

/** Each request with its fact, undefined for an unknown key. Undefined altogether if a fact went out of date. */
function callsOf(
  requests: readonly AdmitRequest[],
  { facts, unknown }: { readonly facts: Facts; readonly unknown: ReadonlySet<string> },
): readonly (Call | undefined)[] | undefined {
  const calls: (Call | undefined)[] = []
  for (const request of requests) {
    const { principal, endpoint } = request
    const name = factNameOf(principal)
    const fact = facts.find(name)
    if (fact === undefined && !unknown.has(name)) return undefined
    // From another network the key does not exist: whoever found it must not learn that it is one.
    if (fact === undefined || (principal.kind === 'key' && !comesFrom(principal.client, fact))) {
      calls.push(undefined)
      continue
    }
    const apiKeyId = principal.kind === 'job' ? principal.name : fact.apiKeyId
    const refusal = fact.refusal || switchedOff(request, facts) || notAllowed(endpoint, fact)
    calls.push({ request, fact, apiKeyId, refusal })
  }
  return calls
}

function switchedOff({ endpoint, features }: AdmitRequest, { off }: Facts): RefusalCode | '' {
  if (endpoint !== null && off.endpoints.has(endpoint)) return 'ENDPOINT_DISABLED'
  return features.some((feature) => off.features.has(feature)) ? 'FEATURE_DISABLED' : ''
}

/** Sorted by id: by code units, which for these ids is byte order. */
function organizationsOf(calls: readonly (Call | undefined)[]): ReadonlyMap<string, Organization> {
  const byId = new Map<string, Organization>()
  for (const call of calls) {
    if (call === undefined) continue
    const { organizationId: id, rateLimit, apiKeyId, creditsPerDay } = call.fact
    let organization = byId.get(id)
    if (organization === undefined) {
      organization = { id, rateLimit, candidates: 0, spentByKey: new Map(), verdict: undefined }
      byId.set(id, organization)
    }
    if (call.refusal === '') organization.candidates++
    if (creditsPerDay !== undefined) organization.spentByKey.set(apiKeyId, 0n)
  }
  return byId.size < 2 ? byId : new Map([...byId].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Returns when all was decided, milliseconds since the epoch; undefined if it must be tried again. */
async function decide(
  db: Database,
  organizations: ReadonlyMap<string, Organization>,
  facts: Facts,
): Promise<number | undefined> {
  const all = [...organizations.values()]
  const ids = all.map(({ id }) => id)
  const since = facts.epoch
  const limits = all.map(({ rateLimit }) => rateLimit)
  const candidates = all.map((each) => each.candidates)
  const payers = all.flatMap(({ id, spentByKey }) => Array<string>(spentByKey.size).fill(id))
  const keys = all.flatMap(({ spentByKey }) => [...spentByKey.keys()])
  const [row] = await gateAdmit(db, [since, ids, limits, candidates, payers, keys])
  if (row === undefined) {
    await ratePrime(db, [ids])
    return undefined
  }
  const epoch = Number(row.epoch)
  if (epoch !== since) facts.note({ epoch, changed: row.changed }, since)
  if (row.is_stale) return undefined
  let limited = 0
  for (const [place, organization] of all.entries()) {
    for (const key of organization.spentByKey.keys()) {
      organization.spentByKey.set(key, BigInt(row.spent[limited] ?? 0))
      limited++
    }
    organization.verdict = {
      credits: BigInt(row.balances[place] ?? 0),
      used: Number(row.used[place]),
      admitted: Number(row.admitted[place]),
      resetUs: Number(row.resets_us[place]),
      taken: 0,
    }
  }
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
    readonly organizations: ReadonlyMap<string, Organization>
    readonly facts: Facts
    readonly requestedAtMs: number
  },
): Admission {
  const organization = call && organizations.get(call.fact.organizationId)
  const verdict = organization?.verdict
  if (call === undefined || verdict === undefined) return UNKNOWN_KEY
  const { fact, apiKeyId, refusal } = call
  if (fact.expiresAtMs > 0 && fact.expiresAtMs <= requestedAtMs) {
    facts.forget(factNameOf(call.request.principal))
    return UNKNOWN_KEY
  }
  const { rateLimit: limit, organizationId } = fact
  const { used, admitted, resetUs, credits } = verdict
  const day = dayOf(fact, organization?.spentByKey.get(apiKeyId))
  const caller = { organizationId, apiKeyId, credits, ...(day === undefined ? {} : { day }) }
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
