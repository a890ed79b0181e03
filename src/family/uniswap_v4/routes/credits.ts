import type { Charge } from '../../../http/route/charge.ts'

const FULL = { parameter: 'full', value: true, credits: 15 }

/** What the family's routes cost. */
export const CHARGES = {
  list: {
    credits: 2,
    per: 'position on the page',
    instead: [{ parameter: 'status', value: 'inactive', credits: 1 }, FULL],
  },
  position: { credits: 2, instead: [FULL] },
  pnl: { credits: 8, instead: [{ parameter: 'status', value: 'inactive', credits: 4 }] },
  events: { credits: 1 },
} satisfies Record<string, Charge>
