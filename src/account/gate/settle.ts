import gateSettleSql from '../../../sql/queries/gate_settle.sql' with { type: 'text' }
import gateSettleLimitedSql from '../../../sql/queries/gate_settle_limited.sql' with { type: 'text' }
import gateVoidSql from '../../../sql/queries/gate_void.sql' with { type: 'text' }
import { type Database, SqlError } from '../../db/database.ts'
import { query } from '../../db/query.ts'
import type { Settled, Settlement } from '../../http/exchange/gate.ts'
import { NOWHERE } from '../request_log.ts'

const gateSettle = query(gateSettleSql, 'gate')
const gateSettleLimited = query(gateSettleLimitedSql, 'gate')
const gateVoid = query(gateVoidSql, 'background')

/** Longer texts are cut. */
const PATH_LENGTH_MAX = 200
const METHOD_LENGTH_MAX = 16
const REQUEST_ID_LENGTH_MAX = 64
/** Prefix of a request id that we made; the settlement's id follows. */
const OWN_PREFIX = 'req_'
const HOUR_MS = 3_600_000
/** Balances below this many times their dues are locked before anything is debited: others may spend meanwhile. */
const SPENT_MEANWHILE_MAX = 16
/** Our own SQLSTATE: not all can pay. */
const CANNOT_PAY = 'WS402'
/** Data exceptions and integrity violations: a row is at fault, and sending it again would not help. */
const ROW_FAULT_CLASSES = ['22', '23']

/** What became of one settlement: its verdict, or why the database refused its row. */
export type SettleOutcome = Settled | { readonly refused: SqlError }

/** A settlement that is safe to store: texts printable and cut, numbers whole. */
export function storable(settlement: Settlement): Settlement {
  return {
    ...settlement,
    requestId: printable(settlement.requestId, REQUEST_ID_LENGTH_MAX),
    method: printable(settlement.method, METHOD_LENGTH_MAX),
    path: printable(settlement.path, PATH_LENGTH_MAX),
    latencyMs: Math.min(Math.max(0, Math.round(settlement.latencyMs)), 2_147_483_647),
  }
}

/**
 * Charges and logs all settlements in order of arrival, those of an hour in one durable statement; outcomes are in the
 * same order. A row that the database refuses for its content does not fail the others. Throws `UnavailableError` if
 * the outcome is unknown, and all other errors of the database: then some may have been charged, and all must be
 * voided.
 */
export async function settleBatch(db: Database, settlements: readonly Settlement[]): Promise<readonly SettleOutcome[]> {
  const hours = new Set(settlements.map(hourOf))
  if (hours.size === 1) return settleHour(db, settlements)
  // Rollups count by the hour, so each hour has its own statement; the oldest, which was admitted first, goes first.
  const outcomes = new Map<Settlement, SettleOutcome>()
  for (const hour of [...hours].sort((a, b) => a - b)) {
    const part = settlements.filter((each) => hourOf(each) === hour)
    for (const [index, outcome] of (await settleHour(db, part)).entries()) {
      const settlement = part[index]
      if (settlement !== undefined) outcomes.set(settlement, outcome)
    }
  }
  return settlements.flatMap((each) => outcomes.get(each) ?? [])
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
async function settleHour(db: Database, settlements: readonly Settlement[]): Promise<readonly SettleOutcome[]> {
  try {
    return await settleAll(db, settlements)
  } catch (error) {
    if (!isRowFault(error)) throw error
    if (settlements.length === 1) return [{ refused: error }]
    const middle = settlements.length >> 1
    // One after the other: the order of arrival decides who can pay.
    const first = await settleHour(db, settlements.slice(0, middle))
    return [...first, ...(await settleHour(db, settlements.slice(middle)))]
  }
}

async function settleAll(db: Database, settlements: readonly Settlement[]): Promise<readonly Settled[]> {
  const { columns, limits } = columnsOf(settlements)
  const row = limits.every((limit) => limit === 0)
    ? await debitAndLog(db, columns)
    : await settleLimited(db, columns, limits)
  const balances = new Map(row?.organization_ids.map((id, index) => [id, BigInt(row.balances[index] ?? 0)]))
  const usedUp = new Set(row?.usedUp.map((number) => number - 1))
  const unpaid = new Set([...usedUp, ...(row?.unpaid ?? []).map((number) => number - 1)])
  return settlements.map(({ caller, credits }, index) => ({
    paid: !unpaid.has(index),
    creditsCharged: unpaid.has(index) ? 0 : credits,
    creditsRemaining: balances.get(caller.organizationId) ?? 0n,
    ...(usedUp.has(index) ? { isDayUsedUp: true } : {}),
  }))
}

/** What a batch was charged. Numbers of requests begin with 1. */
interface Charged {
  readonly organization_ids: readonly string[]
  readonly balances: readonly string[]
  /** Requests that the balance could not pay. */
  readonly unpaid: readonly number[]
  /** Requests whose keys have used up their credits of the day. */
  readonly usedUp: readonly number[]
}

/** The same for a batch with keys that may spend only so much a day. */
async function settleLimited(
  db: Database,
  [hour, , ...rest]: Columns,
  limits: readonly number[],
): Promise<Charged | undefined> {
  const [row] = await gateSettleLimited(db, [hour, ...rest, limits])
  return row && { ...row, usedUp: row.used_up }
}

/** If an organization lacks credits, nothing has changed yet: tries once more with all balances locked first. */
async function debitAndLog(db: Database, columns: Columns): Promise<Charged | undefined> {
  try {
    const [row] = await gateSettle(db, columns)
    return row && { ...row, usedUp: [] }
  } catch (error) {
    if (!(error instanceof SqlError && error.code === CANNOT_PAY)) throw error
    const [hour, , ...rest] = columns
    const [row] = await gateSettle(db, [hour, 1, ...rest])
    return row && { ...row, usedUp: [] }
  }
}

type Columns = Parameters<typeof gateSettle>[1]

/** Requests of one organization, key, path and status. */
interface Group {
  readonly number: number
  readonly first: Settlement
  requests: number
  credits: number
}

/** What an organization owes for a batch, and the least balance that its admissions saw. */
interface Payer {
  readonly organizationId: string
  due: number
  least: bigint
}

/** Parameters of `gate_settle`: who pays, groups of requests, and the requests; and what each group's key may spend. */
function columnsOf(settlements: readonly Settlement[]): { columns: Columns; limits: readonly number[] } {
  const byName = new Map<string, Group>()
  const groups: Group[] = []
  const byOrganization = new Map<string, Payer>()
  const numbers = settlements.map((each) => {
    const { caller, status, credits } = each
    const { organizationId } = caller
    const path = countedPath(each)
    const name = `${status} ${organizationId} ${caller.apiKeyId} ${path}`
    let group = byName.get(name)
    if (group === undefined) {
      group = { number: groups.length + 1, first: each, requests: 0, credits: 0 }
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
  const columns: Columns = [
    hourOf(settlements[0]),
    mayLack || payers.length < all.length ? 1 : 0,
    payers.map((each) => each.organizationId),
    payers.map((each) => each.due),
    groups.map((each) => each.first.caller.organizationId),
    groups.map((each) => each.first.caller.apiKeyId),
    groups.map((each) => countedPath(each.first)),
    groups.map((each) => each.first.status),
    groups.map((each) => each.requests),
    groups.map((each) => each.credits),
    numbers,
    settlements.map((each) => each.requestedAtMs),
    settlements.map((each) => each.settlementId),
    settlements.map(storedRequestId),
    settlements.map((each) => each.method),
    settlements.map(askedPath),
    settlements.map((each) => each.latencyMs),
    settlements.map((each) => each.credits),
    settlements.map((each) => (each.admitted ? 1 : 0)),
  ]
  return { columns, limits: groups.map((each) => Number(each.first.caller.day?.limit ?? 0n)) }
}

/** Parameters of `gate_void`, one array per column. */
function voidColumnsOf(settlements: readonly Settlement[]): Parameters<typeof gateVoid>[1] {
  return [
    settlements.map((each) => each.caller.organizationId),
    settlements.map((each) => each.requestedAtMs),
    settlements.map((each) => each.settlementId),
    settlements.map(storedRequestId),
    settlements.map((each) => each.caller.apiKeyId),
    settlements.map((each) => each.method),
    settlements.map(countedPath),
    settlements.map(askedPath),
    settlements.map((each) => each.latencyMs),
    settlements.map((each) => (each.admitted ? 1 : 0)),
  ]
}

/** The request id as the log stores it: empty if we made it. */
function storedRequestId({ requestId, settlementId }: Settlement): string {
  return requestId === OWN_PREFIX + settlementId ? '' : requestId
}

/** The path under which a request is counted. */
function countedPath({ path, routed }: Settlement): string {
  return routed ? path : NOWHERE
}

/** The path that was asked for, if it has no endpoint. */
function askedPath({ path, routed }: Settlement): string {
  return routed ? '' : path
}

function hourOf(settlement?: Settlement): number {
  return Math.floor((settlement?.requestedAtMs ?? 0) / HOUR_MS)
}

function isRowFault(error: unknown): error is SqlError {
  return error instanceof SqlError && ROW_FAULT_CLASSES.includes(error.code.slice(0, 2))
}

function printable(value: string, max: number): string {
  const cut = value.length > max ? value.slice(0, max) : value
  return /^[\x20-\x7e]*$/.test(cut) ? cut : cut.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?')
}
