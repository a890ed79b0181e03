import { type Address, type Hex, zeroAddress } from 'viem'
import { getCacheTtlMs } from '../../../../chain/past/quorum.ts'
import { type Endpoint, StatePrunedError } from '../../../../chain/rpc/client.ts'
import type { Database } from '../../../../db/database.ts'
import type { FinanceClient } from '../../../../finance/chain.ts'
import { formatPosition } from '../../../../finance/liquidity/position_history/adaptive_concurrency.ts'
import type { PnlToken } from '../../../../finance/liquidity/position_history/flow_price.ts'
import {
  type FoundChange,
  type LiquidityChange,
  readChanges,
} from '../../../../finance/liquidity/position_history/liquidity_change.ts'
import { createMintFinder } from '../../../../finance/liquidity/position_history/mint/mint_block.ts'
import { isUnminted } from '../../../../finance/liquidity/position_history/mint/unminted.ts'
import {
  createPositionHistoryReader,
  getPositionKey,
  type PositionHistoryReader,
} from '../../../../finance/liquidity/position_history/reader.ts'
import type { PnlSubject } from '../../../../finance/liquidity/position_history/valued_flows.ts'
import type { FeeGrowth, TickRange } from '../../../../finance/math/liquidity.ts'
import type { History } from '../../../../history/stream.ts'
import { createCache } from '../../../../lib/async/cache.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { CodedError, UnavailableError } from '../../../../lib/error.ts'
import type { ManagedHistoryQuery } from '../../../position_history.ts'
import { toFlows } from '../../event/flow.ts'
import { mayChangePayment } from '../../math/hooks.ts'
import type { UniswapV4Deployment } from '../../table/deployments.ts'
import { createAmountsFinder } from '../change/amounts.ts'
import { FeesMovedInBlockError } from '../change/changed_blocks.ts'
import { CHANGE_STREAM, type ChangeTarget, toChangeTarget } from '../change/stream.ts'
import { readNextId } from './next_id.ts'
import { readPositionOrigin, type V4PositionOrigin } from './origin.ts'

/** Whose life is read. */
export type UniswapV4HistoryQuery = ManagedHistoryQuery<UniswapV4Deployment, ExistingPosition>

/** What a life needs to know about a position that is there. */
interface ExistingPosition extends TickRange {
  readonly token0: PnlToken
  readonly token1: PnlToken
  readonly pool: { readonly id: Hex; readonly hooks: Address }
  /** Undefined without liquidity. */
  readonly growth: { readonly insideLast: FeeGrowth } | undefined
}

export type UniswapV4HistoryReader = PositionHistoryReader<UniswapV4HistoryQuery>

/** Burned positions that are remembered. */
const BIRTHS_MAX = 10_000
/** A change that is missing may be there soon. */
const RETRY_SEC = 5

/**
 * Makes a reader over stored history. Its `read` also throws `CodedError` NOT_FOUND for a position whose hook may change
 * what is paid when liquidity is added or removed: neither logs nor state tell what its owner paid and got.
 */
export function createUniswapV4HistoryReader(services: {
  readonly db: Database
  readonly history: History
  readonly clock: Clock
}): UniswapV4HistoryReader {
  const { db, clock } = services
  const findMint = createMintFinder()
  const findAmounts = createAmountsFinder(services)
  const births = createCache<V4PositionOrigin>({ clock, entriesMax: BIRTHS_MAX })

  /** What a burned position was never changes; its mint is far older than what may be replaced, or is read again. */
  function birthOf(
    { client, manager, deployment, tokenId }: UniswapV4HistoryQuery,
    block: number,
    signal: AbortSignal,
  ): Promise<V4PositionOrigin> {
    const place = toChangeTarget(client.chain.id, deployment)
    const read = async (shared: AbortSignal) => {
      const { value, endpoints } = await readPositionOrigin({ client, place, tokenId, block, clock }, shared)
      return { value, lifeMs: getCacheTtlMs(client, endpoints.length) }
    }
    return births.get({ key: `${getPositionKey({ client, manager, tokenId })}:${block}`, read }, signal)
  }

  /** When it was minted; undefined if it never was, or later. */
  async function mintOf(question: UniswapV4HistoryQuery, toBlock: bigint, signal: AbortSignal) {
    const { client, manager, deployment, tokenId, position } = question
    const chainId = client.chain.id
    const next = (endpoint: Endpoint, within: AbortSignal) => readNextId(endpoint, { manager, chainId, clock }, within)
    if (position === undefined && (await isUnminted({ client, tokenId }, next, signal))) return undefined
    const { startBlock } = deployment
    return await findMint({ client, deployment: { manager, startBlock }, tokenId, toBlock: Number(toBlock) }, signal)
  }

  const bornOf = async (
    question: UniswapV4HistoryQuery,
    block: number,
    signal: AbortSignal,
  ): Promise<V4PositionOrigin> => {
    const { position } = question
    const birth = position === undefined ? await birthOf(question, block, signal) : birthIn(position)
    if (mayChangePayment(birth.hooks)) throw untellable(question)
    return birth
  }

  async function subjectOf(question: UniswapV4HistoryQuery, block: number, signal: AbortSignal): Promise<PnlSubject> {
    const { client } = question
    const { subject } = await bornOf(question, block, signal)
    const [token0, token1] = subject.tokens
    return { ...subject, tokens: [asPriced(client, token0), asPriced(client, token1)] }
  }

  return createPositionHistoryReader<UniswapV4HistoryQuery, LiquidityChange, ChangeTarget>(services, {
    stream: CHANGE_STREAM,
    async locate(question, toBlock, signal) {
      const { client, deployment, position } = question
      if (position !== undefined && mayChangePayment(position.pool.hooks)) throw untellable(question)
      const startBlock = await mintOf(question, toBlock, signal)
      if (startBlock === undefined) return undefined
      const { pool } = await bornOf(question, startBlock, signal)
      return { place: toChangeTarget(client.chain.id, deployment), subject: pool, startBlock }
    },
    async flows(question, { at, fromBlock, storedTo, tail, end, max, pricesAhead }, signal) {
      const { client, tokenId } = question
      const { place, subject: pool, startBlock } = at
      const asked = { place, stream: CHANGE_STREAM.name, pool, tokenId, fromBlock: startBlock, toBlock: storedTo, max }
      const stored = storedTo < startBlock ? [] : await readChanges(db, asked)
      if (stored === undefined) return undefined
      const all = [...stored, ...tail.filter((change) => change.tokenId === tokenId)]
      // What came later may be what nobody can tell.
      const { block = end.number } = question
      const until = all.filter((change) => change.block <= Number(block))
      const { tokens } = await subjectOf(question, startBlock, signal)
      const asking = { client, place, changes: until, finalTo: storedTo, ahead: pricesAhead(tokens) }
      const changes = await findAmounts(asking, signal)
      if (question.block === undefined || end.number >= question.block) checkLast(question, changes)
      return {
        stored: changes.filter(({ block }) => block >= fromBlock && block <= storedTo).flatMap(toFlows),
        young: changes.filter(({ block }) => block > storedTo).flatMap(toFlows),
        isCut: until.length < all.length,
      }
    },
    async born(question, { first }, signal) {
      return { subject: await subjectOf(question, first.block, signal) }
    },
  })
}

/**
 * True if a life cannot be told, whoever asks and whenever: of its hook, of a block with a swap between two changes, or of
 * a past that nobody keeps.
 */
export function isPnlImpossible(error: unknown): boolean {
  return (
    error instanceof FeesMovedInBlockError ||
    error instanceof StatePrunedError ||
    (error instanceof CodedError && error.code === 'NOT_FOUND')
  )
}

function birthIn({ pool, token0, token1, tickLower, tickUpper }: ExistingPosition): V4PositionOrigin {
  return { pool: pool.id, hooks: pool.hooks, subject: { tokens: [token0, token1], tickLower, tickUpper } }
}

/** The native token costs what its wrapper costs. */
function asPriced({ chain: { nativeCurrency } }: FinanceClient, { address, decimals }: PnlToken): PnlToken {
  const pricedAs = address === zeroAddress ? nativeCurrency?.wrapped : undefined
  return pricedAs === undefined ? { address, decimals } : { address, decimals, pricedAs }
}

/** The growth at the last change must be that of the position now. Throws `UnavailableError`. */
function checkLast({ client, position, tokenId, block }: UniswapV4HistoryQuery, changes: readonly FoundChange[]): void {
  const last = changes.findLast((change) => block === undefined || change.block <= Number(block))
  const [then, now] = [last?.found.inside, position?.growth?.insideLast]
  if (then === undefined || now === undefined) return
  if (then.growth0 === now.growth0 && then.growth1 === now.growth1) return
  const message = `The history of ${formatPosition({ client, tokenId })} is not complete: it lacks its last change`
  throw new UnavailableError(message, { retryAfterSec: RETRY_SEC })
}

function untellable({ client: { chain }, tokenId }: UniswapV4HistoryQuery): CodedError {
  return new CodedError(
    'NOT_FOUND',
    `Position ${tokenId} on chain ${chain.id} (${chain.name}) has no profit and loss: the hook of its pool may change ` +
      'what is paid when liquidity is added or removed, which no log says',
  )
}
