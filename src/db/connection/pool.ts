import { readFileSync } from 'node:fs'
import { withTimeout } from '../../lib/async/wait.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { type DatabaseTls, parseDatabaseUrl } from '../address.ts'
import { encodeParam } from '../codec.ts'
import type { Database, LaneName } from '../database.ts'
import { unavailableError } from './failure.ts'
import { createLane, type LaneReport } from './lane.ts'

interface DatabaseOptions {
  /** `postgres://…`, or `postgres://user@/database?host=/directory` for a socket. A secret. */
  readonly url: string
  /** @default 'verify' */
  readonly tls?: DatabaseTls
  readonly clock: Clock
  readonly log: Log
  /** Maximum connections of each lane. @default 8 for `gate`, 4 for `read`, 3 for `background` */
  readonly max?: number
}

/** A lane without a connection, and why it gets none. */
export interface LaneShortage {
  readonly lane: OwnLane
  readonly reason: string
}

export interface DatabasePool extends Database {
  report(): readonly ({ readonly name: string } & LaneReport)[]
  /** Opens a connection in each lane that has none; lists the lanes that got none. Never rejects. */
  findShortages(): Promise<readonly LaneShortage[]>
}

export const DEADLINE_DEFAULT_MS = 1_500

/** The lanes of one server: without a standby, `copy` uses `read`. */
type OwnLane = Exclude<LaneName, 'copy'>

/** Connections are opened as needed; `deadlineMaxMs` is the longest deadline of a statement. */
const LANES: Readonly<Record<OwnLane, { readonly connections: number; readonly deadlineMaxMs: number }>> = {
  gate: { connections: 8, deadlineMaxMs: 1_500 },
  read: { connections: 4, deadlineMaxMs: 10_000 },
  background: { connections: 3, deadlineMaxMs: 600_000 },
}

/** Maximum connections that one process opens. */
export const CONNECTIONS_MAX = Object.values(LANES).reduce((sum, { connections }) => sum + connections, 0)

/** The server ends a statement this long after our deadline. */
const GRACE_MS = 500
const CLOSE_MS = 1_500

/**
 * Opens a database; it connects with the first statement. Every statement is prepared, alone in its transaction, and
 * ends by its deadline even if the server hangs; after that, or after a loss, a new connection replaces the old one.
 * Throws if the URL cannot or must not be used.
 */
export function openDatabase(options: DatabaseOptions): DatabasePool {
  const address = parseDatabaseUrl(options.url, options.tls)
  const { clock, log } = options
  const ca = address.caFile === undefined ? undefined : readCaCertificates(address.caFile)
  const server = {
    pooled: false,
    reachedAtMs: 0,
    retireSilent(sinceMs: number): void {
      for (const each of allLanes) each.retireSilent(sinceMs)
    },
  }
  const openLane = (name: OwnLane) =>
    createLane({
      address,
      ca,
      clock,
      log,
      connectionsMax: Math.min(LANES[name].connections, options.max ?? Number.POSITIVE_INFINITY),
      statementTimeoutMs: LANES[name].deadlineMaxMs + GRACE_MS,
      server,
    })
  const lanes = { gate: openLane('gate'), read: openLane('read'), background: openLane('background') }
  const allLanes = Object.values(lanes)
  let isClosed = false

  return {
    async run<Row extends object>(
      text: string,
      params: Parameters<Database['run']>[1],
      { lane: requestedLane = 'read', deadlineMs = DEADLINE_DEFAULT_MS }: Parameters<Database['run']>[2] = {},
    ): Promise<readonly Row[]> {
      const lane = requestedLane === 'copy' ? 'read' : requestedLane
      const { deadlineMaxMs } = LANES[lane]
      if (!(deadlineMs > 0 && deadlineMs <= deadlineMaxMs)) {
        throw new RangeError(`Cannot run a statement in lane ${lane}: expected a deadline up to ${deadlineMaxMs} ms`)
      }
      if (isClosed) throw unavailableError('The database is closed', 'closed')
      return (await lanes[lane].run(text, params.map(encodeParam), deadlineMs)) as readonly Row[]
    },
    report: () => Object.entries(lanes).map(([name, each]) => ({ name, ...each.report() })),
    async findShortages() {
      const names = Object.keys(lanes) as OwnLane[]
      const reasons = await Promise.all(names.map((lane) => lanes[lane].findShortage()))
      return names.flatMap((lane, index) => {
        const reason = reasons[index]
        return reason === undefined ? [] : [{ lane, reason }]
      })
    },
    async close() {
      isClosed = true
      await withTimeout(Promise.all(allLanes.map((each) => each.idle())), { ms: CLOSE_MS, clock }).catch(() => {})
      for (const each of allLanes) each.destroy()
    },
  }
}

/** Reads the file that `sslrootcert` names. Throws an `Error` if it cannot be read. */
export function readCaCertificates(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new Error('Cannot use DATABASE_URL: the file that sslrootcert names cannot be read', { cause })
  }
}
