import { resolveOrganizationId } from '../account/organization.ts'
import type { DatabaseTls } from '../db/address.ts'
import { openDatabase } from '../db/connection/pool.ts'
import type { Database } from '../db/database.ts'
import { findRunningEmbedded, hasEmbeddedDatabase, startEmbedded } from '../db/embedded/embedded.ts'
import { migrate } from '../db/migrate.ts'
import { checkServable } from '../db/schema.ts'
import { systemClock } from '../lib/clock.ts'
import { UnavailableError } from '../lib/error.ts'
import { createLog } from '../lib/log.ts'
import { CommandError, type CommandIo } from './command.ts'

/**
 * Runs `work` on the migrated account database. Migrates a database that this command starts; only checks any other,
 * because its operator decides when it changes.
 */
export function withAccountDatabase<T>(io: CommandIo, work: (db: Database) => Promise<T>): Promise<T> {
  return withDatabase(io, async (db, { own }) => {
    if (own) await migrate(db)
    else await checkServable(db)
    return work(db)
  })
}

/** Runs `work` on an organization, given by its id or its name. */
export function withOrganization<T>(
  io: CommandIo,
  text: string,
  work: (db: Database, organizationId: string) => Promise<T>,
): Promise<T> {
  return withAccountDatabase(io, async (db) => work(db, await resolveOrganizationId(db, text)))
}

/** Work on a database: `own` if this command started it; `address`, a secret, is for more connections. */
type Work<T> = (
  db: Database,
  options: { readonly own: boolean; readonly address: { readonly url: string; readonly tls: DatabaseTls } },
) => Promise<T>

/**
 * Runs `work` on `DATABASE_URL`, else on the embedded server of a running service, else on one started for this
 * command. Throws a `CommandError` if there is none: a command in a wrong directory must not create one.
 */
export async function withDatabase<T>(io: CommandIo, work: Work<T>): Promise<T> {
  const { databaseUrl, dataDir } = io.config()
  if (databaseUrl === undefined && !(await hasEmbeddedDatabase(dataDir))) {
    throw new CommandError(
      `Cannot find a database in data directory "${dataDir}": set DATA_DIR or DATABASE_URL, ` +
        'or let "walletscope serve" create one there',
    )
  }
  return withNewDatabase(io, work)
}

/** Like `withDatabase`, but creates the embedded database if there is none. */
export async function withNewDatabase<T>(io: CommandIo, work: Work<T>): Promise<T> {
  const { databaseUrl, databaseTls: tls, dataDir } = io.config()
  const log = createLog({ level: 'error', write: io.err, clock: systemClock })
  const running = databaseUrl === undefined ? await findRunningEmbedded(dataDir) : undefined
  const knownUrl = databaseUrl ?? running?.url
  const embedded = knownUrl === undefined ? await startEmbedded({ dataDir, clock: systemClock, log }) : undefined
  try {
    const url = knownUrl ?? embedded?.url ?? ''
    const db = openDatabase({ url, tls, clock: systemClock, log, max: 2 })
    try {
      return await work(db, { own: embedded !== undefined, address: { url, tls } })
    } catch (error) {
      if (!(error instanceof UnavailableError && error.cause instanceof Error)) throw error
      throw new CommandError(`Cannot use the database: it does not answer: ${error.cause.message}`, { cause: error })
    } finally {
      await db.close()
    }
  } finally {
    await embedded?.close()
    await running?.close()
  }
}
