import type { Database } from '../../../src/db/database.ts'
import { createHistory } from '../../../src/history/mod.ts'
import { createWork } from '../../../src/lib/async/work.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createTestClient, EMITTED, toTarget, toWallet } from '../../support/history/scene.ts'
import { startChild } from '../child.ts'
import { forgetHistories } from '../forget.ts'
import type { LongChain, LongChainCounts } from './long_chain.ts'

/** What one history took on a long chain. */
export interface Scan extends LongChainCounts {
  readonly ms: number
  /** Events that are stored, and bytes that they take with their index. */
  readonly rows: number
  readonly bytes: number
}

const PATIENT = createWork(new AbortController().signal)

/** Reads the global history of a long chain, or one wallet's, into empty tables; every block is read twice. */
export async function scanLongChain(
  db: Database,
  chain: LongChain,
  whose: 'global' | 'wallet' = 'global',
): Promise<Scan> {
  await forgetHistories(db)
  const endpoint = startChild('history/long_chain.ts', { BENCH_CHAIN: JSON.stringify(chain) })
  try {
    const { url } = await endpoint.read<{ url: string }>()
    const client = createTestClient([url], { chainId: chain.chainId })
    const history = createHistory({
      clients: new Map([[chain.chainId, client]]),
      db,
      clock: systemClock,
      log: silentLog,
      holder: 'bench',
    })
    const what = { stream: EMITTED, target: toTarget(chain.chainId) }
    const startedMs = performance.now()
    if (whose === 'global') await history.complete(what, PATIENT)
    else await history.ensure({ ...what, subject: toWallet(7) }, PATIENT)
    const ms = performance.now() - startedMs
    await history.close()
    client.close()
    endpoint.write({})
    const counts = await endpoint.read<LongChainCounts>()
    const [stored] = await db.run<{ readonly rows: number; readonly bytes: number }>(
      `select (select count(*)::int from lending_event) as rows, pg_total_relation_size('lending_event')::float8 as bytes`,
      [],
      { lane: 'background', deadlineMs: 30_000 },
    )
    return { ms, ...counts, rows: stored?.rows ?? 0, bytes: stored?.bytes ?? 0 }
  } finally {
    await endpoint.stop()
  }
}
