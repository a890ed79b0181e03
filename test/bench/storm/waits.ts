import type { Database } from '../../../src/db/database.ts'
import type { Devnet } from '../../devnet/mod.ts'

const LOOK_MS = 100

/** Resolves to the milliseconds until each followed wallet has the last midnight. */
export async function untilMidnights(db: Database): Promise<number> {
  const startedMs = performance.now()
  for (;;) {
    const [row] = await db
      .run<{ due: number; followed: number }>(
        `select count(*)::integer as followed,
           count(*) filter (where taken_day < floor(extract(epoch from now()) / 86400))::integer as due
         from snapshot_series`,
        [],
      )
      .catch(() => [])
    if (row?.due === 0 && row.followed > 0) return performance.now() - startedMs
    await Bun.sleep(LOOK_MS)
  }
}

/** Watches how long blocks and messages wait until a member has done what they are for. */
export function watchBlocks(db: Database, devnet: Devnet) {
  const minedMs = new Map<bigint, number>()
  let evaluated = 0n
  let newest = 0n
  let blockMs = 0
  let isOver = false

  /** Rows of a statement; none while the database cannot be asked, which the storm sees to. */
  const ask = <T extends object>(text: string) => db.run<T>(text, []).catch((): readonly T[] => [])

  async function look(): Promise<void> {
    newest = await devnet.client.getBlockNumber()
    if (!minedMs.has(newest)) minedMs.set(newest, performance.now())
    const [row] = await ask<{ block: string }>('select max(block) as block from watch_cursor where block is not null')
    evaluated = BigInt(row?.block ?? evaluated)
    for (const [block, atMs] of minedMs) {
      if (block <= evaluated) minedMs.delete(block)
      blockMs = Math.max(blockMs, performance.now() - atMs)
    }
  }

  const looking = (async () => {
    for (; !isOver; await Bun.sleep(LOOK_MS)) await look().catch(() => undefined)
  })()

  return {
    /** Waits until the newest block is evaluated and no message is due. */
    async untilDone(limitMs: number): Promise<void> {
      const deadline = performance.now() + limitMs
      while (performance.now() < deadline) {
        const [row] = await ask<{ due: number }>(
          'select count(*)::integer as due from message where due_at is not null',
        )
        if (row?.due === 0 && evaluated >= newest && newest > 0n) break
        await Bun.sleep(LOOK_MS)
      }
      isOver = true
      await looking
    },
    async waits(): Promise<{ readonly blockMs: number; readonly messageSec: number }> {
      const [row] = await db.run<{ sec: string }>(
        'select max(extract(epoch from coalesce(done_at, now()) - created_at)) as sec from message where webhook_id is not null',
        [],
      )
      return { blockMs, messageSec: Number(row?.sec ?? Number.NaN) }
    },
  }
}
