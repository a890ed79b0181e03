import type { BoundlessRatio, LendingPosition } from '../../../finance/math/lending.ts'
import type { UsdPrice, UsdPriceOutcome } from '../../../finance/price/price.ts'
import type { Token } from '../../../finance/token/token.ts'
import { mulDivDown, pow10, WAD } from '../../../lib/number/fixed_point.ts'
import { compareRational, ONE, rational } from '../../../lib/number/rational.ts'
import type { LiquidationReason } from '../../lending/due.ts'
import { toApyRay } from './market.ts'
import type { MarketTerms, RawCollateral } from './state.ts'

/** A token with its price by the chain's sources, or the reason why there is none. */
export interface AccountToken extends Token {
  readonly price: UsdPriceOutcome
}

/** What an account has of one collateral; the market's price is undefined if its feed has none. */
export interface Collateral extends Pick<RawCollateral, 'price' | 'scale' | 'borrowFactorWad' | 'liquidateFactorWad'> {
  readonly token: AccountToken
  /** Token units, above zero. */
  readonly amount: bigint
}

/** What claiming an account's rewards pays, if the contract has so much. */
export interface Reward {
  readonly token: AccountToken
  /** Token units. */
  readonly amount: bigint
  readonly funds: bigint
}

/** A wallet's account in a market, with interest and rewards up to the block. */
export interface Account {
  readonly base: AccountToken
  readonly terms: MarketTerms
  /** The base token by the market's feed: in dollars or, of some markets, in itself; undefined if it has none. */
  readonly price: bigint | undefined
  /** Base token units; one of both is zero. */
  readonly supplied: bigint
  readonly owed: bigint
  /** What is owed by the index that the market stored last, which alone it looks at when a collateral is withdrawn. */
  readonly storedOwed: bigint
  readonly isBorrower: boolean
  /** In the order of the market. */
  readonly collaterals: readonly Collateral[]
  /** Undefined if there is none, unknown if its contract does not answer. */
  readonly reward: Reward | 'unknown' | undefined
  /** Base tokens that the market can pay out. */
  readonly idle: bigint
  readonly isWithdrawPaused: boolean
  readonly isAbsorbPaused: boolean
}

/** Worth of a debt, 8 decimals of the market's unit, rounded down. Source: Comet.sol `signedMulPrice`. */
export function toDebtValue(owed: bigint, price: bigint, { terms }: Pick<Account, 'terms'>): bigint {
  return mulDivDown(owed, price, terms.baseScale)
}

/** What counts of a collateral, 8 decimals of the market's unit, rounded down twice. Source: Comet.sol `mulFactor`. */
export function toLimit(
  amount: bigint,
  price: bigint,
  { scale, factorWad }: Readonly<Record<'scale' | 'factorWad', bigint>>,
) {
  return mulDivDown(mulDivDown(amount, price, scale), factorWad, WAD)
}

/** Σ collateral × factor, 8 decimals of the market's unit; undefined if a feed has no price. */
function sumLimit({ collaterals }: Account, factor: 'borrowFactorWad' | 'liquidateFactorWad'): bigint | undefined {
  let sum = 0n
  for (const { amount, price, scale, [factor]: factorWad } of collaterals) {
    if (price === undefined) return undefined
    sum += toLimit(amount, price, { scale, factorWad })
  }
  return sum
}

/**
 * Σ collateral × price × liquidation factor ÷ debt, by the market's own prices, rounded where the contract rounds. The debt
 * has interest up to the block, as a liquidation accrues it; the contract's own `isLiquidatable` leaves that out.
 * Undefined for a debt if a feed has no price.
 *
 * @figure compound-v3/healthFactor
 * @source Comet.sol `absorb`, `isLiquidatable`
 * @proof test/contract/family/compound_v3/vectors_test.ts
 */
export function computeHealthFactor(account: Account): BoundlessRatio | undefined {
  const { owed, price } = account
  if (owed === 0n) return 'max'
  const limit = sumLimit(account, 'liquidateFactorWad')
  if (limit === undefined || price === undefined) return undefined
  const debt = toDebtValue(owed, price, account)
  return debt === 0n ? 'max' : rational(limit, debt)
}

/** Finds why any wallet may liquidate an account: the health factor. Without a price `absorb` reverts. */
export function findLiquidationReasons(account: Account): readonly LiquidationReason[] {
  const health = computeHealthFactor(account)
  const isHealthy = health === undefined || health === 'max' || compareRational(health, ONE) >= 0
  return isHealthy || account.isAbsorbPaused ? [] : ['health_factor']
}

/**
 * An account in US dollars without rounding: amounts by the chain's price sources, since feeds of some markets answer in
 * the base token. What can be borrowed is the market's limit in base tokens, at their price. Or why it has no value, in
 * words that follow "because".
 *
 * @figure compound-v3/totalCollateralUSD, compound-v3/totalDebtUSD, compound-v3/netWorthUSD, compound-v3/amountSuppliedUSD, compound-v3/amountBorrowedUSD
 * @source Comet.sol `isBorrowCollateralized`; prices as of all tokens
 * @proof test/contract/family/compound_v3/vectors_test.ts
 */
export function valueAccount(account: Account): LendingPosition | string {
  const { base, terms, supplied, owed, collaterals } = account
  if (supplied + owed === 0n && collaterals.length === 0) return NOTHING
  const missing = [base, ...collaterals.map(({ token }) => token)].flatMap(describeMissing)
  if (missing[0] !== undefined) return missing[0]
  const isLimited = owed > 0n || collaterals.length > 0
  const [limit, borrowLimit] = [sumLimit(account, 'liquidateFactorWad'), sumLimit(account, 'borrowFactorWad')]
  const price = isLimited ? account.price : 1n
  if (limit === undefined || borrowLimit === undefined || price === undefined) {
    return 'a price feed of the market does not answer'
  }
  const baseUsd = toUnitPrice(base)
  const unitPrices = collaterals.map(({ token }) => toUnitPrice(token))
  const scale = Math.max(baseUsd.scale, ...unitPrices.map((each) => each.scale))
  // Everything is multiplied by the market's price of the base token, by which its limits are divided.
  const toValue = (amount: bigint, unit: { readonly units: bigint; readonly scale: number }) =>
    amount * unit.units * pow10(scale - unit.scale) * price
  const values = collaterals.map(({ amount }, index) => toValue(amount, unitPrices[index] ?? baseUsd))
  const collateral = values.reduce((sum, value) => sum + value, 0n)
  const toLimitValue = (sum: bigint) => toValue(sum * terms.baseScale, baseUsd) / price
  const [lent, debt] = [toValue(supplied, baseUsd), toValue(owed, baseUsd)]
  return {
    totals: {
      perUsd: pow10(scale) * price,
      supplied: lent + collateral,
      collateral,
      debt,
      riskDebt: debt,
      liquidationLimit: toLimitValue(limit),
      borrowLimit: toLimitValue(borrowLimit),
    },
    supplies: [
      { value: lent, apyRay: toApyRay(terms.supplyRateWad) },
      ...values.map((value) => ({ value, apyRay: 0n })),
    ],
    borrows: [{ value: debt, apyRay: toApyRay(terms.borrowRateWad) }],
  }
}

/** An account that has rewards alone, which are no part of its sums. */
const NOTHING: LendingPosition = {
  totals: { perUsd: 1n, supplied: 0n, collateral: 0n, debt: 0n, riskDebt: 0n, liquidationLimit: 0n, borrowLimit: 0n },
  supplies: [],
  borrows: [],
}

function describeMissing({ address, decimals, price }: AccountToken): string[] {
  if (decimals === undefined) return [`token ${address} has no usable decimals`]
  return price.kind === 'missing' ? [`token ${address} has no price: ${price.because}`] : []
}

/** US dollars per unit of a token that has a price. */
function toUnitPrice({ decimals = 0, price }: AccountToken): Pick<UsdPrice, 'units' | 'scale'> {
  if (price.kind === 'missing') throw new Error('Cannot value a token without a price')
  return { units: price.price.units, scale: price.price.scale + decimals }
}
