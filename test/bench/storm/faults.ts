import type { Database } from '../../../src/db/database.ts'
import { killMember, killWorker, type Member, signalMember, startMember } from './member.ts'

/** Longer than the lease of triggers (15 s) and of the journal (10 s), and longer than each lease and claim (60 s). */
const PAUSES_MS = [20_000, 65_000]
const AWAY_MS = 2_000
const BETWEEN_MS = 3_000
const RECOVERED_MS = 30_000

/** What the faults counted. */
export type FaultCounts = Record<string, number>

/**
 * Makes trouble until `untilMs`: members are killed, paused, restarted, lose a worker or all connections to the database.
 * Of the healthy ones always one at most, so that another can work; the others at any time.
 */
export async function makeTrouble(
  {
    members,
    db,
    random,
  }: { readonly members: readonly Member[]; readonly db: Database; readonly random: () => number },
  untilMs: number,
): Promise<FaultCounts> {
  const counts: FaultCounts = {}
  const pick = <T>(items: readonly T[]) => items[Math.floor(random() * items.length)] as T
  const count = (name: string) => {
    counts[name] = (counts[name] ?? 0) + 1
    console.error(`${((performance.now() - startedMs) / 1_000).toFixed(0)} s: ${name}`)
  }
  const startedMs = performance.now()

  async function pause(member: Member, ms: number): Promise<void> {
    count(`paused for ${ms / 1_000} s`)
    signalMember(member, 'SIGSTOP')
    await Bun.sleep(ms)
    signalMember(member, 'SIGCONT')
  }

  const faults: readonly ((member: Member) => Promise<void>)[] = [
    async (member) => {
      count('killed')
      await killMember(member)
      await Bun.sleep(AWAY_MS * random())
      await startMember(member)
    },
    async (member) => {
      count('restarted')
      const { service } = member
      member.service = undefined
      await service?.stop().catch(() => undefined)
      await startMember(member)
    },
    async (member) => {
      count('worker killed')
      killWorker(member)
    },
    async () => {
      count('connections terminated')
      await db
        .run(
          'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and usename = user',
          [],
        )
        .catch(() => undefined)
    },
  ]

  /** One line of trouble: each fault begins when the one before is over. */
  async function trouble(own: readonly Member[]): Promise<void> {
    for (let turn = 0; performance.now() < untilMs; turn++) {
      const member = pick(own)
      const leftMs = untilMs - performance.now()
      const pauseMs = PAUSES_MS[turn % 7 === 2 ? 1 : 0] ?? 0
      if (turn % 3 === 2 && pauseMs < leftMs) await pause(member, pauseMs)
      else await pick(faults)(member)
      await untilReady(member)
      await Bun.sleep(BETWEEN_MS * random())
    }
  }

  await Promise.all([trouble(members.filter((one) => one.isHealthy)), trouble(members.filter((one) => !one.isHealthy))])
  return counts
}

/** Waits until a healthy member is ready; one in trouble may never be. */
async function untilReady(member: Member): Promise<void> {
  const deadline = performance.now() + RECOVERED_MS
  while (member.isHealthy && performance.now() < deadline) {
    const answer = await fetch(`http://127.0.0.1:${member.service?.port}/readyz`).catch(() => undefined)
    if (answer?.status === 200) return
    await Bun.sleep(100)
  }
}
