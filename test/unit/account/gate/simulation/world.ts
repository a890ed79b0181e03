import type { Settlement, SettlementResult } from '../../../../../src/http/exchange/gate.ts'
import type { Log } from '../../../../../src/lib/log.ts'
import { silentLog } from '../../../../../src/lib/log.ts'
import { createLedger } from '../../../../support/account/gate/simulation/ledger.ts'
import { mulberry } from '../../../../support/random.ts'
import { createTestClock } from '../../../../support/test_clock.ts'
import { createDisk } from './disk.ts'
import { createProcess, type SimulatedProcess } from './process.ts'
import { createServer } from './server.ts'

/** A request that was sent to a process, and its answer. */
export interface Outcome {
  readonly settlement: Settlement
  /** The key under which its answer is stored. */
  readonly idempotencyKey: string | undefined
  readonly process: SimulatedProcess
  /** True if its process could not record unknown outcomes when it was sent: it is then refused without a row. */
  readonly isBeforeOpening: boolean
  answer: 'none' | 'failed' | SettlementResult
}

export type World = ReturnType<typeof createWorld>

const LEDGER_ID = '5d0cbb5e-0000-4000-8000-000000000000'
/** Just before a day ends. */
const START_MS = Date.UTC(2026, 0, 5, 23, 59, 58)
/** Few: what is not settled by then goes on while time moves, as in a busy process. */
const SETTLE_TURNS = 2
const ORGANIZATIONS = [
  { granted: 0, rateLimit: 1_000, creditsPerDay: 0 },
  { granted: 5, rateLimit: 1_000, creditsPerDay: 0 },
  { granted: 25, rateLimit: 1_000, creditsPerDay: 15 },
  { granted: 60, rateLimit: 5, creditsPerDay: 0 },
  { granted: 1_000_000, rateLimit: 1_000, creditsPerDay: 0 },
]

/** Creates a database with organizations, a disk, and no process yet; everything repeats with the seed. */
export function createWorld(seed: number) {
  const random = mulberry(seed)
  const clock = createTestClock({ nowMs: START_MS, settleTurns: SETTLE_TURNS })
  const ledger = createLedger({ id: LEDGER_ID, now: clock.now })
  const server = createServer({ clock, random, ledger })
  const disk = createDisk()
  const processes: SimulatedProcess[] = []
  const wrong: string[] = []
  const counts = {
    paid: 0,
    unpaid: 0,
    failed: 0,
    unanswered: 0,
    replayed: 0,
    found: 0,
    superseded: 0,
    adopted: 0,
    kills: 0,
  }
  const organizations = ORGANIZATIONS.map((organization, index) => ({ id: `org_${index}`, ...organization }))
  for (const { id, ...organization } of organizations) ledger.add(id, organization)

  const log: Log = {
    ...silentLog,
    info({ msg }) {
      if (msg === 'Recovered the journal of a dead process') counts.adopted++
    },
    error({ msg, error }) {
      // A bug of the gate, or a statement that the ledger finds malformed.
      if (error instanceof Error && error.constructor === Error) wrong.push(`${msg}: ${error.message}`)
    },
  }

  return {
    random,
    pick: <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T,
    between: (least: number, most: number) => least + random() * (most - least),
    clock,
    ledger,
    server,
    disk,
    organizations,
    processes,
    outcomes: [] as Outcome[],
    wrong,
    counts,
    /** Faults that go on, and when one ended last; after the last of all, `areOver`. */
    faults: { active: 0, lastMs: Number.NEGATIVE_INFINITY, areOver: false },
    /** True if disks may be full. Then no process ends: what only memory has would be lost with it. */
    hasFullDisks: random() < 0.2,
    start(): void {
      processes.push(createProcess({ clock, random, server, disk, log }))
    },
    listLiving: () => processes.filter(({ state }) => state !== 'dead'),
  }
}
