import { createIdleWaiter, withTimeout } from '../../lib/async/wait.ts'
import type { Clock } from '../../lib/clock.ts'
import { type Log, logThrottled, resetThrottled } from '../../lib/log.ts'
import type { DatabaseAddress } from '../address.ts'
import { classifyFailure, createCircuitBreaker, loggedUnavailableError, unavailableError } from './failure.ts'
import { createPooledConnection, type PooledConnection } from './pooled_connection.ts'

/** How a lane does. */
export interface LaneReport {
  /** False since a statement failed because the database was away, until one succeeds. */
  readonly reached: boolean
  readonly running: number
  readonly waiting: number
  /** Time that statements have waited for a connection so far, milliseconds. */
  readonly waitedMs: number
}

interface LaneOptions {
  readonly address: DatabaseAddress
  readonly ca: string | undefined
  readonly clock: Clock
  readonly log: Log
  readonly connectionsMax: number
  /** The server's own limit, above every deadline of this lane: it ends statements that were given up. */
  readonly statementTimeoutMs: number
  /** What all lanes of a pool have learned about the server. */
  readonly server: {
    /** True once a pooler was found before it. */
    pooled: boolean
  }
}

const LOST = 'database lost'

const STATEMENTS_MAX = 1_000
/** Longer than any deadline of the gate: what a slow server has begun for a connection is not begun anew. */
const CONNECT_TIMEOUT_MS = 3_000
/** With the first answer. */
const OPEN_MS = 4_000
const OPENING = 'select 1'

/** A place for one connection, which is replaced when it is lost. One statement uses it at a time. */
interface Slot {
  busy: boolean
  generation: PooledConnection | undefined
  /** The listener that it was opened to. */
  listenerIndex: number
  /** Whether it was opened as behind a pooler. */
  pooled: boolean
}

/** The victim of a deadlock may be sent again: a statement is a transaction and was rolled back whole. */
const ATTEMPTS_MAX = 3

/** A statement that waits for an open connection. */
interface QueuedStatement {
  resolve(slot: Slot): void
  reject(error: Error): void
}

/** True if its connection has answered, and is not lost. */
const isOpen = ({ generation }: Slot): boolean => generation?.usable === true && generation.worked

/**
 * Makes a lane: statements of one kind, with connections that no others use. A statement takes an open connection that is
 * free, or waits for one until its deadline. While statements wait, connections are opened, one after another, and each to
 * its end, whoever has given up meanwhile: a slow server that had to open many at once, for statements that give up, would
 * open them for ever and answer nobody.
 */
export function createLane(options: LaneOptions) {
  const { address, clock, log, server } = options
  const breaker = createCircuitBreaker(() => clock.monotonicMs())
  const slots: Slot[] = []
  const waiting = new Set<QueuedStatement>()
  const generations = new Set<PooledConnection>()
  const idle = createIdleWaiter(() => statements === 0)
  let isOpening = false
  let listenerIndex = 0
  let statements = 0
  let awaySinceMs: number | undefined
  let awayReason = ''
  let waitedMs = 0

  function generationOf(slot: Slot): PooledConnection {
    const { generation } = slot
    if (generation?.usable) return generation
    // Several connections may fail at one listener: only the first of them turns to the next listener.
    const isSame = slot.listenerIndex === listenerIndex && slot.pooled === server.pooled
    if (generation !== undefined && !generation.worked && isSame) listenerIndex++
    const listener = address.listeners[listenerIndex % address.listeners.length] ?? address.listeners[0]
    for (const old of generations) if (!old.usable) generations.delete(old)
    const made = createPooledConnection({
      address,
      listener,
      ca: options.ca,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      statementTimeoutMs: options.statementTimeoutMs,
      applicationName: 'walletscope',
      pooled: server.pooled,
    })
    generations.add(made)
    slot.generation = made
    slot.listenerIndex = listenerIndex
    slot.pooled = server.pooled
    return made
  }

  /** An open connection for one statement, released by `release`. Throws if none can be opened, or if none is free by the deadline. */
  function openSlot(deadlineMs: number): Promise<Slot> {
    const free = slots.find((slot) => !slot.busy && isOpen(slot))
    if (free !== undefined) {
      free.busy = true
      return Promise.resolve(free)
    }
    const startedMs = clock.monotonicMs()
    return new Promise((resolve, reject) => {
      const settled = () => {
        clearTimeout(timer)
        waiting.delete(waiter)
        waitedMs += clock.monotonicMs() - startedMs
      }
      const waiter: QueuedStatement = {
        resolve(slot) {
          settled()
          resolve(slot)
        },
        reject(error) {
          settled()
          reject(error)
        },
      }
      const timer = setTimeout(() => waiter.reject(late()), deadlineMs)
      waiting.add(waiter)
      openMore()
    })
  }

  /** What a statement is told that no connection became free for. */
  function late(): Error {
    if (slots.some(isOpen)) return unavailableError('Too many requests wait for the database', 'no free connection')
    return lost('no answer by the deadline')
  }

  function release(slot: Slot): void {
    slot.busy = false
    const [next] = waiting
    if (next === undefined || !isOpen(slot)) return
    slot.busy = true
    next.resolve(slot)
  }

  /** Opens connections while statements wait, unless that is under way or all are open. */
  function openMore(): void {
    if (isOpening || waiting.size === 0) return
    const slot = slots.find((each) => !each.busy) ?? added()
    if (slot === undefined) return
    isOpening = true
    slot.busy = true
    void connect(slot).then((failure) => {
      isOpening = false
      release(slot)
      if (failure === undefined) openMore()
      // Those that are open may be all that the server allows.
      else if (!slots.some(isOpen)) {
        const error = typeof failure === 'string' ? lost(failure) : failure
        for (const each of waiting) each.reject(error)
      }
    })
  }

  function added(): Slot | undefined {
    if (slots.length === options.connectionsMax) return undefined
    const slot = { busy: false, generation: undefined, listenerIndex, pooled: server.pooled }
    slots.push(slot)
    return slot
  }

  /** Undefined once the slot's connection has answered; otherwise why it does not, an error if the server says so. */
  async function connect(slot: Slot): Promise<string | Error | undefined> {
    let listenersLeft = address.listeners.length - 1
    for (;;) {
      const outcome = await attempt(slot, OPENING, [], OPEN_MS)
      if (!('kind' in outcome)) {
        reached()
        return undefined
      }
      if (outcome.kind === 'pooler') {
        foundPooler()
        continue
      }
      // The next listener may be the primary now.
      if (outcome.kind === 'away' && outcome.unsent && listenersLeft-- > 0) continue
      return outcome.kind === 'refused' ? outcome.error : outcome.reason
    }
  }

  async function attempt(slot: Slot, text: string, params: readonly (string | null)[], deadlineMs: number) {
    const mine = generationOf(slot)
    const { rows, done } = mine.send(text, params)
    try {
      return await withTimeout(deadlineMs, rows)
    } catch (error) {
      const failure = classifyFailure(error)
      if (failure.kind === 'away' || failure.kind === 'pooler') mine.retire()
      // Known by now, and it still refuses: a parameter of the URL, which must not be left out.
      return failure.kind === 'pooler' && slot.pooled ? { ...failure, kind: 'away' as const } : failure
    } finally {
      done()
    }
  }

  async function runAdmitted(text: string, params: readonly (string | null)[], deadlineMs: number) {
    const giveUpMs = clock.monotonicMs() + deadlineMs
    const slot = await openSlot(deadlineMs)
    let reason = ''
    try {
      for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts++) {
        const outcome = await attempt(slot, text, params, Math.max(1, giveUpMs - clock.monotonicMs()))
        if ('kind' in outcome && outcome.kind === 'away') throw lost(outcome.reason)
        reached()
        if (!('kind' in outcome)) return outcome
        if (outcome.kind === 'refused') throw outcome.error
        reason = outcome.reason
      }
    } finally {
      release(slot)
      openMore()
    }
    throw unavailableError('The database is too busy to answer', reason)
  }

  function foundPooler(): void {
    if (server.pooled) return
    server.pooled = true
    log.info({ msg: 'Found a pooler before the database: statements are not kept prepared' })
  }

  /** Notes that the database is away; what statements are told. */
  function lost(reason: string): Error {
    breaker.failed()
    awaySinceMs ??= clock.monotonicMs()
    awayReason = reason
    // One line a minute for all lanes, also if it comes and goes.
    logThrottled(log, { level: 'warn', kind: LOST }, { msg: 'Lost the database', reason })
    return loggedUnavailableError(reason)
  }

  function reached(): void {
    breaker.succeeded()
    if (awaySinceMs === undefined) return
    const afterMs = Math.round(clock.monotonicMs() - awaySinceMs)
    awaySinceMs = undefined
    resetThrottled(log, LOST)
    logThrottled(log, { level: 'info', kind: 'database reached' }, { msg: 'Reached the database again', afterMs })
  }

  return {
    async run(text: string, params: readonly (string | null)[], deadlineMs: number): Promise<readonly object[]> {
      if (statements >= STATEMENTS_MAX) throw unavailableError('Too many requests wait for the database', 'queue full')
      if (!breaker.admits(deadlineMs)) throw loggedUnavailableError(`${awayReason}, not tried again yet`)
      statements++
      try {
        return await runAdmitted(text, params, deadlineMs)
      } finally {
        statements--
        idle.check()
      }
    },
    report: (): LaneReport => ({
      reached: awaySinceMs === undefined,
      running: statements - waiting.size,
      waiting: waiting.size,
      waitedMs,
    }),
    /** Resolves when nothing is in flight; never rejects. */
    idle: idle.wait,
    destroy(): void {
      for (const each of generations) each.destroy()
    },
  }
}
