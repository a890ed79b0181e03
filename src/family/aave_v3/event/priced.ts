import type { UsdPrice } from '../../../chain/price.ts'
import type { LendingEvent } from '../../../history/rows/lending_event.ts'
import type { TokenFacts } from '../read/read_tokens.ts'

/** An event with all that an answer says about it. */
export interface PricedEvent extends LendingEvent {
  readonly timestampSec: number
  readonly token: TokenFacts
  /** At the event's block. */
  readonly price: UsdPrice
}
