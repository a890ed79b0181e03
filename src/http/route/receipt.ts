import * as v from 'valibot'
import { CodedError } from '../../lib/error.ts'
import { documented, type SentTime } from '../request/input.ts'
import { getFieldNames } from '../request/parameters.ts'
import type { RouteCall } from './route.ts'

/** Kinds of receipts: `true` is verified against any endpoint, `proof` needs trust in the hash of a block only. */
export type ReceiptKind = 'true' | 'proof'

/** Credits that a receipt adds to a route's price, once for an answer. */
const CREDITS: Readonly<Record<ReceiptKind, number>> = { true: 2, proof: 25 }

const SIGNED = `Adds a receipt, for ${CREDITS.true} credits more`
const PROVEN = `${SIGNED}; \`proof\`, for ${CREDITS.proof}, proves what was read, and goes without \`at_time\`.`

const PROOF_BUDGET_MS = 30_000

/** The `receipt` parameter of a route whose answers can have one. */
export const receipt = {
  receipt: v.optional(
    v.pipe(
      v.picklist(['true', 'proof'], 'expected true, proof or nothing'),
      documented({ enum: ['true', 'proof'], description: PROVEN }),
    ),
  ),
}

/** The `receipt` parameter where the chain's state cannot be proven. */
export const signedReceipt = {
  receipt: v.optional(
    v.pipe(v.picklist(['true'], 'expected true or nothing'), documented({ enum: ['true'], description: `${SIGNED}.` })),
  ),
}

/** The request that a receipt states. */
export interface Statement {
  readonly method: string
  /** Canonical, with its parameters, without any host. */
  readonly path: string
  /** Without `?`. */
  readonly query: string
  /** JSON; absent without a body. */
  readonly body?: unknown
}

/** A requested receipt, and the call that answers. */
export interface ReceiptRequest {
  readonly kind: ReceiptKind
  /** Id of the settlement. */
  readonly id: string
  readonly call: Pick<RouteCall, 'read' | 'restsOnLogs'>
}

/** Issues receipts of answers, without knowledge of their content here. */
export interface ReceiptIssuer {
  /** Wraps the read of a call, so that the answer has a receipt. */
  readWithReceipt(statement: Statement, request: ReceiptRequest): RouteCall['read']
  /** Wraps the read of a call, so that the answer has a citation; undefined for a call that reads no EVM state. */
  readWithCitation(statement: Statement): RouteCall['read'] | undefined
}

/** True if answers of a route with this input can have a receipt. */
export function supportsReceipt(input: v.GenericSchema): boolean {
  return getFieldNames(input).accepted.includes('receipt')
}

/**
 * Returns the receipt that a valid input requests. Throws `CodedError` INVALID_PARAMETER for a proof of an answer at a
 * time: a proof is of one block, and which block the time means takes the one after it.
 */
export function getRequestedReceipt(input: object): ReceiptKind | undefined {
  if (!('receipt' in input)) return undefined
  if (input.receipt === 'proof' && getRequestedTimeSec(input) !== undefined) {
    throw new CodedError('INVALID_PARAMETER', NO_PROOF_OF_TIME)
  }
  return input.receipt === 'true' || input.receipt === 'proof' ? input.receipt : undefined
}

const NO_PROOF_OF_TIME =
  'Cannot read parameter "receipt": expected no proof with "at_time", because no proof says which block a time means; ' +
  'name the block with "at_block", or use receipt=true'

/** Returns the time that a valid input asks about, seconds since the epoch; undefined without one. */
export function getRequestedTimeSec(input: object): number | undefined {
  return 'at_time' in input ? (input.at_time as SentTime | undefined)?.sec : undefined
}

/** Returns the credits for a receipt; 0 without one. */
export function receiptCredits(kind: ReceiptKind | undefined): number {
  return kind === undefined ? 0 : CREDITS[kind]
}

/** Returns the budget of an answer with a receipt in milliseconds; undefined if the receipt does not change it. */
export function receiptBudgetMs(kind: ReceiptKind | undefined): number | undefined {
  return kind === 'proof' ? PROOF_BUDGET_MS : undefined
}
