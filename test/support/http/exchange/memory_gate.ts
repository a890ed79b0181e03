import type {
  Admission,
  Caller,
  Gate,
  RefusalCode,
  SessionRequest,
  Settlement,
  SettlementResult,
} from '../../../../src/http/exchange/gate.ts'
import type { StoredAnswer } from '../../../../src/http/exchange/idempotency.ts'

/** One organization as tests set it up; changed in place. */
export interface MemoryOrganization {
  readonly id: string
  credits: bigint
  /** Admissions in any one second. */
  limit: number
  state?: 'suspended' | 'deleted'
}

/** A row of the log. */
export interface Row extends Settlement {
  readonly creditsCharged: number
}

/** A gate without a database that keeps the promises of the real one. */
export interface MemoryGate extends Gate {
  readonly organizations: Map<string, MemoryOrganization>
  /** Endpoints and features that are switched off. */
  readonly disabled: Set<string>
  readonly rows: Row[]
  /** Each call fails with the error while it is set. */
  failAdmit: Error | undefined
  failSettle: Error | undefined
}

/** Makes a gate with organizations by key, on a clock that tests move. */
export function createMemoryGate(options: {
  readonly keys: Readonly<Record<string, MemoryOrganization>>
  readonly now: () => number
}): MemoryGate {
  const { keys, now } = options
  const organizations = new Map(Object.entries(keys))
  const admissions = new Map<string, number[]>()
  const settled = new Map<string, SettlementResult>()
  const rows: Row[] = []
  /** First answers by organization and idempotency key. */
  const answers = new Map<string, { hash: string; settlementId: string; answer: StoredAnswer | undefined }>()

  /** What sessions have spent. */
  const sessions = new Map<string, bigint>()
  const getSpent = ({ id }: MemoryOrganization, sessionId: string) => sessions.get(id + sessionId) ?? 0n

  function toLimits(organization: MemoryOrganization, session: SessionRequest | undefined): Caller['limits'] {
    if (session === undefined) return []
    const { id, creditsMax: most, isNew } = session
    if (!isNew && !sessions.has(organization.id + id)) return []
    const spent = getSpent(organization, id)
    return [{ scope: 'session', id, period: 'ever', spent, most, ...(isNew ? { opens: true } : {}) }]
  }

  const gate: MemoryGate = {
    organizations,
    disabled: new Set(),
    rows,
    failAdmit: undefined,
    failSettle: undefined,

    // The key itself, not its hash, so that tests read well.
    toHolder: (key, client) => ({ kind: 'key', hash: key, ...(client === undefined ? {} : { client }) }),

    async recognize({ hash }) {
      if (gate.failAdmit !== undefined) throw gate.failAdmit
      return organizations.has(hash)
    },

    async admit({ principal, endpoint, features = [], session }): Promise<Admission> {
      if (gate.failAdmit !== undefined) throw gate.failAdmit
      const isJob = principal.kind === 'job'
      const organization = isJob
        ? [...organizations.values()].find(({ id }) => id === principal.organizationId)
        : organizations.get(principal.hash)
      if (organization === undefined) return { kind: 'unknown_key' }
      const requestedAtMs = now()
      const switchedOff = () =>
        gate.disabled.has(endpoint ?? '')
          ? 'ENDPOINT_DISABLED'
          : features.some((feature) => gate.disabled.has(feature))
            ? 'FEATURE_DISABLED'
            : undefined
      const window = (admissions.get(organization.id) ?? []).filter((at) => at > requestedAtMs - 1000)
      const refused = findRefusal(organization, switchedOff(), window.length)
      if (refused === undefined) window.push(requestedAtMs)
      admissions.set(organization.id, window)
      const apiKeyId = isJob ? principal.name : `key_${principal.hash}`
      const caller: Caller = {
        organizationId: organization.id,
        apiKeyId,
        credits: organization.credits,
        limits: toLimits(organization, session),
      }
      const rateLimit = {
        limit: organization.limit,
        remaining: Math.max(0, organization.limit - window.length),
        resetSec: Math.ceil(((window[0] ?? requestedAtMs) + 1000) / 1000),
        waitMs: (window[0] ?? requestedAtMs) + 1000 - requestedAtMs,
      }
      if (refused !== undefined) return { kind: 'refused', code: refused, caller, rateLimit, requestedAtMs }
      return { kind: 'admitted', caller, rateLimit, requestedAtMs }
    },

    async claim({ organizationId, key, hash, settlementId }) {
      const name = `${organizationId} ${key}`
      const first = answers.get(name)
      if (first === undefined) {
        answers.set(name, { hash, settlementId, answer: undefined })
        return { kind: 'claimed' }
      }
      if (first.hash !== hash) return { kind: 'other' }
      return first.answer === undefined ? { kind: 'busy' } : { kind: 'answered', kept: first.answer }
    },
    async release(settlementId) {
      for (const [name, each] of answers) {
        if (each.settlementId === settlementId && each.answer === undefined) answers.delete(name)
      }
    },

    async settleChange(settlement, { details }) {
      return { ...(await gate.settle(settlement)), result: details }
    },

    async settle(settlement, kept): Promise<SettlementResult> {
      if (gate.failSettle !== undefined) throw gate.failSettle
      const known = settled.get(settlement.settlementId)
      if (known !== undefined) return known
      const organization = [...organizations.values()].find(({ id }) => id === settlement.caller.organizationId)
      if (organization === undefined) throw new Error('Cannot settle for an unknown organization')
      const price = BigInt(settlement.credits)
      const limits = settlement.caller.limits.filter(({ most, opens }) => most !== undefined || opens)
      const short = limits.find(({ id, most = 0n }) => price > 0n && getSpent(organization, id) + price > most)
      const paid = organization.credits >= price && short === undefined
      const creditsCharged = paid ? settlement.credits : 0
      organization.credits -= BigInt(creditsCharged)
      if (paid && settlement.status < 300) {
        for (const { id } of limits) sessions.set(organization.id + id, getSpent(organization, id) + price)
      }
      for (const each of answers.values()) {
        if (paid && each.settlementId === settlement.settlementId) each.answer = kept
      }
      rows.push({ ...settlement, status: paid ? settlement.status : 402, creditsCharged })
      const charge = { creditsCharged, creditsRemaining: organization.credits }
      const answer = { paid, ...(short && { refusedBy: short.scope }), ...charge }
      settled.set(settlement.settlementId, answer)
      return answer
    },
  }
  return gate
}

function findRefusal(
  organization: MemoryOrganization,
  disabled: RefusalCode | undefined,
  admitted: number,
): RefusalCode | undefined {
  if (organization.state === 'deleted') return 'ORGANIZATION_NOT_FOUND'
  if (organization.state === 'suspended') return 'ACCOUNT_SUSPENDED'
  if (disabled !== undefined) return disabled
  return admitted >= organization.limit ? 'RATE_LIMIT_EXCEEDED' : undefined
}

/** Sets the balance of the organization that has the key `good`. */
export function setCredits({ organizations }: MemoryGate, credits: bigint): void {
  const organization = organizations.get('good')
  if (organization === undefined) throw new Error('Cannot find the organization')
  organization.credits = credits
}
