import type { WithdrawalLimit } from '../../../finance/withdrawable.ts'
import { minBigint, mulDivDown, pow10, WAD } from '../../../lib/number/fixed_point.ts'
import { type Rational, rational, ZERO } from '../../../lib/number/rational.ts'
import type { LiquidationReason } from '../../lending/due.ts'
import { type Account, type Asset, getLiquidationThreshold, hasBit, type PayingReserve } from './account.ts'
import type { Lender } from './state.ts'

/*
 * Everything by which Aave V3 refuses a loan or a withdrawal, or lets any wallet liquidate: one row for each rule, with
 * its place in the contracts' source (`ValidationLogic.sol` of 3.0 and 3.6 where no other file is named). No debt has a
 * term. What bounds one asset among several that a wallet may borrow (liquidity, borrow cap) bounds no figure here,
 * because no asset is named; where only one may be borrowed, it does.
 *
 * Rules that bound a withdrawal by what stays behind (health factor, collateral without LTV first) are in `safe.ts` and
 * `withdrawal.ts`: they bound the account, not an asset.
 */

/** What a rule can refuse. */
export type Action = 'loan' | 'liquidation'

/** A rule that refuses an action altogether. */
interface Refusal {
  readonly rule: string
  readonly source: string
  readonly refuses: Action
  readonly holds: (account: Account) => boolean
}

/** A rule that bounds what can be borrowed by an account, US dollars, or withdrawn of an asset, token units. */
interface Limit<Of, Room> {
  readonly rule: string
  readonly source: string
  /** Undefined if nothing is bounded. */
  readonly room: (of: Of) => Room | undefined
}

/** Debt ceilings and debts of isolation mode are in hundredths of a US dollar. */
const ISOLATION_UNITS_PER_USD = 100n
/** Below this health factor the sentinel delays no liquidation. Source: `MINIMUM_HEALTH_FACTOR_LIQUIDATION_THRESHOLD`. */
const SENTINEL_HEALTH_WAD = (95n * WAD) / 100n

/** What refuses an action altogether. */
const REFUSALS: readonly Refusal[] = [
  {
    rule: 'sentinel',
    source: 'validateBorrow: PriceOracleSentinelCheckFailed; PriceOracleSentinel.sol, sequencer down or up too short',
    refuses: 'loan',
    holds: ({ terms }) => terms.sentinel.refusesLoans,
  },
  {
    rule: 'no_lender',
    source:
      'validateBorrow: ReserveInactive, ReservePaused, ReserveFrozen, BorrowingNotEnabled, NotBorrowableInEMode, ' +
      'AssetNotBorrowableInIsolation (before 3.7), SiloedBorrowingViolation, of every reserve',
    refuses: 'loan',
    holds: (account) => !account.terms.lenders.some((each) => mayLend(each, account)),
  },
  {
    rule: 'healthy',
    source: 'validateLiquidationCall: HealthFactorNotBelowThreshold, SpecifiedCurrencyNotBorrowedByUser',
    refuses: 'liquidation',
    holds: ({ data }) => data.totalDebt === 0n || data.healthFactorWad >= WAD,
  },
  {
    rule: 'sentinel_delays',
    source: 'validateLiquidationCall: PriceOracleSentinelCheckFailed, from a health factor of 0.95 on',
    refuses: 'liquidation',
    holds: ({ terms, data }) => terms.sentinel.delaysLiquidations && data.healthFactorWad >= SENTINEL_HEALTH_WAD,
  },
  {
    rule: 'no_collateral_to_take',
    source:
      'validateLiquidationCall: ReserveInactive, ReservePaused, LiquidationGraceSentinelCheckFailed (since 3.1), ' +
      'CollateralCannotBeLiquidated, of every collateral',
    refuses: 'liquidation',
    holds: (account) =>
      !account.assets.some(
        (asset) =>
          asset.isCollateral &&
          asset.supplied > 0n &&
          isOpenToLiquidators(asset, account) &&
          getLiquidationThreshold(asset.reserve, account) > 0n,
      ),
  },
  {
    rule: 'no_debt_to_repay',
    source:
      'validateLiquidationCall: ReserveInactive, ReservePaused, LiquidationGraceSentinelCheckFailed, of every debt',
    refuses: 'liquidation',
    holds: (account) => !account.assets.some((asset) => isOwed(asset) && isOpenToLiquidators(asset, account)),
  },
]

/** What bounds a loan, beside the health factor and the maximum LTV. */
export const LOAN_LIMITS: readonly Limit<Account, Rational>[] = [
  {
    rule: 'debt_ceiling',
    source: 'validateBorrow and IsolationModeLogic.sol: DebtCeilingExceeded, before 3.7',
    room(account) {
      const isolated = findIsolated(account)
      if (isolated === undefined) return undefined
      const { debtCeiling, isolationDebt } = isolated.reserve
      return debtCeiling <= isolationDebt ? ZERO : rational(debtCeiling - isolationDebt, ISOLATION_UNITS_PER_USD)
    },
  },
  {
    rule: 'siloed_liquidity',
    source: 'BorrowLogic.sol: a debtor of a siloed reserve borrows what its pool holds',
    room: (account) => boundBySilo(account, ({ reserve }) => reserve.withdrawable),
  },
  {
    rule: 'siloed_borrow_cap',
    source: 'validateBorrow: BorrowCapExceeded, of a siloed reserve',
    room: (account) => boundBySilo(account, ({ reserve }) => reserve.underBorrowCap),
  },
]

/** What can be withdrawn of a supply. */
export const WITHDRAWAL_LIMITS: readonly (Limit<Asset<PayingReserve>, bigint> & {
  readonly limitedBy: WithdrawalLimit
})[] = [
  {
    rule: 'paused',
    limitedBy: 'paused',
    source: 'validateWithdraw: ReservePaused; a frozen reserve pays',
    room: ({ reserve }) => (reserve.isPaused ? 0n : undefined),
  },
  {
    rule: 'inactive',
    limitedBy: 'inactive',
    source: 'validateWithdraw: ReserveInactive',
    room: ({ reserve }) => (reserve.isOpen ? undefined : 0n),
  },
  {
    rule: 'liquidity',
    limitedBy: 'liquidity',
    source: 'Pool.getVirtualUnderlyingBalance, since 3.1; before, what the supply token holds',
    room: ({ reserve }) => reserve.withdrawable,
  },
]

/** True if a rule refuses an action altogether. */
export function isRefused(action: Action, account: Account): boolean {
  return REFUSALS.some(({ refuses, holds }) => refuses === action && holds(account))
}

/** Amount of a supply that its pool lets go now, token units. */
export function computePayable(asset: Asset): bigint {
  return WITHDRAWAL_LIMITS.reduce((amount, { room }) => minBigint(amount, room(asset) ?? amount), asset.supplied)
}

/** Finds why any wallet may liquidate an account: the health factor is the only reason. */
export function findLiquidationReasons(account: Account): readonly LiquidationReason[] {
  return isRefused('liquidation', account) ? [] : ['health_factor']
}

function mayLend(lender: Lender, account: Account): boolean {
  const { category, features } = account
  if (category !== undefined) {
    const lendsInMode = features.liquidEModes
      ? hasBit(category.borrowableBitmap, lender.id)
      : lender.legacyCategory === category.id
    if (!lendsInMode) return false
  }
  // Since 3.6 an eMode lends what it names, whether or not the reserve lends outside it.
  if (!lender.isEnabled && (category === undefined || !features.zeroLtvEModes)) return false
  if (!lender.isEnabledInIsolation && findIsolated(account) !== undefined) return false
  const silo = findSilo(account)
  if (silo !== undefined) return lender.id === silo.reserve.id
  return !lender.isSiloed || !account.assets.some(isOwed)
}

/** The collateral that puts an account into isolation mode. Source: `UserConfiguration.getIsolationModeState`. */
function findIsolated({ assets, features }: Account): Asset | undefined {
  const [only, ...others] = assets.filter(({ isCollateral }) => isCollateral)
  const isIsolated = !features.isolatedEModes && others.length === 0 && only !== undefined
  return isIsolated && only.reserve.debtCeiling > 0n ? only : undefined
}

/** The only debt, if its reserve is siloed. Source: `UserConfiguration.getSiloedBorrowingState`. */
function findSilo({ assets }: Account): Asset | undefined {
  const [only, ...others] = assets.filter(isOwed)
  return only?.reserve.isSiloed === true && others.length === 0 ? only : undefined
}

function boundBySilo(account: Account, getAmount: (asset: Asset) => bigint): Rational | undefined {
  const silo = findSilo(account)
  return silo && rational(mulDivDown(getAmount(silo), silo.price, pow10(silo.reserve.decimals)), account.unit)
}

/** True if a wallet owes anything of an asset. */
export function isOwed({ variableDebt, stableDebt }: Asset<PayingReserve>): boolean {
  return variableDebt + stableDebt > 0n
}

function isOpenToLiquidators({ reserve }: Asset, { terms }: Account): boolean {
  return reserve.isOpen && reserve.graceUntilSec < terms.timestampSec
}
