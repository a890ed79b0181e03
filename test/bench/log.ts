import { settleBatch } from '../../src/account/gate/settle.ts'
import { readRequestLog } from '../../src/account/request_log.ts'
import { openDatabase } from '../../src/db/connection/pool.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLog } from '../../src/lib/log.ts'
import { type Account, createAccount, settlement } from '../support/account/scene.ts'
import { median, printNote, printTable } from './table.ts'

const HOUR_MS = 3_600_000
const FEW = 1_000
const BATCH = 500
/** Highest quotient of a page's time with many requests of the running hour and with few. */
const TARGET = 2

/** Measures a page of the usage log by how many requests of its organization fell into the running hour. */
export async function benchLog({
  quick,
  databaseUrl,
}: {
  readonly quick: boolean
  readonly databaseUrl: string
}): Promise<void> {
  const many = quick ? 20_000 : 1_000_000
  const rounds = quick ? 20 : 200
  const db = openDatabase({ url: databaseUrl, clock: systemClock, log: silentLog })
  try {
    const nowMs = systemClock.now()
    const hourMs = nowMs - (nowMs % HOUR_MS)
    const create = async (count: number): Promise<Account> => {
      const account = await createAccount(db, { credits: 1_000_000 })
      for (let done = 0; done < count; done += BATCH) {
        const made = Array.from({ length: BATCH }, (_, index) =>
          settlement(account.caller, {
            requestedAtMs: Math.floor(hourMs + ((nowMs - hourMs) * (done + index)) / count),
            credits: 0,
          }),
        )
        await settleBatch(db, made)
        if (done % (100 * BATCH) === 0) await db.run('select request_rollup_fold()', [])
      }
      await db.run('select request_rollup_fold()', [])
      return account
    }
    const accounts = [await create(FEW), await create(many)]
    await db.run('analyze', [])
    const time = async ({ organizationId }: Account, fromMs: number): Promise<number> => {
      const filter = { organizationId, fromMs, toMs: nowMs + 1, errors: 'all', page: 1, limit: 25 } as const
      const times: number[] = []
      for (let round = 0; round < rounds; round++) {
        const beginMs = performance.now()
        await readRequestLog(db, filter)
        times.push(performance.now() - beginMs)
      }
      return median(times)
    }
    const row = async (name: string, fromMs: number): Promise<readonly string[]> => {
      const times: number[] = []
      for (const account of accounts) times.push(await time(account, fromMs))
      const [few = 0, most = 0] = times
      return [name, few.toFixed(2), most.toFixed(2), (most / few).toFixed(2)]
    }
    printNote(`## A page of the usage log, by its organization's requests of the running hour (bar ${TARGET})`)
    printTable(
      ['range', `${FEW.toLocaleString('en')}, p50 ms`, `${many.toLocaleString('en')}, p50 ms`, 'quotient'],
      [
        await row('the last 24 hours', nowMs - 24 * HOUR_MS),
        // The part and the remainder of the hour are counted from the log: half of its requests at most.
        await row('since the middle of the running hour’s past', Math.floor((hourMs + nowMs) / 2)),
      ],
    )
  } finally {
    await db.close()
  }
}
