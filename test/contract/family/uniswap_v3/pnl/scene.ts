import type { Address } from 'viem'
import type { FamilyServices } from '../../../../../src/family/contract.ts'
import type { EnumerableDeployment } from '../../../../../src/family/liquidity/enumerable/exchange.ts'
import { UNISWAP_V3 } from '../../../../../src/family/uniswap_v3/mod.ts'
import type { FinanceChain } from '../../../../../src/finance/chain.ts'
import { createHistory, type HistoryService } from '../../../../../src/history/mod.ts'
import type { History } from '../../../../../src/history/stream.ts'
import type { Route } from '../../../../../src/http/route/route.ts'
import type { Clock } from '../../../../../src/lib/clock.ts'
import { type Log, silentLog } from '../../../../../src/lib/log.ts'
import { createDevnetChain } from '../../../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../../../devnet/mod.ts'
import { buildRandomPositions, type RandomPositions } from '../../../../devnet/uniswap_v3_random/mod.ts'
import type { RandomPoolToken } from '../../../../devnet/uniswap_v3_random/pools.ts'
import { callRoute, type RouteTestAnswer } from '../../../../support/call_route.ts'
import { type TestDatabase, testDatabase } from '../../../../support/database.ts'
import { countedClient, DEPLOYMENT } from '../../../../support/family/uniswap_v3/support.ts'
import { createFamilyRoutes } from '../../../../support/family.ts'
import { createPatientClock } from '../../../../support/test_clock.ts'
import { flowsFromReceipts, type ReceiptFlow } from './receipts.ts'

/** The family's endpoints over one chain and one database. */
export interface PnlRoutes {
  readonly list: Route
  readonly one: Route
  readonly pnl: Route
  readonly events: Route
  /** What the endpoints read with. */
  readonly services: Pick<FamilyServices, 'clients' | 'db' | 'history' | 'clock'>
  /** JSON-RPC methods that were requested, in order. */
  readonly requests: string[]
}

/** A devnet with random position histories, and all its flows from their receipts. */
export interface PnlScene {
  readonly devnet: Devnet
  readonly lives: RandomPositions
  readonly flows: ReadonlyMap<bigint, readonly ReceiptFlow[]>
  readonly database: TestDatabase
  /** Creates the endpoints; they store into the scene's database unless another one is given. */
  routes(options?: RouteOptions): PnlRoutes
  close(): Promise<void>
}

interface RouteOptions {
  readonly chain?: Partial<FinanceChain>
  readonly deployments?: readonly EnumerableDeployment[]
  readonly database?: TestDatabase
  readonly log?: Log
  /** The family's own. @default a patient one, as histories have */
  readonly clock?: Clock
  /** True if no endpoint counts as late, however busy the machine is. */
  readonly isPatient?: true
  /** Stands between the routes and their history. */
  readonly around?: (history: History) => History
}

/** Age of the scene's first block: about four months, so that nothing is in the future. */
const AGE_SEC = 120 * 86_400
/** Number of last blocks that are read with each answer. */
const FINALITY_DEPTH = 12

/** Builds a scene; the same seed gives the same flows. */
export async function startPnlScene(options: { readonly seed: number; readonly count: number }): Promise<PnlScene> {
  const devnet = await startDevnet({ ageSec: AGE_SEC })
  const database = await testDatabase()
  const lives = await buildRandomPositions(devnet, options)
  const flows = await flowsFromReceipts(devnet.rpc, { toBlock: lives.blockNumber })
  const histories: HistoryService[] = []
  const same = (history: History) => history
  const clock = createPatientClock()
  return {
    devnet,
    lives,
    flows,
    database,
    routes: (options = {}) => {
      const { chain = {}, deployments = [DEPLOYMENT], database: { db } = database, log, around = same } = options
      const prices = { usdFeeds: toFeeds(lives.tokens), stablecoins: [] }
      const finality = { depth: FINALITY_DEPTH }
      const counted = countedClient(createDevnetChain(devnet, { prices, finality, ...chain }), log)
      const { requests } = counted
      const client = options.isPatient === true ? { ...counted.client, clock } : counted.client
      const clients = new Map([[client.chain.id, client]])
      const holder = `scene ${histories.length}`
      const history = createHistory({ clients, db, clock, log: silentLog, holder })
      histories.push(history)
      const rows = [[1, { uniswapV3: deployments }]] as const
      const [list, one, pnl, events] = createFamilyRoutes(UNISWAP_V3, {
        clients: [client],
        rows,
        db,
        history: around(history),
        clock: options.clock ?? clock,
      })
      if (list === undefined || one === undefined || pnl === undefined || events === undefined) {
        throw new Error('Cannot find the routes')
      }
      const services = { clients, db, history: around(history), clock: options.clock ?? clock }
      return { list, one, pnl, events, services, requests }
    },
    async close() {
      await Promise.all(histories.map((history) => history.close()))
      await devnet.stop()
      await database.close()
    },
  }
}

/** Converts the feeds of tokens to their configuration. */
export function toFeeds(tokens: readonly RandomPoolToken[]): FinanceChain['prices']['usdFeeds'] {
  const fed = tokens.flatMap(({ address, feed }): [Address, { feed: Address; heartbeatSec: number }][] =>
    feed === undefined ? [] : [[address, { feed, heartbeatSec: 86_400 }]],
  )
  return Object.fromEntries(fed)
}

/** Requests one position on the chain of the scene. */
export function askAbout(route: Route, tokenId: bigint, query = ''): Promise<RouteTestAnswer> {
  const rest = query === '' ? '' : `&${query}`
  return callRoute(route, { params: { id: String(tokenId) }, query: `chain_id=1${rest}` })
}
