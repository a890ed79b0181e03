import { createKey } from '../../account/api_key.ts'
import { type Actor, CLI_ACTOR } from '../../account/audit.ts'
import { GRANT_MAX, grantCredits } from '../../account/credit.ts'
import {
  createOrganization,
  listOrganizations,
  type Organization,
  RATE_LIMIT_DEFAULT,
  RATE_LIMIT_MAX,
  setOrganizationState,
  TRIGGER_LIMIT_DEFAULT,
  TRIGGER_LIMIT_MAX,
  updateOrganization,
} from '../../account/organization.ts'
import type { Database } from '../../db/database.ts'
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
        const organization = await createOrganization(db, { name, rateLimit, triggerLimit, by: CLI_ACTOR })
        const of = { organizationId: organization.id, by: CLI_ACTOR } as const
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
    summary: 'Refuse every call of an organization from the next one on',
    act: () => becoming('suspend'),
    says: ({ id }) => `Suspended organization ${id}`,
  }),
  change('restore', {
    summary: 'Let the keys and credits of a suspended organization work again',
    act: () => becoming('restore'),
    says: ({ id }) => `Restored organization ${id}`,
  }),
  change('delete', {
    summary: 'Delete an organization for good; its log stays',
    act: () => becoming('delete'),
    says: ({ id }) => `Deleted organization ${id}`,
  }),
  change('rename', {
    value: 'name',
    summary: 'Give an organization another name',
    act: (text) => updating({ name: parseLabel(text, 'name') }),
    says: ({ id, name }) => `Organization ${id} is called ${name}`,
  }),
  change('limit', {
    value: 'requests per second',
    summary: 'Set how many requests of an organization are admitted in any one second',
    act: (text) => updating({ rateLimit: parseWhole(text, RATE_LIMIT) }),
    says: ({ id, rate_limit }) => `Organization ${id} may call ${rate_limit} times a second`,
  }),
  change('trigger-limit', {
    value: 'triggers',
    summary: 'Set how many triggers an organization may have; those that it has beyond it stay',
    act: (text) => updating({ triggerLimit: parseWhole(text, TRIGGER_LIMIT) }),
    says: ({ id, trigger_limit }) => `Organization ${id} may have ${trigger_limit} triggers`,
  }),
]

type Change = (db: Database, of: { readonly id: string; readonly by: Actor }) => Promise<Organization>

/** A command that changes an organization, to a value if it takes one. */
function change(
  verb: string,
  {
    value,
    summary,
    act,
    says,
  }: {
    readonly value?: string
    readonly summary: string
    readonly act: (value: string) => Change
    readonly says: (changed: Organization) => string
  },
): Command {
  return {
    name: `org ${verb}`,
    positionals: ['organization', ...(value === undefined ? [] : [value])],
    summary,
    run: async (args, io) => {
      const changes = act(args.positionals[1] ?? '')
      const changed = await withOrganization(io, first(args), (db, id) => changes(db, { id, by: CLI_ACTOR }))
      print(changed, { args, io, text: says(changed) })
    },
  }
}

function becoming(state: Parameters<typeof setOrganizationState>[1]): Change {
  return (db, of) => setOrganizationState(db, state, of)
}

function updating(values: Omit<Parameters<typeof updateOrganization>[1], 'id' | 'by'>): Change {
  return (db, of) => updateOrganization(db, { ...of, ...values })
}

function first(args: CommandArgs): string {
  return args.positionals[0] ?? ''
}
