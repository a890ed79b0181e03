import type { Address } from 'viem'
import { packedAddress } from '../../../chain/call/words.ts'
import type { Chain } from '../../../chain/chain.ts'
import { memoize } from '../../../lib/memoize.ts'
import builtIn from './built_in.json' with { type: 'json' }
import { isNativeToken } from './native.ts'

/** Tokens of one chain that every wallet is asked about. */
export interface TokenList {
  /** Checksummed, each once. What is native under another name is left out. */
  readonly addresses: readonly Address[]
  /** Which lists they are from, as answers name them: `built-in 2026-09-16`. */
  readonly names: readonly string[]
  /** What the operator added to the built-in tokens. */
  readonly added: readonly NamedTokens[]
}

/** Addresses under the name of the list that they are from. */
export interface NamedTokens {
  readonly name: string
  /** Checksummed. */
  readonly addresses: readonly Address[]
}

/** What is known about the tokens of a chain without a list. */
interface ListedChain extends Pick<Chain, 'id' | 'nativeCurrency'> {
  readonly prices: {
    readonly usdFeeds: Readonly<Record<Address, unknown>>
    readonly wrappers?: Readonly<Record<Address, unknown>>
    readonly stablecoins: readonly Address[]
  }
}

/** Most tokens on the list of a chain: as many as one call takes with the gas that nodes allow by default. */
export const LISTED_MAX = 5_000

const BUILT_IN = `built-in ${builtIn.date}`
const BUILT_IN_CHAINS: Readonly<Record<string, readonly string[]>> = builtIn.chains

/**
 * The built-in list of a chain with the tokens whose prices are known, and what the operator adds. It may be longer than
 * `LISTED_MAX`.
 */
export function createTokenList(
  { id, nativeCurrency, prices }: ListedChain,
  added: readonly NamedTokens[] = [],
): TokenList {
  const { wrapped } = nativeCurrency ?? {}
  const addresses = new Set<Address>([
    ...((BUILT_IN_CHAINS[id] ?? []) as readonly Address[]),
    ...(wrapped === undefined ? [] : [wrapped]),
    ...(Object.keys(prices.usdFeeds) as Address[]),
    ...(Object.keys(prices.wrappers ?? {}) as Address[]),
    ...prices.stablecoins,
    ...added.flatMap((each) => each.addresses),
  ])
  return {
    addresses: [...addresses].filter((token) => !isNativeToken(id, token)),
    names: [...new Set([BUILT_IN, ...added.map(({ name }) => name)])],
    added,
  }
}

/** The addresses one after the other, 20 bytes each, as hexadecimal digits. */
export const packedTokens = memoize((addresses: readonly Address[]) => addresses.map(packedAddress).join(''))

/** The same as a set. */
export const toTokenSet = memoize((addresses: readonly Address[]): ReadonlySet<Address> => new Set(addresses))
