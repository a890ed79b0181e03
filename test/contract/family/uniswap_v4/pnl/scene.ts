import type { EvmClient } from '../../../../../src/chain/evm/evm_client.ts'
import type { PositionHistory } from '../../../../../src/family/liquidity/position_history/reader.ts'
import { listRoute } from '../../../../../src/family/liquidity/routes/list.ts'
import { positionRoute } from '../../../../../src/family/liquidity/routes/position.ts'
import {
  createProtocolHistories,
  positionHistoryRoutes,
} from '../../../../../src/family/liquidity/routes/position_history.ts'
import { PROTOCOL } from '../../../../../src/family/uniswap_v4/protocol.ts'
import {
  createUniswapV4HistoryReader,
  type UniswapV4HistoryQuery,
} from '../../../../../src/family/uniswap_v4/read/position_history.ts'
import type { FinanceChain } from '../../../../../src/finance/chain.ts'
import { createHistory } from '../../../../../src/history/mod.ts'
import type { Route } from '../../../../../src/http/route/route.ts'
import { createWork } from '../../../../../src/lib/async/work.ts'
import { silentLog } from '../../../../../src/lib/log.ts'
import { once } from '../../../../../src/lib/memoize.ts'
import { TOKENS } from '../../../../devnet/addresses.ts'
import { createDevnetChain } from '../../../../devnet/chain.ts'
import type { Devnet } from '../../../../devnet/mod.ts'
import { UNISWAP_V4 } from '../../../../devnet/uniswap_v4/addresses.ts'
import type { V4RandomPosition } from '../../../../devnet/uniswap_v4/random_positions.ts'
import { callRoute, type RouteTestAnswer } from '../../../../support/call_route.ts'
import { type TestDatabase, testDatabase } from '../../../../support/database.ts'
import { countedClient } from '../../../../support/family/uniswap_v3/support.ts'
import { createPatientClock } from '../../../../support/test_clock.ts'
import { createFindEveryId, createTestReader } from '../support.ts'
import { infoAt, UNFED } from './truth.ts'

/** A query for a history. */
export type AskedLife = Pick<V4RandomPosition, 'tokenId' | 'pool' | 'tickLower' | 'tickUpper' | 'isBurned'>

/** Reads histories on a devnet, in a process of its own. */
export interface LifeProcess {
  /** Reads the history up to a block, by default the newest. */
  read(life: AskedLife, block?: bigint): Promise<PositionHistory | undefined>
  /** The routes about a history, over the family's own reader. */
  readonly pnl: Route
  readonly events: Route
  /** The routes about positions, which show profit and loss with `full=true`. */
  readonly list: Route
  readonly one: Route
  /** JSON-RPC methods requested, in order. */
  readonly requests: string[]
  readonly database: TestDatabase
}

/** Nothing in these tests is stale, however long the histories. */
const YEARS_SEC = 10 * 365 * 86_400
const FINALITY_DEPTH = 6

/** Makes processes over a devnet; they end with `close`. */
export function createLifeProcesses(devnet: Devnet) {
  const closers: (() => Promise<void> | void)[] = []

  return {
    async start(
      options: {
        readonly database?: TestDatabase
        readonly chain?: Partial<FinanceChain>
        /** True if no endpoint counts as late, however busy the machine is. */
        readonly isPatient?: true
      } = {},
    ): Promise<LifeProcess> {
      const { database = await testDatabase() } = options
      if (options.database === undefined) closers.push(database.close)
      const fed = Object.values(TOKENS).filter(({ address }) => !UNFED.includes(address))
      const usdFeeds = Object.fromEntries(fed.map(({ address, feed }) => [address, { feed, heartbeatSec: YEARS_SEC }]))
      const prices = { usdFeeds, stablecoins: [] }
      const clock = createPatientClock()
      const { client: hurried, requests } = countedClient(
        createDevnetChain(devnet, { prices, finality: { depth: FINALITY_DEPTH }, ...options.chain }),
      )
      const client = options.isPatient === true ? { ...hurried, clock } : hurried
      closers.push((client as EvmClient<FinanceChain>).close)
      const clients = new Map([[client.chain.id, client]])
      const made = { clients, db: database.db, clock, log: silentLog, holder: crypto.randomUUID() }
      const history = createHistory(made)
      closers.push(history.close)
      const reader = createUniswapV4HistoryReader({ db: database.db, history, clock })
      const services = { db: database.db, history, clock }
      const state = createTestReader(client, { find: createFindEveryId(devnet) })
      const served = {
        chainIds: [client.chain.id],
        histories: once(() => createProtocolHistories(PROTOCOL, { ...services, reader: state.reader })),
        reader: () => state.reader,
      }
      const [pnl, events] = positionHistoryRoutes(PROTOCOL, served)
      return {
        pnl,
        events,
        list: listRoute(PROTOCOL, served),
        one: positionRoute(PROTOCOL, served),
        requests,
        database,
        async read(life, at) {
          const block = at ?? (await devnet.client.getBlockNumber({ cacheTime: 0 }))
          const [liquidity, growth0, growth1] = await infoAt(devnet, life, block)
          const { tokenId, tickLower, tickUpper, isBurned, pool } = life
          const [token0, token1] = pool.currencies
          const growth = liquidity === 0n ? undefined : { insideLast: { growth0, growth1 } }
          const here = { tickLower, tickUpper, token0, token1, growth, pool: { id: pool.id, hooks: pool.key.hooks } }
          const { poolManager, positionManager: manager } = UNISWAP_V4
          const deployment = { poolManager, positionManager: manager, startBlock: 0 }
          const position = isBurned ? undefined : here
          const question: UniswapV4HistoryQuery = { client, manager, deployment, tokenId, position, block }
          return await reader.read(question, createWork(new AbortController().signal))
        },
      }
    },
    async close(): Promise<void> {
      for (const close of closers.splice(0).reverse()) await close()
    },
  }
}

/** Creates the query for one position on the chain of the devnet. */
export function askAbout(route: Route, tokenId: bigint, query = ''): Promise<RouteTestAnswer> {
  const rest = query === '' ? '' : `&${query}`
  return callRoute(route, { params: { id: String(tokenId) }, query: `chain_id=1${rest}` })
}
