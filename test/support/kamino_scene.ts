import {
  type BorrowFixture,
  type DepositFixture,
  type MarketFixture,
  marketBytes,
  obligationBytes,
  type ReserveFixture,
  reserveBytes,
  SCOPE,
  type ScopeFixture,
  type ServedAccounts,
  SF,
  scopeBytes,
  sf,
  toFakeAddress,
  toServedAccount,
} from './kamino.ts'

/** Addresses of the scene. */
export const WALLET = toFakeAddress('wallet')
export const MARKET = toFakeAddress('market')
export const OBLIGATION = toFakeAddress('obligation')
export const SOL = toFakeAddress('SOL reserve')
export const USDC = toFakeAddress('USDC reserve')
export const FEED = toFakeAddress('Scope feed')
/** Mints of SOL and USDC, as on mainnet. */
export const SOL_MINT = 'So11111111111111111111111111111111111111112'
export const USDC_MINT = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'

/** Slot at which the scene's reserves were last refreshed; read there, no interest is added. */
export const SLOT = 350_000_000
/** How old a price of the scene may be. */
export const MAX_PRICE_AGE_SEC = 120n

/** When the scene's feed was last written, Unix seconds: now, and so within a reserve's maximum age for a minute. */
function now(): bigint {
  return BigInt(Math.floor(Date.now() / 1000))
}

/** What differs from the usual scene. */
export interface SceneChanges {
  readonly sol?: Omit<ReserveFixture, 'market'>
  readonly usdc?: Omit<ReserveFixture, 'market'>
  readonly market?: MarketFixture
  readonly elevationGroup?: number
  readonly deposits?: readonly DepositFixture[]
  readonly borrows?: readonly BorrowFixture[]
  /** Their default time is that of `at`. */
  readonly prices?: readonly ScopeFixture[]
}

/** The moment of a scene. */
export interface SceneTime {
  /** Slot at which reserves and obligation were last refreshed. */
  readonly slot?: number
  /** When all prices were written, live and cached, Unix seconds. */
  readonly pricedAtSec?: bigint
}

/** Rates of the scene: 10 % at 80 % used, 100 % at all of it; SOL is half used, USDC four fifths. */
const CURVE: readonly (readonly [number, number])[] = [
  [0, 0],
  [8_000, 1_000],
  [10_000, 10_000],
]

/**
 * A market with SOL at 150 and USDC at 1 dollar by a live Scope feed, and an obligation with 100 SOL (maximum
 * loan-to-value 75 %, threshold 80 %) against 6,000 USDC: loan-to-value 40 %, health factor 2.
 */
export function scene(changes: SceneChanges = {}, time: SceneTime = {}): ServedAccounts {
  const { deposits, borrows, prices = [] } = changes
  const { slot = SLOT, pricedAtSec = now() } = time
  const refreshed = {
    lastUpdateSlot: BigInt(slot),
    lastUpdateTimestampSec: pricedAtSec,
    priceTimestampSec: pricedAtSec,
    maxPriceAgeSec: MAX_PRICE_AGE_SEC,
  }
  return {
    [MARKET]: toServedAccount(marketBytes({ name: 'Main', ...changes.market })),
    [SOL]: toServedAccount(
      reserveBytes({
        market: MARKET,
        ...refreshed,
        name: 'SOL',
        mint: SOL_MINT,
        decimals: 9,
        availableAmount: 5_000n * 10n ** 9n,
        borrowedSf: 5_000n * 10n ** 9n * SF,
        collateralSupply: 10_000n * 10n ** 9n,
        priceSf: sf('140'),
        protocolTakeRatePct: 20,
        maxLtvPct: 75,
        liquidationThresholdPct: 80,
        curve: CURVE,
        scopeFeed: FEED,
        scopeChain: [7],
        ...changes.sol,
      }),
    ),
    [USDC]: toServedAccount(
      reserveBytes({
        market: MARKET,
        ...refreshed,
        name: 'USDC',
        mint: USDC_MINT,
        decimals: 6,
        availableAmount: 200_000n * 10n ** 6n,
        borrowedSf: 800_000n * 10n ** 6n * SF,
        collateralSupply: 1_000_000n * 10n ** 6n,
        priceSf: sf('1'),
        protocolTakeRatePct: 10,
        maxLtvPct: 80,
        liquidationThresholdPct: 90,
        curve: CURVE,
        scopeFeed: FEED,
        scopeChain: [13],
        ...changes.usdc,
      }),
    ),
    [FEED]: toServedAccount(
      scopeBytes([
        { index: 7, value: 150_00000000n, exponent: 8n, timestampSec: pricedAtSec },
        { index: 13, value: 1_000_000n, exponent: 6n, timestampSec: pricedAtSec },
        ...prices.map((price) => ({ timestampSec: pricedAtSec, ...price })),
      ]),
      SCOPE,
    ),
    [OBLIGATION]: toServedAccount(
      obligationBytes({
        market: MARKET,
        owner: WALLET,
        elevationGroup: changes.elevationGroup ?? 0,
        lastUpdateSlot: BigInt(slot),
        deposits: deposits ?? [{ reserve: SOL, collateralAmount: 100n * 10n ** 9n }],
        borrows: borrows ?? [{ reserve: USDC, amountSf: 6_000n * 10n ** 6n * SF }],
      }),
    ),
  }
}
