import { readFileSync } from 'node:fs'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import { parseDatabaseUrl } from './address.ts'
import { encodeParam } from './codec.ts'
import type { Database } from './database.ts'
import { unavailable } from './failure.ts'
import { createLane } from './lane.ts'

/** What `openDatabase` needs. */
export interface DatabaseOptions {
  /** `postgres://…`, or `postgres://user@/database?host=/directory` for a socket. A secret. */
  readonly url: string
  readonly clock: Clock
  readonly log: Log
  /** Connections for statements within the default deadline. @default 8 */
  readonly max?: number
}

/** How long a statement may take unless told otherwise, milliseconds. */
const DEADLINE_DEFAULT_MS = 1_500
/** The longest deadline that a statement may ask for, milliseconds. */
const DEADLINE_MAX_MS = 600_000

/** What the server grants beyond our deadline before it stops a statement itself. */
const GRACE_MS = 500
const CONNECTIONS_DEFAULT = 8
/** Statements that ask for more than the default deadline have connections of their own, so that none waits for them. */
const PATIENT_CONNECTIONS = 2
const CLOSE_MS = 1_500

/**
 * Opens a database; nothing connects before the first statement. Every statement is prepared, alone in its
 * transaction, and ends by its deadline whatever the server does; after that, or after a lost connection, new
 * connections take the place of all old ones. Throws on a URL that cannot or must not be used.
 */
export function openDatabase(options: DatabaseOptions): Database {
  const address = parseDatabaseUrl(options.url)
  const { clock, log } = options
  const ca = address.caFile === undefined ? undefined : readAuthorities(address.caFile)
  const ordinary = createLane({
    address,
    ca,
    clock,
    log,
    connectionsMax: options.max ?? CONNECTIONS_DEFAULT,
    statementTimeoutMs: DEADLINE_DEFAULT_MS + GRACE_MS,
  })
  const patient = createLane({
    address,
    ca,
    clock,
    log,
    connectionsMax: PATIENT_CONNECTIONS,
    statementTimeoutMs: DEADLINE_MAX_MS + GRACE_MS,
  })
  let closed = false

  return {
    async run<Row extends object>(
      text: string,
      params: Parameters<Database['run']>[1],
      { deadlineMs = DEADLINE_DEFAULT_MS }: { readonly deadlineMs?: number } = {},
    ): Promise<readonly Row[]> {
      if (!(deadlineMs > 0 && deadlineMs <= DEADLINE_MAX_MS)) {
        throw new RangeError(`Cannot run a statement: expected a deadline up to ${DEADLINE_MAX_MS} ms`)
      }
      if (closed) throw unavailable('The database is closed', 'closed')
      const lane = deadlineMs <= DEADLINE_DEFAULT_MS ? ordinary : patient
      return (await lane.run(text, params.map(encodeParam), deadlineMs)) as readonly Row[]
    },
    async close() {
      closed = true
      let timer: ReturnType<typeof setTimeout> | undefined
      const patienceEnds = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, CLOSE_MS)
      })
      await Promise.race([Promise.all([ordinary.idle(), patient.idle()]), patienceEnds])
      clearTimeout(timer)
      ordinary.destroy()
      patient.destroy()
    },
  }
}

/** Text of the file that `sslrootcert` names. Throws an `Error` where it cannot be read. */
export function readAuthorities(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new Error('Cannot use DATABASE_URL: the file that sslrootcert names cannot be read', { cause })
  }
}
