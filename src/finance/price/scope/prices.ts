import type { SolanaAccount } from '../../../chain/solana/accounts.ts'
import { matchesAccountKind } from '../../../chain/solana/bytes.ts'
import type { SolanaClient, SolanaSession } from '../../../chain/solana/client.ts'
import { memoize } from '../../../lib/memoize.ts'
import type { Decimal } from '../../../lib/number/decimal.ts'
import { type NoPrice, noPriceBecause } from '../price.ts'
import type { PriceMarket } from '../table/kamino.ts'
import { decodePricedReserve, findScopeFeed, type PricedReserve, RESERVE_KIND, readScopeEntries } from './layout.ts'
import { computeReservePrice } from './price.ts'

/** US dollars per whole token, exact, and the source of the price. */
export interface ScopePrice extends Decimal {
  readonly source: 'scope'
}

/** A price, or the reason why it is missing. */
export type ScopeOutcome = { readonly kind: 'price'; readonly price: ScopePrice } | NoPrice

/** Accounts of one slot. */
type Accounts = ReadonlyMap<string, SolanaAccount | null>

/** Prices at which a Kamino market would value tokens, from its reserves and their Scope feeds. */
export type ScopePrices = ReturnType<typeof createScopePrices>

/** A token to price. */
interface PricedMint {
  /** Address of the mint. */
  readonly address: string
  /** True if wallets show another amount than the program stores: a price may be meant for either. */
  readonly isScaled: boolean
}

/** Prices by client and market: all readers of one market over one client share its reserves. */
const pricesByClient = new WeakMap<SolanaClient, Map<string, ScopePrices>>()

/** Returns the prices of a market, read over a client. */
export function getScopePrices(solana: SolanaClient, priceMarket: PriceMarket): ScopePrices {
  const pricesByMarket = pricesByClient.get(solana) ?? new Map<string, ScopePrices>()
  pricesByClient.set(solana, pricesByMarket)
  const { market, kamino } = priceMarket
  const key = [kamino.programId, kamino.scopeProgramId, market.market, ...market.reserves].join(':')
  const prices = pricesByMarket.get(key) ?? createScopePrices(priceMarket)
  pricesByMarket.set(key, prices)
  return prices
}

/** Creates the prices of a market. A row that is not a reserve of the market is read once. */
function createScopePrices({ market: { market, reserves }, kamino: program }: PriceMarket) {
  /** Mint and feed by reserve; undefined for a row that is not a reserve of the market. */
  const reserveInfo = new Map<string, { readonly mint: string; readonly feed: string | undefined } | undefined>()
  const reserveByMint = new Map<string, string>()

  function getReserve(accounts: Accounts, address: string): PricedReserve | undefined {
    const account = accounts.get(address)
    if (account?.owner !== program.programId) return undefined
    const reserve = tryDecodeReserve(account)?.reserve
    return reserve?.market === market ? reserve : undefined
  }

  const listUnread = () => reserves.filter((address) => !reserveInfo.has(address))

  /** Records the tokens and feeds of reserves. */
  function learn(accounts: Accounts): void {
    for (const address of reserves) {
      if (!accounts.has(address)) continue
      const reserve = getReserve(accounts, address)
      reserveInfo.set(address, reserve && { mint: reserve.mint, feed: findScopeFeed(reserve) })
      if (reserve !== undefined && !reserveByMint.has(reserve.mint)) reserveByMint.set(reserve.mint, address)
    }
  }

  return {
    /** False until all reserves were read; before that, the tokens that they price are unknown. */
    isReady: () => listUnread().length === 0,
    /** Reads the reserves not read yet. Throws like `SolanaSession.grouped`. */
    // Families and the wallet's own tokens prepare concurrently in one session.
    prepare: memoize(async (session: Pick<SolanaSession, 'grouped'>): Promise<void> => {
      const groups = listUnread().map((address) => [address])
      for (const { accounts } of new Set(await session.grouped(groups, { mayDiffer: true }))) learn(accounts)
    }),
    learn,
    /** Lists the accounts of a token's price, as far as its reserve was read; empty if no reserve prices it. */
    listPriceAccounts(mint: string): readonly string[] {
      const reserve = reserveByMint.get(mint)
      const feed = reserve === undefined ? undefined : reserveInfo.get(reserve)?.feed
      return [reserve, feed].filter((address) => address !== undefined)
    },
    /** Returns the price of a token from accounts of one slot, or why the program would not accept one. */
    getPrice(accounts: Accounts, { address: mint, isScaled }: PricedMint, nowSec: bigint): ScopeOutcome {
      if (isScaled) return noPriceBecause('wallets show another amount of it than its program keeps')
      const address = reserveByMint.get(mint)
      if (address === undefined) return { ...noPriceBecause('no source of its price is configured'), hasSource: false }
      const reserve = getReserve(accounts, address)
      if (reserve?.mint !== mint) return noPriceBecause('the reserve that prices it was not read')
      const feed = findScopeFeed(reserve)
      // A feed that changed after the reserve was recorded is read next time.
      if (feed !== undefined && !accounts.has(feed)) return noPriceBecause('its price feed was not read')
      const result = computeReservePrice(reserve, { entries: readScopeEntries(accounts, reserve, program), nowSec })
      if (result.kind === 'none') return noPriceBecause(`the price of its reserve ${result.problem}`)
      return { kind: 'price', price: { ...toDecimal(result.price), source: 'scope' } }
    },
  }
}

const tryDecodeReserve = memoize(({ data }: SolanaAccount): { readonly reserve: PricedReserve | undefined } => ({
  reserve: matchesAccountKind(RESERVE_KIND, data) ? decodePricedReserve(data) : undefined,
}))

/** Converts a price whose denominator is a power of ten or of two to a decimal. */
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
