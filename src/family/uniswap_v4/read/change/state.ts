import { concat, encodePacked, type Hex, keccak256, toFunctionSelector, toHex } from 'viem'
import { readMulticall } from '../../../../chain/call/many/multicall.ts'
import { decodeWord, encodeArray, encodeCall } from '../../../../chain/call/words.ts'
import { readByQuorum } from '../../../../chain/past/quorum.ts'
import type { ChainClient, Endpoint } from '../../../../chain/rpc/client.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { UpstreamError } from '../../../../lib/error.ts'
import type { LiquidityChange } from '../../../liquidity/position_history/liquidity_change.ts'
import type { Counters } from '../../math/change.ts'
import type { BlockReference } from './pool_events.ts'
import type { ChangeTarget } from './stream.ts'

/** State of a pool and of a position in it, as the pool manager stores them, at the end of a block. */
interface PoolState extends Counters {
  /** 0 before the pool is initialized. */
  readonly sqrtPriceX96: bigint
}

/** Storage slot of pools in the pool manager (v4-core `StateLibrary.POOLS_SLOT`), and of positions in a pool. */
const POOLS_SLOT = 6n
const POSITIONS_OFFSET = 6n
const EXTSLOAD = toFunctionSelector('extsload(bytes32[])')
/** Slot0 of the pool, and the three words of a position. */
const WORDS = 4

/**
 * Reads the state of a position and its pool at the end of a block from two endpoints; `witnesses` counts those that
 * agree. Bundled into one request with other reads of the block from the same event-loop turn. Throws as
 * `readByQuorum`: `StatePrunedError` if no endpoint keeps the state.
 */
export async function readState(
  { client, target, clock }: { readonly client: ChainClient; readonly target: ChangeTarget; readonly clock: Clock },
  { change, block }: { readonly change: LiquidityChange; readonly block: BlockReference },
  signal: AbortSignal,
): Promise<PoolState & { readonly witnesses: number }> {
  const calls = [{ to: target.poolManager, data: encodeStateCall(change, target.contract) }]
  const { number, hash } = block
  const callBlock = { chainId: target.chainId, number: BigInt(number), ...(hash === undefined ? {} : { hash }) }
  const attempt = async (endpoint: Endpoint, within: AbortSignal): Promise<PoolState> => {
    const { results } = await readMulticall(endpoint, { calls, block: callBlock, isLight: true, clock }, within)
    return decodeState(results[0])
  }
  const { value, endpoints } = await readByQuorum(client, attempt, {
    signal,
    past: { number: BigInt(number), timestampSec: 0n },
    isBundled: true,
    what: `the state of pool ${change.pool} at block ${number}`,
    toText: ({ sqrtPriceX96, liquidity, inside }) => `${sqrtPriceX96} ${liquidity} ${inside.growth0} ${inside.growth1}`,
  })
  return { ...value, witnesses: endpoints.length }
}

/** Encodes the call that reads the state of a position's pool and of the position from the pool manager. */
function encodeStateCall({ pool, tokenId, tickLower, tickUpper }: LiquidityChange, positionManager: Hex): Hex {
  const state = BigInt(keccak256(concat([pool, toHex(POOLS_SLOT, { size: 32 })])))
  const key = keccak256(
    encodePacked(['address', 'int24', 'int24', 'uint256'], [positionManager, tickLower, tickUpper, tokenId]),
  )
  const position = BigInt(keccak256(concat([key, toHex(state + POSITIONS_OFFSET, { size: 32 })])))
  return encodeCall(EXTSLOAD, encodeArray([state, position, position + 1n, position + 2n]))
}

/** Decodes a state. Throws `UpstreamError` for an answer of another length. */
function decodeState(answer: Hex | undefined): PoolState {
  if (answer === undefined || answer.length !== 2 + 64 * (2 + WORDS)) {
    throw new UpstreamError('The pool manager does not answer')
  }
  const [slot0, liquidity, growth0, growth1] = [2, 3, 4, 5].map((index) => decodeWord(answer, index))
  return {
    sqrtPriceX96: BigInt.asUintN(160, slot0 ?? 0n),
    liquidity: BigInt.asUintN(128, liquidity ?? 0n),
    inside: { growth0: growth0 ?? 0n, growth1: growth1 ?? 0n },
  }
}
