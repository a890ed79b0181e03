import type { Address } from 'viem'
import { packAddress } from '../../../chain/call/words.ts'
import type { Chain } from '../../../chain/chain.ts'
import { memoize } from '../../../lib/memoize.ts'
import { STABLECOIN_ROWS } from '../../price/table/stablecoins.ts'
import builtIn from './built_in.json' with { type: 'json' }
import { isNativeToken } from './native.ts'

/** Tokens of one chain that are read for every wallet. */
export interface TokenList {
  /** Checksummed, each once, without the native token under another name. */
  readonly addresses: readonly Address[]
  /** Names of the source lists in answers: `built-in 2026-09-16`. */
  readonly names: readonly string[]
  /** Tokens that the operator added to the built-in ones. */
  readonly added: readonly NamedTokens[]
}

/** Addresses and the name of their list. */
export interface NamedTokens {
  readonly name: string
  /** Checksummed. */
  readonly addresses: readonly Address[]
}

/** A chain without its token list. */
interface ListedChain extends Pick<Chain, 'id' | 'nativeCurrency'> {
  readonly nativeDoubles?: readonly Address[]
  readonly prices: {
    readonly usdFeeds: Readonly<Record<Address, unknown>>
    readonly wrappers?: Readonly<Record<Address, unknown>>
    readonly stablecoins: readonly Address[]
  }
}

/** Most tokens on the list of a chain: one call reads this many with the gas that nodes allow by default. */
export const LISTED_MAX = 5_000

/** Days since the epoch: those of each later built-in list are more. */
export const BUILT_IN_DAY = Date.parse(builtIn.date) / 86_400_000

const BUILT_IN = `built-in ${builtIn.date}`
const BUILT_IN_CHAINS: Readonly<Record<string, readonly string[]>> = builtIn.chains

/**
 * Creates a chain's list: the built-in tokens and stablecoins, the tokens with a configured price, and the operator's. It may be longer
 * than `LISTED_MAX`.
 */
export function createTokenList(chain: ListedChain, added: readonly NamedTokens[] = []): TokenList {
  const { id, nativeCurrency, prices } = chain
  const { wrapped } = nativeCurrency ?? {}
  const addresses = new Set<Address>([
    ...((BUILT_IN_CHAINS[id] ?? []) as readonly Address[]),
    ...(STABLECOIN_ROWS[id] ?? []),
    ...(wrapped === undefined ? [] : [wrapped]),
    ...(Object.keys(prices.usdFeeds) as Address[]),
    ...(Object.keys(prices.wrappers ?? {}) as Address[]),
    ...prices.stablecoins,
    ...added.flatMap((each) => each.addresses),
  ])
  return {
    addresses: [...addresses].filter((token) => !isNativeToken(chain, token)),
    names: [...new Set([BUILT_IN, ...added.map(({ name }) => name)])],
    added,
  }
}

/** Concatenates addresses, 20 bytes each, as hexadecimal digits. */
export const packTokens = memoize((addresses: readonly Address[]) => addresses.map(packAddress).join(''))

/** Converts addresses to a set. */
export const toTokenSet = memoize((addresses: readonly Address[]): ReadonlySet<Address> => new Set(addresses))
