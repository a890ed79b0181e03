import { deriveProgramAddress } from '../../../../chain/solana/address/program_address.ts'
import { mapCooperatively } from '../../../../lib/async/cooperative.ts'
import { decodeBase58Address } from '../../../../lib/text/base58.ts'
import type { KnownMarket } from '../accounts/account_cache.ts'

/** Addresses that are derived in one turn of the event loop, at 0.1 ms each. */
const ADDRESSES_IN_TURN = 20
/** Most addresses of a wallet that are tried, its lookup table aside. */
const ADDRESSES_MAX = 280
/** Plain obligations of a wallet in a market that are tried, by their numbers from 0 on. */
const NUMBERS = { brief: 1, whole: 5 } as const
const KEY_NONE = new Uint8Array(32)

/** Kinds of obligations whose seeds are known, as the program numbers them. */
const TAG = { plain: 0, multiply: 1, lending: 2, leverage: 3 } as const

/** `brief`: plain obligations of number 0 alone, for many wallets at once. */
export type Breadth = keyof typeof NUMBERS

/** What an obligation's address is derived from besides wallet and market. */
interface Seeds {
  readonly market: string
  readonly tag: (typeof TAG)[keyof typeof TAG]
  readonly number: number
  /** Two mints, or zeros: of collateral and of debt. */
  readonly keys: readonly [Uint8Array, Uint8Array]
}

/** Where the program keeps an obligation. Source: klend `handler_init_obligation.rs`. */
export function deriveObligationAddress(program: string, wallet: string, { market, tag, number, keys }: Seeds): string {
  return deriveProgramAddress(program, [
    Uint8Array.of(tag),
    Uint8Array.of(number),
    decodeBase58Address(wallet),
    decodeBase58Address(market),
    ...keys,
  ])
}

/** Where the program keeps what it knows of a wallet, such as its lookup table. */
export function deriveUserAddress(program: string, wallet: string): string {
  return deriveProgramAddress(program, ['user_meta', decodeBase58Address(wallet)])
}

/**
 * Addresses at which a wallet may have obligations in these markets: plain ones and, if `whole`, one for each token and
 * those of pairs of tokens, pairs of one elevation group first.
 */
export async function deriveWalletAddresses(
  program: string,
  wallet: string,
  { markets, breadth }: { readonly markets: readonly KnownMarket[]; readonly breadth: Breadth },
): Promise<string[]> {
  const seeds = [...plainSeeds(markets, NUMBERS[breadth]), ...(breadth === 'whole' ? pairedSeeds(markets) : [])]
  return await mapCooperatively(seeds.slice(0, ADDRESSES_MAX), ADDRESSES_IN_TURN, (each) =>
    deriveObligationAddress(program, wallet, each),
  )
}

function plainSeeds(markets: readonly KnownMarket[], numbers: number): Seeds[] {
  return Array.from({ length: numbers }, (_, number) => number).flatMap((number) =>
    markets.map(({ market }): Seeds => ({ market, tag: TAG.plain, number, keys: [KEY_NONE, KEY_NONE] })),
  )
}

function pairedSeeds(markets: readonly KnownMarket[]): Seeds[] {
  const tokens = markets.flatMap(({ market, reserves }) =>
    [...reserves.values()].map(({ mint, groups }) => ({ market, key: decodeBase58Address(mint), groups })),
  )
  const single = tokens.map(({ market, key }): Seeds => ({ market, tag: TAG.lending, number: 0, keys: [key, key] }))
  const pairs = tokens.flatMap((collateral) =>
    tokens
      .filter((debt) => debt !== collateral && debt.market === collateral.market)
      .map((debt) => ({
        market: collateral.market,
        keys: [collateral.key, debt.key] as const,
        isGrouped: collateral.groups.some((group) => debt.groups.includes(group)),
      })),
  )
  const ordered = [...pairs.filter(({ isGrouped }) => isGrouped), ...pairs.filter(({ isGrouped }) => !isGrouped)]
  return [
    ...single,
    ...ordered.flatMap(({ market, keys }) =>
      [TAG.multiply, TAG.leverage].map((tag): Seeds => ({ market, tag, number: 0, keys })),
    ),
  ]
}
