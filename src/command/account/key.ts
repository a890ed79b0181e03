import {
  type ApiKey,
  CREDITS_PER_DAY_MAX,
  createKey,
  GRACE_DEFAULT_SEC,
  GRACE_MAX_SEC,
  type KeyLimits,
  listKeys,
  type NewApiKey,
  rerollKey,
  revokeKey,
} from '../../account/api_key.ts'
import { systemClock } from '../../lib/clock.ts'
import { parseInstantMs } from '../../lib/text/instant.ts'
import { requireEndpoints, type Switchboard } from '../../operator/switches.ts'
import { createSwitchboard } from '../../service/routes.ts'
import { withOrganization } from '../account_database.ts'
import { type Command, type CommandArgs, type CommandIo, parseLabel, parseWhole, usageError } from '../command.ts'
import { LIST_MAX, print, printRows } from '../print.ts'
import { findActor } from './actor.ts'

const GRACE = { what: 'grace', min: 0, max: GRACE_MAX_SEC }
const KEY_POSITIONALS = ['organization', 'key id'] as const

/** `key create|list|revoke|reroll`. */
export const keyCommands: readonly Command[] = [
  {
    name: 'key create',
    positionals: ['organization'],
    options: {
      name: 'name of the key in the log, "default" unless given',
      expires: 'ISO 8601 time from which the key is refused; without it never',
      'allow-network': 'networks from which the key works, such as 10.0.0.0/8,2001:db8::/32; without it all',
      'allow-endpoint':
        'endpoints for which the key works, such as "GET /v1/lending/aave-v3,GET /v1/usage/logs"; without it all',
      'credits-per-day': 'maximum credits that the key may spend in one day (UTC); without it no limit',
    },
    summary: 'Create a key of an organization; it is shown this once',
    example: 'key create Shop --name website --credits-per-day 5000',
    run: async (args, io) => {
      const [organization = ''] = args.positionals
      const name = parseLabel(args.options['name'] ?? 'default', 'name')
      const expires = args.options['expires']
      const expiresAt = expires === undefined ? undefined : parseTime(expires)
      const limits = parseLimits(args, createSwitchboard(io.config()))
      const created = await withOrganization(io, organization, async (db, organizationId) =>
        createKey(db, { organizationId, name, expiresAt, limits, by: await findActor(io) }),
      )
      printNewKey(created, { args, io, did: 'Created' })
    },
  },
  {
    name: 'key list',
    positionals: ['organization'],
    summary: 'List the keys of an organization by their last four characters',
    run: async (args, io) => {
      const [organization = ''] = args.positionals
      const { items } = await withOrganization(io, organization, (db, organizationId) =>
        listKeys(db, { organizationId, page: 1, limit: LIST_MAX }),
      )
      printRows(items.map(toTableRow), { args, io, none: 'No key yet: walletscope key create <organization>' })
    },
  },
  {
    name: 'key revoke',
    positionals: KEY_POSITIONALS,
    summary: 'Refuse a key from its next call on',
    more: () => 'key list shows the ids of keys.',
    example: 'key revoke Shop key_…',
    run: async (args, io) => {
      const [organization = '', keyId = ''] = args.positionals
      const revoked = await withOrganization(io, organization, async (db, organizationId) =>
        revokeKey(db, { organizationId, keyId, by: await findActor(io) }),
      )
      print(revoked, { args, io, text: `Revoked key ${revoked.id}` })
    },
  },
  {
    name: 'key reroll',
    positionals: KEY_POSITIONALS,
    options: { grace: `seconds that the old key still works, ${GRACE_DEFAULT_SEC} unless given` },
    summary: 'Replace a key; the old one still works for the grace period',
    example: 'key reroll Shop key_… --grace 3600',
    run: async (args, io) => {
      const grace = args.options['grace']
      const graceSec = grace === undefined ? GRACE_DEFAULT_SEC : parseWhole(grace, GRACE)
      const [organization = '', keyId = ''] = args.positionals
      const created = await withOrganization(io, organization, async (db, organizationId) =>
        rerollKey(db, { organizationId, keyId, graceSec, by: await findActor(io) }),
      )
      printNewKey(created, { args, io, did: 'Replaced it by' })
    },
  },
]

/** Parses the limits of a new key. Throws `CodedError` for endpoints that this configuration does not have. */
function parseLimits({ options }: CommandArgs, board: Switchboard): KeyLimits {
  const { 'allow-network': networks, 'allow-endpoint': endpoints, 'credits-per-day': credits } = options
  const limits = {
    networks: networks === undefined ? null : splitList(networks),
    endpoints: endpoints === undefined ? null : splitList(endpoints),
    creditsPerDay:
      credits === undefined ? null : parseWhole(credits, { what: 'credits a day', min: 1, max: CREDITS_PER_DAY_MAX }),
  }
  requireEndpoints(board, limits.endpoints ?? [])
  return limits
}

function splitList(text: string): string[] {
  return text.split(',').map((part) => part.trim())
}

/** Converts a key to a table row, with lists as text. */
function toTableRow({ allowed_networks: networks, allowed_endpoints: endpoints, ...rest }: ApiKey) {
  return { ...rest, allowed_networks: networks?.join(',') ?? null, allowed_endpoints: endpoints?.join(',') ?? null }
}

function printNewKey(
  created: NewApiKey,
  { args, io, did: action }: { readonly args: CommandArgs; readonly io: CommandIo; readonly did: string },
): void {
  print(created, { args, io, text: `${action} key ${created.id}, shown this once:\n\n  ${created.key}\n` })
}

function parseTime(text: string): Date {
  const ms = parseInstantMs(text)
  if (ms === undefined || !/^[^T]+$|(Z|[+-]\d{2}:\d{2})$/.test(text)) {
    throw usageError(`Cannot read time "${text}": expected YYYY-MM-DD or an ISO 8601 time with its zone`)
  }
  if (ms <= systemClock.now()) {
    throw usageError(`Cannot let a key expire at "${text}": expected a time in the future`)
  }
  return new Date(ms)
}
