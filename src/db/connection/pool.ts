import { readFileSync } from 'node:fs'
import { createIdleWaiter, TIMED_OUT, withTimeout } from '../../lib/async/abort.ts'
import type { Clock } from '../../lib/clock.ts'
import { getRootReason } from '../../lib/failure_tracker.ts'
import { type Log, logThrottled, resetThrottled } from '../../lib/log.ts'
import { type DatabaseAddress, type DatabaseTls, parseDatabaseUrl } from '../address.ts'
import { encodeParam } from '../codec.ts'
import type { Database, LaneName } from '../database.ts'
import { classifyFailure, createCircuitBreaker, loggedUnavailableError, unavailableError } from './failure.ts'
import { createPooledConnection, type PooledConnection } from './pooled_connection.ts'

interface DatabaseOptions {
  /** `postgres://…`, or `postgres://user@/database?host=/directory` for a socket. A secret. */
  readonly url: string
  /** @default 'verify' */
  readonly tls?: DatabaseTls
  readonly clock: Clock
  readonly log: Log
  /** Maximum connections of each lane. @default 8 for `gate`, 4 for `read`, 3 for `background` */
  readonly max?: number
  /** How long after our deadline the server ends a statement, milliseconds. @default 500 */
  readonly graceMs?: number
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

const GRACE_MS_DEFAULT = 500
const CLOSE_MS = 1_500

/**
 * Opens a database; it connects with the first statement. Every statement is prepared, alone in its transaction, and
 * ends by its deadline even if the server hangs; after that, or after a loss, a new connection replaces the old one.
 * Throws if the URL cannot or must not be used.
 */
export function openDatabase(options: DatabaseOptions): DatabasePool {
  const address = parseDatabaseUrl(options.url, options.tls)
  const { clock, log, graceMs = GRACE_MS_DEFAULT } = options
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
      statementTimeoutMs: LANES[name].deadlineMaxMs + graceMs,
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

/** State of a lane, for metrics. */
interface LaneReport {
  /** False after a statement failed because the database was unreachable, until one of any lane succeeds. */
  readonly isReachable: boolean
  readonly running: number
  readonly waiting: number
  /** Total time that statements have waited for a connection, milliseconds. */
  readonly waitedMs: number
}

interface LaneOptions {
  readonly address: DatabaseAddress
  readonly ca: string | undefined
  readonly clock: Clock
  readonly log: Log
  readonly connectionsMax: number
  /** The server's own limit, above every deadline of this lane: it ends abandoned statements. */
  readonly statementTimeoutMs: number
  /** Facts about the server, shared by all lanes of a pool. */
  readonly server: {
    /** True once a pooler was detected. */
    pooled: boolean
    /** When a statement of any lane succeeded last, monotonic milliseconds. */
    reachedAtMs: number
    /** Retires the connections of all lanes that have had no answer since `sinceMs`. */
    retireSilent(sinceMs: number): void
  }
}

const LOST = 'database lost'

const STATEMENTS_MAX = 1_000
/** Longer than any deadline of the gate, so that a slow server can finish opening a connection. */
const CONNECT_TIMEOUT_MS = 3_000
/** Time limit for opening a connection, including its first result. */
const OPEN_MS = 4_000
const OPENING = 'select 1'
/** After this time a lane closes connections that nothing used, so that other processes can open theirs. */
const IDLE_MS = 60_000
/** Time limit for finding out whether a lane gets a connection. */
const CHECK_MS = 1_500

/** Holds one connection and replaces it when it is lost. One statement uses it at a time. */
interface Slot {
  busy: boolean
  connection: PooledConnection | undefined
  /** Index of the listener the connection was opened to. */
  listenerIndex: number
  /** True if the connection was opened for use behind a pooler. */
  pooled: boolean
}

/** The victim of a deadlock may be sent again: a statement is a transaction and was rolled back whole. */
const ATTEMPTS_MAX = 3

/** A statement waiting for an open connection. */
interface QueuedStatement {
  resolve(slot: Slot): void
  reject(error: Error): void
}

/** True if the slot's connection has answered and is not lost. */
const isOpen = ({ connection }: Slot): boolean => connection?.isUsable === true && connection.hasAnswered

/**
 * Creates a lane: statements of one kind, with connections of their own. A statement takes a free open connection, or
 * waits for one until its deadline. While statements wait, open connections one at a time and finish each even if its
 * waiter timed out; a slow server would otherwise never complete one.
 */
function createLane(options: LaneOptions) {
  const { address, clock, log, server } = options
  const breaker = createCircuitBreaker(() => clock.monotonicMs())
  const slots: Slot[] = []
  const waiting = new Set<QueuedStatement>()
  const connections = new Set<PooledConnection>()
  const idle = createIdleWaiter(() => statements === 0)
  let isOpening = false
  let listenerIndex = 0
  let statements = 0
  let awaySinceMs: number | undefined
  let lostAtMs = 0
  let awayReason = ''
  let waitedMs = 0
  let cancelIdleCheck: (() => void) | undefined

  function getConnection(slot: Slot): PooledConnection {
    const { connection } = slot
    if (connection?.isUsable) return connection
    // Several connections may fail at one listener: only the first failure moves on to the next listener.
    const isSame = slot.listenerIndex === listenerIndex && slot.pooled === server.pooled
    if (connection !== undefined && !connection.hasAnswered && isSame) listenerIndex++
    const listener = address.listeners[listenerIndex % address.listeners.length] ?? address.listeners[0]
    for (const old of connections) if (!old.isUsable) connections.delete(old)
    const replacement = createPooledConnection({
      clock,
      address,
      listener,
      ca: options.ca,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      statementTimeoutMs: options.statementTimeoutMs,
      applicationName: 'walletscope',
      pooled: server.pooled,
    })
    connections.add(replacement)
    slot.connection = replacement
    slot.listenerIndex = listenerIndex
    slot.pooled = server.pooled
    return replacement
  }

  /** Resolves with an open slot; `release` frees it. Rejects if none opens or becomes free by the deadline. */
  function acquireSlot(deadlineMs: number): Promise<Slot> {
    const freeSlot = slots.find((slot) => !slot.busy && isOpen(slot))
    if (freeSlot !== undefined) {
      freeSlot.busy = true
      return Promise.resolve(freeSlot)
    }
    const startedMs = clock.monotonicMs()
    return new Promise((resolve, reject) => {
      const settle = () => {
        cancelTimer()
        waiting.delete(waiter)
        waitedMs += clock.monotonicMs() - startedMs
      }
      const waiter: QueuedStatement = {
        resolve(slot) {
          settle()
          resolve(slot)
        },
        reject(error) {
          settle()
          reject(error)
        },
      }
      const cancelTimer = clock.after(deadlineMs, () => waiter.reject(timeoutError()))
      waiting.add(waiter)
      openSlots()
    })
  }

  /** The error for a statement for which no connection became free. */
  function timeoutError(): Error {
    if (slots.some(isOpen)) return unavailableError('Too many requests wait for the database', 'no free connection')
    return recordLoss('no answer by the deadline')
  }

  function release(slot: Slot): void {
    slot.busy = false
    const [next] = waiting
    if (next === undefined || !isOpen(slot)) {
      scheduleIdleCheck()
      return
    }
    slot.busy = true
    next.resolve(slot)
  }

  /** Keeps one connection open; the server may allow all processes together fewer than they could use. */
  function scheduleIdleCheck(): void {
    if (cancelIdleCheck !== undefined || slots.filter(isOpen).length <= 1) return
    const check = () => {
      cancelIdleCheck = undefined
      const idleSinceMs = clock.monotonicMs() - IDLE_MS
      for (const { busy, connection } of slots.filter(isOpen).slice(1)) {
        if (!busy && connection !== undefined && connection.answeredAtMs <= idleSinceMs) connection.retire()
      }
      scheduleIdleCheck()
    }
    cancelIdleCheck = clock.after(IDLE_MS, check, { keepsAlive: false })
  }

  /** Opens connections while statements wait, unless one is being opened or all are open. */
  function openSlots(): void {
    if (isOpening || waiting.size === 0) return
    const slot = slots.find((each) => !each.busy) ?? addSlot()
    if (slot === undefined) return
    isOpening = true
    slot.busy = true
    void connect(slot).then((failure) => {
      isOpening = false
      release(slot)
      if (failure === undefined) openSlots()
      // The open connections may be all that the server allows.
      else if (!slots.some(isOpen)) {
        const error = typeof failure === 'string' ? recordLoss(failure) : failure
        for (const each of waiting) each.reject(error)
      }
    })
  }

  function addSlot(): Slot | undefined {
    if (slots.length === options.connectionsMax) return undefined
    const slot = { busy: false, connection: undefined, listenerIndex, pooled: server.pooled }
    slots.push(slot)
    return slot
  }

  /** Opens the slot's connection. Returns undefined on success, else the reason, an error if the server refused. */
  async function connect(slot: Slot): Promise<string | Error | undefined> {
    let listenersLeft = address.listeners.length - 1
    for (;;) {
      const outcome = await attempt(slot, OPENING, [], OPEN_MS)
      if (!('kind' in outcome)) {
        recordReachable()
        return undefined
      }
      if (outcome.kind === 'pooler') {
        recordPooler()
        continue
      }
      // The next listener may be the primary now.
      if (outcome.kind === 'away' && outcome.unsent && listenersLeft-- > 0) continue
      return outcome.kind === 'refused' ? outcome.error : outcome.reason
    }
  }

  async function attempt(slot: Slot, text: string, params: readonly (string | null)[], deadlineMs: number) {
    const connection = getConnection(slot)
    const sentMs = clock.monotonicMs()
    const { rows, done } = connection.send(text, params)
    try {
      return await withTimeout(rows, { ms: deadlineMs, clock })
    } catch (error) {
      const failure = classifyFailure(error)
      // A firewall that forgot this connection without a word has forgotten the idle ones of that age, too.
      if (error === TIMED_OUT) server.retireSilent(sentMs)
      if (failure.kind === 'away' || failure.kind === 'pooler') connection.retire()
      // The pooler still refuses although it is known: the URL has a parameter, which must not be left out.
      return failure.kind === 'pooler' && slot.pooled ? { ...failure, kind: 'away' as const } : failure
    } finally {
      done()
    }
  }

  async function runAdmitted(text: string, params: readonly (string | null)[], deadlineMs: number) {
    const deadlineAtMs = clock.monotonicMs() + deadlineMs
    const slot = await acquireSlot(deadlineMs)
    let reason = ''
    try {
      for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts++) {
        const outcome = await attempt(slot, text, params, Math.max(1, deadlineAtMs - clock.monotonicMs()))
        if ('kind' in outcome && outcome.kind === 'away') throw recordLoss(outcome.reason)
        recordReachable()
        if (!('kind' in outcome)) return outcome
        if (outcome.kind === 'refused') throw outcome.error
        reason = outcome.reason
      }
    } finally {
      release(slot)
      openSlots()
    }
    throw unavailableError('The database is too busy to answer', reason)
  }

  function recordPooler(): void {
    if (server.pooled) return
    server.pooled = true
    log.info({ msg: 'A connection pooler is in use: prepared statements are off' })
  }

  /** Records that the database is unreachable and returns the error for the statement. */
  function recordLoss(reason: string): Error {
    breaker.recordFailure()
    lostAtMs = clock.monotonicMs()
    awaySinceMs ??= lostAtMs
    awayReason = reason
    // One line a minute for all lanes, even if the database flaps.
    logThrottled(log, { level: 'warn', kind: LOST, clock }, { msg: 'The database is unreachable', reason })
    return loggedUnavailableError(reason)
  }

  function recordReachable(): void {
    breaker.recordSuccess()
    server.reachedAtMs = clock.monotonicMs()
    if (awaySinceMs === undefined) return
    const afterMs = Math.round(clock.monotonicMs() - awaySinceMs)
    awaySinceMs = undefined
    resetThrottled(log, LOST)
    logThrottled(
      log,
      { level: 'info', kind: 'database reached', clock },
      { msg: 'The database is reachable again', afterMs },
    )
  }

  async function run(text: string, params: readonly (string | null)[], deadlineMs: number): Promise<readonly object[]> {
    if (statements >= STATEMENTS_MAX) throw unavailableError('Too many requests wait for the database', 'queue full')
    if (!breaker.admits(deadlineMs)) throw loggedUnavailableError(`${awayReason}, not tried again yet`)
    statements++
    try {
      return await runAdmitted(text, params, deadlineMs)
    } finally {
      statements--
      idle.check()
    }
  }

  return {
    run,
    /** Opens a connection if the lane has none, and keeps it. Returns why it got none; undefined if it has one. */
    async findShortage(): Promise<string | undefined> {
      if (slots.some(isOpen)) return undefined
      try {
        await run(OPENING, [], CHECK_MS)
        return undefined
      } catch (error) {
        return getRootReason(error)
      }
    },
    report: (): LaneReport => ({
      // A lane that nothing uses does not find out by itself that the database is back.
      isReachable: awaySinceMs === undefined || server.reachedAtMs > lostAtMs,
      running: statements - waiting.size,
      waiting: waiting.size,
      waitedMs,
    }),
    /** Retires the connections that have had no answer since `sinceMs`; their statements may still finish. */
    retireSilent(sinceMs: number): void {
      for (const each of connections) if (each.hasAnswered && each.answeredAtMs < sinceMs) each.retire()
    },
    /** Resolves when nothing is in flight; never rejects. */
    idle: idle.wait,
    destroy(): void {
      cancelIdleCheck?.()
      for (const each of connections) each.destroy()
    },
  }
}
