import { createKey } from '../../../src/account/api_key.ts'
import { CLI_ACTOR } from '../../../src/account/audit.ts'
import { grantCredits } from '../../../src/account/credit.ts'
import { createOrganization } from '../../../src/account/organization.ts'
import type { Database } from '../../../src/db/database.ts'
import type { Admission, Caller, Gate, SessionRequest, Settlement } from '../../../src/http/exchange/gate.ts'

/** An organization with credits and one key. */
export interface Account {
  readonly organizationId: string
  readonly apiKeyId: string
  readonly key: string
  readonly caller: Caller
}

/** Creates an organization that may call. */
export async function createAccount(
  db: Database,
  options: { readonly credits?: number; readonly rateLimit?: number } = {},
): Promise<Account> {
  const { credits = 1_000, rateLimit = 100_000 } = options
  const name = `Test ${crypto.randomUUID()}`
  const { id } = await createOrganization(db, { by: CLI_ACTOR, name, rateLimit })
  if (credits > 0) await grantCredits(db, { by: CLI_ACTOR, organizationId: id, credits, reason: 'Test' })
  const key = await createKey(db, { by: CLI_ACTOR, organizationId: id, name: 'main' })
  return {
    organizationId: id,
    apiKeyId: key.id,
    key: key.key,
    caller: { organizationId: id, apiKeyId: key.id, credits: BigInt(credits), limits: [] },
  }
}

let made = 0

/** A finished request; it costs 1 credit by default. */
export function settlement(caller: Caller, options: Partial<Settlement> = {}): Settlement {
  made++
  return {
    settlementId: `s${String(made).padStart(25, '0')}`,
    requestId: `req_${made}`,
    caller,
    admitted: true,
    requestedAtMs: Date.now(),
    method: 'GET',
    path: '/v1/test',
    routed: true,
    status: 200,
    credits: 1,
    latencyMs: 3,
    ...options,
  }
}

/** The organization's books, read from the tables. */
export interface Books {
  readonly balance: number
  readonly granted: number
  readonly charged: number
  /** Credits that the log charged before it was dropped for its age. */
  readonly dropped: number
  readonly logged: number
  readonly statuses: Readonly<Record<string, number>>
}

/** Reads the books; throws if an invariant does not hold. */
export async function readBooks(db: Database, organizationId: string): Promise<Books> {
  const [row] = await db.run<{
    balance: string
    granted: string
    charged: string
    dropped: string
    logged: string
    odd: string
  }>(
    `select b.most - b.spent as balance, b.most as granted,
       (select coalesce(sum(credits), 0) from request_log_entry where organization_id = $1) as charged,
       (select coalesce(sum(credits), 0) from request_log_dropped where organization_id = $1) as dropped,
       (select count(*) from request_log_entry where organization_id = $1) as logged,
       (select count(*) from (
          select day, api_key_id, path, status, sum(requests)::bigint as requests, sum(credits) as credits,
            array_agg(requests order by hour) filter (where requests > 0) as by_hour
          from (
            select h / 24 as day, h % 24 as hour, api_key_id, counted as path, status, count(*) as requests,
              sum(credits) as credits
            from (
              select l.*, case when routed then path else '' end as counted, floor(extract(epoch from requested_at) / 3600)::int as h
              from request_log_entry l where organization_id = $1
            ) l
            group by 1, 2, 3, 4, 5
          ) l
          group by 1, 2, 3, 4
        ) l
        full join (
          select day, api_key_id, path, status, sum(requests)::bigint as requests, sum(credits) as credits,
            array_agg(requests order by hour) filter (where requests > 0) as by_hour
          from (
            select c.day, c.hour, n.api_key_id, x.path, c.status,
              sum(c.requests)::bigint as requests, sum(c.credits) as credits
            from (
              select r.day, u.hour - 1 as hour, r.organization_no, r.caller_no, r.path_no, r.status, u.requests,
                case when u.hour = 1 then r.credits else 0 end as credits
              from request_rollup r cross join lateral unnest(r.by_hour) with ordinality u (requests, hour)
              union all
              select p.hour / 24, p.hour % 24, u.organization_no, u.caller_no, u.path_no, u.status, u.requests, u.credits
              from request_rollup_pending p
              cross join lateral unnest(p.organizations, p.callers, p.paths, p.statuses, p.requests, p.credits)
                u (organization_no, caller_no, path_no, status, requests, credits)
            ) c
            join request_caller n on n.no = c.caller_no and n.organization_no = c.organization_no
            join request_path x on x.no = c.path_no
            where n.organization_id = $1
            group by 1, 2, 3, 4, 5
          ) c
          group by 1, 2, 3, 4
          having sum(requests) <> 0 or sum(credits) <> 0
        ) r using (day, api_key_id, path, status)
        where l.requests is distinct from r.requests or l.credits is distinct from r.credits
          or l.by_hour is distinct from r.by_hour) as odd
     from spending_limit b where b.organization_id = $1 and b.scope = '' and b.period = 0`,
    [organizationId],
    { deadlineMs: 10_000 },
  )
  if (row === undefined) throw new Error(`Cannot read the books of ${organizationId}`)
  const statuses = await db.run<{ status: number; requests: string }>(
    'select status, count(*) as requests from request_log_entry where organization_id = $1 group by status',
    [organizationId],
  )
  const books = {
    balance: Number(row.balance),
    granted: Number(row.granted),
    charged: Number(row.charged),
    dropped: Number(row.dropped),
    logged: Number(row.logged),
    statuses: Object.fromEntries(statuses.map((each) => [String(each.status), Number(each.requests)])),
  }
  if (books.balance < 0) throw new Error(`The balance is ${books.balance}`)
  if (books.charged + books.dropped + books.balance !== books.granted)
    throw new Error(`Credits are lost: ${JSON.stringify(books)}`)
  if (row.odd !== '0') throw new Error(`${row.odd} rollups differ from the log`)
  const days = await db.run<{ counted: string; charged: string }>(
    `select coalesce(sum(d.spent), 0) as counted,
       (select coalesce(sum(l.credits), 0) from request_log_entry l
        where l.organization_id = $1 and l.api_key_id = k.id
          and l.requested_at >= timestamptz 'epoch' + $2 * interval '1 day') as charged
     from api_key k
     left join spending_limit d on d.organization_id = k.organization_id and d.scope = k.id and d.period >= $2
     where k.organization_id = $1 and k.credits_per_day is not null
     group by k.id`,
    // Older days may be forgotten.
    [organizationId, Math.floor(Date.now() / 86_400_000) - 1],
    { deadlineMs: 10_000 },
  )
  const wrong = days.filter(({ counted, charged }) => counted !== charged)
  if (wrong.length > 0) throw new Error(`The days of keys differ from the log: ${JSON.stringify(wrong)}`)
  return books
}

/** Asks for admission with a key, as a request over HTTP does. */
export async function admitKey(
  gate: Gate,
  options: {
    readonly key: string
    readonly endpoint: string | null
    readonly features?: Parameters<Gate['admit']>[0]['features']
    readonly client?: { readonly ip: string }
    readonly session?: SessionRequest | undefined
  },
): Promise<Admission> {
  const { key, client, endpoint, features = [], session } = options
  const principal = gate.toHolder(key, client)
  return principal === undefined ? { kind: 'unknown_key' } : gate.admit({ principal, endpoint, features, session })
}

/** The admission; throws if the request was not admitted. */
export function admitted(admission: Admission): Extract<Admission, { kind: 'admitted' }> {
  if (admission.kind !== 'admitted') throw new Error(`Expected an admission, got ${JSON.stringify(admission.kind)}`)
  return admission
}

/** Lets `ms` pass for an organization's rate window, whose clock is the database's. */
export async function ageRateWindow(db: Database, organizationId: string, ms: number): Promise<void> {
  await db.run(
    `update rate_window_state set at = array(
       select t - $2 * interval '1 millisecond' from unnest(at) with ordinality a (t, no) order by no)
     where organization_id = $1`,
    [organizationId, ms],
  )
}
