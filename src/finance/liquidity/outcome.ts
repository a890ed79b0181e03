import type { Both } from '../math/pnl/flow.ts'
import type { Profit, Unpriced } from './profit.ts'
import type { PNL_STATUSES } from './schema.ts'

type Status = (typeof PNL_STATUSES)[number]

/** What an answer can say of a position's profit and loss. */
export type Outcome = Ready | NotReady

interface Ready {
  readonly status: 'ready'
  readonly profit: Profit
  /** Principal that was withdrawn and not collected, raw units. */
  readonly withdrawn: Both<bigint>
}

interface NotReady {
  /** `pending`: its flows are not read yet; `failed`: they could not be, or they cannot be all. */
  readonly status: Exclude<Status, 'ready'>
  /** Undefined if its flows are not known. */
  readonly withdrawn?: Both<bigint>
}

/** The outcome of counting the flows of a position. */
export function outcomeOf(counted: Profit | Unpriced): Outcome {
  const { withdrawn } = counted
  return 'missing' in counted ? { status: 'unpriced', withdrawn } : { status: 'ready', profit: counted, withdrawn }
}
