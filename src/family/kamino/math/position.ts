import type { LendingPosition, YieldLeg } from '../../../finance/math/lending.ts'
import { APR_RAY_MAX, apyFromApr, RAY } from '../../../finance/math/rate.ts'
import { pow10 } from '../../../lib/number/fixed_point.ts'
import { leastCommonMultiple, type Rational, rational } from '../../../lib/number/rational.ts'
import type { Borrow, ElevationGroup, Market, Obligation, Reserve } from '../read/accounts/layout.ts'
import {
  accrue,
  borrowRate,
  bpsToSf,
  computeOwed,
  type Pool,
  rewardRate,
  SF,
  supply,
  toLiquidity,
  unitsPerYear,
  utilization,
} from './accrual.ts'

/** Length of a slot in the program's yearly rates, milliseconds. */
const PROGRAM_SLOT_MS = 500n
/** Highest yearly rate of a usable curve, hundredths of a percent: a thousand times the capital. */
const RATE_BPS_MAX = 10_000_000n
/** Most decimals of a token. */
const DECIMALS_MAX = 36

/** A reserve and the price of its token. */
export interface Asset {
  readonly reserve: Reserve
  /** US dollars a whole token; above zero. */
  readonly price: Rational
  /** True if the price passes the checks against its average too, without which nothing is lent. */
  readonly isSteady: boolean
}

/** An obligation and all inputs of its figures, at one slot. */
export interface Snapshot extends Omit<ObligationState, 'reserves'> {
  /** Every reserve that the obligation supplies to or borrows from, by address. */
  readonly assets: ReadonlyMap<string, Asset>
}

/** Amount that an obligation supplies to or borrows from one reserve, with its value and yield. */
export interface AssetLeg extends YieldLeg, Asset {
  /** Of the reserve, base58. */
  readonly address: string
  readonly pool: Pool
  /** Base units of the reserve's token, Sf. */
  readonly amountSf: bigint
  /** Duration of a slot that its yield rests on, milliseconds; undefined if its reserve counts seconds. */
  readonly slotMs: number | undefined
  /** Values an amount of the reserve's token (Sf) in the unit of `LendingTotals`. */
  readonly toValue: (amountSf: bigint) => bigint
}

/** A deposit of an obligation. */
export interface Supply extends AssetLeg {
  /** The liquidation threshold that applies is above 0. */
  readonly isCollateral: boolean
  readonly groupBorrowed: bigint
  /** Its elevation group's, or its reserve's own. */
  readonly maxLtvPct: bigint
}

/** A debt of an obligation. */
export interface Debt extends AssetLeg, Pick<Borrow, 'borrowedAtSec' | 'countedOutsideGroups'> {
  /** Percentage by which risk rules count it. */
  readonly factorPct: bigint
}

/** Values and yields of an obligation, asset by asset. */
export interface ObligationPosition extends LendingPosition {
  readonly supplies: readonly Supply[]
  readonly borrows: readonly Debt[]
  /** Σ supplied × maximum loan-to-value, without the market's cap. */
  readonly ltvLimit: bigint
  /** Undefined outside all groups. */
  readonly group: ElevationGroup | undefined
}

/**
 * Values an obligation at its slot: interest as the program accrues it, then money without rounding. An elevation group
 * replaces every reserve's limits by its own and sets borrow factors to 1. Outside a group a borrow factor is at least
 * 1. The market caps the borrowing limit. Yields are those after accrual. For a reserve that accrues by slots, a slot
 * takes `slotMs` milliseconds.
 * Source: klend `refresh_obligation`. Throws `RangeError` for a snapshot that lacks a reserve or group.
 *
 * @figure maxBorrowCapacityUSD
 * @proof test/unit/family/kamino/math_test.ts
 */
export function valueObligation(snapshot: Snapshot, { slotMs }: { readonly slotMs: number }): ObligationPosition {
  const { obligation, market, slot, timestampSec, assets } = snapshot
  const group = findElevationGroup(obligation, market)
  if (group === 'unknown') throw new RangeError(`Cannot value an obligation: its elevation group is unknown`)
  const perUsd = 100n * [...assets.values()].map(unitsPerUsd).reduce(leastCommonMultiple, 1n)
  const accrueAsset = (address: string) => {
    const asset = assets.get(address)
    if (asset === undefined) throw new RangeError('Cannot value an obligation: a reserve is missing')
    const pool = accrue(asset.reserve, { slot, timestampSec, ...market })
    const toValue = (amountSf: bigint) => amountSf * asset.price.numerator * (perUsd / unitsPerUsd(asset))
    const isPerSecond = asset.reserve.accrualUnit === 'second'
    return { ...asset, address, pool, toValue, slotMs: isPerSecond ? undefined : slotMs }
  }

  const deposits = obligation.deposits.map(({ reserve: address, collateralAmount, groupBorrowed }) => {
    const asset = accrueAsset(address)
    const { maxLtvPct, liquidationThresholdPct } = group ?? asset.reserve
    const amountSf = toLiquidity(collateralAmount, asset.pool)
    return {
      ...asset,
      amountSf,
      value: asset.toValue(amountSf),
      apyRay: supplyApyRay({ ...asset, slotMs }, market),
      isCollateral: liquidationThresholdPct > 0n,
      groupBorrowed,
      maxLtvPct,
      liquidationThresholdPct,
    }
  })
  const borrows = obligation.borrows.map((borrow) => {
    const asset = accrueAsset(borrow.reserve)
    const { borrowFactorPct } = asset.reserve
    const amountSf = computeOwed(borrow, asset.pool)
    return {
      ...asset,
      amountSf,
      value: asset.toValue(amountSf),
      apyRay: borrowApyRay({ ...asset, slotMs }),
      factorPct: group !== undefined || borrowFactorPct < 100n ? 100n : borrowFactorPct,
      borrowedAtSec: borrow.borrowedAtSec,
      countedOutsideGroups: borrow.countedOutsideGroups,
    }
  })

  // `perUsd` holds a factor of 100, so that percentages divide without remainder.
  const supplied = sum(deposits, (each) => each.value)
  const ltvLimit = sum(deposits, (each) => each.value * each.maxLtvPct) / 100n
  const borrowCap = market.borrowCapUsd * perUsd
  return {
    totals: {
      perUsd,
      supplied,
      collateral: supplied,
      debt: sum(borrows, (each) => each.value),
      riskDebt: sum(borrows, (each) => each.value * each.factorPct) / 100n,
      liquidationLimit: sum(deposits, (each) => each.value * each.liquidationThresholdPct) / 100n,
      borrowLimit: ltvLimit < borrowCap ? ltvLimit : borrowCap,
    },
    supplies: deposits,
    borrows,
    ltvLimit,
    group,
  }
}

/** Finds the elevation group of an obligation: undefined outside all groups, `unknown` if its market lacks it. */
export function findElevationGroup(
  { elevationGroup: id }: Obligation,
  { elevationGroups }: Market,
): ElevationGroup | undefined | 'unknown' {
  if (id === 0) return undefined
  const group = elevationGroups[id - 1]
  return group?.id === id ? group : 'unknown'
}

/** True if the numbers of a reserve are usable. The program never writes a reserve for which this is false. */
export function isSoundReserve(reserve: Reserve): boolean {
  const { curve, protocolTakeRatePct, maxLtvPct, liquidationThresholdPct, decimals, accrualUnit } = reserve
  return (
    decimals <= DECIMALS_MAX &&
    accrualUnit !== 'unknown' &&
    protocolTakeRatePct <= 100n &&
    maxLtvPct <= 100n &&
    liquidationThresholdPct <= 100n &&
    curve[0]?.utilizationBps === 0n &&
    curve.some((point) => point.utilizationBps >= 10_000n) &&
    curve.every((point) => point.rateBps <= RATE_BPS_MAX) &&
    supply(reserve) >= 0n
  )
}

interface YieldInput {
  readonly reserve: Reserve
  readonly pool: Pool
  /** Real duration of a slot, milliseconds. */
  readonly slotMs: number
}

/** Yearly yield of suppliers, ray: their share of the curve's borrow rate (none of the host's rate), plus rewards. */
function supplyApyRay({ reserve, pool, slotMs }: YieldInput, market: Market): bigint {
  const usedSf = utilization(pool.borrowedSf, pool.supplySf)
  const rateSf = borrowRate(reserve.curve, usedSf)
  const supplierSharePct = 100n - reserve.protocolTakeRatePct
  const interest = usedSf * rateSf * supplierSharePct
  return apyRay(
    { numerator: interest + rewardRate(reserve, pool, market) * SF * 100n, denominator: SF * SF * 100n },
    { reserve, slotMs },
  )
}

/** Yearly yield that borrowers pay, ray: the curve's rate plus the host's. */
function borrowApyRay({ reserve, pool, slotMs }: YieldInput): bigint {
  const usedSf = utilization(pool.borrowedSf, pool.supplySf)
  const rateSf = borrowRate(reserve.curve, usedSf) + bpsToSf(reserve.hostFixedRateBps)
  return apyRay(rational(rateSf, SF), { reserve, slotMs })
}

/** Yearly yield (APY, ray) of a yearly rate of the program, which counts slots of its own length or real seconds. */
function apyRay(
  { numerator, denominator }: Rational,
  { reserve, slotMs }: { readonly reserve: Reserve; readonly slotMs: number },
): bigint {
  const isPerSecond = reserve.accrualUnit === 'second'
  const aprRay = isPerSecond
    ? (numerator * RAY) / denominator
    : (numerator * RAY * PROGRAM_SLOT_MS) / (denominator * BigInt(slotMs))
  return apyFromApr(aprRay > APR_RAY_MAX ? APR_RAY_MAX : aprRay, unitsPerYear(reserve))
}

/** Units per US dollar such that 2^-60 of a base unit is a whole number of units at this price. */
function unitsPerUsd({ reserve, price }: Asset): bigint {
  return SF * price.denominator * pow10(reserve.decimals)
}

function sum<T>(items: readonly T[], amount: (item: T) => bigint): bigint {
  return items.reduce((total, item) => total + amount(item), 0n)
}

/** Amount that an obligation supplies to or borrows from one reserve, base units of its token. */
export interface ObligationLeg {
  readonly kind: 'supplied' | 'borrowed'
  readonly reserve: string
  readonly amount: bigint
}

/** An obligation and the accounts that its amounts depend on, all at one slot. */
export interface ObligationState {
  readonly slot: bigint
  /** Time of the slot by the cluster's clock, Unix seconds. */
  readonly timestampSec: bigint
  readonly obligation: Obligation
  readonly market: Market
  readonly reserves: ReadonlyMap<string, Reserve>
}

/**
 * What an obligation has and owes with interest, reserve by reserve: deposits rounded down, as they are paid out, and
 * debts rounded up, as they are paid back. Throws `RangeError` if a reserve is missing.
 *
 * @figure assets/amount
 * @source klend `refresh_obligation`, `withdraw_obligation_collateral`, `repay_obligation_liquidity`
 * @proof test/contract/portfolio/solana/kamino_test.ts
 */
export function computeLegs({ slot, timestampSec, obligation, market, reserves }: ObligationState): ObligationLeg[] {
  const accruePool = (address: string) => {
    const reserve = reserves.get(address)
    if (reserve === undefined) throw new RangeError('Cannot compute the amounts of an obligation: a reserve is missing')
    return accrue(reserve, { slot, timestampSec, ...market })
  }
  const legs = [
    ...obligation.deposits.map(({ reserve, collateralAmount }): ObligationLeg => {
      const amount = toLiquidity(collateralAmount, accruePool(reserve)) / SF
      return { kind: 'supplied', reserve, amount }
    }),
    ...obligation.borrows.map((borrow): ObligationLeg => {
      const amount = (computeOwed(borrow, accruePool(borrow.reserve)) + SF - 1n) / SF
      return { kind: 'borrowed', reserve: borrow.reserve, amount }
    }),
  ]
  return legs.filter(({ amount }) => amount > 0n)
}
