import { CLI_ACTOR } from '../../account/audit.ts'
import { resolveOrganizationId } from '../../account/organization.ts'
import { createLoginLink, endSessions, LOGIN_LINK_SEC } from '../../account/session.ts'
import type { Database } from '../../db/database.ts'
import { loginUrl } from '../../service/serve/login_url.ts'
import { withAccountDatabase } from '../account_database.ts'
import { type Command, type CommandArgs, UsageError } from '../command.ts'
import { print } from '../print.ts'

/** `login`, `logout`. */
export const loginCommands: readonly Command[] = [
  {
    name: 'login',
    options: { org: 'an organization: its usage page; without it the page of the operator' },
    summary: `Print a link that signs a browser in once, within ${LOGIN_LINK_SEC / 60} minutes`,
    run: async (args, io) => {
      const config = io.config()
      const { organizationId, ...made } = await withAccountDatabase(io, async (db) => {
        const of = { organizationId: await organizationOf(db, args), by: CLI_ACTOR } as const
        return { ...of, ...(await createLoginLink(db, of)) }
      })
      const url = loginUrl(config, { secret: made.secret, isOperator: organizationId === null })
      print({ url, organization_id: organizationId, expires_at: made.expiresAt }, { args, io, text: url })
    },
  },
  {
    name: 'logout',
    options: { org: 'an organization: ends its sessions' },
    flags: { all: 'ends every session, those of the operator too' },
    summary: 'End sessions and links that are not used yet',
    run: async (args, io) => {
      const isAll = args.flags.has('all')
      if ((args.options['org'] === undefined) !== isAll)
        throw new UsageError('Cannot end sessions: expected either --all or --org')
      const ended = await withAccountDatabase(io, async (db) =>
        endSessions(db, { organizationId: await organizationOf(db, args), by: CLI_ACTOR }),
      )
      print({ ended }, { args, io, text: `Ended ${ended} ${ended === 1 ? 'session' : 'sessions'}` })
    },
  },
]

/** The organization that `--org` names by its id or its name; null without it. */
async function organizationOf(db: Database, { options: { org } }: CommandArgs): Promise<string | null> {
  return org === undefined ? null : resolveOrganizationId(db, org)
}
