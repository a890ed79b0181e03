import { CLI } from '../../account/audit.ts'
import { createLoginLink, endSessions, LINK_SEC } from '../../account/session.ts'
import { loginUrl } from '../../service/address/login_url.ts'
import { withAccountDatabase } from '../account_database.ts'
import { type Command, UsageError } from '../command.ts'
import { print } from '../print.ts'

/** `login`, `logout`. */
export const loginCommands: readonly Command[] = [
  {
    name: 'login',
    options: { org: 'organization id: its usage page; without it the page of the operator' },
    summary: `Print a link that signs a browser in once, within ${LINK_SEC / 60} minutes`,
    run: async (args, io) => {
      const config = io.config()
      const organizationId = args.options['org'] ?? null
      const made = await withAccountDatabase(io, (db) => createLoginLink(db, { organizationId, by: CLI }))
      const url = loginUrl(config, { secret: made.secret, isOperator: organizationId === null })
      print({ url, organization_id: organizationId, expires_at: made.expiresAt }, { args, io, text: url })
    },
  },
  {
    name: 'logout',
    options: { org: 'organization id: ends its sessions' },
    flags: { all: 'ends every session, those of the operator too' },
    summary: 'End sessions and links that are not used yet',
    run: async (args, io) => {
      const { org } = args.options
      const isAll = args.flags.has('all')
      if ((org === undefined) !== isAll) throw new UsageError('Cannot end sessions: expected either --all or --org')
      const ended = await withAccountDatabase(io, (db) => endSessions(db, { organizationId: org ?? null, by: CLI }))
      print({ ended }, { args, io, text: `Ended ${ended} ${ended === 1 ? 'session' : 'sessions'}` })
    },
  },
]
