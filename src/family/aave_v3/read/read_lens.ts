import type { Address } from 'viem'
import type { LensAccess } from '../../../chain/call/lens.ts'
import { type LensPages, readPages } from '../../../chain/call/pages.ts'
import type { RawRead } from './abi.ts'
import { decodeLens, encodeRead } from './abi.ts'

/**
 * Wallets in one call, by mode. A wallet costs about 4,000 gas for each reserve of its markets; a deployless call
 * shares its gas with the deployment, and nodes that need this mode allow the least gas.
 */
const PAGE_SIZES = { override: 250, deployless: 100 } as const
/** Longest answer of one page, bytes. As hexadecimal text it is a quarter of the transport's limit. */
const PAGE_BYTES_MAX = 1_000_000
/** Wallets of a light call: four take 3.8 million gas in three markets of the tests, one takes 3 million. */
const LIGHT_WALLETS_MAX = 4
/** Wallets of a light background call: 20 million gas are enough in a market of 60 reserves. */
const TOGETHER_PAGE_SIZE = 40

/** Wallets and the providers of the markets to read. */
interface WalletsQuery {
  readonly providers: readonly Address[]
  readonly wallets: readonly Address[]
  /** Wallets per call. @default the maximum of the mode */
  readonly pageSize?: number
  /** True if calls must be light, so that they can be bundled with other light calls. */
  readonly isLight?: boolean
}

/**
 * Reads wallets: one call at the latest block, or, for many wallets or a past block, all pages at one pinned block.
 * Throws `UpstreamError` if the pages are not of one block, `RpcRefusedError` if one wallet does not fit into a call.
 */
export async function readWallets(
  { mode: way, call, ...paging }: LensAccess,
  { providers, wallets, isLight = false, ...options }: WalletsQuery,
): Promise<RawRead> {
  const { pageSize = isLight ? TOGETHER_PAGE_SIZE : PAGE_SIZES[way] } = options
  const pages = await readPages<RawRead>({
    ...paging,
    pageSize,
    countMin: wallets.length,
    async read({ start, end, block }) {
      const pageWallets = wallets.slice(start, end)
      const data = encodeRead({ providers, wallets: pageWallets, bytesMax: PAGE_BYTES_MAX })
      return decodeLens(await call({ data, block, isLight: isLight || pageWallets.length <= LIGHT_WALLETS_MAX }))
    },
    count: () => wallets.length,
  })
  return mergePages(pages)
}

/** Merges pages of the same block into one read. Wallet indexes shift by the previous pages; duplicates are dropped. */
function mergePages(pages: LensPages<RawRead>): RawRead {
  const shiftWallets = <T extends { readonly wallet: number }>(start: number, items: readonly T[]): T[] =>
    items.map((item) => ({ ...item, wallet: item.wallet + start }))
  return {
    ...pages[0].page,
    taken: pages.reduce((sum, { page }) => sum + page.taken, 0),
    reserves: distinct(pages.flatMap(({ page }) => page.reserves)),
    categories: distinct(pages.flatMap(({ page }) => page.categories)),
    accounts: pages.flatMap(({ start, page }) => shiftWallets(start, page.accounts)),
    broken: pages.flatMap(({ start, page }) => shiftWallets(start, page.broken)),
  }
}

function distinct<T extends { readonly market: number; readonly id: number }>(facts: readonly T[]): T[] {
  return [...new Map(facts.map((fact) => [`${fact.market}:${fact.id}`, fact])).values()]
}
