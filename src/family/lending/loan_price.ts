import { divideSignificant } from '../../finance/math/liquidity.ts'
import { getConfidence, type UsdPrice, type UsdPriceOutcome } from '../../finance/price/price.ts'
import { pow10 } from '../../lib/number/fixed_point.ts'

/** Decimals of the answers of Morpho's oracles. */
const ORACLE_DECIMALS = 36

/** A token and its price by the chain's sources. */
interface PricedToken {
  readonly decimals: number | undefined
  readonly price: UsdPriceOutcome
}

/**
 * Computes the price of a loan token by the oracle of a market of Morpho's: the price of the collateral ÷ loan tokens per
 * collateral token, with 18 significant digits. Undefined if the oracle is silent or no oracle prices the collateral: a
 * market by itself says nothing about dollars.
 *
 * @figure price_usd
 * @source Morpho `IOracle.price`
 * @proof test/unit/family/morpho_blue/holdings_test.ts, test/unit/family/morpho_midnight/holdings_test.ts
 */
export function computeLoanPrice({
  loan,
  collateral,
  oraclePrice = 0n,
}: {
  readonly loan: Pick<PricedToken, 'decimals'>
  readonly collateral: PricedToken | undefined
  /** Raw units of the loan token per raw unit of the collateral, 36 decimals. */
  readonly oraclePrice: bigint | undefined
}): UsdPrice | undefined {
  const collateralPrice = collateral?.price.kind === 'price' ? collateral.price.price : undefined
  const [loanDecimals, collateralDecimals] = [loan.decimals, collateral?.decimals]
  if (collateralPrice === undefined || loanDecimals === undefined || collateralDecimals === undefined) return undefined
  if (oraclePrice === 0n || !['oracle', 'derived'].includes(getConfidence(collateralPrice))) return undefined
  const numerator = collateralPrice.units * pow10(ORACLE_DECIMALS + loanDecimals)
  const denominator = oraclePrice * pow10(collateralPrice.scale + collateralDecimals)
  return { ...divideSignificant(numerator, denominator), source: 'market_oracle' }
}
