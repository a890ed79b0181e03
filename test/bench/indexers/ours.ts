/** The product's history as a process: reads one market's events up to the newest final block, stores them, and ends. */
import { createChainClient } from '../../../src/chain/evm/evm_client.ts'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import { createLendingStream } from '../../../src/family/aave_v3/read/stream.ts'
import type { FinanceChain } from '../../../src/finance/chain.ts'
import { createHistory } from '../../../src/history/mod.ts'
import { createWork } from '../../../src/lib/async/work.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { createLog } from '../../../src/lib/log.ts'
import { createMarket } from '../market.ts'

const { BENCH_RPC = '', BENCH_DATABASE_URL = '', BENCH_CHAIN_ID, BENCH_FINALITY } = process.env
const clock = systemClock
const log = createLog({ level: 'warn', write: (line) => process.stderr.write(`${line}\n`), clock })
const chain: FinanceChain = {
  id: Number(BENCH_CHAIN_ID),
  name: 'Bench',
  rpcUrls: [BENCH_RPC],
  reuseMs: 0,
  maxBlockAgeSec: 1e9,
  finality: { depth: Number(BENCH_FINALITY) },
  prices: { usdFeeds: {}, stablecoins: [] },
  tokens: { addresses: [], names: [], added: [] },
  spamTokens: [],
}
const db = openDatabase({ url: BENCH_DATABASE_URL, clock, log })
const client = createChainClient({ chain, clock, log })
const history = createHistory({ clients: new Map([[chain.id, client]]), db, clock, log, holder: 'bench' })
const stream = createLendingStream({ clock })
await history.complete({ stream, target: createMarket(chain.id) }, createWork(new AbortController().signal))
await history.close()
client.close()
await db.close()
