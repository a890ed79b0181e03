import { BUDGET, createCallers, SESSIONS } from './callers.ts'
import { checkWorld } from './check.ts'
import { createFaults } from './faults.ts'
import { DEADLINE_MS, LEASE_MS } from './process.ts'
import { createWorld } from './world.ts'

/** Result of a run, already checked. */
interface Result {
  /** What does not hold; empty if all does. */
  readonly wrong: readonly string[]
  readonly counts: Readonly<Record<string, number>>
  /** Differs if anything was different. */
  readonly trace: string
}

const PROCESSES_MAX = 3
const WORKERS = 2
/** Most faults of each of two that strike at once. */
const FAULTS_MAX = 3
/** After the last fault: journals of dead processes are adopted within two leases, and voids retried. */
const HEALING_MS = 3 * LEASE_MS
/** No run lasts for so long. */
const END_MS = 600_000
const CLOSING_MS = 2_000

/**
 * Runs gates of several processes over one database in virtual time: random requests, while connections are lost, the
 * server freezes, is away and crashes, disks are full, and processes are stopped and killed and their journals adopted.
 * Then all heals, and what callers were answered is compared with what the tables hold.
 */
export async function simulate(seed: number): Promise<Result> {
  const world = createWorld(seed)
  const { clock, random, pick, between, disk, wrong, counts, processes } = world
  const callers = createCallers(world, { onFailure: (process) => faults.killSometimes(process) })
  const faults = createFaults(world, { send: callers.send })

  async function work(untilMs: number): Promise<void> {
    while (clock.monotonicMs() < untilMs) {
      for (let count = pick([1, 1, 2, 8]); count > 0; count--) callers.send(pick(processes))
      await clock.sleep(between(1, 400))
    }
  }

  async function strikeSometimes(withinMs: number): Promise<void> {
    for (let count = Math.floor(random() * (FAULTS_MAX + 1)); count > 0; count--) {
      await clock.sleep(between(0, withinMs / 3))
      await faults.strike()
    }
  }

  /** Moves the time until this is done. */
  async function run(done: Promise<unknown>): Promise<void> {
    let isDone = false
    const ending = done.finally(() => {
      isDone = true
    })
    while (!isDone && clock.monotonicMs() < END_MS) await clock.advanceToNext()
    if (isDone) await ending
    else wrong.push('the run does not end')
  }

  async function runUntilAnswered(): Promise<void> {
    while ((callers.isWaiting || world.faults.active > 0) && clock.monotonicMs() < END_MS) await clock.advanceToNext()
    if (callers.isWaiting) wrong.push('a request was never answered')
  }

  for (let count = 1 + Math.floor(random() * PROCESSES_MAX); count > 0; count--) world.start()
  const durationMs = between(500, 3_000)
  const working = Array.from({ length: WORKERS }, () => work(durationMs))
  // Two at a time, so that processes die while the server is away.
  await run(Promise.all([...working, strikeSometimes(durationMs), strikeSometimes(durationMs)]))
  await runUntilAnswered()
  world.faults.areOver = true
  await clock.advance(HEALING_MS)

  // All is well again: each process settles without a failure, and nothing is left to be done.
  const living = world.listLiving()
  for (const each of living) callers.send(each)
  await runUntilAnswered()
  await clock.advance(DEADLINE_MS)
  for (const { gate } of living) {
    if (gate === undefined) wrong.push('a process never opened its gate')
    else if (gate.voidsWaiting > 0) wrong.push(`${gate.voidsWaiting} voids wait for ever`)
  }
  await run(Promise.all(living.map(({ gate }) => gate?.close(CLOSING_MS))))
  wrong.push(...disk.listNames().map((name) => `left on the disk: ${name}`))
  wrong.push(...checkWorld(world, { sessions: SESSIONS, budget: BUDGET }))
  for (const { answer } of world.outcomes) {
    if (answer === 'none') counts.unanswered++
    else if (answer === 'failed') counts.failed++
    else if (answer.isSuperseded) counts.superseded++
    else if (answer.paid) counts.paid++
    else counts.unpaid++
  }
  const rows = [...world.ledger.log.values()].map((row) => `${row.settlementId} ${row.status} ${row.credits}`)
  return { wrong, counts: { ...counts, ...world.server.outcomes }, trace: `${clock.monotonicMs()} ${rows}` }
}
