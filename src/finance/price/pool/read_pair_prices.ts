import type { Address } from 'viem'
import type { Block } from '../../../chain/block.ts'
import type { ReadOptions } from '../../../chain/rpc/client.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { FinanceClient } from '../../chain.ts'
import type { TokenAmounts } from '../../math/liquidity.ts'
import type { PricedToken } from '../../token/priced_token.ts'
import { createBoundShare } from '../bound.ts'
import type { PoolPriceOutcome } from './pool_price.ts'
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
  /** All pairs of the wallet on the chain; absent if each of `pairs` stands alone. */
  readonly listHeld?: () => HeldPairs<Held>
  readonly client: FinanceClient
  readonly block: Block
  readonly reading: Pick<ReadOptions, 'past' | 'priority'>
}

/** All pairs of a wallet on a chain. */
export interface HeldPairs<Held extends Pair> {
  readonly known: readonly Held[]
  /** Number of pairs whose amounts are not known. */
  readonly omitted: number
}

/**
 * Adds prices by pools to the tokens of pairs that have no configured source, with one more call at their block if
 * there are any. A token counts up to the bound of its price over all pairs of the wallet, shared in proportion; if
 * amounts of some pairs are not known, the others share their number's part of the bound. Throws `UnavailableError`.
 */
export async function withPoolPrices<Held extends Pair>(
  { pairs, getAmounts, listHeld, client, block, reading }: PairsAt<Held>,
  clock: Clock,
  work: Work,
): Promise<readonly Held[]> {
  const tokens = new Map<Address, PricedToken>()
  for (const token of pairs.flatMap(({ token0, token1 }) => [token0, token1])) {
    if (token.noPrice?.hasSource === false) tokens.set(token.address, token)
  }
  if (tokens.size === 0) return pairs
  const query = { chain: client.chain, tokens: [...tokens.values()], clock }
  const outcomes = await client.read((endpoint, within) => readPoolPrices({ endpoint, block }, query, within), {
    work,
    budgetMs: BUDGET_MS,
    ...reading,
  })
  const outcomesByToken = new Map([...tokens.keys()].map((address, index) => [address, outcomes[index]]))
  const sum = (held: HeldPairs<Held>) => sumHeld(held, { tokens, getAmounts })
  const totals = listHeld === undefined ? undefined : sum(listHeld())
  return pairs.map((pair) => {
    const held = totals ?? sum({ known: [pair], omitted: 0 })
    const token0 = applyPoolPrice(outcomesByToken, pair.token0, held)
    const token1 = applyPoolPrice(outcomesByToken, pair.token1, held)
    return { ...pair, token0, token1 }
  })
}

/** Amounts by token over known pairs, and the numbers of known and of all pairs. */
interface HeldTotals {
  readonly amounts: ReadonlyMap<Address, bigint>
  readonly known: bigint
  readonly all: bigint
}

/** Sums the amounts of these tokens over the known pairs. */
function sumHeld<Held extends Pair>(
  { known, omitted }: HeldPairs<Held>,
  options: { readonly tokens: ReadonlyMap<Address, unknown>; readonly getAmounts: (pair: Held) => TokenAmounts },
): HeldTotals {
  const amounts = new Map<Address, bigint>()
  const add = ({ address }: PricedToken, amount: bigint) => amounts.set(address, (amounts.get(address) ?? 0n) + amount)
  for (const pair of known) {
    if (!options.tokens.has(pair.token0.address) && !options.tokens.has(pair.token1.address)) continue
    const { amount0, amount1 } = options.getAmounts(pair)
    add(pair.token0, amount0)
    add(pair.token1, amount1)
  }
  return { amounts, known: BigInt(known.length), all: BigInt(known.length + omitted) }
}

function applyPoolPrice(
  outcomes: ReadonlyMap<Address, PoolPriceOutcome | undefined>,
  token: PricedToken,
  { amounts, known, all }: HeldTotals,
): PricedToken {
  const outcome = token.noPrice?.hasSource === false ? outcomes.get(token.address) : undefined
  if (outcome?.kind !== 'price') return token
  const { price, debtPrice, boundUsd: fullBoundUsd } = outcome
  const held = amounts.get(token.address) ?? 0n
  if (held === 0n) return { ...token, price }
  const boundUsd = { ...fullBoundUsd, units: (fullBoundUsd.units * known) / all }
  const bounded = { decimals: token.decimals, price, debtPrice, boundUsd }
  const count = createBoundShare(bounded, { held, heldElsewhere: 0n, owed: 0n })
  return { ...token, price, countUsd: (amount) => count(amount).value }
}
