import { formatSignificant } from '../../lib/decimal.ts'
import type { FullPosition } from '../../lib/shapes.ts'
import { Amount, DefinitionList, TokenSymbol } from '../../part/figure.tsx'
import { atBounds } from './bounds.ts'
import { isFullRange } from './scale.ts'

interface BoundsProps {
  readonly position: FullPosition
  readonly inverse: boolean
}

/** Amount of the single token that a position consists of at each bound of its range, and the price there. */
export function Bounds({ position: { position_state: state, prices }, inverse }: BoundsProps) {
  if (isFullRange(state)) return null
  const { token0, token1 } = state
  const all = atBounds(state)
  const shown = inverse ? prices.inverse : prices
  const [base, quote] = [
    { symbol: token0.symbol, amount: all.token0 },
    { symbol: token1.symbol, amount: all.token1 },
  ]
  // With inverse prices, the position is wholly the second token at the lower bound.
  const [atLower, atUpper] = inverse ? [quote, base] : [base, quote]
  return (
    <DefinitionList
      rows={[
        [
          `At ${formatSignificant(shown.lower)} and below, all`,
          <>
            <Amount value={atLower.amount} symbol={atLower.symbol} /> <TokenSymbol symbol={atLower.symbol} />
          </>,
        ],
        [
          `At ${formatSignificant(shown.upper)} and above, all`,
          <>
            <Amount value={atUpper.amount} symbol={atUpper.symbol} /> <TokenSymbol symbol={atUpper.symbol} />
          </>,
        ],
      ]}
    />
  )
}
