import { isZero } from '../../../finance/math/pnl/flow.ts'
import type { ChangeAmounts, LiquidityChange } from '../../liquidity/position_history/liquidity_change.ts'
import type { PositionFlow } from '../../liquidity/position_history/position_flow.ts'

/**
 * Converts a change to flows. Every change pays all fees, and removed liquidity is paid out at once, so both are one
 * collect; a change without liquidity is a collect alone. The flows of a change share a log.
 */
export function toFlows(change: LiquidityChange & { readonly amounts: ChangeAmounts }): PositionFlow[] {
  const { tokenId, block, logIndex, transactionHash, timestampSec, liquidity, amounts } = change
  const { principal, fees, sqrtPriceX96 } = amounts
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
