import { expect, test } from 'bun:test'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import type { Database } from '../../../src/db/database.ts'
import { migrate } from '../../../src/db/migrate.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { startTestServer } from '../../support/database.ts'
import { runModel } from './model.ts'

const SEED = Number(process.env['MODEL_SEED'] ?? 1)
const DURATION_MS = Number(process.env['MODEL_MS'] ?? 2_000)

for (const crashes of [false, true]) {
  const faults = crashes ? 'held up, frozen, ended and crashed' : 'held up, frozen and ended'
  test(
    `three gates over a server whose processes are ${faults} leave what their answers say`,
    async () => {
      const server = await startTestServer()
      const admin = openDatabase({ url: server.url, clock: systemClock, log: silentLog, max: 1 })
      await migrate(admin)
      const result = await runModel({
        url: server.url,
        admin,
        seed: SEED,
        durationMs: DURATION_MS,
        gates: 3,
        crashes,
        fault: (choice, heldMs) => strike(admin, { choice, heldMs, crashes }),
      })
      await admin.close()
      await server.close()
      expect(result.wrong).toEqual([])
      // Otherwise the test would prove nothing.
      for (const count of [result.settled, result.unpaid, result.failed, result.limited])
        expect(count).toBeGreaterThan(9)
    },
    DURATION_MS + 120_000,
  )
}

/** Freezes, ends or kills one or all server processes of the gates, or makes them wait for a balance. */
async function strike(
  admin: Database,
  { choice, heldMs, crashes }: { choice: number; heldMs: number; crashes: boolean },
): Promise<void> {
  const rows = await admin.run<{ pid: number }>(
    `select pid from pg_stat_activity
     where backend_type = 'client backend' and application_name = 'walletscope' and pid <> pg_backend_pid()`,
    [],
  )
  const pids = rows.map((row) => row.pid)
  const some = choice * 1_000 < 500 ? pids : pids.slice(0, 1)
  const kind = Math.floor(choice * 1_000) % (crashes ? 4 : 3)
  if (kind === 0) {
    for (const pid of some) signal(pid, 'SIGSTOP')
    await Bun.sleep(heldMs)
    for (const pid of some) signal(pid, 'SIGCONT')
  } else if (kind === 1) await admin.run('select pg_terminate_backend(pid) from unnest($1::int[]) pid', [some])
  else if (kind === 2) {
    await admin.run(
      `select pg_sleep($1) from (
         select count(*) from (select from spending_limit where scope = '' order by organization_id collate "C" for update) held
       ) locked`,
      [heldMs / 1_000],
      { deadlineMs: 2 * heldMs },
    )
  } else for (const pid of some.slice(0, 1)) signal(pid, 'SIGKILL')
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It ended by itself meanwhile.
  }
}
