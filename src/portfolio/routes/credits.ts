import type { Charge } from '../../http/route/charge.ts'

/** What the routes of portfolios cost. */
export const CHARGES = {
  balance: { credits: 15, per: 'chain with anything counted' },
  assets: { credits: 2, per: 'row on the page', terms: 'spam rows cost nothing' },
} satisfies Record<string, Charge>
