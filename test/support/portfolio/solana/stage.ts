import { createSolanaClient, SOLANA_CHAIN_ID } from '../../../../src/chain/solana/client.ts'
import { FAMILIES } from '../../../../src/family/mod.ts'
import { createPriceMarket } from '../../../../src/finance/price/table/kamino.ts'
import type { Reply } from '../../../../src/http/route/route.ts'
import type { Clock } from '../../../../src/lib/clock.ts'
import { createLog } from '../../../../src/lib/log.ts'
import { portfolioRoutes } from '../../../../src/portfolio/mod.ts'
import { callRoute, toRouteFailure } from '../../call_route.ts'
import { createTestServices } from '../../family.ts'
import type { SolanaDouble } from '../../solana.ts'
import { createFixedClock, slowClock } from '../../test_clock.ts'

export const SLOT_MS = 400

/** Calls a route, from the parameters to the body. */
export interface PortfolioAnswer {
  readonly status: number
  readonly code?: string
  readonly message?: string
  readonly reply?: Reply
  readonly credits?: number
}

/** A row of the assets. */
export interface SolanaRow {
  readonly chain_id: number
  readonly kind: string
  readonly token: {
    readonly id: string
    readonly symbol: string
    readonly decimals: number | null
    readonly name: string
  }
  readonly amount: { readonly raw: string; readonly amount: string | null }
  readonly price_usd: string | null
  readonly price_source: string | null
  readonly price_confidence: string | null
  readonly value_usd: string | null
  readonly counted: boolean
  readonly reason: string | null
  readonly detail: string | null
  readonly position: Readonly<Record<string, string>> | null
  readonly frozen?: true
  readonly not_counted: { readonly raw: string; readonly reason: string } | null
  readonly withdrawable: { readonly raw: string } | null
  readonly limited_by: string | null
  readonly frozen_amount?: { readonly raw: string; readonly amount: string | null }
  readonly slot?: string
}

/** Fields of the balance besides its sums. */
export interface SolanaBalance {
  readonly wallet: string
  readonly net_worth_usd: string
  readonly assets_usd: string
  readonly debt_usd: string
  readonly by_kind: Readonly<Record<string, string>>
  readonly by_chain: readonly { readonly chain_id: number }[]
  readonly rows: Readonly<Record<string, number>>
  readonly complete: boolean
  readonly unread: readonly { readonly chain_id: number; readonly because: string }[]
  readonly coverage: {
    readonly tokens_asked: number
    readonly families: readonly string[]
    readonly nfts: number
    readonly not_read: readonly string[]
    readonly found_by?: readonly {
      readonly family: string
      readonly complete: boolean
      readonly by: string
      readonly markets?: number
    }[]
  }
}

/** The routes of portfolios with all families over doubles, with time that can be moved besides what a clock shows. */
export function portfolioStage(
  doubles: readonly SolanaDouble[],
  options: { readonly row?: object; readonly clock?: Clock } = {},
) {
  const { clock: given = slowClock } = options
  const lines: string[] = []
  let passedMs = 0
  const clock: Clock = { ...given, monotonicMs: () => given.monotonicMs() + passedMs }
  const log = createLog({ level: 'debug', write: (line) => lines.push(line), clock: createFixedClock() })
  const urls = doubles.map(({ url }) => url)
  const solana =
    urls.length === 0
      ? undefined
      : createSolanaClient({ rpcUrls: urls, maxSlotAgeSec: 60, slotMs: SLOT_MS, clock, log, random: () => 0 })
  const services = createTestServices({ solana, clock, log })
  const rows = new Map([[SOLANA_CHAIN_ID, options.row ?? {}]])
  const families = FAMILIES.filter(({ network }) => network === 'solana').map((family) => family.configure(rows))
  const routes = portfolioRoutes({
    chainIds: [1],
    nativeDoubles: new Map(),
    // Snapshots are rejected before these are used.
    connect: () => services,
    families,
    servesSolana: solana !== undefined,
    priceMarket: createPriceMarket(options.row),
  })

  async function ask(name: string, query: object): Promise<PortfolioAnswer> {
    const route = routes.find(({ path }) => path === `/v1/portfolio/${name}`)
    if (route === undefined) throw new Error(`There is no route ${name}`)
    const text = new URLSearchParams(Object.entries(query).map(([key, value]): [string, string] => [key, `${value}`]))
    try {
      const { reply, credits } = await callRoute(route, { query: text.toString() })
      return { status: 200, reply, credits }
    } catch (error) {
      const { status, code, message } = toRouteFailure(error, route)
      if (/solana-secret|127\.0\.0\.1|upstream text/.test(message)) throw new Error(`A secret is in "${message}"`)
      return { status, code, message }
    }
  }

  async function assets(query: object): Promise<SolanaRow[]> {
    const found: SolanaRow[] = []
    for (let page = 1; ; page++) {
      const { reply, message } = await ask('assets', { ...query, limit: 25, page })
      if (reply === undefined) throw new Error(message)
      found.push(...(reply.data as SolanaRow[]))
      if (reply.pagination?.next_page === null) return found
    }
  }

  return {
    lines,
    solana,
    /** Cached reads expire after a slot. */
    pass(ms = SLOT_MS) {
      passedMs += ms
    },
    ask,
    assets,
    async balance(query: object): Promise<SolanaBalance> {
      const { reply, message } = await ask('balance', query)
      if (reply === undefined) throw new Error(message)
      return reply.data as SolanaBalance
    },
  }
}

/** A reader of portfolios for a test. */
export type PortfolioStage = ReturnType<typeof portfolioStage>
