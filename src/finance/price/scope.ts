import { base58 } from '@scure/base'
import type { SolanaAccount } from '../../chain/solana/accounts.ts'
import { type AccountKind, createByteReader, matchesAccountKind } from '../../chain/solana/bytes.ts'
import type { SolanaClient, SolanaSession } from '../../chain/solana/client.ts'
import { memoize } from '../../lib/memoize.ts'
import type { Decimal } from '../../lib/number/decimal.ts'
import { minBigint, pow10, Q60 } from '../../lib/number/fixed_point.ts'
import { type Rational, rational } from '../../lib/number/rational.ts'
import { type NoPrice, noPriceBecause } from './price.ts'
import type { KaminoProgram, PriceMarket } from './table/kamino.ts'

/*
 * The bytes of Kamino Lend's reserves and of Scope's feeds that determine a token's price; offsets are those of the
 * programs' published interface descriptions (IDL). "Sf" is an unsigned fixed-point number with 60 fractional bits.
 */

export const RESERVE_KIND: AccountKind = { size: 8624, discriminator: '2bf2ccca1af73b7f' }
export const SCOPE_PRICES_KIND: AccountKind = { size: 28_712, discriminator: '598076dd0648b492' }

/** A reserve's token and the facts of its price. */
interface PricedReserve {
  readonly market: string
  readonly mint: string
  readonly decimals: number
  readonly emergencyMode: boolean
  /** US dollars per whole token, as last used by the program. */
  readonly priceSf: bigint
  readonly priceTimestampSec: bigint
  /** Checks that the price has passed, as bits. */
  readonly priceStatus: number
  readonly maxPriceAgeSec: bigint
  /** Lowest and highest accepted price, `value / 10^exponent` US dollars; 0 means no bound. */
  readonly priceBounds: { readonly lower: bigint; readonly upper: bigint; readonly exponent: bigint }
  readonly priceBlocked: boolean
  readonly scopeFeed: string
  /** Entries of the Scope feed whose product is the price, as stored; see `listEntryIndexes`. */
  readonly scopeChain: readonly number[]
  /** Check of the price against its average: highest distance, 0 without a check, and highest age of the average. */
  readonly averageCheck: { readonly toleranceBps: bigint; readonly maxAgeSec: bigint }
  /** Entries whose product is the average, as `scopeChain`. */
  readonly averageChain: readonly number[]
}

/** One entry of a Scope feed: `value / 10^exponent`. */
export interface ScopeEntry {
  readonly value: bigint
  readonly exponent: bigint
  readonly timestampSec: bigint
}

const SCOPE = { count: 512, at: 40, size: 56 }
/** Indexes of a chain of entries. */
const CHAIN = [0, 1, 2, 3]
const KEY_NONE = base58.encode(new Uint8Array(32))
/** The key that stands for no account: "nu" and ones. */
const KEY_NULL = 'nu11111111111111111111111111111111111111111'

/** Decodes the bytes of a reserve that passed `matchesAccountKind`. */
export function decodePricedReserve(data: Uint8Array): PricedReserve {
  const bytes = createByteReader(data)
  return {
    market: bytes.key(32),
    mint: bytes.key(128),
    decimals: Number(bytes.u64(272)),
    emergencyMode: bytes.u8(4864) !== 0,
    priceSf: bytes.u128(248),
    priceTimestampSec: bytes.u64(264),
    priceStatus: bytes.u8(25),
    maxPriceAgeSec: bytes.u64(5096),
    priceBounds: { lower: bytes.u64(5064), upper: bytes.u64(5072), exponent: bytes.u64(5080) },
    priceBlocked: bytes.u8(5256) !== 0,
    scopeFeed: bytes.key(5112),
    scopeChain: CHAIN.map((index) => bytes.u16(5144 + 2 * index)),
    averageCheck: { toleranceBps: bytes.u64(5088), maxAgeSec: bytes.u64(5104) },
    averageChain: CHAIN.map((index) => bytes.u16(5152 + 2 * index)),
  }
}

/** Lists the entries of a chain whose product is a price: all before the first index out of range. */
function listEntryIndexes(chain: readonly number[]): readonly number[] {
  const end = chain.findIndex((index) => index >= SCOPE.count)
  return chain.slice(0, end < 0 ? undefined : end)
}

/** Reads the entries whose product is a reserve's price, or its average; empty if its feed is unusable or not Scope's. */
export function readScopeEntries(
  accounts: ReadonlyMap<string, SolanaAccount | null>,
  reserve: PricedReserve,
  { scopeProgramId }: KaminoProgram,
  chain: 'scopeChain' | 'averageChain' = 'scopeChain',
): readonly (ScopeEntry | undefined)[] {
  const feed = findScopeFeed(reserve)
  const account = feed === undefined ? undefined : accounts.get(feed)
  if (account?.owner !== scopeProgramId || !matchesAccountKind(SCOPE_PRICES_KIND, account.data)) return []
  return listEntryIndexes(reserve[chain]).map((index) => decodeScopeEntry(account.data, index))
}

/** Decodes one entry of a Scope feed whose bytes passed `matchesAccountKind`; undefined past its end. */
export function decodeScopeEntry(data: Uint8Array, index: number): ScopeEntry | undefined {
  if (index >= SCOPE.count) return undefined
  const bytes = createByteReader(data)
  const at = SCOPE.at + SCOPE.size * index
  return { value: bytes.u64(at), exponent: bytes.u64(at + 8), timestampSec: bytes.u64(at + 24) }
}

/** Finds the feed that prices a reserve; undefined if it has no feed or its chain of entries was never set. */
export function findScopeFeed({
  scopeFeed,
  scopeChain,
}: Pick<PricedReserve, 'scopeFeed' | 'scopeChain'>): string | undefined {
  const [first = SCOPE.count] = scopeChain
  const isNamed = scopeFeed !== KEY_NONE && scopeFeed !== KEY_NULL
  const isSet = first < SCOPE.count && scopeChain.some((entry) => entry !== 0)
  return isNamed && isSet ? scopeFeed : undefined
}

/** Most decimals of one Scope entry or of a bound: the program itself rejects more. */
const EXPONENT_MAX = 36n
/** How far the cluster's clock may lag the clock of a feed's publisher, seconds. */
const FUTURE_SEC_MAX = 60n

/** Checks of a cached price, as bits stored by the program. */
const PRICE_LOADED = 1
const AGE_CHECKED = 2
const WITHIN_BOUNDS = 16
const USAGE_ALLOWED = 32
/**
 * The checks that a price must have passed. The two checks against the average (4 and 8) are not required: if they
 * fail, the program blocks borrowing and withdrawals, but still values obligations at this price and liquidates them.
 * Callers need health figures most when prices move fast.
 */
const CHECKS_NEEDED = PRICE_LOADED | AGE_CHECKED | WITHIN_BOUNDS | USAGE_ALLOWED

/** The two checks against the average: its distance and its age. */
const AVERAGE_CHECKS = 4 | 8

/** A reserve's price and its source, or why it has none. Prices are US dollars per whole token, above zero. */
type ReservePrice =
  | { readonly kind: 'live' | 'cached'; readonly price: Rational }
  | { readonly kind: 'none'; readonly problem: string }

/** A price and the time of its update. */
interface DatedPrice {
  readonly price: Rational
  /** Unix seconds. */
  readonly timestampSec: bigint
}

/**
 * Computes the price at which the program would value a reserve's token: from the live feed or, if that is missing or
 * too old, the price stored in the reserve. A price does not count if the program would reject it: older than the
 * reserve allows by the cluster's clock, outside the reserve's bounds, blocked, or in a reserve in emergency mode.
 * Source: klend `utils/prices/checks.rs` and `refresh_reserve`.
 */
export function computeReservePrice(
  reserve: PricedReserve,
  { entries, nowSec }: { readonly entries: readonly (ScopeEntry | undefined)[]; readonly nowSec: bigint },
): ReservePrice {
  if (reserve.priceBlocked || reserve.emergencyMode) return noPrice('is blocked by its market')
  const livePrice = computeScopePrice(entries, nowSec)
  // As in the program: a live price may be as old as the limit, a cached one must be younger.
  if (livePrice !== undefined && nowSec - livePrice.timestampSec <= reserve.maxPriceAgeSec) {
    return isWithinBounds(livePrice.price, reserve)
      ? { kind: 'live', price: livePrice.price }
      : noPrice('is out of its bounds')
  }
  const reservePrice = readCachedPrice(reserve, nowSec)
  if (reservePrice === undefined || nowSec - reservePrice.timestampSec >= reserve.maxPriceAgeSec) {
    return noPrice('is missing or too old')
  }
  return isWithinBounds(reservePrice.price, reserve)
    ? { kind: 'cached', price: reservePrice.price }
    : noPrice('is out of its bounds')
}

/**
 * True if a reserve's price also passes the checks against its average, without which the program lends nothing and lets
 * nothing out that backs a debt. Source: klend `utils/prices/checks.rs`, `check_twap_in_tolerance`.
 */
export function isSteadyPrice(
  reserve: PricedReserve,
  { kind, price }: Exclude<ReservePrice, { readonly kind: 'none' }>,
  { entries, nowSec }: { readonly entries: readonly (ScopeEntry | undefined)[]; readonly nowSec: bigint },
): boolean {
  const { toleranceBps, maxAgeSec } = reserve.averageCheck
  if (kind === 'cached') return (reserve.priceStatus & AVERAGE_CHECKS) === AVERAGE_CHECKS
  if (toleranceBps === 0n) return true
  const average = computeScopePrice(entries, nowSec)
  if (average === undefined || nowSec - average.timestampSec > maxAgeSec) return false
  const current = price.numerator * average.price.denominator
  const distance = current - average.price.numerator * price.denominator
  return (distance < 0n ? -distance : distance) * 10_000n < current * toleranceBps
}

/**
 * Computes the product of a chain of entries, as old as the oldest of them. Undefined if an entry is missing, zero, in
 * the future or has too many decimals.
 */
export function computeScopePrice(
  entries: readonly (ScopeEntry | undefined)[],
  nowSec: bigint,
): DatedPrice | undefined {
  let [numerator, denominator, oldestSec]: [bigint, bigint, bigint | undefined] = [1n, 1n, undefined]
  for (const entry of entries) {
    if (entry === undefined || entry.value === 0n || entry.exponent > EXPONENT_MAX) return undefined
    if (entry.timestampSec > nowSec + FUTURE_SEC_MAX) return undefined
    numerator *= entry.value
    denominator *= pow10(Number(entry.exponent))
    oldestSec = oldestSec === undefined ? entry.timestampSec : minBigint(oldestSec, entry.timestampSec)
  }
  return oldestSec === undefined ? undefined : { price: rational(numerator, denominator), timestampSec: oldestSec }
}

/** Reads the price that the program last stored in the reserve; undefined without one or if it failed a check. */
export function readCachedPrice(
  { priceSf, priceStatus, priceTimestampSec }: PricedReserve,
  nowSec: bigint,
): DatedPrice | undefined {
  if (priceSf === 0n || (priceStatus & CHECKS_NEEDED) !== CHECKS_NEEDED) return undefined
  if (priceTimestampSec > nowSec + FUTURE_SEC_MAX) return undefined
  return { price: rational(priceSf, Q60), timestampSec: priceTimestampSec }
}

/** True if a price is within the reserve's bounds, compared in the program's fixed point. */
function isWithinBounds({ numerator, denominator }: Rational, { priceBounds }: PricedReserve): boolean {
  const { lower, upper, exponent } = priceBounds
  if (lower === 0n && upper === 0n) return true
  if (exponent > EXPONENT_MAX) return false
  const priceSf = (numerator * Q60) / denominator
  const toBoundSf = (value: bigint) => (value * Q60) / pow10(Number(exponent))
  return (lower === 0n || priceSf >= toBoundSf(lower)) && (upper === 0n || priceSf <= toBoundSf(upper))
}

function noPrice(problem: string): ReservePrice {
  return { kind: 'none', problem }
}

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
