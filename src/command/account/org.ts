import { CLI } from '../../account/audit.ts'
import {
  createOrganization,
  deleteOrganization,
  listOrganizations,
  RATE_LIMIT_DEFAULT,
  RATE_LIMIT_MAX,
  restoreOrganization,
  suspendOrganization,
  updateOrganization,
} from '../../account/organization.ts'
import { withAccountDatabase } from '../account_database.ts'
import { type Command, type CommandArgs, parseLabel, parseWhole } from '../command.ts'
import { LIST_MAX, print, printRows } from '../print.ts'

const RATE_LIMIT = { what: 'rate limit', min: 1, max: RATE_LIMIT_MAX }

/** `org create|list|suspend|restore|delete|rename|limit`. */
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
      const made = await withAccountDatabase(io, (db) => createOrganization(db, { name, rateLimit, by: CLI }))
      print(made, { args, io, text: `Created organization ${made.id}` })
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
    name: 'org rename',
    positionals: ['organization id', 'name'],
    summary: 'Give an organization another name',
    run: async (args, io) => {
      const name = parseLabel(args.positionals[1] ?? '', 'name')
      const changed = await withAccountDatabase(io, (db) => updateOrganization(db, { id: first(args), name, by: CLI }))
      print(changed, { args, io, text: `Organization ${changed.id} is called ${changed.name}` })
    },
  },
  {
    name: 'org limit',
    positionals: ['organization id', 'requests per second'],
    summary: 'Set how many requests of an organization are admitted in any one second',
    run: async (args, io) => {
      const rateLimit = parseWhole(args.positionals[1] ?? '', RATE_LIMIT)
      const changed = await withAccountDatabase(io, (db) =>
        updateOrganization(db, { id: first(args), rateLimit, by: CLI }),
      )
      print(changed, {
        args,
        io,
        text: `Organization ${changed.id} may call ${rateLimit} times a second`,
      })
    },
  },
]

function change(
  verb: 'suspend' | 'restore' | 'delete',
  options: {
    readonly did: string
    readonly summary: string
    readonly act: typeof suspendOrganization
  },
): Command {
  return {
    name: `org ${verb}`,
    positionals: ['organization id'],
    summary: options.summary,
    run: async (args, io) => {
      const changed = await withAccountDatabase(io, (db) => options.act(db, { id: first(args), by: CLI }))
      print(changed, { args, io, text: `${options.did} organization ${changed.id}` })
    },
  }
}

function first(args: CommandArgs): string {
  return args.positionals[0] ?? ''
}
