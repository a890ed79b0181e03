import type { Address } from 'viem'
import type { LensAccess } from '../../../chain/call/lens.ts'
import { type LensPages, readPages } from '../../../chain/call/pages.ts'
import type { RawRead } from './abi.ts'
import { decodeLens, encodeRead } from './abi.ts'

/**
 * Wallets in one call. A wallet costs about 4,000 gas for each reserve of its markets; a deployless call shares its gas
 * with the deployment, and the nodes that need one allow the least gas.
 */
const PAGE_SIZES = { override: 250, deployless: 100 } as const
/** Longest answer of one page, bytes. As hexadecimal text it is a quarter of what the transport reads. */
const PAGE_BYTES_MAX = 1_000_000
/** So many wallets take little gas: those of the tests 3.8 million in three markets, one alone 3. */
const LIGHT_WALLETS_MAX = 4
/** In the background as many as 20 million are enough for, in a market of 60 reserves. */
const TOGETHER_PAGE_SIZE = 40

/** Which wallets in the markets of which providers. */
interface WalletsQuestion {
  readonly providers: readonly Address[]
  readonly wallets: readonly Address[]
  /** Wallets per call. @default as many as the way allows */
  readonly pageSize?: number
  /** True if calls should be light, so that they leave with others that are. */
  readonly together?: boolean
}

/**
 * What wallets have: one call at the latest block, or, for many wallets or in the past, all pages at one pinned block.
 * Throws `UpstreamError` if the pages do not belong to one block, `RpcRefusedError` if a call is not enough for one
 * wallet.
 */
export async function readWallets(
  { way, call, ...paging }: LensAccess,
  { providers, wallets, together = false, ...others }: WalletsQuestion,
): Promise<RawRead> {
  const { pageSize = together ? TOGETHER_PAGE_SIZE : PAGE_SIZES[way] } = others
  const pages = await readPages<RawRead>({
    ...paging,
    pageSize,
    countMin: wallets.length,
    async read({ start, end, block }) {
      const asked = wallets.slice(start, end)
      const data = encodeRead({ providers, wallets: asked, bytesMax: PAGE_BYTES_MAX })
      return decodeLens(await call({ data, block, isLight: together || asked.length <= LIGHT_WALLETS_MAX }))
    },
    count: () => wallets.length,
  })
  return mergePages(pages)
}

/** Joins pages of the same block into one read. Wallet numbers shift by the pages before; each fact is kept once. */
function mergePages(pages: LensPages<RawRead>): RawRead {
  const moved = <T extends { readonly wallet: number }>(start: number, items: readonly T[]): T[] =>
    items.map((item) => ({ ...item, wallet: item.wallet + start }))
  return {
    ...pages[0].page,
    taken: pages.reduce((sum, { page }) => sum + page.taken, 0),
    reserves: distinct(pages.flatMap(({ page }) => page.reserves)),
    categories: distinct(pages.flatMap(({ page }) => page.categories)),
    accounts: pages.flatMap(({ start, page }) => moved(start, page.accounts)),
    broken: pages.flatMap(({ start, page }) => moved(start, page.broken)),
  }
}

function distinct<T extends { readonly market: number; readonly id: number }>(facts: readonly T[]): T[] {
  return [...new Map(facts.map((fact) => [`${fact.market}:${fact.id}`, fact])).values()]
}
