import { before, createIdle } from '../../lib/async/wait.ts'
import type { Clock } from '../../lib/clock.ts'
import { dropRepeated, type Log, writeRepeated } from '../../lib/log.ts'
import type { DatabaseAddress } from '../address.ts'
import { away, createBreaker, failureFrom, unavailable } from './failure.ts'
import { createGeneration, type Generation } from './generation.ts'

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
  /** How many connections may wait at once for the answer to their first statement. */
  readonly opensMax: number
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
const CONNECT_TIMEOUT_MS = 1_500

/** A place for one connection, which is replaced when it is lost. One statement uses it at a time. */
interface Slot {
  busy: boolean
  generation: Generation | undefined
  /** The listener that it was opened to. */
  listenerIndex: number
  /** Whether it was opened as behind a pooler. */
  pooled: boolean
}

/** The victim of a deadlock may be sent again: a statement is a transaction and was rolled back whole. */
const ATTEMPTS_MAX = 3

/** True if its connection has answered before. */
const isOpen = ({ generation }: Slot): boolean => generation?.usable === true && generation.worked

/**
 * Makes a lane: statements of one kind, with connections that no others use. It connects with the first statement. A
 * statement takes an open connection that is free, so that no more are opened than needed, or waits for one until its
 * deadline.
 */
export function createLane(options: LaneOptions) {
  const { address, clock, log, server } = options
  const breaker = createBreaker(() => clock.monotonicMs())
  const slots: Slot[] = []
  const waiting: ((slot: Slot | undefined) => void)[] = []
  const open = new Set<Generation>()
  const idle = createIdle(() => statements === 0)
  let listenerIndex = 0
  let statements = 0
  let awaySinceMs: number | undefined
  let awayReason = ''
  let waitedMs = 0

  function generationOf(slot: Slot): Generation {
    const { generation } = slot
    if (generation?.usable) return generation
    // Several connections may fail at one listener: only the first of them turns to the next listener.
    const isSame = slot.listenerIndex === listenerIndex && slot.pooled === server.pooled
    if (generation !== undefined && !generation.worked && isSame) listenerIndex++
    const listener = address.listeners[listenerIndex % address.listeners.length] ?? address.listeners[0]
    for (const old of open) if (!old.usable) open.delete(old)
    const made = createGeneration({
      address,
      listener,
      ca: options.ca,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      statementTimeoutMs: options.statementTimeoutMs,
      applicationName: 'walletscope',
      pooled: server.pooled,
    })
    open.add(made)
    slot.generation = made
    slot.listenerIndex = listenerIndex
    slot.pooled = server.pooled
    return made
  }

  /** A free slot whose connection is yet to be opened; undefined if none may be opened now. */
  function closed(): Slot | undefined {
    if (slots.filter((each) => each.busy && !isOpen(each)).length >= options.opensMax) return undefined
    const free = slots.find(({ busy }) => !busy)
    if (free !== undefined || slots.length >= options.connectionsMax) return free
    const made = { busy: false, generation: undefined, listenerIndex, pooled: server.pooled }
    slots.push(made)
    return made
  }

  function take(): Slot | undefined {
    const slot = slots.find((each) => !each.busy && isOpen(each)) ?? closed()
    if (slot !== undefined) slot.busy = true
    return slot
  }

  /** Undefined if no slot becomes free in time. */
  function waitForSlot(deadlineMs: number): Promise<Slot | undefined> {
    const startedMs = clock.monotonicMs()
    return new Promise((resolve) => {
      const waiter = (slot: Slot | undefined) => {
        clearTimeout(timer)
        waitedMs += clock.monotonicMs() - startedMs
        resolve(slot)
      }
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(waiter), 1)
        waiter(undefined)
      }, deadlineMs)
      waiting.push(waiter)
    })
  }

  /** It may have been the one that others had to wait for with opening theirs. */
  function release(slot: Slot): void {
    slot.busy = false
    while (waiting.length > 0) {
      const next = take()
      if (next === undefined) return
      waiting.shift()?.(next)
    }
  }

  async function attempt(slot: Slot, text: string, params: readonly (string | null)[], deadlineMs: number) {
    const mine = generationOf(slot)
    const { rows, done } = mine.send(text, params)
    try {
      return await before(deadlineMs, rows)
    } catch (error) {
      const failure = failureFrom(error)
      if (failure.kind === 'away' || failure.kind === 'pooler') mine.retire()
      // Known by now, and it still refuses: a parameter of the URL, which must not be left out.
      return failure.kind === 'pooler' && slot.pooled ? { ...failure, kind: 'away' as const } : failure
    } finally {
      done()
    }
  }

  async function runAdmitted(text: string, params: readonly (string | null)[], deadlineMs: number) {
    const giveUpMs = clock.monotonicMs() + deadlineMs
    const slot = take() ?? (await waitForSlot(deadlineMs))
    if (slot === undefined) throw unavailable('Too many requests wait for the database', 'no free connection')
    let reason = ''
    try {
      let listenersLeft = address.listeners.length - 1
      for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts++) {
        const outcome = await attempt(slot, text, params, Math.max(1, giveUpMs - clock.monotonicMs()))
        if ('kind' in outcome && outcome.kind === 'away') {
          // The next listener may be the primary now.
          if (outcome.unsent && listenersLeft-- > 0) {
            attempts--
            continue
          }
          lost(outcome.reason)
          throw away(outcome.reason)
        }
        if ('kind' in outcome && outcome.kind === 'pooler') {
          foundPooler()
          continue
        }
        reached()
        if (!('kind' in outcome)) return outcome
        if (outcome.kind === 'refused') throw outcome.error
        reason = outcome.reason
      }
    } finally {
      release(slot)
    }
    throw unavailable('The database is too busy to answer', reason)
  }

  function foundPooler(): void {
    if (server.pooled) return
    server.pooled = true
    log.info({ msg: 'Found a pooler before the database: statements are not kept prepared' })
  }

  function lost(reason: string): void {
    breaker.failed()
    awaySinceMs ??= clock.monotonicMs()
    awayReason = reason
    // One line a minute for all lanes, also if it comes and goes.
    writeRepeated(log, { level: 'warn', kind: LOST }, { msg: 'Lost the database', reason })
  }

  function reached(): void {
    breaker.succeeded()
    if (awaySinceMs === undefined) return
    const afterMs = Math.round(clock.monotonicMs() - awaySinceMs)
    awaySinceMs = undefined
    dropRepeated(log, LOST)
    writeRepeated(log, { level: 'info', kind: 'database reached' }, { msg: 'Reached the database again', afterMs })
  }

  return {
    async run(text: string, params: readonly (string | null)[], deadlineMs: number): Promise<readonly object[]> {
      if (statements >= STATEMENTS_MAX) throw unavailable('Too many requests wait for the database', 'queue full')
      if (!breaker.admits(deadlineMs)) throw away(`${awayReason}, not tried again yet`)
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
      running: statements - waiting.length,
      waiting: waiting.length,
      waitedMs,
    }),
    /** Resolves when nothing is in flight; never rejects. */
    idle: idle.wait,
    destroy(): void {
      for (const each of open) each.destroy()
    },
  }
}
