import { type Address, type Hex, isAddressEqual, toEventSelector, toFunctionSelector } from 'viem'
import { type ContractCall, type ReturnData, readMulticall } from '../../../../chain/call/many/multicall.ts'
import { decodeWord, encodeCall, tryDecodeAddress, tryDecodeUint } from '../../../../chain/call/words.ts'
import { readLatestBlock } from '../../../../chain/evm/read_block.ts'
import { type QuorumResult, readByQuorum } from '../../../../chain/past/quorum.ts'
import type { ChainClient, Endpoint } from '../../../../chain/rpc/client.ts'
import { createLogSource } from '../../../../history/logs/source.ts'
import type { HistoryLog } from '../../../../history/stream.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { UpstreamError } from '../../../../lib/error.ts'
import { decodePnlToken } from '../../position_history/flow_price.ts'
import type { PositionFlow } from '../../position_history/position_flow.ts'
import type { PnlSubject } from '../../position_history/valued_flows.ts'
import type { EnumerableDeployment, EnumerableExchange } from '../exchange.ts'
import { decodeFlows } from './flow_log.ts'

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
export interface PositionOrigin extends PnlSubject {
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
  signal: AbortSignal,
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
    { signal, what: `the pool of position ${first.tokenId}`, toText: JSON.stringify },
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
