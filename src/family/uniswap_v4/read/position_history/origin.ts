import { type Address, encodeAbiParameters, type Hex, keccak256, padHex, toFunctionSelector, zeroAddress } from 'viem'
import { readMulticall } from '../../../../chain/call/many/multicall.ts'
import { decodeAddress, decodeWord, encodeCall } from '../../../../chain/call/words.ts'
import { readLatestBlock } from '../../../../chain/evm/read_block.ts'
import { type QuorumResult, readByQuorum } from '../../../../chain/past/quorum.ts'
import type { ChainClient, Endpoint } from '../../../../chain/rpc/client.ts'
import { createLogSource } from '../../../../history/logs/source.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { UpstreamError } from '../../../../lib/error.ts'
import { decodePnlToken, type PnlToken } from '../../../liquidity/position_history/flow_price.ts'
import type { LiquidityChange } from '../../../liquidity/position_history/liquidity_change.ts'
import type { PnlSubject } from '../../../liquidity/position_history/valued_flows.ts'
import { CHANGE_TOPIC, decodeChanges } from '../../event/log.ts'
import type { ChangeTarget } from '../change/stream.ts'

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
export interface V4PositionOrigin {
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
export async function readPositionOrigin(
  query: OriginQuery,
  signal: AbortSignal,
): Promise<QuorumResult<V4PositionOrigin>> {
  const { client, tokenId } = query
  return await readByQuorum(client, (endpoint, within) => readEndpointOrigin(endpoint, query, within), {
    signal,
    what: `the pool of position ${tokenId}`,
    toText: JSON.stringify,
  })
}

async function readEndpointOrigin(
  endpoint: Endpoint,
  query: OriginQuery,
  signal: AbortSignal,
): Promise<V4PositionOrigin> {
  const { client, target, tokenId, block, clock } = query
  const { contract, poolManager } = target
  const filter = { addresses: [poolManager], topics: [[CHANGE_TOPIC], null, [padHex(contract, { size: 32 })]] }
  const source = createLogSource(endpoint, client.chain.id)
  const changes = decodeChanges(await source.logs(filter, { fromBlock: block, toBlock: block }, signal))
  const first = changes.find((change) => change.tokenId === tokenId)
  if (first === undefined) throw new UpstreamError(`Block ${block} does not show the pool of position ${tokenId}`)
  const newest = await readLatestBlock(endpoint, client.chain.id, signal)
  const readCalls = async (calls: readonly { readonly to: Address; readonly data: Hex }[]) =>
    (await readMulticall(endpoint, { calls, block: newest, clock }, signal)).results
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
