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
    /** The longest waits, and the attempts of the message that waited longest: seconds after its change, and outcome. */
    async waits(): Promise<{ readonly blockMs: number; readonly messageSec: number; readonly attempts: string }> {
      const [row] = await db.run<{ sec: string; attempts: string | null }>(
        `select extract(epoch from coalesce(m.done_at, now()) - m.created_at) as sec, (
           select string_agg(
             round(extract(epoch from t.at - m.created_at), 1) || ' s ' || coalesce(t.status_code::text, t.failure, '?'),
             ', ' order by t.no)
           from message_try t where t.organization_id = m.organization_id and t.message_no = m.no
         ) as attempts
         from message m where m.webhook_id is not null order by 1 desc limit 1`,
        [],
      )
      return { blockMs, messageSec: Number(row?.sec ?? Number.NaN), attempts: row?.attempts ?? 'none' }
    },
  }
}
