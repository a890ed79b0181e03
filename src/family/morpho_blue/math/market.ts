import type { Hex } from 'viem'
import type { BoundlessRatio, LendingPosition } from '../../../finance/math/lending.ts'
import { apyFromContinuousApr, RAY, SECONDS_PER_YEAR } from '../../../finance/math/rate.ts'
import { mulDivDown, mulDivUp, pow10, WAD } from '../../../lib/number/fixed_point.ts'
import { type Rational, rational } from '../../../lib/number/rational.ts'
import { estimateLiquidatable } from '../../lending/watched.ts'
import type { MarketState, StoredPosition } from './state.ts'

/** Scale of an oracle's price, beyond the difference of both tokens' decimals. */
export const ORACLE_SCALE = pow10(36)
/** Highest accepted rate per second: a hundred times the capital in a year, twelve times Morpho's own limit. */
export const RATE_WAD_MAX = (100n * WAD) / SECONDS_PER_YEAR

/** Virtual shares and assets that Morpho adds to every market, so that the first shares have a price. */
const VIRTUAL_SHARES = 1_000_000n
const VIRTUAL_ASSETS = 1n
const RAY_PER_WAD = RAY / WAD

/** Result of an accrual: the market after it, and the supply shares minted to the fee recipient. */
interface Accrual {
  readonly market: MarketState
  readonly feeShares: bigint
}

/**
 * A market with its interest up to `timestampSec`, at the average rate per second since the last accrual.
 * Source: Morpho.sol `_accrueInterest`, to the wei. Throws `RangeError` for a time before the last accrual.
 *
 * @figure morpho-blue/weighted_supply_apy, morpho-blue/weighted_borrow_apy, morpho-blue/net_apy
 * @proof test/unit/family/morpho_blue/math_test.ts
 */
export function accrue(
  market: MarketState,
  { averageRateWad, timestampSec }: { readonly averageRateWad: bigint; readonly timestampSec: bigint },
): Accrual {
  const elapsedSec = timestampSec - market.lastUpdateSec
  if (elapsedSec < 0n) throw new RangeError('Cannot accrue interest back in time')
  const interest = mulDivDown(market.totalBorrowAssets, growthWad(averageRateWad * elapsedSec), WAD)
  const totalSupplyAssets = market.totalSupplyAssets + interest
  const feeAmount = mulDivDown(interest, market.feeWad, WAD)
  // The shares are priced without the fee, because the total already holds all of the interest.
  const feeShares = toShares(feeAmount, { ...market, totalSupplyAssets: totalSupplyAssets - feeAmount })
  return {
    market: {
      ...market,
      totalSupplyAssets,
      totalSupplyShares: market.totalSupplyShares + feeShares,
      totalBorrowAssets: market.totalBorrowAssets + interest,
      lastUpdateSec: timestampSec,
    },
    feeShares,
  }
}

/**
 * A position in raw units of the loan token: what could be withdrawn, and what must be repaid. Answers show it ÷
 * 10^decimals of the token, and collateral as Morpho stores it.
 *
 * @figure morpho-blue/amount
 * @source Morpho `SharesMathLib.toAssetsDown`, `toAssetsUp`
 * @proof test/unit/family/morpho_blue/math_test.ts, test/contract/family/morpho_blue/list/list_test.ts
 */
export function toAssets(
  { supplyShares, borrowShares }: Pick<StoredPosition, 'supplyShares' | 'borrowShares'>,
  market: MarketState,
): { readonly supplied: bigint; readonly owed: bigint } {
  const { totalSupplyAssets, totalSupplyShares, totalBorrowAssets, totalBorrowShares } = market
  return {
    supplied: mulDivDown(supplyShares, totalSupplyAssets + VIRTUAL_ASSETS, totalSupplyShares + VIRTUAL_SHARES),
    owed: mulDivUp(borrowShares, totalBorrowAssets + VIRTUAL_ASSETS, totalBorrowShares + VIRTUAL_SHARES),
  }
}

/**
 * What borrowers pay in a year at a rate per second (18 decimals) compounded continuously, ray.
 *
 * @figure morpho-blue/weighted_borrow_apy, morpho-blue/borrowAPY
 * @source Morpho Blue SDK `MarketUtils.rateToApy`
 * @proof test/unit/family/morpho_blue/math_test.ts
 */
export function borrowApyRay(rateWad: bigint): bigint {
  return apyFromContinuousApr(rateWad * SECONDS_PER_YEAR * RAY_PER_WAD)
}

/**
 * What suppliers earn in a year, ray: the borrowers' rate × utilization, without the fee.
 *
 * @figure morpho-blue/weighted_supply_apy, morpho-blue/supplyAPY
 * @source Morpho Blue SDK `Market.supplyApy`
 * @proof test/unit/family/morpho_blue/math_test.ts
 */
export function supplyApyRay(rateWad: bigint, market: MarketState): bigint {
  const { totalBorrowAssets, totalSupplyAssets, feeWad } = market
  if (totalSupplyAssets === 0n) return 0n
  const yearlyRay = rateWad * SECONDS_PER_YEAR * RAY_PER_WAD
  return apyFromContinuousApr((yearlyRay * totalBorrowAssets * (WAD - feeWad)) / (totalSupplyAssets * WAD))
}

/** Inputs of the health factor of a position in one isolated market. */
interface Health {
  readonly collateral: bigint
  /** Has no effect without collateral. */
  readonly oraclePrice: bigint
  readonly lltvWad: bigint
  /** Debt, accrued, raw units of the loan token. */
  readonly owed: bigint
}

/**
 * The health factor in an isolated market: collateral × oracle price × liquidation loan-to-value ÷ debt. The dividend is
 * in raw units of the loan token, rounded down as the contract does. `max` without debt. Below 1 exactly if the
 * position can be liquidated.
 *
 * @figure morpho-blue/healthFactor
 * @source Morpho.sol `_isHealthy`
 * @proof test/unit/family/morpho_blue/math_test.ts, test/contract/family/morpho_blue/list/list_test.ts
 */
export function healthFactor({ collateral, oraclePrice, lltvWad, owed }: Health): BoundlessRatio {
  if (owed === 0n) return 'max'
  const worth = mulDivDown(collateral, oraclePrice, ORACLE_SCALE)
  return rational(mulDivDown(worth, lltvWad, WAD), owed)
}

/** Inputs of the value of a position. */
interface Valuation extends Health {
  readonly supplied: bigint
  /** US dollars per raw unit of the loan token. */
  readonly loanUsd: Rational
  readonly supplyApyRay: bigint
  readonly borrowApyRay: bigint
}

/**
 * Money without rounding: the loan token at its price, the collateral at the oracle's price in the loan token.
 * Collateral earns nothing, but counts as supplied. Morpho has the same limit for liquidation and for borrowing.
 *
 * @figure morpho-blue/totalCollateralUSD, morpho-blue/totalDebtUSD, morpho-blue/netWorthUSD, morpho-blue/amountSuppliedUSD, morpho-blue/amountBorrowedUSD
 * @source Morpho.sol `_isHealthy`; the price of the loan token as of all tokens
 * @proof test/unit/family/morpho_blue/math_test.ts, test/contract/family/morpho_blue/list/list_test.ts
 */
export function valuePosition(position: Valuation): LendingPosition {
  const { collateral: amount, oraclePrice, lltvWad, loanUsd } = position
  const scale = ORACLE_SCALE * WAD
  const lent = position.supplied * loanUsd.numerator * scale
  const debt = position.owed * loanUsd.numerator * scale
  const collateral = amount * oraclePrice * loanUsd.numerator * WAD
  const limit = (collateral * lltvWad) / WAD
  return {
    totals: {
      perUsd: loanUsd.denominator * scale,
      supplied: lent + collateral,
      collateral,
      debt,
      riskDebt: debt,
      liquidationLimit: limit,
      borrowLimit: limit,
    },
    supplies: [
      { value: lent, apyRay: position.supplyApyRay },
      { value: collateral, apyRay: 0n },
    ],
    borrows: [{ value: debt, apyRay: position.borrowApyRay }],
  }
}

/** A position and its market at the last read. */
export interface MarketMemo extends Pick<Valuation, 'lltvWad' | 'supplied' | 'owed' | 'collateral'> {
  readonly marketId: Hex
  readonly market: MarketState
}

/** The current state of a market. */
export interface MarketNow {
  readonly market: MarketState
  readonly oraclePrice: bigint | undefined
  /** US dollars per raw unit of the loan token; undefined without a price. */
  readonly loanUsd: Rational | undefined
}

/** Approximate figures of an unchanged position: its shares at the current totals of the market. */
export function forecast({ lltvWad, collateral, ...memo }: MarketMemo, now: MarketNow) {
  const { totalSupplyAssets, totalSupplyShares, totalBorrowAssets, totalBorrowShares } = memo.market
  const position = {
    supplyShares: mulDivDown(memo.supplied, totalSupplyShares + VIRTUAL_SHARES, totalSupplyAssets + VIRTUAL_ASSETS),
    borrowShares: mulDivUp(memo.owed, totalBorrowShares + VIRTUAL_SHARES, totalBorrowAssets + VIRTUAL_ASSETS),
  }
  const { supplied, owed } = toAssets(position, now.market)
  const { oraclePrice = 0n, loanUsd } = now
  if (collateral > 0n && oraclePrice === 0n) return undefined
  const inputs = { supplied, owed, collateral, oraclePrice, lltvWad }
  const yields = { supplyApyRay: 0n, borrowApyRay: 0n }
  const health = healthFactor(inputs)
  return {
    healthFactor: health,
    isLiquidatable: estimateLiquidatable(health),
    dueInSec: 'max' as const,
    totals: loanUsd === undefined ? undefined : valuePosition({ ...inputs, ...yields, loanUsd }).totals,
  }
}

/** Amount the market can lend or pay out now, raw units of the loan token. */
export function computeIdleLiquidity({ totalSupplyAssets, totalBorrowAssets }: MarketState): bigint {
  return totalSupplyAssets > totalBorrowAssets ? totalSupplyAssets - totalBorrowAssets : 0n
}

/** e^x − 1 by the first three terms of its series, 18 decimals, rounded down at each. */
function growthWad(exponentWad: bigint): bigint {
  const second = mulDivDown(exponentWad, exponentWad, 2n * WAD)
  const third = mulDivDown(second, exponentWad, 3n * WAD)
  return exponentWad + second + third
}

function toShares(
  assets: bigint,
  { totalSupplyAssets, totalSupplyShares }: Pick<MarketState, 'totalSupplyAssets' | 'totalSupplyShares'>,
): bigint {
  return mulDivDown(assets, totalSupplyShares + VIRTUAL_SHARES, totalSupplyAssets + VIRTUAL_ASSETS)
}
