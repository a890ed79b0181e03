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
/** Prefix of a request id that we made; the settlement's id follows. */
const OWN_PREFIX = 'req_'
const HOUR_MS = 3_600_000
/** Balances below this many times their dues are locked before anything is debited: others may spend meanwhile. */
const SPENT_MEANWHILE_MAX = 16
/** Our own SQLSTATEs: not all can pay; the idempotency key has gone to another request. */
const CANNOT_PAY = 'WS402'
const SUPERSEDED = 'WS409'
/** Data exceptions and integrity violations: a row is at fault, and sending it again would not help. */
const ROW_FAULT_CLASSES = ['22', '23']

/** What became of one settlement: its verdict, or why the database refused its row. */
export type SettleOutcome = SettlementResult | SqlError

/** True if the database refused the row. */
export function isRefusedByDatabase(outcome: SettleOutcome): outcome is SqlError {
  return outcome instanceof SqlError
}

/** A settlement that is safe to store: texts printable and cut, numbers whole. */
export function sanitizeSettlement(settlement: Settlement): Settlement {
  const requestId = printable(settlement.requestId, REQUEST_ID_LENGTH_MAX)
  const method = printable(settlement.method, METHOD_LENGTH_MAX)
  const path = printable(settlement.path, PATH_LENGTH_MAX)
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
 * same order. A row that the database refuses for its content does not fail the others. Throws `UnavailableError` if
 * the outcome is unknown, and all other errors of the database: then some may have been charged, and all must be
 * voided. `numbers` are those of earlier batches.
 */
export function settleBatch(
  db: Database,
  settlements: readonly Settlement[],
  numbers = createLogIdCache(),
): Promise<readonly SettleOutcome[]> {
  return settleHours(settlements, async (columns) => {
    const rows = await gateSettle(db, { ...columns, ...numbers.find(columns) })
    for (const row of rows) numbers.learn(columns, row)
    return rows
  })
}

async function settleHours(settlements: readonly Settlement[], charge: Charge): Promise<readonly SettleOutcome[]> {
  const hour = hourOf(settlements[0])
  if (settlements.every((each) => hourOf(each) === hour)) return settleHour(settlements, charge)
  // Rollups count by the hour, so each hour has its own statement; the oldest, which was admitted first, goes first.
  const hours = new Set(settlements.map(hourOf))
  const outcomes = new Map<Settlement, SettleOutcome>()
  for (const hour of [...hours].sort((a, b) => a - b)) {
    const part = settlements.filter((each) => hourOf(each) === hour)
    for (const [index, outcome] of (await settleHour(part, charge)).entries()) {
      const settlement = part[index]
      if (settlement !== undefined) outcomes.set(settlement, outcome)
    }
  }
  return settlements.flatMap((each) => outcomes.get(each) ?? [])
}

/**
 * The same for settlements whose answers are kept, in the same statement, under the keys that they have claimed. One
 * whose key has gone to another request is refused as superseded.
 */
export async function settleIdempotent(
  db: Database,
  kept: readonly { readonly settlement: Settlement; readonly answer: StoredAnswer }[],
): Promise<readonly SettleOutcome[]> {
  const answers = new Map(kept.map(({ settlement, answer }) => [settlement, answer]))
  const settlements = kept.map(({ settlement }) => settlement)
  return settleHours(settlements, (columns, part) =>
    gateSettleIdempotent(db, { ...toIdempotencyRecords(part.flatMap((each) => answers.get(each) ?? [])), ...columns }),
  )
}

/** True if a settlement was refused because its idempotency key has gone to another request. */
export function isSuperseded(error: unknown): boolean {
  return error instanceof SqlError && error.code === SUPERSEDED
}

/**
 * Ends settlements with an unknown outcome as 503, charged nothing: undoes those that were written, and takes the place
 * of those that may still arrive. Idempotent. Returns the settlements whose rows the database refuses.
 */
export async function voidBatch(db: Database, settlements: readonly Settlement[]): Promise<readonly Settlement[]> {
  try {
    await gateVoid(db, voidColumnsOf(settlements))
    return []
  } catch (error) {
    if (!isRowFault(error)) throw error
    if (settlements.length === 1) return settlements
    const middle = settlements.length >> 1
    const first = await voidBatch(db, settlements.slice(0, middle))
    return [...first, ...(await voidBatch(db, settlements.slice(middle)))]
  }
}

/** One statement, or one for each half if it is refused for the content of a row: a refused one changed nothing. */
async function settleHour(settlements: readonly Settlement[], charge: Charge): Promise<readonly SettleOutcome[]> {
  try {
    return await settleAll(settlements, charge)
  } catch (error) {
    if (!isRowFault(error)) throw error
    if (settlements.length === 1) return [error]
    const middle = settlements.length >> 1
    // One after the other: the order of arrival decides who can pay.
    const first = await settleHour(settlements.slice(0, middle), charge)
    return [...first, ...(await settleHour(settlements.slice(middle), charge))]
  }
}

async function settleAll(settlements: readonly Settlement[], charge: Charge): Promise<readonly SettlementResult[]> {
  const [row] = await chargeAndLog((columns) => charge(columns, settlements), columnsOf(settlements))
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

/** If an organization lacks credits, nothing has changed yet: tries once more with all balances locked first. */
async function chargeAndLog(charge: (columns: Columns) => ReturnType<Charge>, columns: Columns) {
  try {
    return await charge(columns)
  } catch (error) {
    if (!(error instanceof SqlError && error.code === CANNOT_PAY)) throw error
    return await charge({ ...columns, lock: 1 })
  }
}

type Columns = Omit<Parameters<typeof gateSettle>[1], keyof LogIdColumns>
/** The statement that charges and logs settlements, from their columns; it has the log's numbers by itself. */
type Charge = (columns: Columns, settlements: readonly Settlement[]) => ReturnType<typeof gateSettleIdempotent>

/** Requests of one organization, key, path and status that the same limits bind. */
interface Group {
  readonly number: number
  readonly first: Settlement
  readonly limits: readonly SpendingLimit[]
  requests: number
  credits: number
}

/** What an organization owes for a batch, and the least balance that its admissions saw. */
interface Payer {
  readonly organizationId: string
  due: number
  least: bigint
}

/** Parameters of `gate_settle`: who pays, groups of requests, what limits them besides balances, and the requests. */
function columnsOf(settlements: readonly Settlement[]): Columns {
  const byName = new Map<string, Group>()
  const groups: Group[] = []
  const byOrganization = new Map<string, Payer>()
  const numbers = settlements.map((each) => {
    const { caller, status, credits } = each
    const { organizationId } = caller
    const path = countedPath(each)
    const limits = chargedLimits(each)
    const bound = limits.length === 0 ? '' : limits.map(({ scope, id, most }) => ` ${scope} ${id} ${most}`).join('')
    const name = `${status} ${organizationId} ${caller.apiKeyId} ${path}${bound}`
    let group = byName.get(name)
    if (group === undefined) {
      group = { number: groups.length + 1, first: each, limits, requests: 0, credits: 0 }
      groups.push(group)
      byName.set(name, group)
    }
    group.requests++
    group.credits += credits
    const payer = byOrganization.get(organizationId)
    if (payer === undefined) byOrganization.set(organizationId, { organizationId, due: credits, least: caller.credits })
    else {
      payer.due += credits
      if (caller.credits < payer.least) payer.least = caller.credits
    }
    return group.number
  })
  const all = [...byOrganization.values()]
  const payers = all.filter((each) => each.due > 0)
  // By code units, which for these ids is byte order.
  if (payers.length > 1) payers.sort((a, b) => (a.organizationId < b.organizationId ? -1 : 1))
  const mayLack = payers.some((each) => each.least < BigInt(each.due * SPENT_MEANWHILE_MAX))
  const limits = groups.flatMap((group) => group.limits.map((limit) => ({ ...limit, number: group.number })))
  return {
    hour: hourOf(settlements[0]),
    lock: mayLack || payers.length < all.length || limits.length > 0 ? 1 : 0,
    payers: payers.map((each) => each.organizationId),
    dues: payers.map((each) => each.due),
    organizations: groups.map((each) => each.first.caller.organizationId),
    keys: groups.map((each) => each.first.caller.apiKeyId),
    paths: groups.map((each) => countedPath(each.first)),
    statuses: groups.map((each) => each.first.status),
    requests: groups.map((each) => each.requests),
    sums: groups.map((each) => each.credits),
    limitGroups: limits.map((each) => each.number),
    limitScopes: limits.map((each) => each.id),
    limitDaily: limits.map(dailyOf),
    limitMosts: limits.map((each) => String(each.most ?? 0)),
    groups: numbers,
    requestIds: settlements.map(storedRequestId),
    credits: settlements.map((each) => each.credits),
    ...requestsOf(settlements),
  }
}

/** Parameters about each request that both functions have. */
function requestsOf(settlements: readonly Settlement[]) {
  return {
    requestedAtMs: settlements.map((each) => each.requestedAtMs),
    settlements: settlements.map((each) => each.settlementId),
    methods: settlements.map((each) => each.method),
    asked: settlements.map(askedPath),
    latenciesMs: settlements.map((each) => each.latencyMs),
    admitted: settlements.map((each) => (each.admitted ? 1 : 0)),
  }
}

/** Parameters of `gate_void`. */
function voidColumnsOf(settlements: readonly Settlement[]): Parameters<typeof gateVoid>[1] {
  const limits = settlements.flatMap((each, index) =>
    chargedLimits(each).map((limit) => ({ ...limit, number: index + 1 })),
  )
  return {
    organizations: settlements.map((each) => each.caller.organizationId),
    requests: settlements.map(storedRequestId),
    keys: settlements.map((each) => each.caller.apiKeyId),
    paths: settlements.map(countedPath),
    ...requestsOf(settlements),
    limitRequests: limits.map((each) => each.number),
    limitScopes: limits.map((each) => each.id),
    limitDaily: limits.map(dailyOf),
  }
}

/** The limits to which a settlement is charged besides the balance, and the session that it opens for nothing. */
function chargedLimits({ caller, credits, status }: Settlement): readonly SpendingLimit[] {
  if (caller.limits.length === 0) return caller.limits
  return caller.limits.filter(({ most, opens }) => (credits > 0 ? most !== undefined : opens === true && status < 300))
}

/** 1 for a limit of one day, 0 for one that does not end. */
function dailyOf({ period }: SpendingLimit): number {
  return period === 'day' ? 1 : 0
}

/** The request id as the log stores it: empty if we made it. */
function storedRequestId({ requestId, settlementId }: Settlement): string {
  // Compared in two parts, or a text would be made for each request.
  const isOwn = requestId.startsWith(OWN_PREFIX) && requestId.endsWith(settlementId)
  return isOwn && requestId.length === OWN_PREFIX.length + settlementId.length ? '' : requestId
}

function countedPath({ path, routed }: Settlement): string {
  return routed ? path : NO_ENDPOINT
}

/** The path that was asked for, if it has no endpoint. */
function askedPath({ path, routed }: Settlement): string {
  return routed ? '' : path
}

function hourOf(settlement?: Settlement): number {
  return Math.floor((settlement?.requestedAtMs ?? 0) / HOUR_MS)
}

function isRowFault(error: unknown): error is SqlError {
  return error instanceof SqlError && (isSuperseded(error) || ROW_FAULT_CLASSES.includes(error.code.slice(0, 2)))
}

function printable(value: string, max: number): string {
  const cut = value.length > max ? value.slice(0, max) : value
  return /^[\x20-\x7e]*$/.test(cut) ? cut : cut.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?')
}
