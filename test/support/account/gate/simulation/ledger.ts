import { FUNCTIONS } from '../../../../../sql/files.ts'
import { type Param, SqlError } from '../../../../../src/db/database.ts'

/** A row of the request log. */
export interface LogRow {
  readonly settlementId: string
  readonly organizationId: string
  readonly apiKeyId: string
  readonly requestId: string
  /** As in the rollups. */
  readonly path: string
  readonly requestedAtMs: number
  readonly admitted: boolean
  readonly status: number
  readonly credits: number
}

/** An idempotency key; without an answer until its request is settled. */
interface KeyRecord {
  readonly organizationId: string
  readonly hash: string
  readonly settlementId: string
  readonly begunMs: number
  /** Without headers it is the result of a change. */
  readonly answer: { readonly headers: string | null; readonly body: string } | undefined
}

interface Organization {
  readonly granted: number
  readonly rateLimit: number
  /** Most credits a day of its key, `key_` and the organization's id; 0 for no limit. */
  readonly creditsPerDay: number
}

/** Result of one statement. */
type Rows = readonly object[]
/** Parameters by name, without `p_`. */
type Named = Readonly<Record<string, Param>>

const DAY_MS = 86_400_000
const SECOND_MS = 1_000
/** A settlement with this method is rejected for its content, as one with bytes that are no text would be. */
export const POISON = 'POISON'

/**
 * The gate's tables as plain collections, and its SQL functions as plain loops over single requests: what the tables
 * must hold after each statement. `ledger_test.ts` compares it with PostgreSQL.
 */
export function createLedger(options: { readonly id: string; readonly now: () => number }) {
  const { id, now } = options
  const organizations = new Map<string, Organization>()
  const log = new Map<string, LogRow>()
  /** Credits spent of each limit, by `getLimitName`. */
  const spent = new Map<string, number>()
  const keys = new Map<string, KeyRecord>()
  /** Settlements that have made their change. */
  const changed: string[] = []
  /** Times of admissions of each organization. */
  const admittedAtMs = new Map<string, number[]>()

  const balance = (organizationId: string) =>
    (organizations.get(organizationId)?.granted ?? 0) - (spent.get(getLimitName(organizationId)) ?? 0)

  function spend(name: string, credits: number): void {
    spent.set(name, (spent.get(name) ?? 0) + credits)
  }

  function facts(params: Named): Rows {
    const found = texts(params['hashes']).flatMap((hash, index) => {
      const organization = organizations.get(hash)
      return organization === undefined ? [] : [{ no: index + 1, organizationId: hash, ...organization }]
    })
    return [
      {
        epoch: '1',
        changed: [],
        endpoints_off: [],
        features_off: [],
        key_nos: found.map(({ no }) => no),
        organization_ids: found.map(({ organizationId }) => organizationId),
        api_key_ids: found.map(({ organizationId }) => `key_${organizationId}`),
        refusals: found.map(() => ''),
        rate_limits: found.map(({ rateLimit }) => rateLimit),
        expire_at_ms: found.map(() => '0'),
        networks: found.map(() => ''),
        endpoints: found.map(() => ''),
        credits_per_day: found.map(({ creditsPerDay }) => String(creditsPerDay)),
      },
    ]
  }

  function admit(params: Named): Rows {
    const [rateLimits, candidates] = [numbers(params['rate_limits']), numbers(params['candidates'])]
    const [scopes, daily] = [texts(params['scopes']), numbers(params['daily'])]
    const decided = texts(params['organizations']).map((organizationId, index) => {
      const times = (admittedAtMs.get(organizationId) ?? []).filter((atMs) => atMs > now() - SECOND_MS)
      const used = times.length
      const admitted = Math.min(candidates[index] ?? 0, Math.max(0, (rateLimits[index] ?? 0) - used))
      times.push(...Array.from({ length: admitted }, now))
      admittedAtMs.set(organizationId, times)
      return { balance: balance(organizationId), used, admitted, resetsMs: (times[0] ?? now()) + SECOND_MS }
    })
    return [
      {
        epoch: '1',
        changed: [],
        is_stale: false,
        requested_at_ms: String(Math.floor(now())),
        balances: decided.map((each) => String(each.balance)),
        used: decided.map((each) => String(each.used)),
        admitted: decided.map((each) => String(each.admitted)),
        resets_us: decided.map((each) => String(Math.floor(each.resetsMs * 1_000))),
        spent: texts(params['limited']).map((organizationId, index) => {
          const period = (daily[index] ?? 0) * Math.floor(now() / DAY_MS)
          return String(spent.get(getLimitName(organizationId, scopes[index], period)) ?? -1)
        }),
      },
    ]
  }

  function settle(params: Named): Rows {
    const charges = table(params, 'charge', ['organizations', 'credits'])
    const groups = table(params, 'group', ['charges', 'keys', 'paths', 'statuses', 'requests', 'credits'])
    const limits = table(params, 'limit', ['groups', 'scopes', 'daily', 'maxima'])
    const requests = table(params, 'request', [
      'groups',
      'at_ms',
      'settlements',
      'ids',
      'methods',
      'credits',
      'admitted',
    ])
    checkSums({ charges, groups, requests })
    if (params['lock'] !== 1) {
      if (limits.length > 0) throw new Error('Cannot settle: there are limits, but balances are not locked')
      const lacking = charges.some((each) => Number(each['credits']) > balance(String(each['organizations'])))
      if (lacking || charges.some((each) => Number(each['credits']) <= 0)) throw sqlError('WS402')
    }
    if (requests.some((each) => each['methods'] === POISON)) throw sqlError('22021')
    const ids = requests.map((each) => String(each['settlements']))
    if (new Set(ids).size < ids.length || ids.some((each) => log.has(each))) throw sqlError('23505')

    const unpaid: { readonly number: number; readonly scope: string }[] = []
    for (const each of limits) {
      const { organizationId } = describe(Number(each['groups']))
      spend(getLimitName(organizationId, String(each['scopes']), toPeriod(each)), 0)
    }
    for (const [index, request] of requests.entries()) {
      const { organizationId, group } = describe(Number(request['groups']))
      const credits = Number(request['credits'])
      const bounds = [
        { scope: '', name: getLimitName(organizationId), left: balance(organizationId) },
        ...limits
          .filter((each) => each['groups'] === request['groups'])
          .map((each) => {
            const name = getLimitName(organizationId, String(each['scopes']), toPeriod(each))
            return { scope: String(each['scopes']), name, left: Number(each['maxima']) - (spent.get(name) ?? 0) }
          }),
      ]
      const refusing = credits === 0 ? undefined : bounds.find(({ left }) => left < credits)
      if (refusing === undefined) for (const { name } of bounds) spend(name, credits)
      else unpaid.push({ number: index + 1, scope: refusing.scope })
      log.set(String(request['settlements']), {
        settlementId: String(request['settlements']),
        organizationId,
        apiKeyId: String(group['keys']),
        requestId: String(request['ids']),
        path: String(group['paths']),
        requestedAtMs: Number(request['at_ms']),
        admitted: request['admitted'] === 1,
        status: refusing === undefined ? Number(group['statuses']) : 402,
        credits: refusing === undefined ? credits : 0,
      })
    }
    return [
      {
        balances: charges.map((each) => String(balance(String(each['organizations'])))),
        unpaid_requests: unpaid.map(({ number }) => number),
        unpaid_scopes: unpaid.map(({ scope }) => scope),
        log_tables: 'tables',
        log_organizations: [],
        log_callers: [],
        log_paths: [],
      },
    ]

    function describe(groupNumber: number) {
      const group = groups[groupNumber - 1] ?? {}
      return { group, organizationId: String(charges[Number(group['charges']) - 1]?.['organizations']) }
    }

    function toPeriod(limit: Row): number {
      return Number(limit['daily']) * Math.floor(Number(params['hour']) / 24)
    }
  }

  function settleIdempotent(params: Named): Rows {
    const settlementIds = texts(params['request_settlements'])
    const claims = settlementIds.map((settlementId) =>
      [...keys].find(([, each]) => each.settlementId === settlementId && each.answer === undefined),
    )
    if (claims.includes(undefined)) throw sqlError('WS409')
    const rows = settle(params)
    const unpaid = rows.flatMap((row) => ('unpaid_requests' in row ? row.unpaid_requests : []))
    for (const [index, claim] of claims.entries()) {
      if (claim === undefined) continue
      const [name, record] = claim
      // Not by the status 402, which a request that costs nothing may have as its own answer.
      if (unpaid.includes(index + 1)) keys.delete(name)
      else {
        const headers = texts(params['answer_headers'])[index] ?? ''
        keys.set(name, { ...record, answer: { headers, body: texts(params['answer_bodies'])[index] ?? '' } })
      }
    }
    return rows
  }

  function settleChange(params: Named): Rows {
    const [settlementId = ''] = texts(params['request_settlements'])
    const claim = [...keys].find(([, each]) => each.settlementId === settlementId && each.answer === undefined)
    const isKept = Number(params['record_bytes']) > 0
    if (isKept && claim === undefined) throw sqlError('WS409')
    const rows = settle(params)
    const [name = '', record] = claim ?? []
    if (rows.some((row) => 'unpaid_requests' in row && (row.unpaid_requests as readonly number[]).length > 0)) {
      keys.delete(name)
      return rows.map((row) => ({ ...row, result: '' }))
    }
    changed.push(settlementId)
    const result = JSON.stringify({ request_id: settlementId, result: settlementId })
    if (isKept && record !== undefined) keys.set(name, { ...record, answer: { headers: null, body: result } })
    return rows.map((row) => ({ ...row, result }))
  }

  function voidChange(params: Named): Rows {
    const isWritten = log.has(texts(params['request_settlements'])[0] ?? '')
    if (!isWritten) voidRequests(params)
    return [{ value: isWritten }]
  }

  function voidRequests(params: Named): Rows {
    const requests = table(params, 'request', [
      'organizations',
      'keys',
      'paths',
      'at_ms',
      'settlements',
      'ids',
      'methods',
      'admitted',
    ])
    const limits = table(params, 'limit', ['requests', 'scopes', 'daily'])
    if (requests.some((each) => each['methods'] === POISON)) throw sqlError('22021')
    for (const [index, request] of requests.entries()) {
      const settlementId = String(request['settlements'])
      release((record) => record.settlementId === settlementId)
      const row = log.get(settlementId)
      const organizationId = String(request['organizations'])
      if (row !== undefined && row.credits > 0) {
        spend(getLimitName(organizationId), -row.credits)
        for (const each of limits.filter((limit) => limit['requests'] === index + 1)) {
          const period = Number(each['daily']) * Math.floor(row.requestedAtMs / DAY_MS)
          spend(getLimitName(organizationId, String(each['scopes']), period), -row.credits)
        }
      }
      log.set(settlementId, {
        settlementId,
        organizationId,
        apiKeyId: String(request['keys']),
        requestId: String(request['ids']),
        path: String(request['paths']),
        requestedAtMs: Number(request['at_ms']),
        admitted: request['admitted'] === 1,
        ...row,
        status: 503,
        credits: 0,
      })
    }
    return [{ voided: 0, inserted: 0, refunded: '0' }]
  }

  function claim(params: Named): Rows {
    const [organizationId, key] = [String(params['organization']), String(params['key'])]
    const [hash, settlementId] = [String(params['hash']), String(params['settlement'])]
    const name = `${organizationId} ${key}`
    const record = keys.get(name)
    const expiresMs = Number(params['claim_sec']) * SECOND_MS
    const isFree =
      record === undefined ||
      now() - record.begunMs >= DAY_MS ||
      (record.answer === undefined && now() - record.begunMs >= expiresMs)
    if (isFree) {
      keys.set(name, { organizationId, hash, settlementId, begunMs: now(), answer: undefined })
      return [{ state: 'claimed', headers: null, body: null }]
    }
    if (record.hash !== hash) return [{ state: 'other', headers: null, body: null }]
    const state = record.answer === undefined ? 'busy' : 'answered'
    return [{ state, headers: record.answer?.headers ?? null, body: record.answer?.body ?? null }]
  }

  function release(isReleased: (record: KeyRecord) => boolean): void {
    for (const [name, record] of keys) if (isReleased(record)) keys.delete(name)
  }

  const functions: Readonly<Record<string, (params: Named) => Rows>> = {
    gate_facts: facts,
    gate_admit: admit,
    gate_settle_batch: settle,
    gate_settle_batch_idempotent: settleIdempotent,
    gate_settle_change: settleChange,
    gate_void_batch: voidRequests,
    gate_void_change: voidChange,
    idempotency_claim: claim,
    request_rollup_fold: () => [{ value: null }],
  }

  return {
    log,
    spent,
    keys,
    changed,
    balance,
    /** Adds an organization with one key, whose hash is the organization's id. */
    add(organizationId: string, organization: Organization): void {
      organizations.set(organizationId, organization)
    },
    /** Runs one statement, all of it or nothing. Throws `SqlError`. */
    run(text: string, params: readonly Param[]): Rows {
      if (/^select id::text as id from ledger/m.test(text)) return [{ id }]
      if (/^delete from idempotency_record where settlement_id = any \(\$1\)/m.test(text)) {
        const [unanswered, voided] = params.map((each) => texts(each))
        release(({ settlementId, answer }) => answer === undefined && unanswered?.includes(settlementId) === true)
        release(({ settlementId }) => voided?.includes(settlementId) === true)
        return []
      }
      const [, name = ''] = /\b(\w+)\((?:\$1|\))/.exec(text) ?? []
      const called = functions[name]
      if (called === undefined) throw new Error(`Cannot run a statement that the ledger does not know: ${text}`)
      const names = listParams(name)
      return called(Object.fromEntries(names.map((each, index) => [each, params[index] ?? null])))
    },
  }
}

/** Names a limit: the balance has no scope and period 0. */
export function getLimitName(organizationId: string, scope = '', period = 0): string {
  return `${organizationId} ${scope} ${period}`
}

type Row = Readonly<Record<string, string | number | undefined>>

/** Rows of the columns that have a prefix. */
function table(params: Named, prefix: string, columns: readonly string[]): readonly Row[] {
  const lists = columns.map((each) => params[`${prefix}_${each}`])
  const length = Math.max(...lists.map((each) => (Array.isArray(each) ? each.length : 0)))
  if (lists.some((each) => !Array.isArray(each) || each.length !== length))
    throw new Error(`Cannot read the columns p_${prefix}_*: their lengths differ`)
  return Array.from({ length }, (_, row) =>
    Object.fromEntries(columns.map((each, index) => [each, (lists[index] as readonly (string | number)[])[row]])),
  )
}

/** Throws unless groups and charges are the sums of their requests, and charges are in order. */
function checkSums(tables: Readonly<Record<'charges' | 'groups' | 'requests', readonly Row[]>>): void {
  const { charges, groups, requests } = tables
  for (const [index, group] of groups.entries()) {
    const own = requests.filter((each) => each['groups'] === index + 1)
    const credits = own.reduce((sum, each) => sum + Number(each['credits']), 0)
    if (own.length !== group['requests'] || credits !== group['credits'])
      throw new Error('Cannot settle: a group is not the sum of its requests')
  }
  for (const [index, charge] of charges.entries()) {
    const own = groups.filter((each) => each['charges'] === index + 1)
    const credits = own.reduce((sum, each) => sum + Number(each['credits']), 0)
    if (own.length === 0 || credits !== charge['credits'])
      throw new Error('Cannot settle: a charge is not the sum of its groups')
    if (index > 0 && String(charges[index - 1]?.['organizations']) >= String(charge['organizations']))
      throw new Error('Cannot settle: charges are not in the order of organizations')
  }
}

const paramsByFunction = new Map<string, readonly string[]>()

/** Lists the parameters of a function, from its file. */
function listParams(name: string): readonly string[] {
  const known = paramsByFunction.get(name)
  if (known !== undefined) return known
  const text = FUNCTIONS.find((each) => each.name === name)?.text ?? ''
  const [, list = ''] = /^create or replace function \w+\(([^)]*)\)/m.exec(text) ?? []
  const names = [...list.matchAll(/\bp_(\w+) /g)].map(([, each = '']) => each)
  paramsByFunction.set(name, names)
  return names
}

function texts(value: Param | undefined): readonly string[] {
  return (value ?? []) as readonly string[]
}

function numbers(value: Param | undefined): readonly number[] {
  return (value ?? []) as readonly number[]
}

function sqlError(code: string): SqlError {
  return new SqlError(`The ledger refused a statement: ${code}`, { code })
}
