import type { Address } from 'viem'
import type { Block } from '../../../chain/block.ts'
import { exceedsLiquidity, type PoolPriceOutcome } from '../../../finance/price/pool/pool_price.ts'
import { readPoolPrices } from '../../../finance/price/pool/read_pool_prices.ts'
import { usdValue } from '../../../finance/price/price.ts'
import type { Clock } from '../../../lib/clock.ts'
import { readingOf } from '../../place.ts'
import { heldIn } from '../math/figures.ts'
import type { Position, PricedToken } from './position.ts'
import type { UniswapV3Place } from './questions.ts'

/** Time for one chain over all tries. */
const BUDGET_MS = 4_500

/** Positions of one chain and where they were read. */
export interface PositionsAt {
  readonly positions: readonly Position[]
  readonly place: UniswapV3Place
  readonly block: Block
}

/**
 * The same positions, with prices by pools for those tokens that nobody is configured to price: one more call at their
 * block if there are some. A pool prices no more of a token than is worth what it holds. Throws `UnavailableError`.
 */
export async function withPoolPrices(
  { positions, place, block }: PositionsAt,
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly Position[]> {
  const tokens = new Map<Address, PricedToken>()
  for (const token of positions.flatMap(({ token0, token1 }) => [token0, token1])) {
    if (token.noPrice?.hasSource === false) tokens.set(token.address, token)
  }
  if (tokens.size === 0) return positions
  const { client } = place
  const question = { chain: client.chain, tokens: [...tokens.values()], clock }
  const outcomes = await client.read((endpoint, within) => readPoolPrices({ endpoint, block }, question, within), {
    signal,
    budgetMs: BUDGET_MS,
    ...readingOf(place),
  })
  const found = new Map([...tokens.keys()].map((address, index) => [address, outcomes[index]]))
  return positions.map((position) => {
    const { principal, owed } = heldIn(position)
    const token0 = pricedBy(found, position.token0, principal.amount0 + owed.amount0)
    const token1 = pricedBy(found, position.token1, principal.amount1 + owed.amount1)
    return { ...position, token0, token1 }
  })
}

function pricedBy(
  found: ReadonlyMap<Address, PoolPriceOutcome | undefined>,
  token: PricedToken,
  amount: bigint,
): PricedToken {
  const outcome = token.noPrice?.hasSource === false ? found.get(token.address) : undefined
  if (outcome?.kind !== 'price') return token
  const { price } = outcome
  return exceedsLiquidity(usdValue(amount, { decimals: token.decimals, price }), outcome) ? token : { ...token, price }
}
