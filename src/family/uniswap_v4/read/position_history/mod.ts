import { type Address, type Hex, zeroAddress } from 'viem'
import { getCacheTtlMs } from '../../../../chain/past/quorum.ts'
import { type Endpoint, StatePrunedError } from '../../../../chain/rpc/client.ts'
import type { Database } from '../../../../db/database.ts'
import type { FinanceClient } from '../../../../finance/chain.ts'
import type { FeeGrowth, TickRange } from '../../../../finance/math/liquidity.ts'
import type { History } from '../../../../history/stream.ts'
import { createCache } from '../../../../lib/async/cache.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { CodedError, UnavailableError } from '../../../../lib/error.ts'
import type { ManagedHistoryQuery } from '../../../liquidity/histories.ts'
import { formatPosition } from '../../../liquidity/position_history/adaptive_concurrency.ts'
import type { PnlToken } from '../../../liquidity/position_history/flow_price.ts'
import {
  type FoundChange,
  type LiquidityChange,
  readChanges,
} from '../../../liquidity/position_history/liquidity_change.ts'
import { createMintFinder } from '../../../liquidity/position_history/mint/mint_block.ts'
import { isUnminted } from '../../../liquidity/position_history/mint/unminted.ts'
import {
  createPositionHistoryReader,
  getPositionKey,
  type PositionHistoryReader,
} from '../../../liquidity/position_history/reader.ts'
import type { PnlSubject } from '../../../liquidity/position_history/valued_flows.ts'
import { toFlows } from '../../event/flow.ts'
import { mayChangePayment } from '../../math/hooks.ts'
import type { UniswapV4Deployment } from '../../table/deployments.ts'
import { createAmountsFinder } from '../change/amounts.ts'
import { CHANGE_STREAM, type ChangeTarget, toChangeTarget } from '../change/stream.ts'
import { readNextId } from './next_id.ts'
import { readPositionOrigin, type V4PositionOrigin } from './origin.ts'

/** The position whose history is read. */
export type UniswapV4HistoryQuery = ManagedHistoryQuery<UniswapV4Deployment, ExistingPosition>

/** The part of an existing position that its history needs. */
interface ExistingPosition extends TickRange {
  readonly token0: PnlToken
  readonly token1: PnlToken
  readonly pool: { readonly id: Hex; readonly hooks: Address }
  /** Undefined without liquidity. */
  readonly growth: { readonly insideLast: FeeGrowth } | undefined
}

export type UniswapV4HistoryReader = PositionHistoryReader<UniswapV4HistoryQuery>

/** Burned positions whose origin is cached. */
const ORIGINS_MAX = 10_000
/** A missing change may arrive soon. */
const RETRY_SEC = 5

/**
 * Creates a reader over stored history. Its `read` also throws `CodedError` NOT_FOUND for a position whose hook may
 * change the amounts paid when liquidity is added or removed: neither logs nor state show what its owner paid and
 * received.
 */
export function createUniswapV4HistoryReader(services: {
  readonly db: Database
  readonly history: History
  readonly clock: Clock
}): UniswapV4HistoryReader {
  const { db, clock } = services
  const findMint = createMintFinder()
  const findAmounts = createAmountsFinder(services)
  const origins = createCache<V4PositionOrigin>({ clock, entriesMax: ORIGINS_MAX })

  /** Reads the origin of a burned position. It never changes; one from an unconfirmed read expires. */
  function readBurnedOrigin(
    { client, manager, deployment, tokenId }: UniswapV4HistoryQuery,
    block: number,
    signal: AbortSignal,
  ): Promise<V4PositionOrigin> {
    const target = toChangeTarget(client.chain.id, deployment)
    const read = async (shared: AbortSignal) => {
      const { value, endpoints } = await readPositionOrigin({ client, target, tokenId, block, clock }, shared)
      return { value, lifeMs: getCacheTtlMs(client, endpoints.length) }
    }
    return origins.get({ key: `${getPositionKey({ client, manager, tokenId })}:${block}`, read }, signal)
  }

  /** Finds the block of the mint; undefined if the position was not minted up to `toBlock`. */
  async function findMintBlock(query: UniswapV4HistoryQuery, toBlock: bigint, signal: AbortSignal) {
    const { client, manager, deployment, tokenId, position } = query
    const chainId = client.chain.id
    const readNext = (endpoint: Endpoint, within: AbortSignal) =>
      readNextId(endpoint, { manager, chainId, clock }, within)
    if (position === undefined && (await isUnminted({ client, tokenId }, readNext, signal))) return undefined
    const { startBlock } = deployment
    return await findMint({ client, deployment: { manager, startBlock }, tokenId, toBlock: Number(toBlock) }, signal)
  }

  const readOrigin = async (
    query: UniswapV4HistoryQuery,
    block: number,
    signal: AbortSignal,
  ): Promise<V4PositionOrigin> => {
    const { position } = query
    const origin = position === undefined ? await readBurnedOrigin(query, block, signal) : toOrigin(position)
    if (mayChangePayment(origin.hooks)) throw pnlImpossibleError(query)
    return origin
  }

  async function readSubject(query: UniswapV4HistoryQuery, block: number, signal: AbortSignal): Promise<PnlSubject> {
    const { client } = query
    const { subject } = await readOrigin(query, block, signal)
    const [token0, token1] = subject.tokens
    return { ...subject, tokens: [toPricedToken(client, token0), toPricedToken(client, token1)] }
  }

  return createPositionHistoryReader<UniswapV4HistoryQuery, LiquidityChange, ChangeTarget>(services, {
    stream: CHANGE_STREAM,
    async locate(query, toBlock, signal) {
      const { client, deployment, position } = query
      if (position !== undefined && mayChangePayment(position.pool.hooks)) throw pnlImpossibleError(query)
      const startBlock = await findMintBlock(query, toBlock, signal)
      if (startBlock === undefined) return undefined
      const { pool } = await readOrigin(query, startBlock, signal)
      return { target: toChangeTarget(client.chain.id, deployment), subject: pool, startBlock }
    },
    async readFlows(query, { at, fromBlock, storedTo, tail, end, max, pricesAhead }, signal) {
      const { client, tokenId } = query
      const { target, subject: pool, startBlock } = at
      const changesQuery = {
        target,
        stream: CHANGE_STREAM.name,
        pool,
        tokenId,
        fromBlock: startBlock,
        toBlock: storedTo,
        max,
      }
      const stored = storedTo < startBlock ? [] : await readChanges(db, changesQuery)
      if (stored === undefined) return undefined
      const all = [...stored, ...tail.filter((change) => change.tokenId === tokenId)]
      // Later changes may be undecodable; do not fail an answer about an earlier block.
      const { block = end.number } = query
      const changesToBlock = all.filter((change) => change.block <= Number(block))
      const { tokens } = await readSubject(query, startBlock, signal)
      const amountsQuery = {
        client,
        target,
        changes: changesToBlock,
        finalTo: storedTo,
        prefetcher: pricesAhead(tokens),
      }
      const changes = await findAmounts(amountsQuery, signal)
      if (query.block === undefined || end.number >= query.block) checkLastChange(query, changes)
      return {
        stored: changes.filter(({ block }) => block >= fromBlock && block <= storedTo).flatMap(toFlows),
        young: changes.filter(({ block }) => block > storedTo).flatMap(toFlows),
        isCut: changesToBlock.length < all.length,
      }
    },
    async readOrigin(query, { first }, signal) {
      return { subject: await readSubject(query, first.block, signal) }
    },
  })
}

/**
 * True if the position's PnL can never be computed: its hook, a swap between two changes in a block, or pruned state
 * prevents it.
 */
export function isPnlImpossible(error: unknown): boolean {
  return error instanceof StatePrunedError || (error instanceof CodedError && error.code === 'NOT_FOUND')
}

function toOrigin({ pool, token0, token1, tickLower, tickUpper }: ExistingPosition): V4PositionOrigin {
  return { pool: pool.id, hooks: pool.hooks, subject: { tokens: [token0, token1], tickLower, tickUpper } }
}

/** Sets the token whose price counts: for the native token that of its wrapper. */
function toPricedToken({ chain: { nativeCurrency } }: FinanceClient, { address, decimals }: PnlToken): PnlToken {
  const pricedAs = address === zeroAddress ? nativeCurrency?.wrapped : undefined
  return pricedAs === undefined ? { address, decimals } : { address, decimals, pricedAs }
}

/** Throws `UnavailableError` unless the growth at the last change equals that of the position now. */
function checkLastChange(
  { client, position, tokenId, block }: UniswapV4HistoryQuery,
  changes: readonly FoundChange[],
): void {
  const last = changes.findLast((change) => block === undefined || change.block <= Number(block))
  const [then, now] = [last?.amounts.inside, position?.growth?.insideLast]
  if (then === undefined || now === undefined) return
  if (then.growth0 === now.growth0 && then.growth1 === now.growth1) return
  const message = `The history of ${formatPosition({ client, tokenId })} is not complete: it lacks its last change`
  throw new UnavailableError(message, { retryAfterSec: RETRY_SEC })
}

function pnlImpossibleError({ client: { chain }, tokenId }: UniswapV4HistoryQuery): CodedError {
  return new CodedError(
    'NOT_FOUND',
    `Position ${tokenId} on chain ${chain.id} (${chain.name}) has no profit and loss: the hook of its pool may change ` +
      'what is paid when liquidity is added or removed, which no log contains',
  )
}
