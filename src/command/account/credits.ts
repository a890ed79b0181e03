import { GRANT_MAX, grantCredits, listGrants, REASON_LENGTH_MAX, readCredits } from '../../account/credit.ts'
import { withOrganization } from '../account_database.ts'
import { type Command, parseLabel, parseWhole, usageError } from '../command.ts'
import { print } from '../print.ts'
import { findActor } from './actor.ts'

/** Maximum grants that `credits show` lists. */
const GRANTS_SHOWN_MAX = 100

/** `credits grant|show`. */
export const creditCommands: readonly Command[] = [
  {
    name: 'credits grant',
    positionals: ['organization', 'credits'],
    options: { reason: 'why, kept with the grant; required' },
    summary: 'Give credits, or take them back with a number below zero; a balance never falls below zero',
    run: async (args, io) => {
      const [organization = '', amount = ''] = args.positionals
      const credits = parseWhole(amount, { what: 'credits', min: -GRANT_MAX, max: GRANT_MAX })
      if (credits === 0) throw usageError('Cannot grant credits: expected a non-zero number')
      const reasonText = args.options['reason']
      if (reasonText === undefined) throw usageError('Cannot grant credits: expected --reason')
      const reason = parseLabel(reasonText, 'reason', REASON_LENGTH_MAX)
      const { grant, ...after } = await withOrganization(io, organization, (db, organizationId) =>
        grantCredits(db, { organizationId, credits, reason, by: findActor(io) }),
      )
      const text = `Organization ${organization} has ${after.balance} credits`
      print(after, { args, io, text })
    },
  },
  {
    name: 'credits show',
    positionals: ['organization'],
    summary: 'Show the balance of an organization and its latest grants',
    run: async (args, io) => {
      const [organization = ''] = args.positionals
      const { grants, ...totals } = await withOrganization(io, organization, async (db, organizationId) => {
        const { items } = await listGrants(db, { organizationId, page: 1, limit: GRANTS_SHOWN_MAX })
        return { ...(await readCredits(db, organizationId)), grants: items }
      })
      const lines = grants.map((grant) => `  ${grant.granted_at.toISOString()}  ${grant.credits}  ${grant.reason}`)
      const text = [`Balance ${totals.balance} of ${totals.granted} credits granted`, ...lines].join('\n')
      print({ ...totals, grants }, { args, io, text })
    },
  },
]
