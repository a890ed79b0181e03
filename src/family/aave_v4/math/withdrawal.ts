import { safeBorrowUsd, safeWithdrawUsd } from '../../../finance/math/lending.ts'
import { RAY } from '../../../finance/math/rate.ts'
import type { Withdrawable, WithdrawalLimit } from '../../../finance/withdrawable.ts'
import { minBigint, WAD } from '../../../lib/number/fixed_point.ts'
import { compareRational, type Rational, rational, ZERO } from '../../../lib/number/rational.ts'
import {
  type Account,
  type Asset,
  computeHealthFactor,
  computeNextHealthFactor,
  computePosition,
  computeRemaining,
  computeRiskPremium,
  findPremiumRefusal,
  getFactor,
  isKnownRevision,
  isPriced,
  listCollaterals,
  PER_USD,
  sumDebts,
  sumLimit,
  toValue,
  type ValuedAccount,
} from './account.ts'

/**
 * Computes what a withdrawal of one supply alone pays, token units; undefined if that is all of it. Exact to the unit. A
 * withdrawal of collateral counts all collaterals by their latest keys.
 *
 * @figure aave-v4/amount
 * @source Aave V4 `Spoke.withdraw`, `Hub.remove`, `Hub.refreshPremium`
 * @proof test/contract/family/aave_v4/vectors_test.ts
 */
export function computeWithdrawable(account: Account, asset: Asset): Withdrawable | undefined {
  const { spoke, liquidity } = asset.reserve.asset
  // Another revision may let go by other rules.
  if (!isKnownRevision(account)) return { amount: undefined, limitedBy: 'revision' }
  if (asset.reserve.isPaused) return { amount: 0n, limitedBy: 'paused' }
  if (!spoke.isActive) return { amount: 0n, limitedBy: 'inactive' }
  if (spoke.isHalted) return { amount: 0n, limitedBy: 'halted' }
  const payable = minBigint(asset.supplied, liquidity)
  const findRefusal = asset.isCollateral ? createCollateralCheck(account, asset) : () => undefined
  const first = findRefusal(minBigint(payable, 1n))
  if (first !== undefined) return { amount: 0n, limitedBy: first }
  if (findRefusal(payable) === undefined) {
    return payable < asset.supplied ? { amount: payable, limitedBy: 'liquidity' } : undefined
  }
  // The more is withdrawn, the less healthy the account and the riskier what is left.
  let [paid, refused] = [minBigint(payable, 1n), payable]
  while (refused - paid > 1n) {
    const middle = (paid + refused) / 2n
    if (findRefusal(middle) === undefined) paid = middle
    else refused = middle
  }
  return { amount: paid, limitedBy: findRefusal(refused) ?? 'health' }
}

/** Creates the check that a withdrawal of so much of a collateral passes. */
function createCollateralCheck(account: Account, asset: Asset): (withdrawn: bigint) => WithdrawalLimit | undefined {
  if (!isPriced(account)) return () => 'price'
  const debt = sumDebts(account)
  return (withdrawn) => {
    const collaterals = listCollaterals(account, 'latest', (each) =>
      each === asset ? computeRemaining(each, withdrawn) : each.supplied,
    )
    if (computeHealthFactor(collaterals, debt) < WAD) return 'health'
    return findPremiumRefusal(account, computeRiskPremium(collaterals, debt))
  }
}

/**
 * US dollars that can still be borrowed before the health factor falls to `target`, by the latest keys, which every loan
 * moves the account to; 0 if no reserve lends, the spoke refuses to move it or the contracts have another revision. No asset is named, so an asset's
 * liquidity, cap and the greatest number of debts bound nothing here.
 *
 * @figure aave-v4/safeBorrowAmountUSD
 * @source Aave V4 `Spoke.borrow`
 * @proof test/contract/family/aave_v4/vectors_test.ts
 */
export function safeBorrow(account: ValuedAccount, target: Rational): Rational {
  if (!account.terms.lends || !isKnownRevision(account)) return ZERO
  if (computeNextHealthFactor(account) === undefined) return ZERO
  const { totals } = computePosition(account)
  return safeBorrowUsd({ ...totals, liquidationLimit: totals.borrowLimit }, target)
}

/**
 * US dollars of collateral that can be taken out, in proportion, before the health factor falls to `target`, by the latest
 * keys; at most what withdrawals of each alone pay.
 *
 * @figure aave-v4/safeWithdrawAmountUSD
 * @source Aave V4 `Spoke.withdraw`
 * @proof test/contract/family/aave_v4/vectors_test.ts
 */
export function safeWithdraw(account: ValuedAccount, target: Rational): Rational {
  const collaterals = listCollaterals(account, 'latest')
  const payable = account.assets
    .filter((asset) => getFactor(asset, 'latest') > 0n)
    .reduce((sum, asset) => {
      const { amount = 0n } = computeWithdrawable(account, asset) ?? { amount: asset.supplied }
      return sum + toValue(amount, asset.reserve) * RAY
    }, 0n)
  const { totals } = computePosition(account)
  const byHealth = safeWithdrawUsd(
    {
      ...totals,
      collateral: collaterals.reduce((sum, { value }) => sum + value * RAY, 0n),
      liquidationLimit: sumLimit(collaterals),
    },
    target,
  )
  const most = rational(payable, PER_USD)
  return compareRational(byHealth, most) < 0 ? byHealth : most
}
