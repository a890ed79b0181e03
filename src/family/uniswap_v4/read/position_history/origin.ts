import { type Address, encodeAbiParameters, type Hex, keccak256, padHex, toFunctionSelector, zeroAddress } from 'viem'
import { readMulticall } from '../../../../chain/call/many/multicall.ts'
import { decodeAddress, decodeWord, encodeCall } from '../../../../chain/call/words.ts'
import { readLatestBlock } from '../../../../chain/evm/read_block.ts'
import { type QuorumResult, readByQuorum } from '../../../../chain/past/quorum.ts'
import type { ChainClient, Endpoint } from '../../../../chain/rpc/client.ts'
import { decodePnlToken, type PnlToken } from '../../../../finance/liquidity/position_history/flow_price.ts'
import type { LiquidityChange } from '../../../../finance/liquidity/position_history/liquidity_change.ts'
import type { PnlSubject } from '../../../../finance/liquidity/position_history/valued_flows.ts'
import { createLogSource } from '../../../../history/logs/source.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { UpstreamError } from '../../../../lib/error.ts'
import { CHANGE_TOPIC, decodeChanges } from '../../event/log.ts'
import type { ChangeTarget } from '../change/stream.ts'

/** A position that was burned: only its birth tells what it was. */
interface BirthQuestion {
  readonly client: ChainClient
  readonly place: ChangeTarget
  readonly tokenId: bigint
  /** The block of its mint. */
  readonly block: number
  readonly clock: Clock
}

/** What a position was made in. */
export interface V4PositionOrigin {
  readonly pool: Hex
  readonly subject: PnlSubject
  readonly hooks: Address
}

/** `bytes25` of a pool's id → its key, which the position manager keeps for ever. */
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
/** The chain's own token, which no contract describes. */
const NATIVE_DECIMALS = 18

/**
 * Pool, range and tokens of a position, from the first change of its liquidity. Two endpoints are asked. Throws as
 * `readByQuorum`, with an `UpstreamError` as its cause if the block does not show it.
 */
export async function readPositionOrigin(
  question: BirthQuestion,
  signal: AbortSignal,
): Promise<QuorumResult<V4PositionOrigin>> {
  const { client, tokenId } = question
  return await readByQuorum(client, (endpoint, within) => birthBy(endpoint, question, within), {
    signal,
    what: `the pool of position ${tokenId}`,
    textOf: JSON.stringify,
  })
}

async function birthBy(endpoint: Endpoint, question: BirthQuestion, signal: AbortSignal): Promise<V4PositionOrigin> {
  const { client, place, tokenId, block, clock } = question
  const { contract, poolManager } = place
  const filter = { addresses: [poolManager], topics: [[CHANGE_TOPIC], null, [padHex(contract, { size: 32 })]] }
  const source = createLogSource(endpoint, client.chain.id)
  const changes = decodeChanges(await source.logs(filter, { fromBlock: block, toBlock: block }, signal))
  const first = changes.find((change) => change.tokenId === tokenId)
  if (first === undefined) throw new UpstreamError(`Block ${block} does not show the pool of position ${tokenId}`)
  const newest = await readLatestBlock(endpoint, client.chain.id, signal)
  const ask = async (calls: readonly { readonly to: Address; readonly data: Hex }[]) =>
    (await readMulticall(endpoint, { calls, block: newest, clock }, signal)).results
  const shortId = padHex(first.pool.slice(0, 52) as Hex, { dir: 'right', size: 32 })
  const [key] = await ask([{ to: contract, data: encodeCall(POOL_KEYS, shortId) }])
  const { tokens, hooks } = keyIn(key, first)
  const decimals = await ask(tokens.map((to) => ({ to, data: DECIMALS })))
  const tokenAt = (index: 0 | 1): PnlToken => {
    const address = tokens[index]
    return address === zeroAddress ? { address, decimals: NATIVE_DECIMALS } : decodePnlToken(decimals[index], address)
  }
  const { pool, tickLower, tickUpper } = first
  return { pool, hooks, subject: { tokens: [tokenAt(0), tokenAt(1)], tickLower, tickUpper } }
}

/** The key of a pool. Throws `UpstreamError` unless the pool's id is its hash. */
function keyIn(answer: Hex | undefined, { pool, tokenId }: LiquidityChange) {
  if (answer !== undefined && answer.length === 2 + 64 * KEY_WORDS) {
    const [token0, token1, hooks] = [decodeAddress(answer, 0), decodeAddress(answer, 1), decodeAddress(answer, 4)]
    const numbers = [Number(decodeWord(answer, 2)), Number(BigInt.asIntN(24, decodeWord(answer, 3)))] as const
    const id = keccak256(encodeAbiParameters(KEY_PARAMETERS, [token0, token1, ...numbers, hooks]))
    if (id === pool) return { tokens: [token0, token1] as const, hooks }
  }
  throw new UpstreamError(`The position manager does not know the pool of position ${tokenId}`)
}
