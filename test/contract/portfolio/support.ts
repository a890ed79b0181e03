import type { Address } from 'viem'
import { createChainClient } from '../../../src/chain/evm/evm_client.ts'
import type { Database } from '../../../src/db/database.ts'
import { AAVE_V3 } from '../../../src/family/aave_v3/mod.ts'
import type { Family, Testimony } from '../../../src/family/contract.ts'
import type { Holdings, HoldingsReader } from '../../../src/family/holding.ts'
import { MORPHO_BLUE } from '../../../src/family/morpho_blue/mod.ts'
import { UNISWAP_V3 } from '../../../src/family/uniswap_v3/mod.ts'
import type { FinanceChain, FinanceClient } from '../../../src/finance/chain.ts'
import { createPriceMarket } from '../../../src/finance/price/table/kamino.ts'
import { createTokenList } from '../../../src/finance/token/list/list.ts'
import type { History } from '../../../src/history/stream.ts'
import type { Route } from '../../../src/http/route/route.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { portfolioRoutes, portfolioWork, watchPortfolio } from '../../../src/portfolio/mod.ts'
import { callRoute, type RouteTestAnswer } from '../../support/call_route.ts'
import { DEPLOYMENT } from '../../support/family/uniswap_v3/support.ts'
import { createTestServices } from '../../support/family.ts'
import { createHurriedClock } from '../../support/test_clock.ts'
import { DEPLOYMENTS } from '../family/aave_v3/support.ts'
import { DEPLOYMENT as MORPHO } from '../family/morpho_blue/support.ts'
import { DEPLOYMENT as UNISWAP_V4_DEPLOYMENT } from '../family/uniswap_v4/support.ts'

/** Families that portfolios are tested with, as the devnet has them. */
const ROWS = { uniswapV3: [DEPLOYMENT], uniswapV4: UNISWAP_V4_DEPLOYMENT, aaveV3: DEPLOYMENTS, morphoBlue: MORPHO }

/** A client of a chain, and the JSON-RPC requests that it sent, the check of its id apart. */
export function countedClient(chain: FinanceChain): { readonly client: FinanceClient; readonly requests: string[] } {
  const requests: string[] = []
  const counting = (url: string, init: RequestInit): Promise<Response> => {
    const { method } = JSON.parse(String(init.body)) as { readonly method: string }
    if (method !== 'eth_chainId') requests.push(method)
    return fetch(url, init)
  }
  return {
    client: createChainClient({ chain, clock: createHurriedClock(), log: silentLog, fetch: counting }),
    requests,
  }
}

/** The same chain with these tokens on its list beside those that have a feed. */
export function listing(chain: FinanceChain, addresses: readonly Address[]): FinanceChain {
  return { ...chain, tokens: createTokenList({ ...chain, id: 0 }, [{ name: 'test', addresses }]) }
}

/** Asks the routes of portfolios over these clients: with Aave on Ethereum alone, with Morpho if a history is given. */
export function createPortfolio(
  clients: readonly FinanceClient[],
  options: {
    readonly db?: Database
    readonly clock?: Clock
    readonly history?: History
    /** Given if answers are recorded. */
    readonly testimony?: Testimony
    /** Families beside those. */
    readonly more?: readonly Family[]
    /** Deployments that replace those of the devnet. */
    readonly deployments?: Partial<typeof ROWS> & {
      readonly slipstream?: readonly object[]
      readonly vaults?: readonly object[]
    }
    /** Is told what a family read of a wallet. */
    readonly seen?: (holdings: Holdings) => void
  } = {},
) {
  const services = createTestServices({ clients, ...options })
  const chainIds = clients.map(({ chain }) => chain.id)
  const { more = [], seen } = options
  const families = [UNISWAP_V3, AAVE_V3, ...(options.history === undefined ? [] : [MORPHO_BLUE]), ...more]
  const rows = new Map(chainIds.map((id) => [id, { ...ROWS, ...(id !== 1 && { aaveV3: [] }), ...options.deployments }]))
  const described = {
    chainIds,
    connect: () => services,
    servesSolana: false,
    priceMarket: createPriceMarket(),
    nativeDoubles: new Map(clients.map(({ chain }) => [chain.id, chain.nativeDoubles ?? []])),
    families: families.map((family) => watchHoldings(family.configure(rows), seen)),
  }
  const routes = portfolioRoutes(described)
  const findRoute = (path: string): Route => {
    const found = routes.find((route) => route.path === (path.startsWith('/') ? path : `/v1/portfolio/${path}`))
    if (found === undefined) throw new Error(`Cannot find the route ${path}`)
    return found
  }
  return {
    routes,
    routeAt: findRoute,
    exit: (query: string) => callRoute(findRoute('exit'), { query }),
    overview: (query: string) => callRoute(findRoute('/v1/wallet/overview'), { query }),
    balance: (query: string) => callRoute(findRoute('balance'), { query }),
    assets: (query: string) => callRoute(findRoute('assets'), { query }),
    snapshots: (query: string) => callRoute(findRoute('snapshots'), { query }),
    work: portfolioWork(described),
    watched: watchPortfolio(described),
  }
}

/** The same family, which also tells what it read. */
function watchHoldings(
  family: ReturnType<Family['configure']>,
  seen: ((holdings: Holdings) => void) | undefined,
): ReturnType<Family['configure']> {
  if (seen === undefined) return family
  const watch = (reader: HoldingsReader): HoldingsReader => ({
    ...reader,
    async open(...query) {
      const read = await reader.open(...query)
      if (read === undefined) return undefined
      return async (...request) => {
        const holdings = await read(...request)
        seen(holdings)
        return holdings
      }
    },
  })
  return {
    ...family,
    holdings(setup) {
      const reader = family.holdings(setup)
      return reader && watch(reader)
    },
  }
}

/** The figures of an answer of the balance, in millionths of a dollar. */
export function toFigures({ reply }: RouteTestAnswer) {
  const { by_kind, by_chain, by_confidence, ...data } = reply.data as Wire
  const all = (figures: Figures) =>
    Object.fromEntries(
      Object.entries(figures).flatMap(([name, text]) => (name.endsWith('_usd') ? [[name, e6(text)]] : [])),
    ) as Readonly<Record<string, bigint>>
  return {
    net: e6(data.net_worth_usd),
    assets: e6(data.assets_usd),
    debt: e6(data.debt_usd),
    kinds: all(by_kind),
    chains: by_chain.map(all),
    confidences: all(by_confidence),
    rows: data.rows,
  }
}

/** All rows of a wallet, of every page. */
export async function allRows(portfolio: ReturnType<typeof createPortfolio>, query: string): Promise<WireRow[]> {
  const rows: WireRow[] = []
  for (let page = 1; ; page++) {
    const { reply } = await portfolio.assets(`${query}&limit=25&page=${page}`)
    rows.push(...(reply.data as WireRow[]))
    if (reply.pagination?.next_page === null) return rows
  }
}

/** A decimal with six digits after the point as a whole number of millionths. */
export function e6(text: string): bigint {
  return BigInt(text.replace('.', ''))
}

type Figures = Readonly<Record<string, string>>

interface Wire {
  readonly net_worth_usd: string
  readonly assets_usd: string
  readonly debt_usd: string
  readonly by_kind: Figures
  readonly by_chain: readonly Figures[]
  readonly by_confidence: Figures
  readonly rows: Readonly<Record<string, number>>
}

/** A row of an answer. */
export interface WireRow {
  readonly chain_id: number
  readonly kind: string
  readonly token: { readonly id: Address; readonly symbol: string; readonly decimals: number | null }
  readonly amount: { readonly raw: string; readonly amount: string | null }
  readonly price_usd: string | null
  readonly price_source: string | null
  readonly price_confidence: string | null
  readonly value_usd: string | null
  readonly counted: boolean
  readonly reason: string | null
  readonly detail: string | null
  readonly price_chain_id: number | null
  readonly price_marks: readonly string[]
  readonly not_counted: { readonly raw: string; readonly usd: string | null; readonly reason: string } | null
  readonly withdrawable: { readonly raw: string; readonly usd: string | null } | null
  readonly limited_by: string | null
  readonly position: Readonly<Record<string, string>> | null
}
