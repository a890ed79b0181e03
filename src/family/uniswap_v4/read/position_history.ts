import { type Address, encodeAbiParameters, type Hex, keccak256, padHex, toFunctionSelector, zeroAddress } from 'viem'
import { readMulticall } from '../../../chain/call/many/multicall.ts'
import { decodeAddress, decodeWord, encodeCall, tryDecodeUint } from '../../../chain/call/words.ts'
import { readLatestBlock } from '../../../chain/evm/read_block.ts'
import { getCacheTtlMs, noteWitnesses, type QuorumResult, readByQuorum } from '../../../chain/past/quorum.ts'
import { type ChainClient, type Endpoint, isUnavailable } from '../../../chain/rpc/client.ts'
import type { Database } from '../../../db/database.ts'
import type { FinanceClient } from '../../../finance/chain.ts'
import type { FeeGrowth, TickRange } from '../../../finance/math/liquidity.ts'
import { createLogSource } from '../../../history/logs/source.ts'
import type { History } from '../../../history/stream.ts'
import { createCache } from '../../../lib/async/cache.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { CodedError, UnavailableError, UpstreamError } from '../../../lib/error.ts'
import type { ManagedHistoryQuery } from '../../liquidity/histories.ts'
import { formatPosition } from '../../liquidity/position_history/adaptive_concurrency.ts'
import { decodePnlToken, type PnlToken } from '../../liquidity/position_history/flow_price.ts'
import {
  type FoundChange,
  type LiquidityChange,
  readChanges,
} from '../../liquidity/position_history/liquidity_change.ts'
import { createMintFinder, isUnminted } from '../../liquidity/position_history/mint_block.ts'
import {
  createPositionHistoryReader,
  getPositionKey,
  type PositionHistoryReader,
} from '../../liquidity/position_history/reader.ts'
import type { PnlSubject } from '../../liquidity/position_history/valued_flows.ts'
import { CHANGE_TOPIC, decodeChanges, toFlows } from '../event.ts'
import { mayChangePayment } from '../math/hooks.ts'
import type { UniswapV4Deployment } from '../table.ts'
import { createAmountsFinder } from './change.ts'
import { CHANGE_STREAM, type ChangeTarget, toChangeTarget } from './pool_events.ts'

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
    work: Work,
  ): Promise<V4PositionOrigin> {
    const target = toChangeTarget(client.chain.id, deployment)
    const read = async (shared: Work) => {
      const { value, endpoints } = await readPositionOrigin({ client, target, tokenId, block, clock }, shared)
      noteWitnesses(client, endpoints.length, shared)
      return { value, lifeMs: getCacheTtlMs(client, endpoints.length) }
    }
    return origins.get({ key: `${getPositionKey({ client, manager, tokenId })}:${block}`, read }, work)
  }

  /** Finds the block of the mint; undefined if the position was not minted up to `toBlock`. */
  async function findMintBlock(query: UniswapV4HistoryQuery, toBlock: bigint, work: Work) {
    const { client, manager, deployment, tokenId, position } = query
    const chainId = client.chain.id
    const readNext = (endpoint: Endpoint, within: Work) => readNextId(endpoint, { manager, chainId, clock }, within)
    if (position === undefined && (await isUnminted({ client, tokenId }, readNext, work))) return undefined
    const { startBlock } = deployment
    return await findMint({ client, deployment: { manager, startBlock }, tokenId, toBlock: Number(toBlock) }, work)
  }

  const readOrigin = async (query: UniswapV4HistoryQuery, block: number, work: Work): Promise<V4PositionOrigin> => {
    const { position } = query
    const origin = position === undefined ? await readBurnedOrigin(query, block, work) : toOrigin(position)
    if (mayChangePayment(origin.hooks)) throw pnlImpossibleError(query)
    return origin
  }

  async function readSubject(query: UniswapV4HistoryQuery, block: number, work: Work): Promise<PnlSubject> {
    const { client } = query
    const { subject } = await readOrigin(query, block, work)
    const [token0, token1] = subject.tokens
    return { ...subject, tokens: [toPricedToken(client, token0), toPricedToken(client, token1)] }
  }

  return createPositionHistoryReader<UniswapV4HistoryQuery, LiquidityChange, ChangeTarget>(services, {
    stream: CHANGE_STREAM,
    async locate(query, toBlock, work) {
      const { client, deployment, position } = query
      if (position !== undefined && mayChangePayment(position.pool.hooks)) throw pnlImpossibleError(query)
      const startBlock = await findMintBlock(query, toBlock, work)
      if (startBlock === undefined) return undefined
      const { pool } = await readOrigin(query, startBlock, work)
      return { target: toChangeTarget(client.chain.id, deployment), subject: pool, startBlock }
    },
    async readFlows(query, { at, fromBlock, storedTo, tail, end, max, pricesAhead }, work) {
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
      const { tokens } = await readSubject(query, startBlock, work)
      const amountsQuery = {
        client,
        target,
        changes: changesToBlock,
        finalTo: storedTo,
        prefetcher: pricesAhead(tokens),
      }
      const changes = await findAmounts(amountsQuery, work)
      if (query.block === undefined || end.number >= query.block) checkLastChange(query, changes)
      return {
        stored: changes.filter(({ block }) => block >= fromBlock && block <= storedTo).flatMap(toFlows),
        young: changes.filter(({ block }) => block > storedTo).flatMap(toFlows),
        isCut: changesToBlock.length < all.length,
      }
    },
    async readOrigin(query, { first }, work) {
      return { subject: await readSubject(query, first.block, work) }
    },
  })
}

/**
 * True if the position's PnL can never be computed: its hook, a swap between two changes in a block, or pruned state
 * prevents it.
 */
export function isPnlImpossible(error: unknown): boolean {
  return isUnavailable(error, 'pruned') || (error instanceof CodedError && error.code === 'NOT_FOUND')
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

const NEXT_ID = toFunctionSelector('nextTokenId()')

/** Reads the next id to be minted; undefined if the call fails. Source: v4-periphery `PositionManager.nextTokenId`. */
async function readNextId(
  endpoint: Endpoint,
  { manager, chainId, clock }: { readonly manager: Address; readonly chainId: number; readonly clock: Clock },
  work: Work,
): Promise<bigint | undefined> {
  const calls = [{ to: manager, data: NEXT_ID }]
  const { results } = await readMulticall(endpoint, { calls, block: { chainId }, clock }, work)
  const next = tryDecodeUint(results[0])
  return next === 0n ? undefined : next
}

/** A burned position: only the block of its mint shows its pool and range. */
interface OriginQuery {
  readonly client: ChainClient
  readonly target: ChangeTarget
  readonly tokenId: bigint
  /** The block of its mint. */
  readonly block: number
  readonly clock: Clock
}

/** The pool, hook, tokens and range that a position was minted in. */
interface V4PositionOrigin {
  readonly pool: Hex
  readonly subject: PnlSubject
  readonly hooks: Address
}

/** `bytes25` of a pool's id → its key, which the position manager stores permanently. */
const POOL_KEYS = toFunctionSelector('poolKeys(bytes25)')
const DECIMALS = toFunctionSelector('decimals()')
const KEY_WORDS = 5
const KEY_PARAMETERS = [
  { type: 'address' },
  { type: 'address' },
  { type: 'uint24' },
  { type: 'int24' },
  { type: 'address' },
] as const
/** Decimals of the native token, which no contract describes. */
const NATIVE_DECIMALS = 18

/**
 * Reads pool, range and tokens of a position from the first change of its liquidity, by two endpoints. Throws as
 * `readByQuorum`, with an `UpstreamError` as its cause if the block does not have that change.
 */
async function readPositionOrigin(query: OriginQuery, work: Work): Promise<QuorumResult<V4PositionOrigin>> {
  const { client, tokenId } = query
  return await readByQuorum(client, (endpoint, within) => readEndpointOrigin(endpoint, query, within), {
    work,
    what: `the pool of position ${tokenId}`,
    toText: JSON.stringify,
  })
}

async function readEndpointOrigin(endpoint: Endpoint, query: OriginQuery, work: Work): Promise<V4PositionOrigin> {
  const { client, target, tokenId, block, clock } = query
  const { contract, poolManager } = target
  const filter = { addresses: [poolManager], topics: [[CHANGE_TOPIC], null, [padHex(contract, { size: 32 })]] }
  const source = createLogSource(endpoint, client.chain.id)
  const changes = decodeChanges(await source.logs(filter, { fromBlock: block, toBlock: block }, work))
  const first = changes.find((change) => change.tokenId === tokenId)
  if (first === undefined) throw new UpstreamError(`Block ${block} does not show the pool of position ${tokenId}`)
  const newest = await readLatestBlock(endpoint, client.chain.id, work)
  const readCalls = async (calls: readonly { readonly to: Address; readonly data: Hex }[]) =>
    (await readMulticall(endpoint, { calls, block: newest, clock }, work)).results
  const shortId = padHex(first.pool.slice(0, 52) as Hex, { dir: 'right', size: 32 })
  const [key] = await readCalls([{ to: contract, data: encodeCall(POOL_KEYS, shortId) }])
  const { tokens, hooks } = decodePoolKey(key, first)
  const decimals = await readCalls(tokens.map((to) => ({ to, data: DECIMALS })))
  const getToken = (index: 0 | 1): PnlToken => {
    const address = tokens[index]
    return address === zeroAddress ? { address, decimals: NATIVE_DECIMALS } : decodePnlToken(decimals[index], address)
  }
  const { pool, tickLower, tickUpper } = first
  return { pool, hooks, subject: { tokens: [getToken(0), getToken(1)], tickLower, tickUpper } }
}

/** Decodes the key of a pool. Throws `UpstreamError` unless the pool's id is its hash. */
function decodePoolKey(answer: Hex | undefined, { pool, tokenId }: LiquidityChange) {
  if (answer !== undefined && answer.length === 2 + 64 * KEY_WORDS) {
    const [token0, token1, hooks] = [decodeAddress(answer, 0), decodeAddress(answer, 1), decodeAddress(answer, 4)]
    const numbers = [Number(decodeWord(answer, 2)), Number(BigInt.asIntN(24, decodeWord(answer, 3)))] as const
    const id = keccak256(encodeAbiParameters(KEY_PARAMETERS, [token0, token1, ...numbers, hooks]))
    if (id === pool) return { tokens: [token0, token1] as const, hooks }
  }
  throw new UpstreamError(`The position manager does not know the pool of position ${tokenId}`)
}
