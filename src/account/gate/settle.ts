import {
  gateSettleBatch,
  gateSettleBatchIdempotent,
  gateSettleChange,
  gateVoidBatch,
  gateVoidChange,
} from '../../../sql/functions.ts'
import { type Database, isRowFault, SqlError } from '../../db/database.ts'
import type { LimitScope, Settlement, SettlementResult } from '../../http/exchange/gate.ts'
import type { StoredAnswer } from '../../http/exchange/idempotency.ts'
import { CHANGE_REFUSED, type Change } from '../../http/route/change.ts'
import { halve } from '../../lib/async/halves.ts'
import { createLogIdCache } from '../log_ids.ts'
import { RECORD_BYTES, toAnswerColumns } from './idempotency.ts'
import {
  createSettleBatch,
  getHour,
  type SettleBatch,
  type SettleColumns,
  toSettleColumns,
  toVoidColumns,
} from './settle_columns.ts'

const PATH_LENGTH_MAX = 200
const METHOD_LENGTH_MAX = 16
const REQUEST_ID_LENGTH_MAX = 64
const LATENCY_MAX_MS = 2_147_483_647
/** SQLSTATEs of the SQL functions: a balance or limit cannot pay; another request has claimed the idempotency key. */
const CANNOT_PAY = 'WS402'
const SUPERSEDED = 'WS409'

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
  return settleHours(settlements, async (columns, { groups }) => {
    const rows = await gateSettleBatch(db, { ...columns, ...logIds.find(groups) })
    for (const row of rows) logIds.add(groups, row)
    return rows
  })
}

async function settleHours(settlements: readonly Settlement[], run: RunStatement): Promise<readonly SettleOutcome[]> {
  const hour = getHour(settlements[0])
  if (settlements.every((each) => getHour(each) === hour)) return settleHour(settlements, run)
  // Rollups count by the hour, so each hour has its own statement; the oldest hour is settled first.
  const hours = new Set(settlements.map(getHour))
  const outcomes = new Map<Settlement, SettleOutcome>()
  for (const hour of [...hours].sort((a, b) => a - b)) {
    const part = settlements.filter((each) => getHour(each) === hour)
    for (const [index, outcome] of (await settleHour(part, run)).entries()) {
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
    gateSettleBatchIdempotent(db, {
      ...toAnswerColumns(part.settlements.flatMap((each) => answers.get(each) ?? [])),
      ...columns,
    }),
  )
}

/** A settlement with the change that it makes. */
export interface ChangeSettlement {
  readonly settlement: Settlement
  readonly change: Pick<Change, 'kind' | 'details'>
  /** True if its result is stored under the idempotency key that it has claimed. */
  readonly isKept: boolean
}

/** The settlement of a change; `result` is undefined if it was not paid. */
export type SettledChange = SettlementResult & { readonly result: unknown }

/**
 * Settles like `settleBatch`, and makes the change in the same statement. A change has a statement of its own, so that
 * one that is refused fails no other. Returns the database's error if it refuses the settlement or the change.
 */
export async function settleChange(
  db: Database,
  { settlement, change, isKept }: ChangeSettlement,
): Promise<SettledChange | SqlError> {
  let result: unknown
  const [outcome] = await settleHours([settlement], async (columns) => {
    const parameters = {
      kind: change.kind,
      details: JSON.stringify(change.details),
      recordBytes: isKept ? RECORD_BYTES : 0,
      ...columns,
    }
    const rows = await gateSettleChange(db, parameters)
    const [row] = rows
    result = row === undefined || row.result === '' ? undefined : JSON.parse(row.result).result
    return rows
  })
  if (outcome === undefined) throw new Error('Cannot settle a change: the database returned no row')
  return isRefusedByDatabase(outcome) ? outcome : { ...outcome, result }
}

/** Returns why the database refused to make a change; undefined if it did not. */
export function getChangeRefusal(error: unknown): string | undefined {
  return error instanceof SqlError && error.code === CHANGE_REFUSED ? error.message : undefined
}

/** True if a settlement was rejected because another request has claimed its idempotency key. */
export function isSuperseded(error: unknown): boolean {
  return error instanceof SqlError && error.code === SUPERSEDED
}

/**
 * Ends settlements with an unknown outcome as 503 without a charge: undoes those that were written, and blocks those
 * that may still arrive. One with a change stays if it was written: undoing the change would be one more change.
 * Idempotent. Returns the settlements whose rows the database rejects.
 */
export async function voidBatch(db: Database, settlements: readonly Settlement[]): Promise<readonly Settlement[]> {
  const changes = settlements.filter(({ isChange }) => isChange)
  const rejected: Settlement[] = []
  for (const change of changes) rejected.push(...(await voidAll([change], (columns) => gateVoidChange(db, columns))))
  const others = changes.length === 0 ? settlements : settlements.filter(({ isChange }) => !isChange)
  if (others.length === 0) return rejected
  return [...rejected, ...(await voidAll(others, (columns) => gateVoidBatch(db, columns)))]
}

/** Voids in one statement, or in one for each half if a row's content is rejected: that changes nothing. */
async function voidAll(
  settlements: readonly Settlement[],
  run: (columns: ReturnType<typeof toVoidColumns>) => Promise<unknown>,
): Promise<readonly Settlement[]> {
  try {
    await run(toVoidColumns(settlements))
    return []
  } catch (error) {
    if (!mustSplit(error)) throw error
    if (settlements.length === 1) return settlements
    const [first, second] = halve(settlements)
    return [...(await voidAll(first, run)), ...(await voidAll(second, run))]
  }
}

/** Settles in one statement, or in one for each half if a row's content is rejected: that changes nothing. */
async function settleHour(settlements: readonly Settlement[], run: RunStatement): Promise<readonly SettleOutcome[]> {
  try {
    return await settleAll(settlements, run)
  } catch (error) {
    if (!mustSplit(error)) throw error
    if (settlements.length === 1) return [error]
    const [first, second] = halve(settlements)
    // Sequential: the order of arrival decides which requests a balance covers.
    return [...(await settleHour(first, run)), ...(await settleHour(second, run))]
  }
}

async function settleAll(settlements: readonly Settlement[], run: RunStatement): Promise<readonly SettlementResult[]> {
  const batch = createSettleBatch(settlements)
  const [row] = await chargeAndLog(batch, run)
  const scopes = new Map(row?.unpaid_requests.map((number, index) => [number - 1, row.unpaid_scopes[index] ?? '']))
  return settlements.map(({ caller, credits }, index) => {
    const chargeNumber = batch.settlementGroups[index]?.charge.number ?? 0
    const creditsRemaining = BigInt(row?.balances[chargeNumber - 1] ?? 0)
    const scope = scopes.get(index)
    if (scope === undefined) return { paid: true, creditsCharged: credits, creditsRemaining }
    const refusedBy: LimitScope = caller.limits.find(({ id }) => id === scope)?.scope ?? 'organization'
    return { paid: false, refusedBy, creditsCharged: 0, creditsRemaining }
  })
}

/** Charges and logs. If an organization lacks credits, nothing has changed: retries once with all balances locked. */
async function chargeAndLog(batch: SettleBatch, run: RunStatement): ReturnType<RunStatement> {
  try {
    return await run(toSettleColumns(batch, { lock: false }), batch)
  } catch (error) {
    if (!(error instanceof SqlError && error.code === CANNOT_PAY)) throw error
    return await run(toSettleColumns(batch, { lock: true }), batch)
  }
}

/** The statement that charges and logs the settlements of a batch, from its columns. */
type RunStatement = (columns: SettleColumns, batch: SettleBatch) => ReturnType<typeof gateSettleBatchIdempotent>

function mustSplit(error: unknown): error is SqlError {
  return isSuperseded(error) || getChangeRefusal(error) !== undefined || isRowFault(error)
}

function toPrintable(value: string, max: number): string {
  const cut = value.length > max ? value.slice(0, max) : value
  return /^[\x20-\x7e]*$/.test(cut) ? cut : cut.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?')
}
