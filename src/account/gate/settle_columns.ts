import type { gateSettleBatch, gateVoidBatch } from '../../../sql/functions.ts'
import type { Settlement, SpendingLimit } from '../../http/exchange/gate.ts'
import type { LogIdColumns } from '../log_ids.ts'
import { NO_ENDPOINT } from '../request_log.ts'

/** Prefix of a generated request id; the settlement's id follows. */
const OWN_PREFIX = 'req_'
const HOUR_MS = 3_600_000
/** Balances below this many times their charges are locked before the debit: concurrent requests may spend them. */
const SPENT_MEANWHILE_MAX = 16

/** Parameters of `gate_settle_batch` without the log's numbers. */
export type SettleColumns = Omit<Parameters<typeof gateSettleBatch>[1], keyof LogIdColumns>

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
export interface SettleBatch {
  readonly settlements: readonly Settlement[]
  /** The group of each settlement. */
  readonly settlementGroups: readonly Group[]
  readonly charges: readonly Charge[]
  readonly groups: readonly Group[]
  readonly limits: readonly BoundLimit[]
}

/** Returns the hour of a settlement since the epoch; 0 for none. */
export function getHour(settlement?: Settlement): number {
  return Math.floor((settlement?.requestedAtMs ?? 0) / HOUR_MS)
}

/** Groups settlements of one hour, and sums what each organization owes. */
export function createSettleBatch(settlements: readonly Settlement[]): SettleBatch {
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
export function toSettleColumns(batch: SettleBatch, { lock }: { readonly lock: boolean }): SettleColumns {
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
export function toVoidColumns(settlements: readonly Settlement[]): Parameters<typeof gateVoidBatch>[1] {
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
