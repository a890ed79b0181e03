import { isInRange, rangePrices, sqrtPriceAtTickX96 } from '../../finance/math/liquidity.ts'
import { sumE6 } from '../../finance/price/price.ts'
import { createUsdValuer } from '../../finance/token/priced_token.ts'
import type { FigureContext, LiquidityDeployment, LiquidityPosition, LiquidityProtocol } from './protocol.ts'

/** Computes all figures of a position, by its protocol's fee rule. */
export function computeFigures<
  Deployment extends LiquidityDeployment,
  Position extends LiquidityPosition<Deployment>,
  Withdrawal,
>(
  {
    computeHeldAmounts,
    splitOwed,
  }: Pick<LiquidityProtocol<Deployment, Position, Position, Withdrawal>, 'computeHeldAmounts' | 'splitOwed'>,
  position: Position,
  context: FigureContext<Withdrawal>,
) {
  const { pool, tickLower, tickUpper, token0, token1 } = position
  const held = computeHeldAmounts(position)
  const { principal: amounts } = held
  const { fees, total, ...others } = splitOwed(position, held, context)
  const valueInUsd = createUsdValuer(position)
  const decimals = { decimals0: token0.decimals, decimals1: token1.decimals }
  const [lower, upper] = [sqrtPriceAtTickX96(tickLower), sqrtPriceAtTickX96(tickUpper)]
  return {
    /** Payout of withdrawing all liquidity. */
    amounts,
    /** Undefined if fees cannot be separated from withdrawn principal. */
    fees,
    /** Principal that was withdrawn and not collected; undefined if the protocol keeps none. */
    withdrawn: 'withdrawn' in others ? { amounts: others.withdrawn } : undefined,
    /** True if the pool's tick is within the range, so that its liquidity earns fees. */
    inRange: isInRange(pool.tick, { tickLower, tickUpper }),
    ...rangePrices({ current: pool.sqrtPriceX96, lower, upper }, decimals),
    /** Millionths of a US dollar; undefined if one of the tokens has no price. */
    usd: valueInUsd && {
      amountsE6: sumE6(valueInUsd(amounts)),
      feesE6: fees && sumE6(valueInUsd(fees)),
      withdrawnE6: others.withdrawn && sumE6(valueInUsd(others.withdrawn)),
      totalE6: total && sumE6(total.flatMap(valueInUsd)),
    },
  }
}
