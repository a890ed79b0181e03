import { noPriceBecause } from '../../../finance/price/price.ts'
import type { AccountHolding } from '../../holding.ts'
import { computeFigures, type FigureInput, toReceivedAmount } from '../math/figures.ts'
import type { FigureState, OrcaPosition, OrcaToken } from '../math/position.ts'

/** Part of a position that a row shows. */
type Part = 'principal' | 'fees' | 'rewards'

/**
 * Converts a position to rows of a portfolio, in amounts after transfer fees: the payout of withdrawing all liquidity,
 * fees owed, and the collectable part of each reward. A token that is spam refuses its own rows only.
 */
export function toHoldings(position: OrcaPosition & { readonly figureState: FigureState }): AccountHolding[] {
  const { tokenA, tokenB, figureState } = position
  const input: FigureInput<OrcaToken> = { ...position, ...figureState }
  const { amounts, fees, rewards } = computeFigures(input)
  const toRows = (token: OrcaToken, gross: bigint, part: Part): AccountHolding[] => {
    const amount = toReceivedAmount(gross, token)
    return amount === 0n ? [] : [createRow(position, { token, amount, part })]
  }
  return [
    ...toRows(tokenA, amounts.amount0, 'principal'),
    ...toRows(tokenB, amounts.amount1, 'principal'),
    ...toRows(tokenA, fees.amount0, 'fees'),
    ...toRows(tokenB, fees.amount1, 'fees'),
    ...rewards.flatMap(({ token, collectable }) => toRows(token, collectable, 'rewards')),
  ]
}

function createRow(
  { slot, program, tokenId, address }: OrcaPosition,
  options: {
    readonly token: OrcaToken
    readonly amount: bigint
    readonly part: Part
  },
): AccountHolding {
  const { token, amount, part } = options
  const { spam, price, noPrice = noPriceBecause('none was read') } = token
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
