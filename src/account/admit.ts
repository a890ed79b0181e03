import gateAdmitSql from '../../sql/queries/gate_admit.sql' with { type: 'text' }
import ratePrimeSql from '../../sql/queries/rate_window_prime.sql' with { type: 'text' }
import type { Database } from '../db/database.ts'
import { query } from '../db/query.ts'
import type { Admission, Caller, RefusalCode } from '../http/gate.ts'
import { UnavailableError } from '../lib/error.ts'

const gateAdmit = query(gateAdmitSql, 'gate')
const ratePrime = query(ratePrimeSql, 'gate')

/** One request before its work: `hash` is the SHA-256 of its key in hexadecimal digits. */
export interface AdmitRequest {
  readonly hash: string
  /** `GET /v1/…` as OpenAPI names it; null for an unknown path. */
  readonly endpoint: string | null
}

/** Requests of one batch with the same key and endpoint: the database decides about them together. */
interface Group {
  readonly hash: string
  readonly endpoint: string
  requests: number
}

/** What the database says about all groups, one array per column. */
type Verdicts = Awaited<ReturnType<typeof gateAdmit>>[number]

/** What it says about one of them, for its organization. */
interface Verdict {
  readonly refusal: string
  readonly caller: Caller
  readonly requestedAtMs: number
  readonly limit: number
  readonly used: number
  readonly admitted: number
  /** When the oldest slot frees, microseconds since the epoch, which a number holds exactly. */
  readonly resetUs: number
}

/** How often a missing window may be primed before the database is taken to be unwell. */
const ATTEMPTS_MAX = 3
const UNKNOWN_KEY: Admission = { kind: 'unknown_key' }

/**
 * Decides about all requests of a batch in one statement, in order of arrival: key, organization, endpoint, then the
 * strict one-second window over all processes. Throws `UnavailableError` where the database is away.
 */
export async function admitBatch(db: Database, requests: readonly AdmitRequest[]): Promise<readonly Admission[]> {
  const groups = new Map<string, number>()
  const grouped: Group[] = []
  const groupOf = requests.map(({ hash, endpoint }) => {
    const name = `${hash} ${endpoint ?? ''}`
    let index = groups.get(name)
    if (index === undefined) {
      index = grouped.push({ hash, endpoint: endpoint ?? '', requests: 0 }) - 1
      groups.set(name, index)
    }
    const group = grouped[index]
    if (group !== undefined) group.requests++
    return index
  })

  const verdicts = await decide(db, grouped)
  const byGroup = new Array<Verdict | undefined>(grouped.length)
  for (const [place, groupNo] of verdicts.group_nos.entries()) byGroup[groupNo - 1] = verdictAt(verdicts, place)

  const takenBy = new Map<string, number>()
  return groupOf.map((index) => {
    const verdict = byGroup[index]
    return verdict === undefined ? UNKNOWN_KEY : admission(verdict, takenBy)
  })
}

async function decide(db: Database, groups: readonly Group[]): Promise<Verdicts> {
  const hashes = groups.map((group) => group.hash)
  const endpoints = groups.map((group) => group.endpoint)
  const requests = groups.map((group) => group.requests)
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const [verdicts] = await gateAdmit(db, [hashes, endpoints, requests])
    if (verdicts !== undefined) return verdicts
    await ratePrime(db, [hashes])
  }
  throw new UnavailableError('The database could not open a rate window')
}

function verdictAt(verdicts: Verdicts, place: number): Verdict {
  return {
    refusal: verdicts.refusals[place] ?? '',
    caller: {
      organizationId: verdicts.organization_ids[place] ?? '',
      apiKeyId: verdicts.api_key_ids[place] ?? '',
      credits: BigInt(verdicts.balances[place] ?? 0),
    },
    requestedAtMs: Number(verdicts.requested_at_ms),
    limit: verdicts.rate_limits[place] ?? 0,
    used: Number(verdicts.used[place]),
    admitted: Number(verdicts.admitted[place]),
    resetUs: Number(verdicts.resets_us[place]),
  }
}

/** The organization's first `admitted` candidates in order of arrival pass, whatever key they came with. */
function admission(verdict: Verdict, takenBy: Map<string, number>): Admission {
  const { refusal, caller, limit, used, admitted, resetUs, requestedAtMs } = verdict
  const { organizationId } = caller
  const taken = takenBy.get(organizationId) ?? 0
  const passes = refusal === '' && taken < admitted
  if (passes) takenBy.set(organizationId, taken + 1)
  const remaining = Math.max(0, limit - used - (passes ? taken + 1 : Math.min(taken, admitted)))
  // Both moments lose the same part of a millisecond, or a wait of one second would be told as two.
  const waitMs = Math.floor(resetUs / 1_000) - requestedAtMs
  const rateLimit = { limit, remaining, resetSec: Math.ceil(resetUs / 1_000_000), waitMs }
  if (passes) return { kind: 'admitted', caller, rateLimit, requestedAtMs }
  const code = refusal === '' ? 'RATE_LIMIT_EXCEEDED' : (refusal as RefusalCode)
  return { kind: 'refused', code, caller, rateLimit, requestedAtMs }
}
