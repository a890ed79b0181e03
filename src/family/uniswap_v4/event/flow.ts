import type { ChangeAmounts, LiquidityChange } from '../../../finance/liquidity/position_history/liquidity_change.ts'
import type { PositionFlow } from '../../../finance/liquidity/position_history/position_flow.ts'
import { isZero } from '../../../finance/math/pnl/flow.ts'

/**
 * A change as flows: liquidity goes in or out, and all fees are paid with it. What goes out is paid at once, so it is
 * collected with the fees; a change of nothing is a collect. Its flows share a log.
 */
export function toFlows(change: LiquidityChange & { readonly found: ChangeAmounts }): PositionFlow[] {
  const { tokenId, block, logIndex, transactionHash, timestampSec, liquidity, found } = change
  const { principal, fees, sqrtPriceX96 } = found
  const shared = { tokenId, block, logIndex, transactionHash, timestampSec, sqrtPriceX96 }
  if (liquidity > 0n) {
    const increase: PositionFlow = { ...shared, kind: 'increase', liquidity, ...principal }
    if (isZero([fees.amount0, fees.amount1])) return [increase]
    return [increase, { ...shared, kind: 'collect', liquidity: 0n, ...fees }]
  }
  const [amount0, amount1] = [principal.amount0 + fees.amount0, principal.amount1 + fees.amount1]
  const collect: PositionFlow = { ...shared, kind: 'collect', liquidity: 0n, amount0, amount1 }
  return liquidity === 0n ? [collect] : [{ ...shared, kind: 'decrease', liquidity: -liquidity, ...principal }, collect]
}
