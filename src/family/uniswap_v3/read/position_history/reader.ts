import { toLowerHex } from '../../../../chain/call/words.ts'
import { getCacheTtlMs } from '../../../../chain/past/quorum.ts'
import type { Endpoint } from '../../../../chain/rpc/client.ts'
import type { Database } from '../../../../db/database.ts'
import { createMintFinder } from '../../../../finance/liquidity/position_history/mint/mint_block.ts'
import { isUnminted } from '../../../../finance/liquidity/position_history/mint/unminted.ts'
import {
  type PositionFlow,
  positionSubject,
  readPositionFlows,
} from '../../../../finance/liquidity/position_history/position_flow.ts'
import {
  createPositionHistoryReader,
  getPositionKey,
  type PositionHistoryReader,
} from '../../../../finance/liquidity/position_history/reader.ts'
import type { History, StreamTarget } from '../../../../history/stream.ts'
import { createCache } from '../../../../lib/async/cache.ts'
import type { Clock } from '../../../../lib/clock.ts'
import type { ManagedHistoryQuery } from '../../../position_history.ts'
import type { UniswapV3Deployment } from '../../table/deployments.ts'
import type { Position } from '../position.ts'
import { readNextId } from './next_id.ts'
import { type PositionOrigin, readPositionOrigin } from './origin.ts'
import { createPoolPriceReader } from './pool_price.ts'
import { createFlowStream } from './stream.ts'

/** Whose life is read. */
export type UniswapV3HistoryQuery = ManagedHistoryQuery<UniswapV3Deployment, Position>

export type UniswapV3HistoryReader = PositionHistoryReader<UniswapV3HistoryQuery>

/** Burned positions that are remembered. */
const BIRTHS_MAX = 10_000

/** Makes a reader over stored history. */
export function createUniswapV3HistoryReader(services: {
  readonly db: Database
  readonly history: History
  readonly clock: Clock
}): UniswapV3HistoryReader {
  const { db, clock } = services
  const stream = createFlowStream(clock)
  const findMint = createMintFinder()
  const births = createCache<PositionOrigin>({ clock, entriesMax: BIRTHS_MAX })
  const poolPrices = createPoolPriceReader(clock)

  /** What a burned position was never changes, once the block of its mint is final. */
  function birthOf(
    question: UniswapV3HistoryQuery,
    { first, finalTo }: { readonly first: PositionFlow; readonly finalTo: number },
    signal: AbortSignal,
  ): Promise<PositionOrigin> {
    const { client, deployment } = question
    const read = async (shared: AbortSignal) => {
      const { value, endpoints } = await readPositionOrigin({ client, deployment, first, clock }, shared)
      const lifeMs = getCacheTtlMs(client, endpoints.length)
      return { value, lifeMs: first.block <= finalTo ? lifeMs : 0 }
    }
    return births.get({ key: getPositionKey(question), read }, signal)
  }

  return createPositionHistoryReader<UniswapV3HistoryQuery, PositionFlow, StreamTarget>(services, {
    stream,
    async locate({ client, deployment, tokenId, position }, toBlock, signal) {
      const { manager, startBlock: firstBlock } = deployment
      const chainId = client.chain.id
      const next = (endpoint: Endpoint, within: AbortSignal) =>
        readNextId(endpoint, { manager, chainId, clock }, within)
      if (position === undefined && (await isUnminted({ client, tokenId }, next, signal))) return undefined
      const startBlock = await findMint({ client, deployment, tokenId, toBlock: Number(toBlock) }, signal)
      if (startBlock === undefined) return undefined
      const place = { chainId, contract: toLowerHex(manager), startBlock: firstBlock }
      return { place, subject: positionSubject(tokenId), startBlock }
    },
    async flows({ tokenId }, { at: { place }, fromBlock, storedTo, tail, max }) {
      const asked = { place, stream: stream.name, tokenId, fromBlock, toBlock: storedTo, max }
      const stored = storedTo < fromBlock ? [] : await readPositionFlows(db, asked)
      return stored && { stored, young: tail }
    },
    async born(question, by, signal) {
      const { client, position } = question
      const { pool, ...subject } = position === undefined ? await birthOf(question, by, signal) : birthIn(position)
      return { subject, poolPrice: (block, within) => poolPrices({ client, pool }, block, within) }
    },
  })
}

function birthIn({ token0, token1, tickLower, tickUpper, pool }: Position): PositionOrigin {
  return { tokens: [token0, token1], tickLower, tickUpper, pool: pool.address }
}
