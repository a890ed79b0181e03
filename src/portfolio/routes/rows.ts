import { isBase58Address } from '../../lib/text/base58.ts'
import { listNotRead } from '../not_read.ts'
import type { PortfolioQuery, WalletReader } from '../read/read_wallet.ts'
import { classifyAssets } from '../sum/classify.ts'
import type { AssetsRead } from '../sum/row.ts'
import type { NativeDoublesByChain } from './input.ts'

/** Dependencies of the routes. */
export interface PortfolioOptions {
  /** EVM chains that are served. */
  readonly chainIds: readonly number[]
  readonly nativeDoubles: NativeDoublesByChain
  readonly portfolio: () => Portfolio
}

/** The readers behind the portfolio routes. */
export interface Portfolio {
  readonly reader: WalletReader
  /** Families whose holdings are read, by chain. */
  readonly listFamilies: (chainId: number) => readonly string[]
  /** Names of token lists that are read, by chain. */
  readonly listTokenLists: (chainId: number) => readonly string[]
  /** Built-in contracts that the configuration leaves out, by chain, debts first. */
  readonly listOmitted: (chainId: number) => readonly string[]
}

/** What of a wallet is read. */
interface RowsQuery extends PortfolioQuery {
  readonly include_unlisted: boolean
  /** True if rows are shown one by one, with the parts of positions told apart. */
  readonly isItemized?: boolean
}

/** Reads the rows of a wallet, and their coverage for the answer. Throws like `WalletReader.read`. */
export async function readRows(
  { portfolio }: PortfolioOptions,
  { isItemized = false, ...query }: RowsQuery,
  signal: AbortSignal,
) {
  const { reader, listFamilies, listTokenLists, listOmitted } = portfolio()
  const { reads, unread } = await reader.read(query, signal)
  const chains = reads.map(({ block }) => block.chainId)
  const assets = await Promise.all(
    reads.map((read) => (isItemized && read.itemize ? read.itemize(signal) : read.assets)),
  )
  const rows = classifyAssets(assets.flat(), { includeUnlisted: query.include_unlisted })
  const searches = reads.flatMap(({ searches = [] }) => searches)
  const omitted = reads.flatMap((read) => read.omitted ?? [])
  const isSolana = isBase58Address(query.wallet)
  return {
    reads,
    unread,
    rows,
    unsourced: findUnsourced(reads),
    omitted,
    coverage: {
      tokens_asked: reads.reduce((sum, { tokensAsked }) => sum + tokensAsked, 0),
      token_lists: [...new Set(chains.flatMap(listTokenLists))],
      families: [...new Set(chains.flatMap(listFamilies))],
      not_read: listNotRead(chains, {
        isSolana,
        found: [...new Set(chains.flatMap(listOmitted)), ...omitted, ...reads.flatMap(({ notRead }) => notRead)],
      }),
      ...(isSolana ? { nfts: reads.reduce((sum, { nfts = 0 }) => sum + nfts, 0) } : {}),
      ...(searches.length === 0 ? {} : { found_by: searches }),
    },
  }
}

/** Finds the chains without any source of prices. */
function findUnsourced(reads: readonly Pick<AssetsRead, 'block' | 'isUnsourced'>[]): ReadonlySet<number> {
  return new Set(reads.filter(({ isUnsourced }) => isUnsourced).map(({ block }) => block.chainId))
}
