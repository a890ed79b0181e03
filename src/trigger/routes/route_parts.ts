import type { Database } from '../../db/database.ts'
import { type Charge, PER_CALL } from '../../http/route/charge.ts'
import type { Reply } from '../../http/route/route.ts'
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

const FREE: Charge = { credits: 0, per: PER_CALL }
const LISTED: Charge = { credits: 1, per: PER_CALL, terms: 'none if empty' }

/** Of a route that answers what it has read, as it is. */
export const PASS_THROUGH = { present: (reply: Reply) => reply } as const
/** Of a route that changes something, which costs nothing. */
export const MUTATION = { ...PASS_THROUGH, charge: FREE, changes: true } as const
/** Of a route that reads one thing. */
export const SINGLE_READ = { ...PASS_THROUGH, charge: { credits: 1, per: PER_CALL } } as const
/** Of a route that reads a list. */
export const LIST_READ = { charge: LISTED } as const
