import type { CodedError } from '../../lib/error.ts'
import type { Reply } from './route.ts'

/** SQLSTATE of `change_apply`: the change cannot be made, for the reason in the message. */
export const CHANGE_REFUSED = 'WS422'

/** A change of an organization's data, prepared by a route and not made yet. */
export interface Change {
  /** Its name in the database's function `change_apply`. */
  readonly kind: string
  /** Its details as that function reads them, in JSON. */
  readonly details: Readonly<Record<string, unknown>>
  /** Creates the error for the reason for which the database refused the change. */
  readonly refuse: (reason: string) => CodedError
  /** How long the database may take, if that is more than a charge may take, milliseconds. */
  readonly deadlineMs?: number
}

/** Presents the result of a change; cannot fail. The result is what `change_apply` returned, parsed. */
export type Presenter = (result: unknown) => Reply

/** A change with its price and the presentation of its result. */
export interface PreparedChange {
  readonly change: Change
  readonly credits: number
  readonly present: Presenter
}
