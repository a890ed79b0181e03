import type { Address } from 'viem'
import { healthFactor, type LendingTotals } from '../../../finance/math/lending.ts'
import { pow10 } from '../../../lib/number/fixed_point.ts'
import { estimateLiquidatable } from '../../lending/watched.ts'
import { type Account, type Asset, getLiquidationThreshold, type Reserve } from './account.ts'

const BPS = 10_000n
/** Decimals to which amounts of all reserves are scaled. */
const SCALE = 36
/** Below this total in market units, a thousandth of a cent, the pool's rounding decides figures. */
const DUST = 1_000n

/** An account as last read, from which new prices give new figures. */
export interface AccountMemo {
  readonly market: string
  /** Market units of one US dollar. */
  readonly unit: bigint
  readonly legs: readonly MemoLeg[]
}

/** An account's holding of one reserve, in 10^-36 of a whole token. */
interface MemoLeg {
  readonly asset: Address
  readonly supplied: bigint
  readonly debt: bigint
  /** Hundredths of a percent; 0 if it backs no debt. */
  readonly thresholdBps: bigint
  readonly isCollateral: boolean
}

/** Memo of a wallet without any position. */
export const NO_LEGS: AccountMemo = { market: '', unit: 1n, legs: [] }

type NamedAccount = Account<Reserve & { readonly asset: Address }> & { readonly market: string }

/**
 * Memo of an account; undefined if its figures cannot be forecast: its prices are not those of its reserves, as in some
 * old eModes, or it is dust.
 */
export function createMemo(account: NamedAccount): AccountMemo | undefined {
  const { market, unit, assets, category, data } = account
  const isDust = [data.totalCollateral, data.totalDebt].some((total) => total > 0n && total < DUST)
  if (isDust || (category?.price ?? 0n) > 0n) return undefined
  return { market, unit, legs: assets.map((asset) => toLeg(asset, account)) }
}

function toLeg(
  { reserve, supplied, variableDebt, stableDebt, isCollateral }: Asset<Reserve & { readonly asset: Address }>,
  account: NamedAccount,
): MemoLeg {
  const scale = (amount: bigint): bigint => (amount * pow10(SCALE)) / pow10(reserve.decimals)
  const thresholdBps = getLiquidationThreshold(reserve, account)
  return {
    asset: reserve.asset,
    supplied: scale(supplied),
    debt: scale(variableDebt + stableDebt),
    thresholdBps: isCollateral ? thresholdBps : 0n,
    isCollateral: isCollateral && (thresholdBps > 0n || account.features.zeroLtvEModes),
  }
}

/**
 * Approximate totals of an account at these prices, market units for a whole token. Ignores interest since the last
 * read (negligible near a threshold) and governance changes. Undefined if a price is missing.
 */
export function forecast({ unit, legs }: AccountMemo, prices: ReadonlyMap<Address, bigint>) {
  let [supplied, collateral, debt, limit] = [0n, 0n, 0n, 0n]
  for (const leg of legs) {
    const price = prices.get(leg.asset)
    if (price === undefined) return undefined
    if (leg.supplied > 0n) {
      const value = leg.supplied * price
      supplied += value
      if (leg.isCollateral) collateral += value
      if (leg.thresholdBps > 0n) limit += value * leg.thresholdBps
    }
    if (leg.debt > 0n) debt += leg.debt * price
  }
  const liquidationLimit = limit / BPS
  const totals: LendingTotals = {
    perUsd: unit * pow10(SCALE),
    supplied,
    collateral,
    debt,
    riskDebt: debt,
    liquidationLimit,
    borrowLimit: liquidationLimit,
  }
  const health = healthFactor(totals)
  return { totals, healthFactor: health, isLiquidatable: estimateLiquidatable(health), dueInSec: 'max' as const }
}
