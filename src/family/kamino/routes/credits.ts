import { type Charge, PER_CALL } from '../../../http/route/charge.ts'

/** Prices of the family's routes in credits. */
export const CHARGES = {
  list: { credits: 15, per: 'wallet with an obligation' },
  batch: {
    credits: 15,
    per: 'wallet with an obligation',
    many: { from: 100, credits: 12 },
    terms: 'counted before pagination',
  },
  obligation: { credits: 8, per: PER_CALL },
} satisfies Record<string, Charge>

/** The family as tools for agents name it. */
export const PROTOCOL = { code: 'kamino', name: 'Kamino on Solana' }
