import * as v from 'valibot'
import { getFieldNames } from '../request/fields.ts'
import { documented } from '../request/input.ts'
import type { RouteCall } from './route.ts'

/** What a receipt lets a reader do: ask any endpoint again, or believe nothing but the hash of a block. */
export type ReceiptKind = 'true' | 'proof'

/** What a receipt adds to a route's own price, once for an answer. */
const CREDITS: Readonly<Record<ReceiptKind, number>> = { true: 2, proof: 25 }

const SIGNED = `Adds a receipt, for ${CREDITS.true} credits more`
const PROVEN = `${SIGNED}; \`proof\`, for ${CREDITS.proof}, proves what was read.`

const PROOF_BUDGET_MS = 30_000

/** The parameter of a route whose answers can have a receipt. */
export const receipt = {
  receipt: v.optional(
    v.pipe(
      v.picklist(['true', 'proof'], 'expected true, proof or nothing'),
      documented({ enum: ['true', 'proof'], description: PROVEN }),
    ),
  ),
}

/** The same if the chain keeps no state that could be proven. */
export const signedReceipt = {
  receipt: v.optional(
    v.pipe(v.picklist(['true'], 'expected true or nothing'), documented({ enum: ['true'], description: `${SIGNED}.` })),
  ),
}

/** What was asked, as a receipt states it. */
export interface Statement {
  readonly method: string
  /** Canonical, with its parameters, without any host. */
  readonly path: string
  /** Without `?`. */
  readonly query: string
  /** JSON; absent without a body. */
  readonly body?: unknown
}

/** The receipt that an answer is to have, and the call that answers. */
export interface ReceiptRequest {
  readonly kind: ReceiptKind
  /** The settlement's. */
  readonly id: string
  readonly call: Pick<RouteCall, 'read' | 'restsOnLogs'>
}

/** Makes receipts of answers. What they hold of chains is not known here. */
export interface ReceiptIssuer {
  /** What reads the same, so that the answer has a receipt. */
  receipted(asked: Statement, wanted: ReceiptRequest): RouteCall['read']
  /** What reads the same, so that the answer says what it was read from; undefined for one that reads no EVM state. */
  cited(asked: Statement): RouteCall['read'] | undefined
}

/** True if answers to such an input can have a receipt. */
export function supportsReceipt(input: v.GenericSchema): boolean {
  return getFieldNames(input).taken.includes('receipt')
}

/** The receipt that a valid input asks for. */
export function getRequestedReceipt(input: object): ReceiptKind | undefined {
  if (!('receipt' in input)) return undefined
  return input.receipt === 'true' || input.receipt === 'proof' ? input.receipt : undefined
}

/** Credits for a receipt. */
export function receiptCredits(kind: ReceiptKind | undefined): number {
  return kind === undefined ? 0 : CREDITS[kind]
}

/** How long an answer with a receipt may take, if that is more than without. */
export function receiptBudgetMs(kind: ReceiptKind | undefined): number | undefined {
  return kind === 'proof' ? PROOF_BUDGET_MS : undefined
}
