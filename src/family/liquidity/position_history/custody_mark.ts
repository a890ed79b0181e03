import type { Address } from 'viem'
import type { CustodyEvent } from './custody_event.ts'
import type { OwnPrice } from './flow_price.ts'

/** Custodians' events of a position up to `end`, oldest first; final up to `finalTo`. */
export interface CustodyRead {
  readonly events: readonly HeldEvent[]
  readonly finalTo: number
  readonly end: number
  /** Why payments are not among them, words after "because"; absent if they are. */
  readonly unpaid?: string | undefined
}

/** An event at a custodian. */
interface HeldEvent extends CustodyEvent {
  readonly custodian: { readonly address: Address; readonly kind: string }
}

/** An event at a custodian with its time, and a reward with the price of its token then. */
export interface CustodyMark {
  readonly event: HeldEvent
  readonly timestampSec: bigint
  readonly reward?: { readonly token: Address; readonly decimals: number; readonly price: OwnPrice }
}

/** What custodians did with a position, oldest first; or why that is not known. */
export type CustodyHistory =
  | {
      readonly marks: readonly CustodyMark[]
      /** Why payments are not among them, words after "because"; absent if they are. */
      readonly unpaid?: string | undefined
    }
  | UnknownCustody

export interface UnknownCustody {
  /** Words after "because". */
  readonly because: string
  /** True if asking again is no use. */
  readonly isLasting: boolean
}

/** The history of a position that no custodian held. */
export const NO_CUSTODY: CustodyHistory = { marks: [] }
