import type { SolanaAccount } from '../../../chain/solana/accounts.ts'
import { matchesAccountKind } from '../../../chain/solana/bytes.ts'
import type { SolanaClient, SolanaSession } from '../../../chain/solana/client.ts'
import { memoize } from '../../../lib/memoize.ts'
import type { Decimal } from '../../../lib/number/decimal.ts'
import { type NoPrice, noPriceBecause } from '../price.ts'
import type { PriceMarket } from '../table/kamino.ts'
import { decodePricedReserve, findScopeFeed, type PricedReserve, RESERVE_KIND, readScopeEntries } from './layout.ts'
import { computeReservePrice } from './price.ts'

/** US dollars a whole token, exact, and the source of the price. */
export interface ScopePrice extends Decimal {
  readonly source: 'scope'
}

/** A price, or the reason why it is missing. */
export type ScopeOutcome = { readonly kind: 'price'; readonly price: ScopePrice } | NoPrice

/** Accounts of one slot. */
type Accounts = ReadonlyMap<string, SolanaAccount | null>

/** Prices of tokens: those at which a market of Kamino would value them, from its reserves and their Scope feeds. */
export type ScopePrices = ReturnType<typeof createScopePrices>

/** A token that a price is wanted of. */
interface PricedMint {
  /** Its mint. */
  readonly address: string
  /** True if wallets show another amount of it than the program keeps: a price may be meant for either. */
  readonly isScaled: boolean
}

/** By what they are read with: all that read prices of one market over one client ask for its reserves once. */
const made = new WeakMap<SolanaClient, Map<string, ScopePrices>>()

/** Those of a market that are read over a client. */
export function getScopePrices(solana: SolanaClient, priceMarket: PriceMarket): ScopePrices {
  const ofClient = made.get(solana) ?? new Map<string, ScopePrices>()
  made.set(solana, ofClient)
  const { market, kamino } = priceMarket
  const key = [kamino.programId, kamino.scopeProgramId, market.market, ...market.reserves].join(':')
  const prices = ofClient.get(key) ?? createScopePrices(priceMarket)
  ofClient.set(key, prices)
  return prices
}

/** Makes them for a market. A row that is not a reserve of the market is asked about once. */
function createScopePrices({ market: { market, reserves }, kamino: program }: PriceMarket) {
  /** What is known of reserves. */
  const known = new Map<string, { readonly mint: string; readonly feed: string | undefined } | undefined>()
  const reserveOf = new Map<string, string>()

  function reserveIn(accounts: Accounts, address: string): PricedReserve | undefined {
    const account = accounts.get(address)
    if (account?.owner !== program.programId) return undefined
    const reserve = reserveFrom(account)?.reserve
    return reserve?.market === market ? reserve : undefined
  }

  const unread = () => reserves.filter((address) => !known.has(address))

  /** Notes what reserves say about their tokens and feeds. */
  function learn(accounts: Accounts): void {
    for (const address of reserves) {
      if (!accounts.has(address)) continue
      const reserve = reserveIn(accounts, address)
      known.set(address, reserve && { mint: reserve.mint, feed: findScopeFeed(reserve) })
      if (reserve !== undefined && !reserveOf.has(reserve.mint)) reserveOf.set(reserve.mint, address)
    }
  }

  return {
    /** False until all reserves were read; which tokens they price is not known before. */
    isReady: () => unread().length === 0,
    /** Reads those that nobody has read yet. Throws as `SolanaSession.grouped`. */
    // Families and the wallet's own tokens prepare in one session at once.
    prepare: memoize(async (session: Pick<SolanaSession, 'grouped'>): Promise<void> => {
      const items = unread().map((address) => [address])
      for (const { accounts } of new Set(await session.grouped(items, { mayDiffer: true }))) learn(accounts)
    }),
    learn,
    /** Accounts that the price of a token comes from, as far as its reserve was read; none if there is no such price. */
    addressesFor(mint: string): readonly string[] {
      const reserve = reserveOf.get(mint)
      const feed = reserve === undefined ? undefined : known.get(reserve)?.feed
      return [reserve, feed].filter((address) => address !== undefined)
    },
    /** The price of a token from accounts of one slot, or why the program would accept none. */
    priceIn(accounts: Accounts, { address: mint, isScaled }: PricedMint, nowSec: bigint): ScopeOutcome {
      if (isScaled) return noPriceBecause('wallets show another amount of it than its program keeps')
      const address = reserveOf.get(mint)
      if (address === undefined) return { ...noPriceBecause('no source of its price is configured'), hasSource: false }
      const reserve = reserveIn(accounts, address)
      if (reserve?.mint !== mint) return noPriceBecause('the reserve that prices it was not read')
      const feed = findScopeFeed(reserve)
      // A feed that was set since the reserve was learned is read next time.
      if (feed !== undefined && !accounts.has(feed)) return noPriceBecause('its price feed was not read')
      const found = computeReservePrice(reserve, { entries: readScopeEntries(accounts, reserve, program), nowSec })
      if (found.kind === 'none') return noPriceBecause(`the price of its reserve ${found.problem}`)
      return { kind: 'price', price: { ...toDecimal(found.price), source: 'scope' } }
    },
  }
}

const reserveFrom = memoize(({ data }: SolanaAccount): { readonly reserve: PricedReserve | undefined } => ({
  reserve: matchesAccountKind(RESERVE_KIND, data) ? decodePricedReserve(data) : undefined,
}))

/** The decimal of a price, whose denominator is a power of ten or of two. */
export function toDecimal({
  numerator,
  denominator,
}: {
  readonly numerator: bigint
  readonly denominator: bigint
}): Decimal {
  let [scale, power] = [0, 1n]
  while (power % denominator !== 0n) [scale, power] = [scale + 1, power * 10n]
  return { units: numerator * (power / denominator), scale }
}
