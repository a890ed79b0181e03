import type { TokenAmounts } from '../../finance/math/liquidity.ts'

/** A pair as its contracts tell it, and the liquidity of a wallet in it. */
export interface PairState {
  readonly liquidity: bigint
  readonly totalSupply: bigint
  /** Product of the reserves after the last change of liquidity; 0 if the factory took no fee then. */
  readonly kLast: bigint
  /** True if the factory takes a part of the fees. */
  readonly hasFee: boolean
  readonly reserves: readonly [bigint, bigint]
  /** What the pair really has of its tokens. */
  readonly balances: readonly [bigint, bigint]
}

/**
 * Computes what burning the liquidity pays: its share of what the pair has, donations included, after the factory's fee,
 * which is minted first.
 *
 * @source UniswapV2Pair.sol `burn`, `_mintFee`
 */
export function computeShare(pair: PairState): TokenAmounts {
  const { liquidity, balances } = pair
  const supply = computeSupply(pair)
  if (supply === 0n) return { amount0: 0n, amount1: 0n }
  return { amount0: (liquidity * balances[0]) / supply, amount1: (liquidity * balances[1]) / supply }
}

/** Supply with what is minted to the factory: a sixth of the growth of the root of the product of the reserves. */
function computeSupply({ totalSupply, kLast, hasFee, reserves }: PairState): bigint {
  if (!hasFee || kLast === 0n) return totalSupply
  const root = floorSqrt(reserves[0] * reserves[1])
  const rootLast = floorSqrt(kLast)
  if (root <= rootLast) return totalSupply
  return totalSupply + (totalSupply * (root - rootLast)) / (root * 5n + rootLast)
}

/** The greatest integer whose square is not above the value. */
function floorSqrt(value: bigint): bigint {
  if (value < 2n) return value
  let root = 1n << BigInt((value.toString(2).length + 1) >> 1)
  for (;;) {
    const next = (root + value / root) >> 1n
    if (next >= root) return root
    root = next
  }
}
