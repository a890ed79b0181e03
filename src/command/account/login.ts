import { resolveOrganizationId } from '../../account/organization.ts'
import { createLoginLink, endSessions, LOGIN_LINK_SEC } from '../../account/session.ts'
import type { Database } from '../../db/database.ts'
import { loginUrl } from '../../service/serve/login_url.ts'
import { withAccountDatabase } from '../account_database.ts'
import { type Command, type CommandArgs, usageError } from '../command.ts'
import { print } from '../print.ts'
import { findActor } from './actor.ts'

export const loginCommand: Command = {
  name: 'login',
  options: { org: 'an organization: its usage page; without it the operator page' },
  summary: `Print a link that signs a browser in once, within ${LOGIN_LINK_SEC / 60} minutes`,
  more: () => 'It has the address that PORT, OPERATOR_PORT and PUBLIC_URL tell: set them here as for the service.',
  example: 'login --org Shop',
  run: async (args, io) => {
    const config = io.config()
    const { organizationId, ...link } = await withAccountDatabase(io, async (db) => {
      const owner = { organizationId: await findOrganizationId(db, args), by: await findActor(io) } as const
      return { ...owner, ...(await createLoginLink(db, owner)) }
    })
    const url = loginUrl(config, { secret: link.secret, isOperator: organizationId === null })
    print({ url, organization_id: organizationId, expires_at: link.expiresAt }, { args, io, text: url })
  },
}

export const logoutCommand: Command = {
  name: 'logout',
  options: { org: 'an organization: ends its sessions' },
  flags: { all: 'ends every session, including those of the operator' },
  summary: 'End sessions and unused login links',
  example: 'logout --org Shop',
  run: async (args, io) => {
    const isAll = args.flags.has('all')
    if ((args.options['org'] === undefined) !== isAll)
      throw usageError('Cannot end sessions: expected either --all or --org')
    const ended = await withAccountDatabase(io, async (db) =>
      endSessions(db, { organizationId: await findOrganizationId(db, args), by: await findActor(io) }),
    )
    print({ ended }, { args, io, text: `Ended ${ended} ${ended === 1 ? 'session' : 'sessions'}` })
  },
}

/** Resolves `--org`, an id or a name, to an organization id; null without it. */
async function findOrganizationId(db: Database, { options: { org } }: CommandArgs): Promise<string | null> {
  return org === undefined ? null : resolveOrganizationId(db, org)
}
