import { type Address, type Hex, isAddressEqual, toEventSelector, toFunctionSelector, toHex } from 'viem'
import { type ContractCall, type ReturnData, readMulticall } from '../../../../chain/call/many/multicall.ts'
import { decodeWord, encodeCall, toLowerHex, tryDecodeAddress, tryDecodeUint } from '../../../../chain/call/words.ts'
import { readLatestBlock } from '../../../../chain/evm/read_block.ts'
import { getCacheTtlMs, noteWitnesses, type QuorumResult, readByQuorum } from '../../../../chain/past/quorum.ts'
import { type ChainClient, type Endpoint, isUnavailable } from '../../../../chain/rpc/client.ts'
import { parseQuantity } from '../../../../chain/rpc/value.ts'
import type { Database } from '../../../../db/database.ts'
import type { PriceBlock } from '../../../../finance/price/past/prices_at.ts'
import { createLogSource } from '../../../../history/logs/source.ts'
import type { History, HistoryLog, StreamTarget } from '../../../../history/stream.ts'
import { createCache } from '../../../../lib/async/cache.ts'
import type { Work } from '../../../../lib/async/work.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { UnavailableError, UpstreamError } from '../../../../lib/error.ts'
import type { ManagedHistoryQuery } from '../../histories.ts'
import { decodePnlToken } from '../../position_history/flow_price.ts'
import { createMintFinder, isUnminted } from '../../position_history/mint_block.ts'
import { type PositionFlow, positionSubject, readPositionFlows } from '../../position_history/position_flow.ts'
import {
  createPositionHistoryReader,
  getPositionKey,
  type PositionHistoryReader,
} from '../../position_history/reader.ts'
import type { PnlSubject } from '../../position_history/valued_flows.ts'
import type { EnumerableDeployment, EnumerableExchange } from '../exchange.ts'
import type { Position } from '../read/position.ts'
import { createCustodyEventsReader } from './custody_events.ts'
import { decodeFlows } from './flow_log.ts'
import { createFlowStream } from './stream.ts'

/** Position whose history is read. */
export type FlowHistoryQuery = ManagedHistoryQuery<EnumerableDeployment, Position>

/** Cached origins of burned positions. */
const ORIGINS_MAX = 10_000

/** Creates a reader of position histories over stored flows. */
export function createFlowHistoryReader(
  exchange: Pick<
    EnumerableExchange,
    'streamName' | 'poolKey' | 'hasCustodians' | 'custodyLog' | 'locateCustodian' | 'custodianGetter'
  >,
  services: { readonly db: Database; readonly history: History; readonly clock: Clock },
): PositionHistoryReader<FlowHistoryQuery> {
  const { db, clock } = services
  const stream = createFlowStream(exchange, clock)
  const findMint = createMintFinder()
  const origins = createCache<PositionOrigin>({ clock, entriesMax: ORIGINS_MAX })
  const poolPrices = createPoolPriceReader(clock)
  const readCustodyEvents = createCustodyEventsReader(exchange, services)

  /** Reads the origin of a burned position, cached once the block of its mint is final. */
  function readOrigin(
    query: FlowHistoryQuery,
    { first, finalTo }: { readonly first: PositionFlow; readonly finalTo: number },
    work: Work,
  ): Promise<PositionOrigin> {
    const { client, deployment } = query
    const read = async (shared: Work) => {
      const { value, endpoints } = await readPositionOrigin(
        { client, deployment, first, clock, poolKey: exchange.poolKey },
        shared,
      )
      noteWitnesses(client, endpoints.length, shared)
      const lifeMs = getCacheTtlMs(client, endpoints.length)
      return { value, lifeMs: first.block <= finalTo ? lifeMs : 0 }
    }
    return origins.get({ key: getPositionKey(query), read }, work)
  }

  return createPositionHistoryReader<FlowHistoryQuery, PositionFlow, StreamTarget>(services, {
    stream,
    async locate({ client, deployment, tokenId, position }, toBlock, work) {
      const { manager, startBlock: firstBlock } = deployment
      const chainId = client.chain.id
      const readNext = (endpoint: Endpoint, within: Work) => readNextId(endpoint, { manager, chainId, clock }, within)
      if (position === undefined && (await isUnminted({ client, tokenId }, readNext, work))) return undefined
      const startBlock = await findMint({ client, deployment, tokenId, toBlock: Number(toBlock) }, work)
      if (startBlock === undefined) return undefined
      const target = { chainId, contract: toLowerHex(manager), startBlock: firstBlock }
      return { target, subject: positionSubject(tokenId), startBlock }
    },
    async readFlows({ tokenId }, { at: { target }, fromBlock, storedTo, tail, max }) {
      const request = { target, stream: stream.name, tokenId, fromBlock, toBlock: storedTo, max }
      const stored = storedTo < fromBlock ? [] : await readPositionFlows(db, request)
      return stored && { stored, young: tail }
    },
    async readOrigin(query, context, work) {
      const { client, position, deployment } = query
      const { pool, ...subject } = position === undefined ? await readOrigin(query, context, work) : toOrigin(position)
      const isOfPool = position === undefined && deployment.registry !== undefined
      return {
        subject,
        poolPrice: (block, within) => poolPrices({ client, pool }, block, within),
        ...(isOfPool && {
          readCustody: (startBlock: number, within: Work) => readCustodyEvents({ ...query, pool }, startBlock, within),
        }),
      }
    },
    ...(exchange.hasCustodians && { readCustody: readCustodyEvents }),
  })
}

function toOrigin({ token0, token1, tickLower, tickUpper, pool }: Position): PositionOrigin {
  return { tokens: [token0, token1], tickLower, tickUpper, pool: pool.address }
}

/** Storage slot of a manager's counters: `uint176 _nextId`, then `uint80 _nextPoolId`, both from 1 on. */
const COUNTERS_SLOT = toHex(13, { size: 32 })
const NEXT_ID_BITS = 176
const TOTAL_SUPPLY = toFunctionSelector('totalSupply()')

/**
 * Reads the next id that a manager will assign. Undefined if the slot cannot hold its counters: each pool came with a
 * first position, and no position has two ids. Source: `NonfungiblePositionManager`.
 */
export async function readNextId(
  endpoint: Endpoint,
  { manager, chainId, clock }: { readonly manager: Address; readonly chainId: number; readonly clock: Clock },
  work: Work,
): Promise<bigint | undefined> {
  const block = await readLatestBlock(endpoint, chainId, work)
  const params = [manager, COUNTERS_SLOT, { blockHash: block.hash }]
  const [counters, { results }] = await Promise.all([
    endpoint.request({ method: 'eth_getStorageAt', params, parse: parseQuantity }, work),
    readMulticall(endpoint, { calls: [{ to: manager, data: TOTAL_SUPPLY }], block, clock }, work),
  ])
  const [nextId, nextPoolId] = [BigInt.asUintN(NEXT_ID_BITS, counters), counters >> BigInt(NEXT_ID_BITS)]
  const supply = tryDecodeUint(results[0])
  const areCounters = nextPoolId > 0n && nextPoolId <= nextId && supply !== undefined && supply < nextId
  return areCounters ? nextId : undefined
}

/** A burned position: only the receipt of its first flow shows its pool and range. */
interface OriginQuery {
  readonly client: ChainClient
  readonly deployment: EnumerableDeployment
  /** First flow of the position. */
  readonly first: PositionFlow
  readonly clock: Clock
  readonly poolKey: EnumerableExchange['poolKey']
}

/** Pool, range and tokens of a position. */
interface PositionOrigin extends PnlSubject {
  readonly pool: Address
}

const TOKEN_SELECTORS = ['token0()', 'token1()'].map((each) => toFunctionSelector(each))
const DECIMALS = toFunctionSelector('decimals()')
const POOL_MINT = toEventSelector('Mint(address,address,int24,int24,uint128,uint256,uint256)')

/**
 * Reads pool, range and tokens of a position from the receipt of its first flow, where the pool's own `Mint` of the
 * same amounts precedes the manager's log. Two endpoints must agree. Throws as `readByQuorum`, with an `UpstreamError`
 * as cause if the receipt does not show the pool.
 */
export async function readPositionOrigin(
  { client, deployment, first, clock, poolKey }: OriginQuery,
  work: Work,
): Promise<QuorumResult<PositionOrigin>> {
  return await readByQuorum(
    client,
    async (endpoint: Endpoint, within): Promise<PositionOrigin> => {
      const logs = (await createLogSource(endpoint, client.chain.id).receipt(first.transactionHash, within)) ?? []
      // Endpoints may count the logs of a receipt and those of a block differently, so places within the receipt decide.
      const place = logs.findIndex((log) => matchesFlow(log, first, deployment))
      const mints = logs
        .slice(0, Math.max(0, place))
        .filter((log) => matchesMint(log, first))
        .reverse()
      const block = await readLatestBlock(endpoint, client.chain.id, within)
      const callContracts: CallContracts = async (calls) =>
        (await readMulticall(endpoint, { calls, block, clock }, within)).results
      for (const mint of mints) {
        const pool = await readPool(mint.address, { deployment, poolKey, callContracts })
        const [, , lower = '0x0', upper = '0x0'] = mint.topics
        if (pool !== undefined) return { ...pool, tickLower: decodeTick(lower), tickUpper: decodeTick(upper) }
      }
      throw new UpstreamError(`Cannot find the pool of position ${first.tokenId}: the receipt has no matching mint`)
    },
    { work, what: `the pool of position ${first.tokenId}`, toText: JSON.stringify },
  )
}

type CallContracts = (calls: readonly ContractCall[]) => Promise<readonly ReturnData[]>

/** Reads pool and tokens of a contract; undefined if it is not a pool of the factory. */
async function readPool(
  pool: Address,
  {
    deployment,
    poolKey,
    callContracts,
  }: Pick<OriginQuery, 'deployment' | 'poolKey'> & { readonly callContracts: CallContracts },
): Promise<Pick<PositionOrigin, 'pool' | 'tokens'> | undefined> {
  const words = await callContracts([...TOKEN_SELECTORS, poolKey.getter].map((data) => ({ to: pool, data })))
  const [token0, token1, key] = [tryDecodeAddress(words[0]), tryDecodeAddress(words[1]), tryDecodeUint(words[2])]
  if (token0 === undefined || token1 === undefined || key === undefined || key > poolKey.max) return undefined
  const [poolWord, decimals0, decimals1] = await callContracts([
    { to: deployment.factory, data: encodeCall(poolKey.getPool, token0, token1, key) },
    { to: token0, data: DECIMALS },
    { to: token1, data: DECIMALS },
  ])
  const registeredPool = tryDecodeAddress(poolWord)
  if (registeredPool === undefined || !isAddressEqual(registeredPool, pool)) return undefined
  return { pool: registeredPool, tokens: [decodePnlToken(decimals0, token0), decodePnlToken(decimals1, token1)] }
}

/** True if a log is the manager's own of a flow. */
function matchesFlow(log: HistoryLog, first: PositionFlow, { manager }: EnumerableDeployment): boolean {
  if (!isAddressEqual(log.address, manager)) return false
  const [flow] = decodeFlows([log])
  return flow !== undefined && toFlowText(flow) === toFlowText(first)
}

function toFlowText({ kind, tokenId, liquidity, amount0, amount1 }: PositionFlow): string {
  return [kind, tokenId, liquidity, amount0, amount1].join()
}

/** True if a log is the pool's `Mint` of a flow. Its data are sender and three numbers; owner and range are topics. */
function matchesMint({ topics, data }: HistoryLog, { liquidity, amount0, amount1 }: PositionFlow): boolean {
  if (topics[0] !== POOL_MINT || topics.length !== 4 || data.length !== 2 + 4 * 64) return false
  return decodeWord(data, 1) === liquidity && decodeWord(data, 2) === amount0 && decodeWord(data, 3) === amount1
}

function decodeTick(topic: Hex): number {
  return Number(BigInt.asIntN(24, BigInt(topic)))
}

const SLOT0 = toFunctionSelector('slot0()')
const POOL_PRICES_MAX = 50_000

/**
 * Creates a cached reader of pools' square-root prices at the end of a block, Q96, confirmed by two endpoints. It
 * returns undefined if no endpoint has the state of the block, and throws `ChainUnavailableError` (disputed or late).
 */
function createPoolPriceReader(clock: Clock) {
  const poolPrices = createCache<bigint>({ clock, entriesMax: POOL_PRICES_MAX })

  return async function readPoolPriceAt(
    { client, pool }: { readonly client: ChainClient; readonly pool: Address },
    block: PriceBlock,
    work: Work,
  ): Promise<bigint | undefined> {
    const key = `${client.chain.id}:${pool}:${block.number}:${block.hash ?? ''}`
    const calls = [{ to: pool, data: SLOT0 }]
    const at = { chainId: client.chain.id, ...block }
    const attempt = async (endpoint: Endpoint, within: Work): Promise<bigint> => {
      const { results } = await readMulticall(endpoint, { calls, block: at, clock }, within)
      const [slot0] = results
      if (slot0 === undefined || slot0.length < 66) throw new UpstreamError(`Pool ${pool} does not answer`)
      return decodeWord(slot0, 0)
    }
    const what = `the price of pool ${pool} at block ${block.number}`
    const read = async (shared: Work) => {
      const options = { work: shared, past: block, what, toText: String }
      const { value, endpoints } = await readByQuorum(client, attempt, options)
      noteWitnesses(client, endpoints.length, shared)
      return { value, lifeMs: getCacheTtlMs(client, endpoints.length) }
    }
    try {
      return await poolPrices.get({ key, read }, work)
    } catch (error) {
      const isMissing = error instanceof UnavailableError && !isUnavailable(error, 'disputed', 'late')
      if (isMissing) return undefined
      throw error
    }
  }
}
