import { CALL, type Charge } from '../../http/route/charge.ts'

/** What the routes of portfolios cost. */
export const CHARGES = {
  balance: { credits: 15, per: 'chain with anything counted' },
  snapshots: { credits: 5, per: CALL },
  assets: { credits: 2, per: 'row on the page', terms: 'spam rows cost nothing' },
} satisfies Record<string, Charge>
