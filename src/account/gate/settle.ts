import {
  gateSettleBatch,
  gateSettleBatchIdempotent,
  gateSettleChange,
  gateVoidBatch,
  gateVoidChange,
} from '../../../sql/functions.ts'
import { type Database, isRowFault, SqlError } from '../../db/database.ts'
import type { LimitScope, Settlement, SettlementResult, SpendingLimit } from '../../http/exchange/gate.ts'
import type { StoredAnswer } from '../../http/exchange/idempotency.ts'
import { CHANGE_REFUSED, type Change } from '../../http/route/change.ts'
import { halve } from '../../lib/async/halves.ts'
import { createLogIdCache, type LogIdColumns } from '../log_ids.ts'
import { NO_ENDPOINT } from '../request_log.ts'
import { RECORD_BYTES, toAnswerColumns } from './idempotency.ts'

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

/** Prefix of a generated request id; the settlement's id follows. */
const OWN_PREFIX = 'req_'
const HOUR_MS = 3_600_000
/** Balances below this many times their charges are locked before the debit: concurrent requests may spend them. */
const SPENT_MEANWHILE_MAX = 16

/** Parameters of `gate_settle_batch` without the log's numbers. */
type SettleColumns = Omit<Parameters<typeof gateSettleBatch>[1], keyof LogIdColumns>

/** What an organization owes for a batch, and the lowest balance among its admissions. */
interface Charge {
  readonly organizationId: string
  /** Position from 1 among the charges, which are in byte order of organizations. */
  number: number
  credits: number
  balanceMin: bigint
}

/** Requests with the same organization, key, path, status and limits. */
interface Group {
  /** Position from 1 among the groups. */
  readonly number: number
  readonly charge: Charge
  readonly organizationId: string
  readonly apiKeyId: string
  /** Path as in the rollups. */
  readonly path: string
  readonly status: number
  readonly limits: readonly SpendingLimit[]
  requests: number
  credits: number
}

/** A limit besides the balance, and the number of the group, or in a void of the request, that it binds. */
interface BoundLimit {
  readonly number: number
  readonly limit: SpendingLimit
}

/** Settlements of one hour as the tables of `gate_settle_batch`. */
interface SettleBatch {
  readonly settlements: readonly Settlement[]
  /** The group of each settlement. */
  readonly settlementGroups: readonly Group[]
  readonly charges: readonly Charge[]
  readonly groups: readonly Group[]
  readonly limits: readonly BoundLimit[]
}

/** Returns the hour of a settlement since the epoch; 0 for none. */
function getHour(settlement?: Settlement): number {
  return Math.floor((settlement?.requestedAtMs ?? 0) / HOUR_MS)
}

/** Groups settlements of one hour, and sums what each organization owes. */
function createSettleBatch(settlements: readonly Settlement[]): SettleBatch {
  const chargesByOrganization = new Map<string, Charge>()
  const groupsByName = new Map<string, Group>()
  const groups: Group[] = []
  const settlementGroups = settlements.map((each) => {
    const { caller, status, credits } = each
    const { organizationId, apiKeyId } = caller
    let charge = chargesByOrganization.get(organizationId)
    if (charge === undefined) {
      charge = { organizationId, number: 0, credits: 0, balanceMin: caller.credits }
      chargesByOrganization.set(organizationId, charge)
    }
    charge.credits += credits
    if (caller.credits < charge.balanceMin) charge.balanceMin = caller.credits

    const path = getCountedPath(each)
    const limits = listChargedLimits(each)
    const bound = limits.length === 0 ? '' : limits.map(({ scope, id, most }) => ` ${scope} ${id} ${most}`).join('')
    const name = `${status} ${organizationId} ${apiKeyId} ${path}${bound}`
    let group = groupsByName.get(name)
    if (group === undefined) {
      const number = groups.length + 1
      group = { number, charge, organizationId, apiKeyId, path, status, limits, requests: 0, credits: 0 }
      groups.push(group)
      groupsByName.set(name, group)
    }
    group.requests++
    group.credits += credits
    return group
  })
  const charges = [...chargesByOrganization.values()]
  // Code units of these ids sort in byte order.
  if (charges.length > 1) charges.sort((a, b) => (a.organizationId < b.organizationId ? -1 : 1))
  for (const [index, charge] of charges.entries()) charge.number = index + 1
  const limits = groups.flatMap(({ number, limits }) => limits.map((limit) => ({ number, limit })))
  return { settlements, settlementGroups, charges, groups, limits }
}

/**
 * Parameters of `gate_settle_batch`. Locks all balances first if a charge is 0 or may exceed its balance, or if there
 * are limits; `lock` locks them in any case.
 */
function toSettleColumns(batch: SettleBatch, { lock }: { readonly lock: boolean }): SettleColumns {
  const { settlements, settlementGroups, charges, groups, limits } = batch
  return {
    hour: getHour(settlements[0]),
    lock: lock || limits.length > 0 || charges.some(mayLack) ? 1 : 0,
    ...toChargeColumns(charges),
    ...toGroupColumns(groups),
    limitGroups: limits.map(({ number }) => number),
    ...toLimitColumns(limits),
    limitMaxima: limits.map(({ limit }) => String(limit.most ?? 0)),
    requestGroups: settlementGroups.map(({ number }) => number),
    ...toRequestColumns(settlements),
    requestCredits: settlements.map(({ credits }) => credits),
  }
}

/** Parameters of `gate_void_batch`. */
function toVoidColumns(settlements: readonly Settlement[]): Parameters<typeof gateVoidBatch>[1] {
  const limits = settlements.flatMap((each, index) =>
    listChargedLimits(each).map((limit) => ({ number: index + 1, limit })),
  )
  return {
    requestOrganizations: settlements.map(({ caller }) => caller.organizationId),
    requestKeys: settlements.map(({ caller }) => caller.apiKeyId),
    requestPaths: settlements.map(getCountedPath),
    ...toRequestColumns(settlements),
    limitRequests: limits.map(({ number }) => number),
    ...toLimitColumns(limits),
  }
}

function toChargeColumns(charges: readonly Charge[]) {
  return {
    chargeOrganizations: charges.map(({ organizationId }) => organizationId),
    chargeCredits: charges.map(({ credits }) => credits),
  }
}

function toGroupColumns(groups: readonly Group[]) {
  return {
    groupCharges: groups.map(({ charge }) => charge.number),
    groupKeys: groups.map(({ apiKeyId }) => apiKeyId),
    groupPaths: groups.map(({ path }) => path),
    groupStatuses: groups.map(({ status }) => status),
    groupRequests: groups.map(({ requests }) => requests),
    groupCredits: groups.map(({ credits }) => credits),
  }
}

/** Columns of limits that a settlement and a void share. */
function toLimitColumns(limits: readonly BoundLimit[]) {
  return {
    limitScopes: limits.map(({ limit }) => limit.id),
    limitDaily: limits.map(({ limit }) => (limit.period === 'day' ? 1 : 0)),
  }
}

/** Columns of requests that a settlement and a void share. */
function toRequestColumns(settlements: readonly Settlement[]) {
  return {
    requestAtMs: settlements.map(({ requestedAtMs }) => requestedAtMs),
    requestSettlements: settlements.map(({ settlementId }) => settlementId),
    requestIds: settlements.map(toStoredRequestId),
    requestMethods: settlements.map(({ method }) => method),
    requestUnroutedPaths: settlements.map(({ path, routed }) => (routed ? '' : path)),
    requestLatenciesMs: settlements.map(({ latencyMs }) => latencyMs),
    requestAdmitted: settlements.map(({ admitted }) => (admitted ? 1 : 0)),
  }
}

function mayLack({ credits, balanceMin }: Charge): boolean {
  return credits <= 0 || balanceMin < BigInt(credits * SPENT_MEANWHILE_MAX)
}

/** Lists the limits that a settlement charges besides the balance, and the session that it opens without a charge. */
function listChargedLimits({ caller, credits, status }: Settlement): readonly SpendingLimit[] {
  if (caller.limits.length === 0) return caller.limits
  return caller.limits.filter(({ most, opens }) => (credits > 0 ? most !== undefined : opens === true && status < 300))
}

/** The request id as the log stores it: empty if it was generated. */
function toStoredRequestId({ requestId, settlementId }: Settlement): string {
  // Compared in two parts, which allocates no text for each request.
  const isOwn = requestId.startsWith(OWN_PREFIX) && requestId.endsWith(settlementId)
  return isOwn && requestId.length === OWN_PREFIX.length + settlementId.length ? '' : requestId
}

/** The path as in the rollups. */
function getCountedPath({ path, routed }: Settlement): string {
  return routed ? path : NO_ENDPOINT
}
