import { withTimeout } from '../../lib/async/abort.ts'
import type { Clock } from '../../lib/clock.ts'
import { type DatabaseAddress, type DatabaseTls, type Listener, parseDatabaseUrl } from '../address.ts'
import { encodeParam } from '../codec.ts'
import { type Database, SqlError } from '../database.ts'
import { classifyFailure, isPoolerRefusal, isServerError, unavailableError } from './failure.ts'
import { readCaCertificates } from './pool.ts'
import { createPooledConnection } from './pooled_connection.ts'

interface SessionOptions {
  /** Same as for `openDatabase`. A secret. */
  readonly url: string
  /** @default 'verify' */
  readonly tls?: DatabaseTls
  /** Name of the session in `pg_stat_activity`. */
  readonly applicationName: string
  readonly clock: Clock
}

const DEADLINE_DEFAULT_MS = 10_000
const CONNECT_TIMEOUT_MS = 5_000
const DEADLINE_MAX_MS = 600_000
/** The server ends a statement this long after our deadline. */
const GRACE_MS = 500

/**
 * Opens the single connection of a backup or a restore: several statements in one transaction, with `begin` and
 * `commit` as plain statements, sent one after the other. It never reconnects, so statements after a loss fail; the
 * driver's own transactions would commit them alone. Throws `UnavailableError` if no listener answers.
 */
export async function openSession(options: SessionOptions): Promise<Database> {
  const address = parseDatabaseUrl(options.url, options.tls)
  let failure: unknown
  for (const listener of address.listeners) {
    for (const pooled of [false, true]) {
      const session = createSession(listener, { ...options, address, pooled })
      try {
        await session.run('select 1', [])
        return session
      } catch (error) {
        await session.close()
        if (!pooled && isPoolerRefusal(error)) continue
        failure ??= error
        break
      }
    }
  }
  throw failure
}

function createSession(
  listener: Listener,
  {
    address,
    applicationName,
    clock,
    pooled,
  }: SessionOptions & { readonly address: DatabaseAddress; readonly pooled: boolean },
): Database {
  const connection = createPooledConnection({
    clock,
    address,
    listener,
    ca: address.caFile === undefined ? undefined : readCaCertificates(address.caFile),
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    statementTimeoutMs: DEADLINE_MAX_MS + GRACE_MS,
    applicationName,
    pooled,
    connectsOnce: true,
  })
  return {
    async run<Row extends object>(
      text: string,
      params: Parameters<Database['run']>[1],
      { deadlineMs = DEADLINE_DEFAULT_MS }: { readonly deadlineMs?: number } = {},
    ): Promise<readonly Row[]> {
      if (!connection.isUsable) throw unavailableError('The connection to the database was lost', 'connection lost')
      const { rows, done } = connection.send(text, params.map(encodeParam))
      try {
        return (await withTimeout(rows, { ms: Math.min(deadlineMs, DEADLINE_MAX_MS), clock })) as readonly Row[]
      } catch (error) {
        const failure = classifyFailure(error)
        if (failure.kind === 'refused') throw failure.error
        connection.retire()
        // The first failure ends a transaction, so the server's message matters more than whether it may be retried.
        if (isServerError(error)) throw new SqlError(error.message, { code: error.code, cause: error })
        throw unavailableError('The database does not answer', failure.reason)
      } finally {
        done()
      }
    },
    async close() {
      connection.destroy()
    },
  }
}
