import { toLowerHex } from '../../../../chain/call/words.ts'
import { getCacheTtlMs } from '../../../../chain/past/quorum.ts'
import type { Endpoint } from '../../../../chain/rpc/client.ts'
import type { Database } from '../../../../db/database.ts'
import type { History, StreamTarget } from '../../../../history/stream.ts'
import { createCache } from '../../../../lib/async/cache.ts'
import type { Clock } from '../../../../lib/clock.ts'
import type { ManagedHistoryQuery } from '../../histories.ts'
import { createMintFinder } from '../../position_history/mint/mint_block.ts'
import { isUnminted } from '../../position_history/mint/unminted.ts'
import { type PositionFlow, positionSubject, readPositionFlows } from '../../position_history/position_flow.ts'
import {
  createPositionHistoryReader,
  getPositionKey,
  type PositionHistoryReader,
} from '../../position_history/reader.ts'
import type { EnumerableDeployment, EnumerableExchange } from '../exchange.ts'
import type { Position } from '../read/position.ts'
import { readNextId } from './next_id.ts'
import { type PositionOrigin, readPositionOrigin } from './origin.ts'
import { createPoolPriceReader } from './pool_price.ts'
import { createFlowStream } from './stream.ts'

/** Position whose history is read. */
export type FlowHistoryQuery = ManagedHistoryQuery<EnumerableDeployment, Position>

/** Cached origins of burned positions. */
const ORIGINS_MAX = 10_000

/** Creates a reader of position histories over stored flows. */
export function createFlowHistoryReader(
  exchange: Pick<EnumerableExchange, 'streamName' | 'poolKey'>,
  services: { readonly db: Database; readonly history: History; readonly clock: Clock },
): PositionHistoryReader<FlowHistoryQuery> {
  const { db, clock } = services
  const stream = createFlowStream(exchange, clock)
  const findMint = createMintFinder()
  const origins = createCache<PositionOrigin>({ clock, entriesMax: ORIGINS_MAX })
  const poolPrices = createPoolPriceReader(clock)

  /** Reads the origin of a burned position, cached once the block of its mint is final. */
  function readOrigin(
    query: FlowHistoryQuery,
    { first, finalTo }: { readonly first: PositionFlow; readonly finalTo: number },
    signal: AbortSignal,
  ): Promise<PositionOrigin> {
    const { client, deployment } = query
    const read = async (shared: AbortSignal) => {
      const { value, endpoints } = await readPositionOrigin(
        { client, deployment, first, clock, poolKey: exchange.poolKey },
        shared,
      )
      const lifeMs = getCacheTtlMs(client, endpoints.length)
      return { value, lifeMs: first.block <= finalTo ? lifeMs : 0 }
    }
    return origins.get({ key: getPositionKey(query), read }, signal)
  }

  return createPositionHistoryReader<FlowHistoryQuery, PositionFlow, StreamTarget>(services, {
    stream,
    async locate({ client, deployment, tokenId, position }, toBlock, signal) {
      const { manager, startBlock: firstBlock } = deployment
      const chainId = client.chain.id
      const readNext = (endpoint: Endpoint, within: AbortSignal) =>
        readNextId(endpoint, { manager, chainId, clock }, within)
      if (position === undefined && (await isUnminted({ client, tokenId }, readNext, signal))) return undefined
      const startBlock = await findMint({ client, deployment, tokenId, toBlock: Number(toBlock) }, signal)
      if (startBlock === undefined) return undefined
      const target = { chainId, contract: toLowerHex(manager), startBlock: firstBlock }
      return { target, subject: positionSubject(tokenId), startBlock }
    },
    async readFlows({ tokenId }, { at: { target }, fromBlock, storedTo, tail, max }) {
      const request = { target, stream: stream.name, tokenId, fromBlock, toBlock: storedTo, max }
      const stored = storedTo < fromBlock ? [] : await readPositionFlows(db, request)
      return stored && { stored, young: tail }
    },
    async readOrigin(query, context, signal) {
      const { client, position } = query
      const { pool, ...subject } =
        position === undefined ? await readOrigin(query, context, signal) : toOrigin(position)
      return { subject, poolPrice: (block, within) => poolPrices({ client, pool }, block, within) }
    },
  })
}

function toOrigin({ token0, token1, tickLower, tickUpper, pool }: Position): PositionOrigin {
  return { tokens: [token0, token1], tickLower, tickUpper, pool: pool.address }
}
