import { type LendingPosition, safeBorrowUsd, safeWithdrawUsd } from '../../../finance/math/lending.ts'
import type { Withdrawable, WithdrawalLimit } from '../../../finance/withdrawable.ts'
import { minBigint } from '../../../lib/number/fixed_point.ts'
import { addRational, compareRational, ONE, type Rational, rational, ZERO } from '../../../lib/number/rational.ts'
import { type Account, type Collateral, type Reward, toDebtValue, toLimit } from './account.ts'

/**
 * Computes what a withdrawal of the base tokens that are supplied pays: as many as the market has. Undefined if that is all.
 *
 * @figure compound-v3/amount
 * @source Comet.sol `withdrawInternal`, `withdrawBase`, `doTransferOut`
 * @proof test/contract/family/compound_v3/vectors_test.ts
 */
export function computeWithdrawableBase({ supplied, idle, isWithdrawPaused }: Account): Withdrawable | undefined {
  if (isWithdrawPaused) return { amount: 0n, limitedBy: 'paused' }
  return idle < supplied ? { amount: idle, limitedBy: 'liquidity' } : undefined
}

/**
 * Computes what a withdrawal of one collateral alone pays; undefined if that is all of it. Exact to the unit. The market
 * accrues nothing before it looks at the debt, so the debt counts by the index that it stored last.
 *
 * @figure compound-v3/amount
 * @source Comet.sol `withdrawCollateral`, `isBorrowCollateralized`
 * @proof test/unit/family/compound_v3/math_test.ts
 */
export function computeWithdrawableCollateral(account: Account, collateral: Collateral): Withdrawable | undefined {
  if (account.isWithdrawPaused) return { amount: 0n, limitedBy: 'paused' }
  const findRefusal = (withdrawn: bigint) => findWithdrawalRefusal(account, collateral, withdrawn)
  if (findRefusal(collateral.amount) === undefined) return undefined
  const first = findRefusal(0n)
  if (first !== undefined) return { amount: 0n, limitedBy: first }
  // The more is withdrawn, the less of the debt is covered.
  let [paid, refused] = [0n, collateral.amount]
  while (refused - paid > 1n) {
    const middle = (paid + refused) / 2n
    if (findRefusal(middle) === undefined) paid = middle
    else refused = middle
  }
  return { amount: paid, limitedBy: findRefusal(refused) ?? 'health' }
}

/** Finds what refuses a withdrawal: the market asks feeds one after the other, until the debt is covered. */
function findWithdrawalRefusal(
  account: Account,
  collateral: Collateral,
  withdrawn: bigint,
): WithdrawalLimit | undefined {
  const { isBorrower, storedOwed, price, collaterals } = account
  if (!isBorrower) return undefined
  if (price === undefined) return 'price'
  let uncovered = toDebtValue(storedOwed, price, account)
  for (const each of collaterals) {
    const { scale, borrowFactorWad: factorWad } = each
    const left = each.amount - (each === collateral ? withdrawn : 0n)
    if (uncovered <= 0n) return undefined
    if (left === 0n) continue
    if (each.price === undefined) return 'price'
    uncovered -= toLimit(left, each.price, { scale, factorWad })
  }
  return uncovered <= 0n ? undefined : 'health'
}

/**
 * Computes what claiming a reward pays; undefined if that is all of it. A claim pays everything or reverts.
 *
 * @figure compound-v3/amount
 * @source CometRewards.sol `claimInternal`, `doTransferOut`
 * @proof test/contract/family/compound_v3/vectors_test.ts
 */
export function computeClaimable({ amount, funds }: Reward): Withdrawable | undefined {
  return funds < amount ? { amount: 0n, limitedBy: 'liquidity' } : undefined
}

/**
 * US dollars that can still be borrowed before the health factor falls to `target` or the market's borrowing limit is
 * reached; at most what the market has, 0 while it pays out nothing.
 *
 * @figure compound-v3/safeBorrowAmountUSD
 * @source Comet.sol `withdrawBase`, `isBorrowCollateralized`
 * @proof test/unit/family/compound_v3/math_test.ts
 */
export function safeBorrow(account: Account, { totals }: LendingPosition, target: Rational): Rational {
  if (account.isWithdrawPaused) return ZERO
  return minRational(safeBorrowUsd(totals, target), toBaseUsd(account, account.idle))
}

/**
 * US dollars that can be taken out: collateral, in proportion, before the health factor falls to `target` or the borrowing
 * limit to the debt, all of it without debt; and what is supplied of the base token, at most what the market has. 0 while
 * it pays out nothing.
 *
 * @figure compound-v3/safeWithdrawAmountUSD
 * @source Comet.sol `withdrawBase`, `withdrawCollateral`
 * @proof test/unit/family/compound_v3/math_test.ts
 */
export function safeWithdraw(account: Account, { totals }: LendingPosition, target: Rational): Rational {
  if (account.isWithdrawPaused) return ZERO
  const byHealth = safeWithdrawUsd(totals, target)
  const byLimit = safeWithdrawUsd({ ...totals, liquidationLimit: totals.borrowLimit }, ONE)
  const lent = toBaseUsd(account, minBigint(account.supplied, account.idle))
  return addRational(minRational(byHealth, byLimit), lent)
}

function minRational(a: Rational, b: Rational): Rational {
  return compareRational(a, b) < 0 ? a : b
}

/** Worth of base tokens; zero without a price. */
function toBaseUsd({ base: { decimals = 0, price } }: Account, amount: bigint): Rational {
  if (price.kind === 'missing') return ZERO
  return rational(amount * price.price.units, 10n ** BigInt(price.price.scale + decimals))
}
