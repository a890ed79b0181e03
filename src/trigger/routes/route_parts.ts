import type { Database } from '../../db/database.ts'
import { type Charge, PER_CALL } from '../../http/route/charge.ts'
import type { Reply } from '../../http/route/route.ts'
import type { AddressRules } from '../deliver/address.ts'
import type { SigningKeys } from '../deliver/sign.ts'
import type { Feed } from '../feed.ts'

/** Services of the routes of triggers. */
export interface TriggerServices {
  readonly db: Database
  readonly keys: () => Promise<SigningKeys>
  readonly rules: AddressRules
  readonly feed: Feed
}

/** Parts of every route of triggers. */
export const FEATURE = { feature: 'triggers', asOf: false } as const

const FREE: Charge = { credits: 0, per: PER_CALL }
const LISTED: Charge = { credits: 1, per: PER_CALL, terms: 'none if empty' }

/** Parts of a route that returns its result unchanged. */
export const PASS_THROUGH = { present: (reply: Reply) => reply } as const
/** Parts of a route that changes data, free of charge, and presents the result unchanged. */
export const MUTATION = { charge: FREE, changes: true, presenter: async () => (data: unknown) => ({ data }) } as const
/** Parts of a route that reads one item. */
export const SINGLE_READ = { ...PASS_THROUGH, charge: { credits: 1, per: PER_CALL } } as const
/** Parts of a route that reads a list. */
export const LIST_READ = { charge: LISTED } as const
