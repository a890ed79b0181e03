import { migrate } from '../db/migrate.ts'
import { withDatabase } from './account_database.ts'
import type { Command } from './command.ts'
import { print } from './print.ts'

/** `migrate`: forward only, safe to run from several places at once. */
export const migrateCommand: Command = {
  name: 'migrate',
  summary: 'Bring the tables of the database up to date',
  run: async (args, io) => {
    const { applied } = await withDatabase(io, (db) => migrate(db))
    const text = applied.length === 0 ? 'Everything is up to date' : applied.map((name) => `Applied ${name}`).join('\n')
    print({ applied }, { args, io, text })
  },
}
