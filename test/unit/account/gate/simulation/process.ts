import { type AccountGate, createGate } from '../../../../../src/account/gate/gate.ts'
import type { Database } from '../../../../../src/db/database.ts'
import type { Clock } from '../../../../../src/lib/clock.ts'
import type { Log } from '../../../../../src/lib/log.ts'
import type { TestClock } from '../../../../support/test_clock.ts'
import type { Disk } from './disk.ts'
import type { createServer } from './server.ts'

/** A process with a gate: it can be stopped, resumed and killed, and then nothing of it goes on. */
export type SimulatedProcess = ReturnType<typeof createProcess>

export const DIRECTORY = '/journals'
export const DEADLINE_MS = 1_500
/** A file that is unchanged for so long is adopted. */
export const LEASE_MS = 10_000
/** A sync of the disk takes up to so long. */
const SYNC_MS = 20

/** Starts a process. */
export function createProcess(options: {
  readonly clock: TestClock
  readonly random: () => number
  readonly server: ReturnType<typeof createServer>
  readonly disk: Disk
  readonly log: Log
}) {
  const { clock, random, server, log } = options
  let state: 'running' | 'stopped' | 'dead' = 'running'
  let held: (() => void)[] = []
  let stoppedMs = 0
  let sinceMs = 0
  let hasOpened = false

  /** Hands over what arrives: never to a dead process, and to a stopped one when it resumes. */
  function deliver(arrive: () => void): void {
    if (state === 'running') arrive()
    else if (state === 'stopped') held.push(arrive)
  }

  const ownClock: Clock = {
    ...clock,
    after(ms, run) {
      let isCancelled = false
      const cancel = clock.after(ms, () => deliver(() => isCancelled || run()))
      return () => {
        isCancelled = true
        cancel()
      }
    },
    sleep: (ms) => new Promise((resolve) => ownClock.after(ms, resolve)),
  }
  const { disk, crash } = options.disk.connect(
    (work, kind) =>
      new Promise((resolve, reject) => {
        const perform = () => {
          try {
            resolve(work())
          } catch (error) {
            reject(error)
          }
        }
        if (kind === 'other') deliver(perform)
        else ownClock.after(random() * SYNC_MS, perform)
      }),
  )
  let gate: AccountGate | undefined
  const connection = server.connect(deliver)
  const db: Database = {
    ...connection,
    async run(text, params, options) {
      const rows = await connection.run<never>(text, params, options)
      if (text.includes('from ledger')) hasOpened = true
      return rows
    },
  }
  const opening = createGate({
    db,
    clock: ownClock,
    log,
    journalDir: DIRECTORY,
    journalDisk: disk,
    deadlineMs: DEADLINE_MS,
    leaseMs: LEASE_MS,
    jobs: { clock: ownClock },
    refusalRowsMax: Number.POSITIVE_INFINITY,
  }).then((opened) => {
    gate = opened
    return opened
  })

  return {
    clock: ownClock,
    opening,
    /** True until its journal has been opened once. */
    get isBeforeOpening(): boolean {
      return !hasOpened
    },
    /** Undefined until it is open. */
    get gate(): AccountGate | undefined {
      return gate
    },
    get state() {
      return state
    },
    /** Milliseconds for which the process was stopped so far. */
    get stoppedMs(): number {
      return stoppedMs + (state === 'stopped' ? clock.monotonicMs() - sinceMs : 0)
    },
    stop(): void {
      if (state !== 'running') return
      state = 'stopped'
      sinceMs = clock.monotonicMs()
    },
    resume(): void {
      if (state !== 'stopped') return
      state = 'running'
      stoppedMs += clock.monotonicMs() - sinceMs
      const arrivals = held
      held = []
      for (const arrive of arrivals) arrive()
    },
    kill(): void {
      state = 'dead'
      held = []
      crash(random())
    },
  }
}
