import gateSettleSql from '../../sql/queries/gate_settle.sql' with { type: 'text' }
import gateVoidSql from '../../sql/queries/gate_void.sql' with { type: 'text' }
import { type Database, SqlError } from '../db/database.ts'
import { query } from '../db/query.ts'
import type { Settled, Settlement } from '../http/gate.ts'

const gateSettle = query(gateSettleSql)
const gateVoid = query(gateVoidSql)

/** Longest texts of a log row; longer ones are cut. */
const PATH_LENGTH_MAX = 200
const METHOD_LENGTH_MAX = 16
const REQUEST_ID_LENGTH_MAX = 64
/** Data exception and integrity violation: the rows are at fault, and asking again would not help. */
const ROW_FAULT_CLASSES = ['22', '23']

/** What became of one settlement: its verdict, or the refusal of the database to take that very row. */
export type SettleOutcome = Settled | { readonly refused: SqlError }

/** A settlement whose texts are safe to store: printable, cut, whole numbers. */
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
 * Charges and logs all settlements in one durable statement, in order of arrival; answers in the same order. Rows that
 * the database refuses for what they hold do not fail the others. Throws `UnavailableError` where the outcome is
 * unknown, and every other error of the database, after which nothing was changed.
 */
export async function settleBatch(
  db: Database,
  settlements: readonly Settlement[],
  options: { readonly deadlineMs?: number } = {},
): Promise<readonly SettleOutcome[]> {
  try {
    return await settleAll(db, settlements, options)
  } catch (error) {
    if (!isRowFault(error)) throw error
    if (settlements.length === 1) return [{ refused: error }]
    const middle = settlements.length >> 1
    // One after the other: the order of arrival decides who is paid.
    const first = await settleBatch(db, settlements.slice(0, middle), options)
    return [...first, ...(await settleBatch(db, settlements.slice(middle), options))]
  }
}

/**
 * Undoes settlements whose outcome is unknown, and bars the place of those that may still arrive: each ends as 503,
 * charged nothing. Doing it again is harmless. Answers the rows that the database will not take.
 */
export async function voidBatch(db: Database, settlements: readonly Settlement[]): Promise<readonly Settlement[]> {
  try {
    const c = columnsOf(settlements)
    await gateVoid(db, [
      c.organizations,
      c.requestedAtMs,
      c.settlements,
      c.requests,
      c.keys,
      c.methods,
      c.paths,
      c.latenciesMs,
      c.admitted,
    ])
    return []
  } catch (error) {
    if (!isRowFault(error)) throw error
    if (settlements.length === 1) return settlements
    const middle = settlements.length >> 1
    const first = await voidBatch(db, settlements.slice(0, middle))
    return [...first, ...(await voidBatch(db, settlements.slice(middle)))]
  }
}

async function settleAll(
  db: Database,
  settlements: readonly Settlement[],
  options: { readonly deadlineMs?: number },
): Promise<readonly Settled[]> {
  const c = columnsOf(settlements)
  const rows = await gateSettle(
    db,
    [
      c.organizations,
      c.requestedAtMs,
      c.settlements,
      c.requests,
      c.keys,
      c.methods,
      c.paths,
      settlements.map((each) => each.status),
      c.latenciesMs,
      settlements.map((each) => each.credits),
      c.admitted,
    ],
    options,
  )
  const balances = new Map<string, bigint>()
  const unpaid = new Set<number>()
  for (const row of rows) {
    if (row.row_no === 0) balances.set(row.organization_id, BigInt(row.balance))
    else unpaid.add(row.row_no - 1)
  }
  return settlements.map(({ caller, credits }, index) => ({
    paid: !unpaid.has(index),
    creditsCharged: unpaid.has(index) ? 0 : credits,
    creditsRemaining: balances.get(caller.organizationId) ?? 0n,
  }))
}

/** What both statements are given, one array per column. */
function columnsOf(settlements: readonly Settlement[]) {
  return {
    organizations: settlements.map((each) => each.caller.organizationId),
    requestedAtMs: settlements.map((each) => each.requestedAtMs),
    settlements: settlements.map((each) => each.settlementId),
    requests: settlements.map((each) => each.requestId),
    keys: settlements.map((each) => each.caller.apiKeyId),
    methods: settlements.map((each) => each.method),
    paths: settlements.map((each) => each.path),
    latenciesMs: settlements.map((each) => each.latencyMs),
    admitted: settlements.map((each) => (each.admitted ? 1 : 0)),
  }
}

function isRowFault(error: unknown): error is SqlError {
  return error instanceof SqlError && ROW_FAULT_CLASSES.includes(error.code.slice(0, 2))
}

function printable(value: string, max: number): string {
  const cut = value.length > max ? value.slice(0, max) : value
  return /^[\x20-\x7e]*$/.test(cut) ? cut : cut.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?')
}
