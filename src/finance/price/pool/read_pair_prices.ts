import type { Address } from 'viem'
import type { Block } from '../../../chain/block.ts'
import type { ReadOptions } from '../../../chain/rpc/client.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { FinanceClient } from '../../chain.ts'
import type { PricedToken } from '../../liquidity/priced_token.ts'
import type { TokenAmounts } from '../../math/liquidity.ts'
import { usdValue } from '../price.ts'
import { exceedsLiquidity, type PoolPriceOutcome } from './pool_price.ts'
import { readPoolPrices } from './read_pool_prices.ts'

/** Time for one chain over all tries. */
const BUDGET_MS = 4_500

/** Two tokens that something is held of. */
interface Pair {
  readonly token0: PricedToken
  readonly token1: PricedToken
}

/** Pairs of one chain and where they were read. */
export interface PairsAt<Held extends Pair> {
  readonly pairs: readonly Held[]
  /** All that is held of both tokens. */
  readonly amountsOf: (pair: Held) => TokenAmounts
  readonly client: FinanceClient
  readonly block: Block
  readonly reading: Pick<ReadOptions, 'past' | 'priority'>
}

/**
 * The same pairs, with prices by pools for those tokens that nobody is configured to price: one more call at their block
 * if there are some. A pool prices no more of a token than is worth what it holds. Throws `UnavailableError`.
 */
export async function withPoolPrices<Held extends Pair>(
  { pairs, amountsOf, client, block, reading }: PairsAt<Held>,
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly Held[]> {
  const tokens = new Map<Address, PricedToken>()
  for (const token of pairs.flatMap(({ token0, token1 }) => [token0, token1])) {
    if (token.noPrice?.hasSource === false) tokens.set(token.address, token)
  }
  if (tokens.size === 0) return pairs
  const question = { chain: client.chain, tokens: [...tokens.values()], clock }
  const outcomes = await client.read((endpoint, within) => readPoolPrices({ endpoint, block }, question, within), {
    signal,
    budgetMs: BUDGET_MS,
    ...reading,
  })
  const found = new Map([...tokens.keys()].map((address, index) => [address, outcomes[index]]))
  return pairs.map((pair) => {
    const { amount0, amount1 } = amountsOf(pair)
    const token0 = pricedBy(found, pair.token0, amount0)
    const token1 = pricedBy(found, pair.token1, amount1)
    return { ...pair, token0, token1 }
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
