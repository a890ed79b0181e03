import type { RateLimit } from '../respond.ts'
import type { Feature } from '../route/route.ts'
import type { ClaimResult, IdempotencyClaim, StoredAnswer } from './idempotency.ts'

/** Who asks: the holder of a key, or the service itself on behalf of an organization. */
export type Principal = KeyHolder | Job

/** Whoever has a key. The key itself goes no further than to `Gate.holder`. */
export interface KeyHolder {
  readonly kind: 'key'
  /** SHA-256 of the key in hexadecimal digits. */
  readonly hash: string
  /** Where the request comes from. @default nowhere, so that keys for some networks are refused */
  readonly client?: { readonly ip: string }
}

/** Work that the service does for an organization, which pays for it and whose limits it keeps to. */
interface Job {
  readonly kind: 'job'
  readonly organizationId: string
  /** What the log has in place of a key's id, such as `job_triggers`. */
  readonly name: string
}

/** Who is calling: the organization pays, the key is named in its log. */
export interface Caller {
  readonly organizationId: string
  /** The name of a job, if it is one that asks. */
  readonly apiKeyId: string
  /** What was left of the balance when the request was admitted; concurrent requests may spend it first. */
  readonly credits: bigint
  /** What limits its spending besides the balance. */
  readonly limits: readonly SpendingLimit[]
}

/** Whose spending a limit bounds. The balance is that of the organization. */
export type LimitScope = 'organization' | 'key' | 'session'

/** A limit on what may be spent besides the balance. Each charge is made to the balance and to all of these, or to none. */
export interface SpendingLimit {
  readonly scope: Exclude<LimitScope, 'organization'>
  /** Of the key or of the session. */
  readonly id: string
  /** A day is one of UTC. */
  readonly period: 'day' | 'ever'
  /** When the request was admitted; concurrent requests may spend more. */
  readonly spent: bigint
  /** Undefined for no bound; then nothing is counted. */
  readonly most: bigint | undefined
  /** True for a session that this request begins: from then on it is known. */
  readonly opens?: true
}

/** A session of an agent as a request names it. */
export interface SessionRequest {
  readonly id: string
  /** What it may spend; undefined for no bound. */
  readonly most: bigint | undefined
  readonly begins: boolean
}

/** Why a recognised key was refused before its input was read. */
export type RefusalCode =
  | 'ORGANIZATION_NOT_FOUND'
  | 'ACCOUNT_SUSPENDED'
  | 'ENDPOINT_DISABLED'
  | 'KEY_ENDPOINT_DISABLED'
  | 'FEATURE_DISABLED'
  | 'RATE_LIMIT_EXCEEDED'

/**
 * Answer of `admit`; an organization that does not exist is an unknown key too. `requestedAtMs` is the database's
 * clock, the one clock that all processes share.
 */
export type Admission =
  | { readonly kind: 'unknown_key' }
  | {
      readonly kind: 'admitted'
      readonly caller: Caller
      readonly rateLimit: RateLimit
      readonly requestedAtMs: number
    }
  | {
      readonly kind: 'refused'
      readonly code: RefusalCode
      readonly caller: Caller
      readonly rateLimit: RateLimit
      readonly requestedAtMs: number
    }

/** One finished request, to be charged and logged. */
export interface Settlement {
  /**
   * 26 unique, time-ordered characters made by us: a retry of one settlement is harmless, and a void finds it. Never the
   * request id: callers choose it, and would repeat it to pay once.
   */
  readonly settlementId: string
  /** What the caller sees as `request_id`; callers may repeat it. */
  readonly requestId: string
  readonly caller: Caller
  /** False if the gate refused the request: such rows do not count in the rate window. */
  readonly admitted: boolean
  readonly requestedAtMs: number
  readonly method: string
  /**
   * The route's template with canonical names, `/v1/positions/uniswap-v3/{id}`; for an unknown path, the path cut at
   * 200 characters.
   */
  readonly path: string
  /** False for an unknown path: all of them are counted together. */
  readonly routed: boolean
  readonly status: number
  /** What a 2xx costs; 0 for every other status. */
  readonly credits: number
  readonly latencyMs: number
}

/** Answer of `settle`, after the row is durable. */
export interface SettlementResult {
  /** False: a limit could not pay. The row says 402, nothing was charged, the data must not leave. */
  readonly paid: boolean
  /** Whose limit could not; undefined if it was paid. */
  readonly refusedBy?: LimitScope
  /** True if its idempotency key had gone to another request: the row says 409, as if it had not been paid. */
  readonly isSuperseded?: true
  readonly creditsCharged: number
  readonly creditsRemaining: bigint
}

export interface GateRequest {
  readonly principal: Principal
  /** `GET /v1/…` as OpenAPI names it; null for an unknown path. */
  readonly endpoint: string | null
  /** What must be switched on to answer it. @default none */
  readonly features?: readonly Feature[]
  readonly session?: SessionRequest | undefined
}

/** Admission before the work, settlement after it. Both throw `UnavailableError` if the database is away. */
export interface Gate {
  /** Whoever sends this key, which is what follows `Bearer `; undefined if it cannot be a key. Looks nothing up. */
  holder(key: string, client?: { readonly ip: string }): KeyHolder | undefined
  /** Admits a request, or says why not. A session that nobody began is not among the caller's limits. */
  admit(request: GateRequest): Promise<Admission>
  /**
   * Charges and logs in one durable step; of requests that the gate itself refused, no more than about a hundred of an
   * organization in one second are logged. When it throws, the outcome is voided: never charged, logged as 503. With an
   * answer to keep, the same step keeps it under the key that the request has claimed.
   */
  settle(settlement: Settlement, kept?: StoredAnswer): Promise<SettlementResult>
  /** Claims an idempotency key for a request, or says what became of the request that has it. */
  claim(claim: IdempotencyClaim): Promise<ClaimResult>
  /** Gives up the key that a request has claimed, if it has no answer. Never rejects: a claim ends by itself. */
  release(settlementId: string): Promise<void>
}
