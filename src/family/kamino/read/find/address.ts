import { deriveProgramAddress } from '../../../../chain/solana/program_address.ts'
import { mapCooperatively } from '../../../../lib/async/cooperative.ts'
import { decodeBase58Address } from '../../../../lib/text/base58.ts'
import type { KnownMarket } from '../accounts/account_cache.ts'

/** Addresses that are derived in one turn of the event loop, at 0.1 ms each. */
const ADDRESSES_IN_TURN = 20
/** Highest number of derived addresses of a wallet, its lookup table not counted. */
const ADDRESSES_MAX = 280
/** Share of the first market's tokens and pairs in them: most obligations are in the main market. */
const FIRST_SHARE = 120
/** How many plain obligations of a wallet in a market are derived, numbered from 0. */
const NUMBERS = { brief: 1, whole: 5 } as const
const KEY_NONE = new Uint8Array(32)

/** Kinds of obligations whose seeds are known, as the program numbers them. */
const TAG = { plain: 0, multiply: 1, lending: 2, leverage: 3 } as const

/** `brief`: only plain obligations of number 0, for many wallets at once. */
export type Breadth = keyof typeof NUMBERS

/** Seeds of an obligation's address besides the wallet. */
interface Seeds {
  readonly market: string
  readonly tag: (typeof TAG)[keyof typeof TAG]
  readonly number: number
  /** Mints of collateral and debt, or zeros. */
  readonly keys: readonly [Uint8Array, Uint8Array]
}

/** Derives the address of an obligation. Source: klend `handler_init_obligation.rs`. */
export function deriveObligationAddress(program: string, wallet: string, { market, tag, number, keys }: Seeds): string {
  return deriveProgramAddress(program, [
    Uint8Array.of(tag),
    Uint8Array.of(number),
    decodeBase58Address(wallet),
    decodeBase58Address(market),
    ...keys,
  ])
}

/** Derives the address of a wallet's metadata account, which names its lookup table. */
export function deriveUserAddress(program: string, wallet: string): string {
  return deriveProgramAddress(program, ['user_meta', decodeBase58Address(wallet)])
}

/**
 * Derives the addresses at which a wallet may have obligations in these markets: plain ones and, if `whole`, one for
 * each token and those of pairs of tokens, pairs of one elevation group first. The first market has a share of its own,
 * however many others there are.
 */
export async function deriveWalletAddresses(
  program: string,
  wallet: string,
  { markets, breadth }: { readonly markets: readonly KnownMarket[]; readonly breadth: Breadth },
): Promise<string[]> {
  const first = breadth === 'whole' ? pairedSeeds(markets.slice(0, 1)) : []
  const others = breadth === 'whole' ? pairedSeeds(markets.slice(1)) : []
  const share = first.slice(0, FIRST_SHARE)
  const plain = plainSeeds(markets, NUMBERS[breadth]).slice(0, ADDRESSES_MAX - share.length)
  const seeds = [...plain, ...share, ...others, ...first.slice(FIRST_SHARE)]
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
