import type { Database } from '../../db/database.ts'
import { CALL, type Charge } from '../../http/route/charge.ts'
import type { AddressRules } from '../deliver/address.ts'
import type { SigningKeys } from '../deliver/sign.ts'
import type { Feed } from '../feed.ts'

/** What the routes of triggers work with. */
export interface TriggerServices {
  readonly db: Database
  readonly keys: () => Promise<SigningKeys>
  readonly rules: AddressRules
  readonly feed: Feed
}

/** Of every route here. */
export const FEATURE = { feature: 'triggers', asOf: false } as const

const FREE: Charge = { credits: 0, per: CALL }
const LISTED: Charge = { credits: 1, per: CALL, terms: 'none if empty' }

/** Of a route that changes something, which costs nothing. */
export const CHANGE = { charge: FREE, changes: true } as const
/** Of a route that reads one thing. */
export const CONTENT = { charge: { credits: 1, per: CALL } } as const
/** Of a route that reads a list. */
export const LIST = { charge: LISTED } as const
