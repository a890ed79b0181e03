import type { Valuation } from '../../../../../src/finance/math/pnl/figures.ts'
import type { Flow, Pair, Prices } from '../../../../../src/finance/math/pnl/flow.ts'
import { multiplyRational, type Rational, rational } from '../../../../../src/lib/number/rational.ts'

/** Raw units of token0 in a whole one: amounts at all `ROOTS` are whole numbers of them. */
const UNITS0 = 277_200n * 10n
const UNITS1 = 1_000n
/** Square roots of the pool prices that histories visit. */
export const ROOTS = [35n, 40n, 45n, 48n, 50n, 55n, 60n, 66n] as const

/** A range of a pool, by the square roots of its prices. */
export interface Range {
  readonly lower: bigint
  readonly upper: bigint
}

/** Whole tokens in a pool: L(1/√P − 1/√Pb) and L(√P − √Pa). */
export function pooled(liquidity: bigint, root: bigint, { lower, upper }: Range): Pair<bigint> {
  const here = root < lower ? lower : root > upper ? upper : root
  return [(liquidity * UNITS0) / here - (liquidity * UNITS0) / upper, liquidity * (here - lower) * UNITS1]
}

/** Prices where the pool stands at this square root and token1 costs `dollars`. */
export function pricesAt(root: bigint, dollars = 1n): Prices {
  return [rational(root * root * dollars, UNITS0), rational(dollars, UNITS1)]
}

/** Prices of whole tokens. */
export function priced(dollars0: bigint, dollars1: bigint): Prices {
  return [rational(dollars0, UNITS0), rational(dollars1, UNITS1)]
}

/** Raw units of hundredths of whole tokens. */
export function hundredths(of0: bigint, of1: bigint): Pair<bigint> {
  return [(of0 * UNITS0) / 100n, (of1 * UNITS1) / 100n]
}

/** A flow and a holding with every amount multiplied. */
export function scaledBy(factor: bigint, flows: readonly Flow[]): Flow[] {
  return flows.map((flow) => ({
    ...flow,
    amounts: times(flow.amounts, factor),
    ...(flow.kind === 'collect' ? {} : { liquidity: flow.liquidity * factor }),
  })) as Flow[]
}

/** A holding with every amount multiplied. */
export function heldTimes(factor: bigint, holding: Valuation): Valuation {
  return { ...holding, principal: times(holding.principal, factor), fees: times(holding.fees, factor) }
}

/** Both prices multiplied. */
export function dearer([price0, price1]: Prices, factor: Rational): Prices {
  return [multiplyRational(price0, factor), multiplyRational(price1, factor)]
}

function times([amount0, amount1]: Pair<bigint>, factor: bigint): Pair<bigint> {
  return [amount0 * factor, amount1 * factor]
}
