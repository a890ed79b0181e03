import { type Address, encodeFunctionData, parseAbi } from 'viem'
import { readCalls } from '../../../chain/call/many/read_calls.ts'
import { wordOf } from '../../../chain/call/words.ts'
import { type PriceAtOutcome, type PriceBlock, readPricesAt } from '../../../chain/price_at/read_prices_at.ts'
import type { ChainClient } from '../../../chain/rpc/client.ts'
import type { Both } from '../../../finance/pnl/flow.ts'
import { createCache } from '../../../lib/cache.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UnavailableError } from '../../../lib/error.ts'
import type { OwnPrice, PnlToken } from '../pnl/flow_price.ts'

/** Prices of a pool's tokens at a block. */
export interface PoolPrices {
  readonly own: Both<OwnPrice>
  /** The pool's price at the end of the block, if it was wanted and a token has no price of its own. */
  readonly sqrtPriceX96?: bigint
}

/** Which prices to read. */
export interface PoolPricesQuestion {
  readonly client: ChainClient
  readonly pool: Address
  readonly tokens: Both<PnlToken>
  /** With its hash while it may still be replaced. */
  readonly block: PriceBlock
  /** False if the position's own flows tell the pool's price. */
  readonly wantsPool: boolean
}

/** Reads prices at blocks of the past, and remembers them. */
export interface PoolPricesReader {
  /** Throws `UnavailableError` if the chain cannot be read. */
  read(question: PoolPricesQuestion, signal: AbortSignal): Promise<PoolPrices>
}

const ABI = parseAbi(['function slot0() view'])
const ENTRIES_MAX = 100_000
/** An endpoint that keeps older state may be back soon. */
const MISSING_LIFE_MS = 60_000

/** Makes a reader with an empty memory. */
export function createPoolPricesReader(clock: Clock): PoolPricesReader {
  const cache = createCache<PoolPrices>({ clock, entriesMax: ENTRIES_MAX })
  return {
    read(question, signal) {
      const { client, pool, block } = question
      const read = async (shared: AbortSignal) => {
        const value = await readPoolPrices(question, { clock, signal: shared })
        return { value, lifeMs: isWhole(value, question) ? Number.POSITIVE_INFINITY : MISSING_LIFE_MS }
      }
      const key = `${client.chain.id}:${block.number}:${block.hash ?? ''}:${pool}:${question.wantsPool}`
      return cache.get({ key, read }, signal)
    },
  }
}

async function readPoolPrices(
  { client, pool, tokens, block, wantsPool }: PoolPricesQuestion,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<PoolPrices> {
  const asked = { asker: { kind: 'chain' }, tokens: tokens.map(({ address }) => address), block, clock } as const
  const prices = await readPricesAt(client, asked, signal)
  const own: Both<OwnPrice> = [ownOf(prices.get(tokens[0].address)), ownOf(prices.get(tokens[1].address))]
  if (!wantsPool || isPriced(own[0]) === isPriced(own[1])) return { own }
  const sqrtPriceX96 = await readSqrtPrice({ client, pool, block }, { clock, signal })
  return sqrtPriceX96 === undefined ? { own } : { own, sqrtPriceX96 }
}

/** Undefined if no endpoint keeps the state of the block. */
async function readSqrtPrice(
  { client, pool, block }: Pick<PoolPricesQuestion, 'client' | 'pool' | 'block'>,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<bigint | undefined> {
  const questions = [{ to: pool, data: encodeFunctionData({ abi: ABI, functionName: 'slot0' }) }]
  const at = { chainId: client.chain.id, ...block }
  try {
    const { answers } = await client.read(
      (endpoint, within) => readCalls(endpoint, { questions, block: at, clock }, within),
      { signal, past: block },
    )
    return answers[0] === undefined || answers[0].length < 66 ? undefined : wordOf(answers[0], 0)
  } catch (error) {
    if (error instanceof UnavailableError) return undefined
    throw error
  }
}

function ownOf(outcome: PriceAtOutcome | undefined): OwnPrice {
  if (outcome?.kind === 'price') return outcome.price
  return { because: outcome?.because ?? 'nobody was asked' }
}

function isPriced(own: OwnPrice): boolean {
  return !('because' in own)
}

function isWhole({ own, sqrtPriceX96 }: PoolPrices, { wantsPool }: PoolPricesQuestion): boolean {
  return own.every(isPriced) || (own.some(isPriced) && (!wantsPool || sqrtPriceX96 !== undefined))
}
