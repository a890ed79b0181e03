import type { ScopePrices } from '../../../finance/price/scope/prices.ts'
import type { Item } from './item.ts'
import type { Known } from './known.ts'

/** `brief` is enough to list and count a position; `full` has what its figures need. */
export type Depth = 'brief' | 'full'

/** Accounts to read of a position; or the one that must be known first, to say which. */
type Plan = { readonly addresses: readonly string[] } | { readonly first: string }

/** Plans readings by what is known. */
export function createPlanner({ known, prices }: { readonly known: Known; readonly prices: ScopePrices }) {
  return (item: Item, depth: Depth): Plan => {
    const { program, address, held, bundle } = item
    const position = known.positionOf(address)
    if (position === undefined) return { first: address }
    const pool = known.poolOf(position.pool)
    if (pool === undefined) return { first: position.pool }
    const { mintA, mintB, rewards, tickSpacing } = pool
    const mints = depth === 'full' ? [mintA, mintB, ...rewards.map(({ mint }) => mint)] : [mintA, mintB]
    const brief = [
      ...[held.address, address, position.pool],
      ...(bundle === undefined ? [] : [bundle.address]),
      ...mints.flatMap(known.tokens.unread),
    ]
    if (depth === 'brief') return { addresses: brief }
    const arrayOf = (tick: number) => known.arrayOf(program, position.pool, { tickSpacing, tick })
    return {
      addresses: [
        ...brief,
        ...(position.liquidity > 0n ? [arrayOf(position.tickLower), arrayOf(position.tickUpper)] : []),
        ...rewards.map(({ vault }) => vault),
        ...mints.flatMap(prices.addressesFor),
      ],
    }
  }
}
