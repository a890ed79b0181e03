import { type Address, toFunctionSelector } from 'viem'
import { readMulticall } from '../../../../chain/call/many/multicall.ts'
import { decodeWord } from '../../../../chain/call/words.ts'
import { DisputeError, getCacheTtlMs, noteWitnesses, readByQuorum } from '../../../../chain/past/quorum.ts'
import { type ChainClient, type Endpoint, EndpointsTimedOutError } from '../../../../chain/rpc/client.ts'
import type { PriceBlock } from '../../../../finance/price/past/prices_at.ts'
import { createCache } from '../../../../lib/async/cache.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { UnavailableError, UpstreamError } from '../../../../lib/error.ts'

const SLOT0 = toFunctionSelector('slot0()')
const POOL_PRICES_MAX = 50_000

/**
 * Creates a cached reader of pools' square-root prices at the end of a block, Q96, confirmed by two endpoints. It
 * returns undefined if no endpoint has the state of the block, and throws `DisputeError` or `EndpointsTimedOutError`.
 */
export function createPoolPriceReader(clock: Clock) {
  const poolPrices = createCache<bigint>({ clock, entriesMax: POOL_PRICES_MAX })

  return async function readPoolPriceAt(
    { client, pool }: { readonly client: ChainClient; readonly pool: Address },
    block: PriceBlock,
    signal: AbortSignal,
  ): Promise<bigint | undefined> {
    const key = `${client.chain.id}:${pool}:${block.number}:${block.hash ?? ''}`
    const calls = [{ to: pool, data: SLOT0 }]
    const at = { chainId: client.chain.id, ...block }
    const attempt = async (endpoint: Endpoint, within: AbortSignal): Promise<bigint> => {
      const { results } = await readMulticall(endpoint, { calls, block: at, clock }, within)
      const [slot0] = results
      if (slot0 === undefined || slot0.length < 66) throw new UpstreamError(`Pool ${pool} does not answer`)
      return decodeWord(slot0, 0)
    }
    const what = `the price of pool ${pool} at block ${block.number}`
    const read = async (shared: AbortSignal) => {
      const options = { signal: shared, past: block, what, toText: String }
      const { value, endpoints } = await readByQuorum(client, attempt, options)
      noteWitnesses(client, endpoints.length, shared)
      return { value, lifeMs: getCacheTtlMs(client, endpoints.length) }
    }
    try {
      return await poolPrices.get({ key, read }, signal)
    } catch (error) {
      const isMissing =
        error instanceof UnavailableError && !(error instanceof DisputeError || error instanceof EndpointsTimedOutError)
      if (isMissing) return undefined
      throw error
    }
  }
}
