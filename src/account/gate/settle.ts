import { gateSettle, gateSettleIdempotent, gateVoid } from '../../../sql/functions.ts'
import { type Database, SqlError } from '../../db/database.ts'
import type { LimitScope, Settlement, SettlementResult, SpendingLimit } from '../../http/exchange/gate.ts'
import type { StoredAnswer } from '../../http/exchange/idempotency.ts'
import { createLogIdCache, type LogIdColumns } from '../log_ids.ts'
import { NO_ENDPOINT } from '../request_log.ts'
import { toIdempotencyRecords } from './idempotency.ts'

const PATH_LENGTH_MAX = 200
const METHOD_LENGTH_MAX = 16
const REQUEST_ID_LENGTH_MAX = 64
const LATENCY_MAX_MS = 2_147_483_647
/** Prefix of a generated request id; the settlement's id follows. */
const OWN_PREFIX = 'req_'
const HOUR_MS = 3_600_000
/** Balances below this many times their dues are locked before the debit: concurrent requests may spend them. */
const SPENT_MEANWHILE_MAX = 16
/** SQLSTATEs of the SQL functions: a balance or limit cannot pay; another request has claimed the idempotency key. */
const CANNOT_PAY = 'WS402'
const SUPERSEDED = 'WS409'
/** SQLSTATE classes of data exceptions and integrity violations: a row is at fault, and a retry would fail again. */
const ROW_FAULT_CLASSES = ['22', '23']

/** Outcome of one settlement: its result, or why the database rejected its row. */
export type SettleOutcome = SettlementResult | SqlError

/** True if the database rejected the row. */
export function isRefusedByDatabase(outcome: SettleOutcome): outcome is SqlError {
  return outcome instanceof SqlError
}

/** Makes a settlement safe to store: printable texts cut to length, whole numbers. */
export function sanitizeSettlement(settlement: Settlement): Settlement {
  const requestId = toPrintable(settlement.requestId, REQUEST_ID_LENGTH_MAX)
  const method = toPrintable(settlement.method, METHOD_LENGTH_MAX)
  const path = toPrintable(settlement.path, PATH_LENGTH_MAX)
  const latencyMs = Math.min(Math.max(0, Math.round(settlement.latencyMs)), LATENCY_MAX_MS)
  const isSafe =
    requestId === settlement.requestId &&
    method === settlement.method &&
    path === settlement.path &&
    latencyMs === settlement.latencyMs
  return isSafe ? settlement : { ...settlement, requestId, method, path, latencyMs }
}

/**
 * Charges and logs all settlements in order of arrival, those of an hour in one durable statement; outcomes are in the
 * same order. A row that the database rejects for its content does not fail the others. Throws `UnavailableError` if
 * the outcome is unknown, and all other errors of the database: then some may have been charged, and all must be
 * voided. `logIds` caches the log's numbers between batches.
 */
export function settleBatch(
  db: Database,
  settlements: readonly Settlement[],
  logIds = createLogIdCache(),
): Promise<readonly SettleOutcome[]> {
  return settleHours(settlements, async (columns) => {
    const rows = await gateSettle(db, { ...columns, ...logIds.find(columns) })
    for (const row of rows) logIds.add(columns, row)
    return rows
  })
}

async function settleHours(settlements: readonly Settlement[], charge: Charge): Promise<readonly SettleOutcome[]> {
  const hour = getHour(settlements[0])
  if (settlements.every((each) => getHour(each) === hour)) return settleHour(settlements, charge)
  // Rollups count by the hour, so each hour has its own statement; the oldest hour is settled first.
  const hours = new Set(settlements.map(getHour))
  const outcomes = new Map<Settlement, SettleOutcome>()
  for (const hour of [...hours].sort((a, b) => a - b)) {
    const part = settlements.filter((each) => getHour(each) === hour)
    for (const [index, outcome] of (await settleHour(part, charge)).entries()) {
      const settlement = part[index]
      if (settlement !== undefined) outcomes.set(settlement, outcome)
    }
  }
  return settlements.flatMap((each) => outcomes.get(each) ?? [])
}

/**
 * Settles like `settleBatch`, and stores the answers in the same statement under the claimed idempotency keys. Rejects
 * a settlement as superseded if another request has claimed its key.
 */
export async function settleIdempotent(
  db: Database,
  batch: readonly { readonly settlement: Settlement; readonly answer: StoredAnswer }[],
): Promise<readonly SettleOutcome[]> {
  const answers = new Map(batch.map(({ settlement, answer }) => [settlement, answer]))
  const settlements = batch.map(({ settlement }) => settlement)
  return settleHours(settlements, (columns, part) =>
    gateSettleIdempotent(db, { ...toIdempotencyRecords(part.flatMap((each) => answers.get(each) ?? [])), ...columns }),
  )
}

/** True if a settlement was rejected because another request has claimed its idempotency key. */
export function isSuperseded(error: unknown): boolean {
  return error instanceof SqlError && error.code === SUPERSEDED
}

/**
 * Ends settlements with an unknown outcome as 503 without a charge: undoes those that were written, and blocks those
 * that may still arrive. Idempotent. Returns the settlements whose rows the database rejects.
 */
export async function voidBatch(db: Database, settlements: readonly Settlement[]): Promise<readonly Settlement[]> {
  try {
    await gateVoid(db, toVoidColumns(settlements))
    return []
  } catch (error) {
    if (!isRowFault(error)) throw error
    if (settlements.length === 1) return settlements
    const middle = settlements.length >> 1
    const first = await voidBatch(db, settlements.slice(0, middle))
    return [...first, ...(await voidBatch(db, settlements.slice(middle)))]
  }
}

/** Settles in one statement, or in one for each half if a row's content is rejected: that changes nothing. */
async function settleHour(settlements: readonly Settlement[], charge: Charge): Promise<readonly SettleOutcome[]> {
  try {
    return await settleAll(settlements, charge)
  } catch (error) {
    if (!isRowFault(error)) throw error
    if (settlements.length === 1) return [error]
    const middle = settlements.length >> 1
    // Sequential: the order of arrival decides which requests a balance covers.
    const first = await settleHour(settlements.slice(0, middle), charge)
    return [...first, ...(await settleHour(settlements.slice(middle), charge))]
  }
}

async function settleAll(settlements: readonly Settlement[], charge: Charge): Promise<readonly SettlementResult[]> {
  const [row] = await chargeAndLog((columns) => charge(columns, settlements), toColumns(settlements))
  const balances = new Map<string, bigint>()
  row?.organization_ids.forEach((id, index) => void balances.set(id, BigInt(row.balances[index] ?? 0)))
  const scopes = new Map(row?.unpaid.map((number, index) => [number - 1, row.scopes[index] ?? '']))
  return settlements.map(({ caller, credits }, index) => {
    const creditsRemaining = balances.get(caller.organizationId) ?? 0n
    const scope = scopes.get(index)
    if (scope === undefined) return { paid: true, creditsCharged: credits, creditsRemaining }
    const refusedBy: LimitScope = caller.limits.find(({ id }) => id === scope)?.scope ?? 'organization'
    return { paid: false, refusedBy, creditsCharged: 0, creditsRemaining }
  })
}

/** Charges and logs. If an organization lacks credits, nothing has changed: retries once with all balances locked. */
async function chargeAndLog(charge: (columns: Columns) => ReturnType<Charge>, columns: Columns) {
  try {
    return await charge(columns)
  } catch (error) {
    if (!(error instanceof SqlError && error.code === CANNOT_PAY)) throw error
    return await charge({ ...columns, lock: 1 })
  }
}

type Columns = Omit<Parameters<typeof gateSettle>[1], keyof LogIdColumns>
/** The statement that charges and logs settlements, from their columns without the log's numbers. */
type Charge = (columns: Columns, settlements: readonly Settlement[]) => ReturnType<typeof gateSettleIdempotent>

/** Requests with the same organization, key, path, status and limits. */
interface Group {
  readonly number: number
  readonly first: Settlement
  readonly limits: readonly SpendingLimit[]
  requests: number
  credits: number
}

/** Credits that an organization owes for a batch, and the lowest balance among its admissions. */
interface Payer {
  readonly organizationId: string
  due: number
  balanceMin: bigint
}

/** Parameters of `gate_settle`: payers, groups of requests, their limits besides balances, and the requests. */
function toColumns(settlements: readonly Settlement[]): Columns {
  const groupsByName = new Map<string, Group>()
  const groups: Group[] = []
  const payersByOrganization = new Map<string, Payer>()
  const groupNumbers = settlements.map((each) => {
    const { caller, status, credits } = each
    const { organizationId } = caller
    const path = getCountedPath(each)
    const limits = listChargedLimits(each)
    const bound = limits.length === 0 ? '' : limits.map(({ scope, id, most }) => ` ${scope} ${id} ${most}`).join('')
    const name = `${status} ${organizationId} ${caller.apiKeyId} ${path}${bound}`
    let group = groupsByName.get(name)
    if (group === undefined) {
      group = { number: groups.length + 1, first: each, limits, requests: 0, credits: 0 }
      groups.push(group)
      groupsByName.set(name, group)
    }
    group.requests++
    group.credits += credits
    const payer = payersByOrganization.get(organizationId)
    if (payer === undefined)
      payersByOrganization.set(organizationId, { organizationId, due: credits, balanceMin: caller.credits })
    else {
      payer.due += credits
      if (caller.credits < payer.balanceMin) payer.balanceMin = caller.credits
    }
    return group.number
  })
  const all = [...payersByOrganization.values()]
  const payers = all.filter((each) => each.due > 0)
  // Code units of these ids sort in byte order.
  if (payers.length > 1) payers.sort((a, b) => (a.organizationId < b.organizationId ? -1 : 1))
  const mayLack = payers.some((each) => each.balanceMin < BigInt(each.due * SPENT_MEANWHILE_MAX))
  const limits = groups.flatMap((group) => group.limits.map((limit) => ({ ...limit, number: group.number })))
  return {
    hour: getHour(settlements[0]),
    lock: mayLack || payers.length < all.length || limits.length > 0 ? 1 : 0,
    payers: payers.map((each) => each.organizationId),
    dues: payers.map((each) => each.due),
    organizations: groups.map((each) => each.first.caller.organizationId),
    keys: groups.map((each) => each.first.caller.apiKeyId),
    paths: groups.map((each) => getCountedPath(each.first)),
    statuses: groups.map((each) => each.first.status),
    requests: groups.map((each) => each.requests),
    sums: groups.map((each) => each.credits),
    limitGroups: limits.map((each) => each.number),
    limitScopes: limits.map((each) => each.id),
    limitDaily: limits.map(toDaily),
    limitMosts: limits.map((each) => String(each.most ?? 0)),
    groups: groupNumbers,
    requestIds: settlements.map(toStoredRequestId),
    credits: settlements.map((each) => each.credits),
    ...toRequestColumns(settlements),
  }
}

/** Parameters of each request that `gate_settle` and `gate_void` share. */
function toRequestColumns(settlements: readonly Settlement[]) {
  return {
    requestedAtMs: settlements.map((each) => each.requestedAtMs),
    settlements: settlements.map((each) => each.settlementId),
    methods: settlements.map((each) => each.method),
    asked: settlements.map(getUnroutedPath),
    latenciesMs: settlements.map((each) => each.latencyMs),
    admitted: settlements.map((each) => (each.admitted ? 1 : 0)),
  }
}

/** Parameters of `gate_void`. */
function toVoidColumns(settlements: readonly Settlement[]): Parameters<typeof gateVoid>[1] {
  const limits = settlements.flatMap((each, index) =>
    listChargedLimits(each).map((limit) => ({ ...limit, number: index + 1 })),
  )
  return {
    organizations: settlements.map((each) => each.caller.organizationId),
    requests: settlements.map(toStoredRequestId),
    keys: settlements.map((each) => each.caller.apiKeyId),
    paths: settlements.map(getCountedPath),
    ...toRequestColumns(settlements),
    limitRequests: limits.map((each) => each.number),
    limitScopes: limits.map((each) => each.id),
    limitDaily: limits.map(toDaily),
  }
}

/** Lists the limits that a settlement charges besides the balance, and the session that it opens without a charge. */
function listChargedLimits({ caller, credits, status }: Settlement): readonly SpendingLimit[] {
  if (caller.limits.length === 0) return caller.limits
  return caller.limits.filter(({ most, opens }) => (credits > 0 ? most !== undefined : opens === true && status < 300))
}

/** 1 for a limit of one day, 0 for a limit without an end. */
function toDaily({ period }: SpendingLimit): number {
  return period === 'day' ? 1 : 0
}

/** The request id as the log stores it: empty if it was generated. */
function toStoredRequestId({ requestId, settlementId }: Settlement): string {
  // Compared in two parts, which allocates no text for each request.
  const isOwn = requestId.startsWith(OWN_PREFIX) && requestId.endsWith(settlementId)
  return isOwn && requestId.length === OWN_PREFIX.length + settlementId.length ? '' : requestId
}

function getCountedPath({ path, routed }: Settlement): string {
  return routed ? path : NO_ENDPOINT
}

/** The path of a request without an endpoint; empty for others. */
function getUnroutedPath({ path, routed }: Settlement): string {
  return routed ? '' : path
}

function getHour(settlement?: Settlement): number {
  return Math.floor((settlement?.requestedAtMs ?? 0) / HOUR_MS)
}

function isRowFault(error: unknown): error is SqlError {
  return error instanceof SqlError && (isSuperseded(error) || ROW_FAULT_CLASSES.includes(error.code.slice(0, 2)))
}

function toPrintable(value: string, max: number): string {
  const cut = value.length > max ? value.slice(0, max) : value
  return /^[\x20-\x7e]*$/.test(cut) ? cut : cut.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?')
}
