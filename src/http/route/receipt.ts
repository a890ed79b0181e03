import * as v from 'valibot'
import { namesIn } from '../request/fields.ts'
import { documented } from '../request/input.ts'
import type { Call } from './route.ts'

/** What a receipt adds to a route's own price, once for an answer. */
const RECEIPT_CREDITS = 2

const RECEIPT = `Adds a receipt, for ${RECEIPT_CREDITS} credits more.`

/** The parameter of a route whose answers can have a receipt. */
export const receipt = {
  receipt: v.optional(
    v.pipe(v.picklist(['true'], 'expected true or nothing'), documented({ enum: ['true'], description: RECEIPT })),
  ),
}

/** Why an answer with profits and losses has none: these rest on logs, which no receipt covers. */
export const NO_RECEIPT_OF_PNL = 'Cannot read parameter "receipt": expected it without full=true'

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

/** Makes receipts of answers. What they hold of chains is not known here. */
export interface Notary {
  /** What reads the same, so that the answer has a receipt. `id` is the settlement's. */
  receipted(asked: Statement, id: string): Call['read']
  /** What reads the same, so that the answer says what it was read from; undefined for one that reads no EVM state. */
  cited(asked: Statement): Call['read'] | undefined
}

/** True if answers to such an input can have a receipt. */
export function takesReceipt(input: v.GenericSchema): boolean {
  return namesIn(input).taken.includes('receipt')
}

/** True if a valid input asks for a receipt. */
export function asksReceipt(input: object): boolean {
  return 'receipt' in input && input.receipt !== undefined
}

/** Credits for the receipt that a valid input asks for. */
export function receiptCredits(input: object): number {
  return asksReceipt(input) ? RECEIPT_CREDITS : 0
}
