import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { createKey } from '../../account/api_key.ts'
import type { Actor } from '../../account/audit.ts'
import { GRANT_MAX, grantCredits, listGrants, REASON_LENGTH_MAX, readCredits } from '../../account/credit.ts'
import {
  createOrganization,
  type FundedOrganization,
  listOrganizations,
  type Organization,
  RATE_LIMIT_DEFAULT,
  RATE_LIMIT_MAX,
  readOrganization,
  setOrganizationState,
  TRIGGER_LIMIT_DEFAULT,
  TRIGGER_LIMIT_MAX,
  updateOrganization,
} from '../../account/organization.ts'
import type { Database } from '../../db/database.ts'
import { escapeLine } from '../../lib/text/display_text.ts'
import { withAccountDatabase, withOrganization } from '../account_database.ts'
import {
  type Command,
  type CommandArgs,
  CommandError,
  type CommandIo,
  parseLabel,
  parseWhole,
  usageError,
} from '../command.ts'
import { LIST_MAX, print, printRows } from '../print.ts'
import { findActor } from './actor.ts'

const RATE_LIMIT = { what: 'rate limit', min: 1, max: RATE_LIMIT_MAX }
const TRIGGER_LIMIT = { what: 'trigger limit', min: 0, max: TRIGGER_LIMIT_MAX }

/** `org create|list|suspend|restore|delete|rename|limit|trigger-limit`. */
export const organizationCommands: readonly Command[] = [
  {
    name: 'org create',
    positionals: ['name'],
    options: {
      'rate-limit': `requests admitted in any one second, ${RATE_LIMIT_DEFAULT} unless given`,
      'trigger-limit': `triggers that the organization may have, ${TRIGGER_LIMIT_DEFAULT} unless given`,
      credits: 'credits to grant, none unless given',
    },
    flags: { key: 'also create a key; it is shown only once' },
    summary: 'Create an organization, with credits and a key if requested',
    example: 'org create Shop --credits 100000 --key',
    run: async (args, io) => {
      const rateLimitText = args.options['rate-limit']
      const name = parseLabel(getFirst(args), 'name')
      const rateLimit = rateLimitText === undefined ? RATE_LIMIT_DEFAULT : parseWhole(rateLimitText, RATE_LIMIT)
      const triggerLimitText = args.options['trigger-limit']
      const triggerLimit =
        triggerLimitText === undefined ? TRIGGER_LIMIT_DEFAULT : parseWhole(triggerLimitText, TRIGGER_LIMIT)
      const creditsText = args.options['credits']
      const credits =
        creditsText === undefined ? 0 : parseWhole(creditsText, { what: 'credits', min: 1, max: GRANT_MAX })
      const created = await withAccountDatabase(io, async (db) => {
        const organization = await createOrganization(db, { name, rateLimit, triggerLimit, by: await findActor(io) })
        const owner = { organizationId: organization.id, by: await findActor(io) } as const
        if (credits > 0) await grantCredits(db, { ...owner, credits, reason: 'created with them' })
        const key = args.flags.has('key') ? await createKey(db, { ...owner, name: 'default' }) : undefined
        return { ...organization, ...(credits > 0 ? { credits } : {}), ...(key === undefined ? {} : { key: key.key }) }
      })
      const lines = [
        `Created organization ${created.id}`,
        ...(credits > 0 ? [`It has ${credits} credits`] : []),
        ...(created.key === undefined ? [] : [`Its key, shown this once:\n\n  ${created.key}\n`]),
      ]
      print(created, { args, io, text: lines.join('\n') })
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
  changeCommand('suspend', {
    summary: 'Refuse every call of an organization from the next one on',
    createChange: () => createStateChange('suspend'),
    formatResult: ({ id }) => `Suspended organization ${id}`,
  }),
  changeCommand('restore', {
    summary: 'Let a suspended organization call again',
    createChange: () => createStateChange('restore'),
    formatResult: ({ id }) => `Restored organization ${id}`,
  }),
  {
    name: 'org delete',
    positionals: ['organization'],
    flags: { yes: 'delete without asking, as programs must' },
    summary: 'Delete an organization for good, once its name is typed again',
    more: () => 'Its log stays. An organization is given by its id or its name, here and elsewhere.',
    example: 'org delete Shop',
    run: async (args, io) => {
      const deleted = await withOrganization(io, getFirst(args), async (db, id) => {
        if (!args.flags.has('yes')) await confirmDeletion(await readOrganization(db, id), io)
        return setOrganizationState(db, 'delete', { id, by: await findActor(io) })
      })
      print(deleted, { args, io, text: `Deleted organization ${deleted.id}` })
    },
  },
  changeCommand('rename', {
    value: 'name',
    summary: 'Give an organization another name',
    example: 'org rename Shop "New shop"',
    createChange: (text) => createUpdate({ name: parseLabel(text, 'name') }),
    formatResult: ({ id, name }) => `Organization ${id} is called ${name}`,
  }),
  changeCommand('limit', {
    value: 'requests per second',
    summary: 'Set how many requests of an organization are admitted in any one second',
    example: 'org limit Shop 50',
    createChange: (text) => createUpdate({ rateLimit: parseWhole(text, RATE_LIMIT) }),
    formatResult: ({ id, rate_limit }) => `Organization ${id} may call ${rate_limit} times a second`,
  }),
  changeCommand('trigger-limit', {
    value: 'triggers',
    summary: 'Set how many triggers an organization may have',
    more: () => 'Existing triggers above the limit stay.',
    example: 'org trigger-limit Shop 50',
    createChange: (text) => createUpdate({ triggerLimit: parseWhole(text, TRIGGER_LIMIT) }),
    formatResult: ({ id, trigger_limit }) => `Organization ${id} may have ${trigger_limit} triggers`,
  }),
]

type Change = (db: Database, target: { readonly id: string; readonly by: Actor }) => Promise<Organization>

/** Creates a command that changes an organization, with a value if the change takes one. */
function changeCommand(
  verb: string,
  {
    value,
    summary,
    more,
    example,
    createChange,
    formatResult,
  }: {
    readonly value?: string
    readonly createChange: (value: string) => Change
    readonly formatResult: (changed: Organization) => string
  } & Pick<Command, 'summary' | 'more' | 'example'>,
): Command {
  return {
    name: `org ${verb}`,
    positionals: ['organization', ...(value === undefined ? [] : [value])],
    summary,
    ...(more === undefined ? {} : { more }),
    ...(example === undefined ? {} : { example }),
    run: async (args, io) => {
      const applyChange = createChange(args.positionals[1] ?? '')
      const changed = await withOrganization(io, getFirst(args), async (db, id) =>
        applyChange(db, { id, by: await findActor(io) }),
      )
      print(changed, { args, io, text: formatResult(changed) })
    },
  }
}

/** Asks for the name of an organization. Throws `CommandError` for another answer, and with status 2 without a terminal. */
async function confirmDeletion({ id, name, balance }: FundedOrganization, io: CommandIo): Promise<void> {
  const terminal = io.stdin()
  if (terminal.isTTY !== true)
    throw usageError('Cannot delete an organization without asking: expected --yes, or a terminal')
  const lost = `its keys stop working and its ${BigInt(balance).toLocaleString('en')} credits are lost`
  io.err(escapeLine(`This deletes organization ${id}, "${name}", for good: ${lost}. Type its name to go on:`))
  const answer = await readLine(terminal, io.stop)
  // Keyboards and file systems write the same letters in different ways.
  if (answer.normalize('NFC') !== name.normalize('NFC')) throw new CommandError('Deleted nothing: that is not its name')
}

/** Reads one line of a terminal, without spaces around it; empty at its end. */
async function readLine(input: Readable, signal: AbortSignal): Promise<string> {
  const lines = createInterface({ input, signal })
  try {
    for await (const line of lines) return line.trim()
    return ''
  } finally {
    lines.close()
  }
}

function createStateChange(state: 'suspend' | 'restore'): Change {
  return (db, target) => setOrganizationState(db, state, target)
}

function createUpdate(values: Omit<Parameters<typeof updateOrganization>[1], 'id' | 'by'>): Change {
  return (db, target) => updateOrganization(db, { ...target, ...values })
}

function getFirst(args: CommandArgs): string {
  return args.positionals[0] ?? ''
}

/** Maximum grants that `credits show` lists. */
const GRANTS_SHOWN_MAX = 100

/** `credits grant|show`. */
export const creditCommands: readonly Command[] = [
  {
    name: 'credits grant',
    positionals: ['organization', 'credits'],
    required: 'reason',
    options: { reason: 'why, kept with the grant' },
    summary: 'Give an organization credits; a negative number takes some back',
    more: () => 'A balance never falls below zero.',
    example: 'credits grant Shop 100000 --reason "paid invoice 12"',
    run: async (args, io) => {
      const [organization = '', amount = ''] = args.positionals
      const credits = parseWhole(amount, { what: 'credits', min: -GRANT_MAX, max: GRANT_MAX })
      if (credits === 0) throw usageError('Cannot grant credits: expected a non-zero number')
      const reason = parseLabel(args.options['reason'] ?? '', 'reason', REASON_LENGTH_MAX)
      const { grant, ...after } = await withOrganization(io, organization, async (db, organizationId) =>
        grantCredits(db, { organizationId, credits, reason, by: await findActor(io) }),
      )
      const text = `Organization ${organization} has ${after.balance} credits`
      print(after, { args, io, text })
    },
  },
  {
    name: 'credits show',
    positionals: ['organization'],
    summary: 'Show the balance of an organization and its latest grants',
    example: 'credits show Shop',
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
