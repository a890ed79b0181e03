import { type Charge, PER_CALL } from '../../../http/route/charge.ts'

/** Charges of the family's routes. */
export const CHARGES = {
  list: { credits: 15, per: 'chain on which the wallet has a position', terms: 'counted before pagination' },
  yield: { credits: 8, per: PER_CALL },
} satisfies Record<string, Charge>

/** The family as tools for agents name it. */
export const PROTOCOL = { code: 'morpho-blue', name: 'Morpho Blue' }
