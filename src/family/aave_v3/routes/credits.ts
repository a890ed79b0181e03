import { type Charge, PER_CALL } from '../../../http/route/charge.ts'

const BEFORE_PAGES = 'counted before pagination'

/** Charges of the family's routes. */
export const CHARGES = {
  list: { credits: 15, per: 'chain on which the wallet has a position', terms: BEFORE_PAGES },
  batch: {
    credits: 15,
    per: 'wallet and chain with a position',
    many: { from: 100, credits: 12 },
    terms: BEFORE_PAGES,
  },
  events: { credits: 1, per: PER_CALL },
  snapshots: { credits: 2, per: PER_CALL },
} satisfies Record<string, Charge>

/** The family as tools for agents name it. */
export const PROTOCOL = { code: 'aave-v3', name: 'Aave V3 and its forks' }
