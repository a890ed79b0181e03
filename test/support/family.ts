import type { SolanaClient } from '../../src/chain/solana/client.ts'
import type { Database } from '../../src/db/database.ts'
import type { Family, FamilyServices, Testimony } from '../../src/family/contract.ts'
import type { FinanceClient } from '../../src/finance/chain.ts'
import type { History } from '../../src/history/stream.ts'
import type { Route } from '../../src/http/route/route.ts'
import type { Clock } from '../../src/lib/clock.ts'
import { type Log, silentLog } from '../../src/lib/log.ts'
import { slowClock } from './test_clock.ts'

/** The routes of a family over these clients. `rows`: what a `CHAINS_FILE` would say, by chain id. */
export function createFamilyRoutes(
  family: Family,
  options: {
    readonly rows?: readonly (readonly [chainId: number, row: object])[]
    readonly clients?: readonly FinanceClient[]
    readonly solana?: SolanaClient | undefined
    readonly db?: Database
    readonly history?: History
    readonly log?: Log
    readonly clock?: Clock
  },
): readonly Route[] {
  const { rows = [], solana, clients = [] } = options
  return family.configure(new Map(rows)).routes({
    chainIds: clients.map(({ chain }) => chain.id),
    servesSolana: solana !== undefined,
    connect: () => createTestServices(options),
  })
}

/** What families read with, over these clients; throws when it is asked for a database or a history that is not given. */
export function createTestServices(options: {
  readonly clients?: readonly FinanceClient[]
  readonly solana?: SolanaClient | undefined
  readonly db?: Database
  readonly history?: History
  readonly log?: Log
  readonly clock?: Clock
  /** Given if answers are recorded. */
  readonly testimony?: Testimony | undefined
}): FamilyServices {
  const { solana, log = silentLog, db = NONE, history = NONE, clock = slowClock, testimony } = options
  const clients = new Map((options.clients ?? []).map((client) => [client.chain.id, client]))
  return { clients, solana, db, holder: 'test', history, clock, log, testimony }
}

/** Stands for what the routes of a test do not use. */
const NONE = new Proxy({} as Database & History, {
  get(_, name) {
    throw new Error(`These routes have no database and no history, and were asked for "${String(name)}"`)
  },
})
