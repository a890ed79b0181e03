import { safeBorrowUsd } from '../../../finance/math/lending.ts'
import { minBigint, mulDivDown, pow10, WAD } from '../../../lib/number/fixed_point.ts'
import { compareRational, type Rational, rational, ZERO } from '../../../lib/number/rational.ts'
import { type Account, computeSuppliedValue, computeTotals, getLiquidationThreshold, hasLtv } from './account.ts'
import { computePayable, isRefused, LOAN_LIMITS } from './rule.ts'

/**
 * US dollars that can still be borrowed before the health factor falls to `target`, the account's maximum LTV is
 * reached or, in isolation mode, the collateral's debt ceiling; 0 if no reserve lends to this account or the sentinel of
 * the sequencer refuses loans. What the pool of one asset can lend and that asset's borrow cap bound it only where the
 * account may borrow nothing else, because no asset is named.
 *
 * @figure safeBorrowAmountUSD
 * @source Aave V3 `ValidationLogic.validateBorrow`
 * @proof test/unit/family/aave_v3/math_test.ts, test/contract/family/aave_v3/executed_test.ts
 */
export function safeBorrow(account: Account, target: Rational): Rational {
  if (isRefused('loan', account)) return ZERO
  return LOAN_LIMITS.reduce(
    (least, { room }) => {
      const bound = room(account)
      return bound !== undefined && compareRational(bound, least) < 0 ? bound : least
    },
    safeBorrowUsd(computeTotals(account), target),
  )
}

/**
 * US dollars of collateral that can be taken out before the health factor falls to `target`. Collateral without LTV
 * goes first, because the pool lets nothing else go before it. The rest goes in proportion. An asset counts up to what
 * its pool can pay; a paused one counts 0. Without debt the result is all that the pools can pay.
 *
 * @figure safeWithdrawAmountUSD
 * @source Aave V3 `ValidationLogic.validateHFAndLtv`
 * @proof test/unit/family/aave_v3/math_test.ts, test/contract/family/aave_v3/executed_test.ts
 */
export function safeWithdraw(account: Account, target: Rational): Rational {
  const { data, unit } = account
  const collaterals = listCollaterals(account)
  const perUsd = unit * WAD
  if (data.totalDebt === 0n) {
    return rational(
      collaterals.reduce((sum, { payable }) => sum + payable * WAD, 0n),
      perUsd,
    )
  }
  const limit = computeTotals(account).liquidationLimit
  const computeWeight = (group: readonly Collateral[]): bigint =>
    group.reduce((sum, { value, thresholdBps }) => sum + value * thresholdBps, 0n)
  const whole = computeWeight(collaterals)
  if (limit === 0n || whole === 0n) return ZERO
  // In units of limit × target's denominator.
  let room = limit * target.denominator - target.numerator * data.totalDebt * WAD
  let taken = 0n
  for (const hasLtv of [false, true]) {
    const group = collaterals.filter((each) => each.hasLtv === hasLtv)
    if (room <= 0n) break
    const groupLimit = (limit * target.denominator * computeWeight(group)) / whole
    const isAll = room >= groupLimit
    const computePart = ({ value, payable }: Collateral): bigint => {
      const proportional = isAll ? value * WAD : (value * WAD * room) / groupLimit
      return minBigint(proportional, payable * WAD)
    }
    taken += group.reduce((sum, each) => sum + computePart(each), 0n)
    if (!isAll || group.some(({ value, payable }) => payable < value)) break
    room -= groupLimit
  }
  return rational(taken, perUsd)
}

/** An asset that backs an account's debt. */
interface Collateral {
  /** Market units. */
  readonly value: bigint
  /** The part of `value` that the pool can pay out now. */
  readonly payable: bigint
  readonly thresholdBps: bigint
  readonly hasLtv: boolean
}

/** Lists the assets that back an account's debt. */
function listCollaterals(account: Account): Collateral[] {
  return account.assets
    .filter(({ isCollateral, supplied }) => isCollateral && supplied > 0n)
    .map((asset) => {
      const { reserve, price } = asset
      return {
        value: computeSuppliedValue(asset),
        payable: mulDivDown(computePayable(asset), price, pow10(reserve.decimals)),
        thresholdBps: getLiquidationThreshold(reserve, account),
        hasLtv: hasLtv(reserve, account),
      }
    })
    .filter(({ thresholdBps }) => thresholdBps > 0n || account.features.zeroLtvEModes)
}
