import { sortDebtsFirst } from '../../family/contract.ts'
import type { RateReader } from '../../finance/currency/rate.ts'
import type { Work } from '../../lib/async/work.ts'
import { groupBy } from '../../lib/group_by.ts'
import { isBase58Address } from '../../lib/text/base58.ts'
import type { PortfolioQuery, WalletReader } from '../read/read_wallet.ts'
import { classifyAssets } from '../sum/classify.ts'
import type { AssetsRead, Row } from '../sum/row.ts'
import type { NativeDoublesByChain } from './input.ts'

/** Dependencies of the routes. */
export interface PortfolioOptions {
  /** EVM chains that are served. */
  readonly chainIds: readonly number[]
  readonly nativeDoubles: NativeDoublesByChain
  readonly portfolio: () => Portfolio
  readonly rates: () => RateReader
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
}

/**
 * Reads the rows of a wallet, and their coverage for the answer. They depend on the block alone: `divide` tells the parts
 * of some of them apart. Throws like `WalletReader.read`.
 */
export async function readRows({ portfolio }: Pick<PortfolioOptions, 'portfolio'>, query: RowsQuery, work: Work) {
  const { reader, listFamilies, listTokenLists, listOmitted } = portfolio()
  const { reads, unread } = await reader.read(query, work)
  const chains = reads.map(({ block }) => block.chainId)
  const options = { includeUnlisted: query.include_unlisted }
  const assets = reads.flatMap((read) => read.assets)
  const rows = classifyAssets(assets, options)
  const searches = reads.flatMap(({ searches = [] }) => searches)
  const omitted = reads.flatMap((read) => read.omitted ?? [])
  const isSolana = isBase58Address(query.wallet)
  return {
    reads,
    unread,
    rows,
    /** Puts the parts of a row in its place, as far as histories tell them quickly. Throws `AbortedError`. */
    divide: async (whole: readonly Row[]): Promise<readonly Row[]> => {
      const chainIds = new Set(whole.filter(isDivisible).map(({ chainId }) => chainId))
      const dividedReads = reads.filter(({ block }) => chainIds.has(block.chainId))
      const itemized = await Promise.all(dividedReads.map((read) => read.itemize?.(work) ?? read.assets))
      const parts = groupBy(classifyAssets(itemized.flat(), options), toWholeKey)
      return whole.flatMap((row) => (isDivisible(row) ? (parts.get(toWholeKey(row)) ?? row) : row))
    },
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

/** True of what a liquidity position owes as one sum, which may be fees and principal that was withdrawn. */
function isDivisible({ position }: Row): boolean {
  return position?.['part'] === UNDIVIDED
}

/** Returns a key that a row has in common with its parts. */
function toWholeKey({ chainId, kind, token, position }: Row): string {
  const part = position?.['part'] ?? ''
  return JSON.stringify([chainId, kind, token.address, { ...position, part: PARTS.includes(part) ? UNDIVIDED : part }])
}

const UNDIVIDED = 'owed'
const PARTS = ['fees', 'withdrawn']

/** Finds the chains without any source of prices. */
function findUnsourced(reads: readonly Pick<AssetsRead, 'block' | 'isUnsourced'>[]): ReadonlySet<number> {
  return new Set(reads.filter(({ isUnsourced }) => isUnsourced).map(({ block }) => block.chainId))
}

/** A protocol that exists on chains and that no family reads. A family that comes to read it takes its row away. */
interface UnreadProtocol {
  readonly name: string
  /** `debts`: wallets can owe in it; `assets`: they can only own in it. */
  readonly holds: 'debts' | 'assets'
  readonly chainIds: readonly number[]
}

/**
 * Protocols that are known to exist and are not read. Debts matter most: what was borrowed counts in the wallet and the
 * debt does not, so that the sum is too high. The guide of chains lists the same.
 */
export const UNREAD_PROTOCOLS: readonly UnreadProtocol[] = [
  { name: 'Neverland', holds: 'debts', chainIds: [143] },
  { name: 'K613', holds: 'debts', chainIds: [143] },
  { name: "Slipstream's manager 0xc741beb2156827704A1466575ccA1cBf726a1178", holds: 'assets', chainIds: [8453] },
  { name: "Slipstream's manager 0xc84bB45D43CD25D02b83B4C085eaA4e08da8f473", holds: 'assets', chainIds: [5042] },
  { name: 'farms of PancakeSwap', holds: 'assets', chainIds: [143] },
]

/** Holdings that are never read, on any chain of a kind. The guide of chains names each of them. */
export const NEVER_READ = {
  evm: [
    'debts in protocols and markets of no table',
    'debts in Aave V2 and its forks',
    'positions in exchanges on Algebra, Ramses and its forks',
    'tokens in no list',
    'vaults in no table, unless tokens names one that Morpho made',
    'pairs of Uniswap V2 that tokens does not name, and pairs of its forks',
    'position NFTs held by other contracts, except by MasterChefs of PancakeSwap V3 and gauges of Slipstream',
    'ERC-6909 claims on the pool manager of Uniswap V4',
  ],
  solana: [
    'debts in programs other than these families',
    'stakes',
    'what programs other than these families hold for the wallet',
    'confidential amounts of tokens',
  ],
}

/**
 * Lists what was not read on these chains, debts first: each of them begins `debts in`. `found` is what the reads
 * themselves left out.
 */
export function listNotRead(
  chainIds: readonly number[],
  { isSolana, found }: { readonly isSolana: boolean; readonly found: readonly string[] },
): readonly string[] {
  const protocols = UNREAD_PROTOCOLS.flatMap(({ name, holds, chainIds: itsChains }) => {
    const shared = new Set(chainIds.filter((chainId) => itsChains.includes(chainId)))
    const what = holds === 'debts' ? 'debts in' : 'positions in'
    return shared.size === 0 ? [] : [`${what} ${name} (chain ${[...shared].join(', ')})`]
  })
  return sortDebtsFirst([...protocols, ...found, ...NEVER_READ[isSolana ? 'solana' : 'evm']])
}
