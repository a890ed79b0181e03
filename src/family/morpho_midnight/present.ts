import type { LendingTotals } from '../../finance/math/lending.ts'
import { exactSum, type UsdPrice, usdValue } from '../../finance/price/price.ts'
import { type KnownTokens, spamReason } from '../../finance/token/spam.ts'
import { minBigint, pow10 } from '../../lib/number/fixed_point.ts'
import type { DebtTerm, Holding, HoldingExclusion, Payable } from '../holding.ts'
import { computeLoanPrice } from '../lending/loan_price.ts'
import { outlookLending } from '../lending/outlook.ts'
import { createWatchedLending, EMPTY_LENDING, EMPTY_TOTALS } from '../lending/watched.ts'
import type { YieldPosition } from '../lending/yield.ts'
import type { PositionOutlook } from '../outlook.ts'
import type { ConfirmedFigures } from '../watch.ts'
import { computeHealthFactor, computeMaxDebt, findLiquidationReasons, isOverdue } from './math/account.ts'
import { computeWithdrawableCollateral, computeWithdrawableCredit } from './math/withdrawal.ts'
import type { HeldMarket, MarketToken } from './read/position.ts'

/**
 * A position in a market as rows of a portfolio: its credit, its collaterals and its debt. Prices are the chain's, not the
 * market's, because any wallet can make a market. A debt is owed at par. Credit counts as far as it can be withdrawn now:
 * at par later, but it may have been bought for nothing.
 */
export function toHoldings(held: HeldMarket, known: KnownTokens): Holding[] {
  const { marketId, credit, debt, loan, collaterals } = held
  const position = { family: 'morpho-midnight', market_id: marketId }
  const toRow = (token: MarketToken, amount: bigint, part: string) => ({
    kind: 'supplied' as const,
    token,
    amount,
    price: token.price,
    position: { ...position, part },
    refused: findExclusion(token, known),
  })
  const lent = {
    ...toRow(loan, credit, 'lent'),
    payable: toPayable(held),
    sources: [[{ key: `morpho-midnight:${marketId}`, amount: held.withdrawable, reason: 'at_maturity' as const }]],
    withdrawable: computeWithdrawableCredit(credit, held),
    isCollateral: false,
  }
  const owed = {
    kind: 'borrowed' as const,
    token: loan,
    amount: debt,
    price: loan.price,
    marketPrice: findMarketPrice(held),
    position,
    term: toTerm(held),
  }
  return [
    ...(credit === 0n ? [] : [lent]),
    ...collaterals.map((collateral) => ({
      ...toRow(collateral.token, collateral.amount, `collateral-${collateral.index}`),
      withdrawable: computeWithdrawableCollateral(held, collateral),
      isCollateral: true,
    })),
    ...(debt === 0n ? [] : [owed]),
  ]
}

/** The greatest price of the loan token by the oracles of the collaterals: what pools say does not lower a debt. */
function findMarketPrice({ loan, collaterals }: HeldMarket): UsdPrice | undefined {
  const prices = collaterals.flatMap(
    ({ token: collateral, oraclePrice }) => computeLoanPrice({ loan, collateral, oraclePrice }) ?? [],
  )
  const isLess = (a: UsdPrice, b: UsdPrice) => a.units * pow10(b.scale) < b.units * pow10(a.scale)
  return prices.reduce<UsdPrice | undefined>(
    (max, each) => (max !== undefined && isLess(each, max) ? max : each),
    undefined,
  )
}

function findExclusion(token: MarketToken, known: KnownTokens): HoldingExclusion | undefined {
  const spam = spamReason(token, known)
  return spam === undefined ? undefined : { reason: 'spam', detail: spam }
}

function toPayable({ credit, withdrawable }: HeldMarket): Payable | undefined {
  if (withdrawable >= credit) return undefined
  return {
    amount: withdrawable,
    detail: `${credit} units of the loan token are owed to it at maturity, and its market can pay ${withdrawable} now`,
    reason: 'at_maturity',
  }
}

function toTerm(held: HeldMarket): DebtTerm {
  const { maturitySec, nowSec } = held
  const health = computeHealthFactor(held)
  return {
    dueAtSec: maturitySec,
    isOverdue: isOverdue(held, nowSec),
    healthFactor: health === 'max' ? undefined : health,
    liquidatableBecause: findLiquidationReasons(held, nowSec),
  }
}

/** The figures of a position that triggers watch. Money is at the chain's prices, as the rows of a portfolio have it. */
export function toConfirmedFigures(held: HeldMarket): ConfirmedFigures {
  const { debt, maturitySec, nowSec, collaterals } = held
  const isKnown = debt === 0n || computeMaxDebt(collaterals) !== undefined
  return createWatchedLending({
    healthFactor: computeHealthFactor(held),
    totals: computeTotals(held),
    isLiquidatable: isKnown ? findLiquidationReasons(held, nowSec).length > 0 : undefined,
    dueInSec: debt === 0n ? 'max' : maturitySec > nowSec ? maturitySec - nowSec : 0n,
  })
}

/** Figures of a wallet without a position in a market. */
export const EMPTY_FIGURES = createWatchedLending(EMPTY_LENDING)

/**
 * Totals of a position in US dollars, exact; undefined if anything has no price.
 *
 * @figure net_worth_usd
 * @source amount × price; credit as far as it can be withdrawn
 * @proof test/contract/family/morpho_midnight/watch_test.ts
 */
function computeTotals({ credit, withdrawable, debt, loan, collaterals }: HeldMarket): LendingTotals | undefined {
  const [lent, owed] = [computeValue(loan, minBigint(credit, withdrawable)), computeValue(loan, debt)]
  const limit = computeValue(loan, computeMaxDebt(collaterals) ?? 0n)
  const backing = collaterals.map(({ token, amount }) => computeValue(token, amount))
  if (lent === undefined || owed === undefined || limit === undefined) return undefined
  const priced = backing.filter((each) => each !== undefined)
  if (priced.length < backing.length) return undefined
  const all = [lent, owed, limit, ...priced]
  const scale = Math.max(...all.map((each) => each.scale))
  const toUnits = (values: typeof all): bigint => {
    const sum = exactSum(values)
    return sum.units * pow10(scale - sum.scale)
  }
  const [supplied, collateral, debtUnits] = [toUnits([lent, ...priced]), toUnits(priced), toUnits([owed])]
  return {
    perUsd: pow10(scale),
    supplied,
    collateral,
    debt: debtUnits,
    riskDebt: debtUnits,
    liquidationLimit: toUnits([limit]),
    borrowLimit: toUnits([limit]),
  }
}

/** Value of an amount; undefined without a price, unless there is nothing. */
function computeValue({ decimals, price }: MarketToken, amount: bigint) {
  if (amount === 0n) return { units: 0n, scale: 0 }
  return decimals === undefined || price.kind === 'missing'
    ? undefined
    : usdValue(amount, { decimals, price: price.price })
}

/** A debt is owed at par: no time adds to it, and collateral earns nothing. */
const NO_INTEREST: YieldPosition = { totals: EMPTY_TOTALS, supplies: [], borrows: [] }
const UNKNOWN_INTEREST = 'Credit earns what it was bought below par for, and that price is not read'

/** Says what is to be seen to in a market, and what it earns. */
export function outlookMarket(held: HeldMarket): PositionOutlook {
  const { marketId, loan, debt, credit, maturitySec, nowSec } = held
  return outlookLending({
    position: { family: 'morpho-midnight', market_id: marketId },
    code: 'morpho_midnight',
    title: `the Morpho Midnight market of ${loan.symbol || loan.address}`,
    healthFactor: computeHealthFactor(held),
    liquidatableBecause: findLiquidationReasons(held, nowSec),
    dueAtSec: debt === 0n ? undefined : maturitySec,
    nowSec,
    value: credit === 0n ? NO_INTEREST : UNKNOWN_INTEREST,
  })
}
