import { createKey } from '../../account/api_key.ts'
import { CLI } from '../../account/audit.ts'
import { GRANT_MAX, grantCredits } from '../../account/credit.ts'
import {
  changeOrganization,
  createOrganization,
  listOrganizations,
  RATE_LIMIT_DEFAULT,
  RATE_LIMIT_MAX,
  TRIGGER_LIMIT_DEFAULT,
  TRIGGER_LIMIT_MAX,
  updateOrganization,
} from '../../account/organization.ts'
import { withAccountDatabase, withOrganization } from '../account_database.ts'
import { type Command, type CommandArgs, parseLabel, parseWhole } from '../command.ts'
import { LIST_MAX, print, printRows } from '../print.ts'

const RATE_LIMIT = { what: 'rate limit', min: 1, max: RATE_LIMIT_MAX }
const TRIGGER_LIMIT = { what: 'trigger limit', min: 0, max: TRIGGER_LIMIT_MAX }

/** `org create|list|suspend|restore|delete|rename|limit|trigger-limit`. */
export const organizationCommands: readonly Command[] = [
  {
    name: 'org create',
    positionals: ['name'],
    options: {
      'rate-limit': `requests admitted in any one second, ${RATE_LIMIT_DEFAULT} unless given`,
      'trigger-limit': `triggers that it may have, ${TRIGGER_LIMIT_DEFAULT} unless given`,
      credits: 'credits that it is granted, none unless given',
    },
    flags: { key: 'create a key for it, too, which is shown this once' },
    summary: 'Create an organization, with credits and a key if asked for',
    run: async (args, io) => {
      const limit = args.options['rate-limit']
      const name = parseLabel(first(args), 'name')
      const rateLimit = limit === undefined ? RATE_LIMIT_DEFAULT : parseWhole(limit, RATE_LIMIT)
      const most = args.options['trigger-limit']
      const triggerLimit = most === undefined ? TRIGGER_LIMIT_DEFAULT : parseWhole(most, TRIGGER_LIMIT)
      const given = args.options['credits']
      const credits = given === undefined ? 0 : parseWhole(given, { what: 'credits', min: 1, max: GRANT_MAX })
      const made = await withAccountDatabase(io, async (db) => {
        const organization = await createOrganization(db, { name, rateLimit, triggerLimit, by: CLI })
        const of = { organizationId: organization.id, by: CLI } as const
        if (credits > 0) await grantCredits(db, { ...of, credits, reason: 'created with them' })
        const key = args.flags.has('key') ? await createKey(db, { ...of, name: 'default' }) : undefined
        return { ...organization, ...(credits > 0 ? { credits } : {}), ...(key === undefined ? {} : { key: key.key }) }
      })
      const lines = [
        `Created organization ${made.id}`,
        ...(credits > 0 ? [`It has ${credits} credits`] : []),
        ...(made.key === undefined ? [] : [`Its key, shown this once:\n\n  ${made.key}\n`]),
      ]
      print(made, { args, io, text: lines.join('\n') })
    },
  },
  {
    name: 'org list',
    summary: 'List organizations with their limits and balances',
    run: async (args, io) => {
      const { items } = await withAccountDatabase(io, (db) => listOrganizations(db, { page: 1, limit: LIST_MAX }))
      const rows = items.map(({ granted, ...row }) => row)
      printRows(rows, { args, io, none: 'No organization yet: walletscope org create <name>' })
    },
  },
  change('suspend', {
    did: 'Suspended',
    summary: 'Refuse every call of an organization from the next one on',
  }),
  change('restore', {
    did: 'Restored',
    summary: 'Let the keys and credits of a suspended organization work again',
  }),
  change('delete', {
    did: 'Deleted',
    summary: 'Delete an organization for good; its log stays',
  }),
  {
    name: 'org rename',
    positionals: ['organization', 'name'],
    summary: 'Give an organization another name',
    run: async (args, io) => {
      const name = parseLabel(args.positionals[1] ?? '', 'name')
      const changed = await withOrganization(io, first(args), (db, id) => updateOrganization(db, { id, name, by: CLI }))
      print(changed, { args, io, text: `Organization ${changed.id} is called ${changed.name}` })
    },
  },
  {
    name: 'org limit',
    positionals: ['organization', 'requests per second'],
    summary: 'Set how many requests of an organization are admitted in any one second',
    run: async (args, io) => {
      const rateLimit = parseWhole(args.positionals[1] ?? '', RATE_LIMIT)
      const changed = await withOrganization(io, first(args), (db, id) =>
        updateOrganization(db, { id, rateLimit, by: CLI }),
      )
      print(changed, {
        args,
        io,
        text: `Organization ${changed.id} may call ${rateLimit} times a second`,
      })
    },
  },
  {
    name: 'org trigger-limit',
    positionals: ['organization', 'triggers'],
    summary: 'Set how many triggers an organization may have; those that it has beyond it stay',
    run: async (args, io) => {
      const triggerLimit = parseWhole(args.positionals[1] ?? '', TRIGGER_LIMIT)
      const changed = await withOrganization(io, first(args), (db, id) =>
        updateOrganization(db, { id, triggerLimit, by: CLI }),
      )
      print(changed, { args, io, text: `Organization ${changed.id} may have ${triggerLimit} triggers` })
    },
  },
]

function change(
  verb: 'suspend' | 'restore' | 'delete',
  { did, summary }: { readonly did: string; readonly summary: string },
): Command {
  return {
    name: `org ${verb}`,
    positionals: ['organization'],
    summary,
    run: async (args, io) => {
      const changed = await withOrganization(io, first(args), (db, id) => changeOrganization(db, verb, { id, by: CLI }))
      print(changed, { args, io, text: `${did} organization ${changed.id}` })
    },
  }
}

function first(args: CommandArgs): string {
  return args.positionals[0] ?? ''
}
