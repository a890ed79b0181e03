import { isBase58Address } from '../../lib/text/base58.ts'
import type { PortfolioCoverage } from '../present.ts'
import type { WalletAssets, WalletQuestion, WalletReader } from '../read/read_wallet.ts'
import { judgeAssets } from '../sum/judge.ts'
import type { Row } from '../sum/row.ts'

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

/** The rows of a wallet, and how they came about. Throws as `WalletReader.read`. */
export async function readRows(
  { portfolio }: PortfolioOptions,
  question: WalletQuestion & { readonly include_unlisted: boolean },
  signal: AbortSignal,
): Promise<WalletAssets & { readonly rows: readonly Row[]; readonly coverage: PortfolioCoverage }> {
  const { reader, familiesOn, listsOn } = portfolio()
  const { reads, unread } = await reader.read(question, signal)
  const chains = reads.map(({ block }) => block.chainId)
  const assets = reads.flatMap((read) => read.assets)
  const isSolana = isBase58Address(question.wallet)
  return {
    reads,
    unread,
    rows: judgeAssets(assets, { includeUnlisted: question.include_unlisted }),
    coverage: {
      tokensAsked: reads.reduce((sum, { tokensAsked }) => sum + tokensAsked, 0),
      tokenLists: [...new Set(chains.flatMap(listsOn))],
      families: [...new Set(chains.flatMap(familiesOn))],
      notRead: [...NEVER_READ[isSolana ? 'solana' : 'evm'], ...reads.flatMap(({ notRead }) => notRead)],
      nfts: isSolana ? reads.reduce((sum, { nfts = 0 }) => sum + nfts, 0) : undefined,
      searches: reads.flatMap(({ searches = [] }) => searches),
    },
  }
}
