import { listPending, migrate } from '../db/migrate.ts'
import { withDatabase } from './account_database.ts'
import type { Command, CommandArgs, CommandIo } from './command.ts'
import { print } from './print.ts'

const UP_TO_DATE = 'Everything is up to date'
/** Exit status of `--dry-run` if something is pending. */
const PENDING_STATUS = 3

/** `migrate`: forward only, safe to run from several places at once. */
export const migrateCommand: Command = {
  name: 'migrate',
  flags: {
    'dry-run': `only list what would be applied: exit status 0 nothing, ${PENDING_STATUS} something; tables stay as they are, but the embedded database is started if no service runs it`,
  },
  example: 'migrate --dry-run',
  summary: 'Bring the tables of the database up to date',
  run: async (args, io) => {
    if (args.flags.has('dry-run')) return listOnly(args, io)
    const { applied } = await withDatabase(io, (db) => migrate(db))
    const text = applied.length === 0 ? UP_TO_DATE : applied.map((name) => `Applied ${name}`).join('\n')
    print({ applied }, { args, io, text })
    return 0
  },
}

async function listOnly(args: CommandArgs, io: CommandIo): Promise<number> {
  const pending = await withDatabase(io, (db) => listPending(db))
  const text = pending.length === 0 ? UP_TO_DATE : pending.map((name) => `Would apply ${name}`).join('\n')
  print({ pending }, { args, io, text })
  return pending.length === 0 ? 0 : PENDING_STATUS
}
