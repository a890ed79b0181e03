import { noPriceBecause } from '../../../finance/price/price.ts'
import type { AccountHolding } from '../../holding.ts'
import { computeFigures, type FigureInput, toReceivedAmount } from '../math/figures.ts'
import type { FigureState, OrcaPosition, OrcaToken } from '../math/position.ts'

/** What of a position a row is. */
type Part = 'principal' | 'fees' | 'rewards'

/**
 * A position as rows of a portfolio, each what would reach the wallet: what withdrawing all liquidity would pay, what is
 * owed in fees, and what can be collected of each reward. `spam`: why it must not be counted.
 */
export function toHoldings(
  position: OrcaPosition & { readonly figured: FigureState },
  spam: string | undefined,
): AccountHolding[] {
  const { tokenA, tokenB, figured } = position
  const figurable: FigureInput<OrcaToken> = { ...position, ...figured }
  const { amounts, fees, rewards } = computeFigures(figurable)
  const rowOf = (token: OrcaToken, gross: bigint, part: Part): AccountHolding[] => {
    const amount = toReceivedAmount(gross, token)
    return amount === 0n ? [] : [row(position, { token, amount, part, spam })]
  }
  return [
    ...rowOf(tokenA, amounts.amount0, 'principal'),
    ...rowOf(tokenB, amounts.amount1, 'principal'),
    ...rowOf(tokenA, fees.amount0, 'fees'),
    ...rowOf(tokenB, fees.amount1, 'fees'),
    ...rewards.flatMap(({ token, collectable }) => rowOf(token, collectable, 'rewards')),
  ]
}

function row(
  { slot, program, tokenId, address }: OrcaPosition,
  held: {
    readonly token: OrcaToken
    readonly amount: bigint
    readonly part: Part
    readonly spam: string | undefined
  },
): AccountHolding {
  const { token, amount, part, spam } = held
  const { price, noPrice = noPriceBecause('none was read') } = token
  return {
    kind: 'liquidity',
    slot,
    token,
    amount,
    position: {
      family: 'orca-whirlpool',
      manager_address: program,
      token_id: tokenId,
      position_address: address,
      part,
    },
    price: price === undefined ? noPrice : { kind: 'price', price },
    ...(spam === undefined ? {} : { refused: { reason: 'spam', detail: spam } }),
  }
}
