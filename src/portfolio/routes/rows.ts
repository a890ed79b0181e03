import { isBase58Address } from '../../lib/text/base58.ts'
import type { PortfolioQuery, WalletReader } from '../read/read_wallet.ts'
import { classifyAssets } from '../sum/classify.ts'

/** What the routes are made from. */
export interface PortfolioOptions {
  /** EVM chains that are served. */
  readonly chainIds: readonly number[]
  readonly portfolio: () => Portfolio
}

/** What answers requests for portfolios. */
export interface Portfolio {
  readonly reader: WalletReader
  /** Families whose holdings are read, by chain. */
  readonly familiesOn: (chainId: number) => readonly string[]
  /** Lists of tokens that are asked, by chain. */
  readonly listsOn: (chainId: number) => readonly string[]
}

/** What no answer looks for on EVM chains and on Solana. */
const NEVER_READ = {
  evm: ['tokens in no list', 'position NFTs held by other contracts'],
  solana: ['stakes', 'what programs other than these families hold for the wallet', 'confidential amounts of tokens'],
}

/** The rows of a wallet, and how they came about as answers have it. Throws as `WalletReader.read`. */
export async function readRows(
  { portfolio }: PortfolioOptions,
  question: PortfolioQuery & { readonly include_unlisted: boolean },
  signal: AbortSignal,
) {
  const { reader, familiesOn, listsOn } = portfolio()
  const { reads, unread } = await reader.read(question, signal)
  const chains = reads.map(({ block }) => block.chainId)
  const assets = reads.flatMap((read) => read.assets)
  const searches = reads.flatMap(({ searches = [] }) => searches)
  const isSolana = isBase58Address(question.wallet)
  return {
    reads,
    unread,
    rows: classifyAssets(assets, { includeUnlisted: question.include_unlisted }),
    coverage: {
      tokens_asked: reads.reduce((sum, { tokensAsked }) => sum + tokensAsked, 0),
      token_lists: [...new Set(chains.flatMap(listsOn))],
      families: [...new Set(chains.flatMap(familiesOn))],
      not_read: [...NEVER_READ[isSolana ? 'solana' : 'evm'], ...reads.flatMap(({ notRead }) => notRead)],
      ...(isSolana ? { nfts: reads.reduce((sum, { nfts = 0 }) => sum + nfts, 0) } : {}),
      ...(searches.length === 0 ? {} : { found_by: searches }),
    },
  }
}
