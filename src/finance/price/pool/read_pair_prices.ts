import type { Address } from 'viem'
import type { Block } from '../../../chain/block.ts'
import type { ReadOptions } from '../../../chain/rpc/client.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { FinanceClient } from '../../chain.ts'
import type { PricedToken } from '../../liquidity/priced_token.ts'
import type { TokenAmounts } from '../../math/liquidity.ts'
import { usdValue } from '../price.ts'
import { exceedsBound, type PoolPriceOutcome } from './pool_price.ts'
import { readPoolPrices } from './read_pool_prices.ts'

/** Time limit for one chain over all attempts, milliseconds. */
const BUDGET_MS = 4_500

/** A token pair with a balance. */
interface Pair {
  readonly token0: PricedToken
  readonly token1: PricedToken
}

/** Pairs of one chain, and the client and block of their read. */
export interface PairsAt<Held extends Pair> {
  readonly pairs: readonly Held[]
  /** Returns the total amounts held of both tokens. */
  readonly getAmounts: (pair: Held) => TokenAmounts
  readonly client: FinanceClient
  readonly block: Block
  readonly reading: Pick<ReadOptions, 'past' | 'priority'>
}

/**
 * Adds prices by pools to the tokens of pairs that have no configured source, with one more call at their block if
 * there are any. Pools price an amount only up to what they pay for it. Throws `UnavailableError`.
 */
export async function withPoolPrices<Held extends Pair>(
  { pairs, getAmounts, client, block, reading }: PairsAt<Held>,
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly Held[]> {
  const tokens = new Map<Address, PricedToken>()
  for (const token of pairs.flatMap(({ token0, token1 }) => [token0, token1])) {
    if (token.noPrice?.hasSource === false) tokens.set(token.address, token)
  }
  if (tokens.size === 0) return pairs
  const query = { chain: client.chain, tokens: [...tokens.values()], clock }
  const outcomes = await client.read((endpoint, within) => readPoolPrices({ endpoint, block }, query, within), {
    signal,
    budgetMs: BUDGET_MS,
    ...reading,
  })
  const outcomesByToken = new Map([...tokens.keys()].map((address, index) => [address, outcomes[index]]))
  return pairs.map((pair) => {
    const { amount0, amount1 } = getAmounts(pair)
    const token0 = applyPoolPrice(outcomesByToken, pair.token0, amount0)
    const token1 = applyPoolPrice(outcomesByToken, pair.token1, amount1)
    return { ...pair, token0, token1 }
  })
}

function applyPoolPrice(
  outcomes: ReadonlyMap<Address, PoolPriceOutcome | undefined>,
  token: PricedToken,
  amount: bigint,
): PricedToken {
  const outcome = token.noPrice?.hasSource === false ? outcomes.get(token.address) : undefined
  if (outcome?.kind !== 'price') return token
  const { price } = outcome
  return exceedsBound(usdValue(amount, { decimals: token.decimals, price }), outcome) ? token : { ...token, price }
}
