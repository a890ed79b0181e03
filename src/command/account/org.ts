import {
  createOrganization,
  deleteOrganization,
  listOrganizations,
  type Organization,
  RATE_LIMIT_DEFAULT,
  RATE_LIMIT_MAX,
  restoreOrganization,
  setRateLimit,
  suspendOrganization,
} from '../../account/organization.ts'
import type { Database } from '../../db/database.ts'
import { withAccountDatabase } from '../account_database.ts'
import { type Command, type CommandArgs, parseLabel, parseWhole } from '../command.ts'
import { print, printRows } from '../print.ts'

const RATE_LIMIT = { what: 'rate limit', min: 1, max: RATE_LIMIT_MAX }

/** `org create|list|suspend|restore|delete|limit`. */
export const organizationCommands: readonly Command[] = [
  {
    name: 'org create',
    positionals: ['name'],
    options: { 'rate-limit': `requests admitted in any one second, ${RATE_LIMIT_DEFAULT} unless given` },
    summary: 'Create an organization without credits or keys',
    run: async (args, io) => {
      const limit = args.options['rate-limit']
      const name = parseLabel(first(args), 'name')
      const rateLimit = limit === undefined ? RATE_LIMIT_DEFAULT : parseWhole(limit, RATE_LIMIT)
      const made = await withAccountDatabase(io, (db) => createOrganization(db, { name, rateLimit }))
      print(shown(made), { args, io, text: `Created organization ${made.id}` })
    },
  },
  {
    name: 'org list',
    positionals: [],
    options: {},
    summary: 'List organizations with their limits and balances',
    run: async (args, io) => {
      const organizations = await withAccountDatabase(io, listOrganizations)
      const rows = organizations.map((each) => ({ ...shown(each), balance: each.balance }))
      printRows(rows, { args, io, none: 'No organization yet: walletscope org create <name>' })
    },
  },
  change('suspend', {
    did: 'Suspended',
    summary: 'Refuse every call of an organization from the next one on',
    act: suspendOrganization,
  }),
  change('restore', {
    did: 'Restored',
    summary: 'Let the keys and credits of a suspended organization work again',
    act: restoreOrganization,
  }),
  change('delete', {
    did: 'Deleted',
    summary: 'Delete an organization for good; its log stays',
    act: deleteOrganization,
  }),
  {
    name: 'org limit',
    positionals: ['organization id', 'requests per second'],
    options: {},
    summary: 'Set how many requests of an organization are admitted in any one second',
    run: async (args, io) => {
      const rateLimit = parseWhole(args.positionals[1] ?? '', RATE_LIMIT)
      const changed = await withAccountDatabase(io, (db) => setRateLimit(db, { id: first(args), rateLimit }))
      print(shown(changed), { args, io, text: `Organization ${changed.id} may call ${rateLimit} times a second` })
    },
  },
]

function change(
  verb: 'suspend' | 'restore' | 'delete',
  options: {
    readonly did: string
    readonly summary: string
    readonly act: (db: Database, id: string) => Promise<Organization>
  },
): Command {
  return {
    name: `org ${verb}`,
    positionals: ['organization id'],
    options: {},
    summary: options.summary,
    run: async (args, io) => {
      const changed = await withAccountDatabase(io, (db) => options.act(db, first(args)))
      print(shown(changed), { args, io, text: `${options.did} organization ${changed.id}` })
    },
  }
}

function first(args: CommandArgs): string {
  return args.positionals[0] ?? ''
}

function shown(organization: Organization) {
  const { id, name, rateLimit, createdAt, suspendedAt, deletedAt } = organization
  return { id, name, rate_limit: rateLimit, created_at: createdAt, suspended_at: suspendedAt, deleted_at: deletedAt }
}
