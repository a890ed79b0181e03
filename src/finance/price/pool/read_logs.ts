import { type Address, type Hex, toEventSelector, toHex } from 'viem'
import type { Block } from '../../../chain/block.ts'
import { decodeWord, toLowerHex } from '../../../chain/call/words.ts'
import { type Endpoint, type PastBlock, RpcRefusedError } from '../../../chain/rpc/client.ts'
import { parseLogs } from '../../../history/logs/parse_logs.ts'
import type { HistoryLog } from '../../../history/stream.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { PoolEvent } from './logs.ts'

const SWAP = toEventSelector('Swap(address,address,int256,int256,uint160,uint128,int24)')
const MINT = toEventSelector('Mint(address,address,int24,int24,uint128,uint256,uint256)')
const BURN = toEventSelector('Burn(address,int24,int24,uint128,uint256,uint256)')

/** Most logs of one question: an answer with more is not used. */
const LOGS_MAX = 10_000

/**
 * Reads the events of pools after the first block of a window, up to its last one; undefined if the endpoint refuses
 * them or there are too many. Times of blocks without one in their logs are interpolated. Throws `UpstreamError` for
 * logs of other pools or blocks.
 */
export async function readPoolEvents(
  endpoint: Endpoint,
  { pools, first, last }: { readonly pools: readonly Address[]; readonly first: PastBlock; readonly last: Block },
  signal: AbortSignal,
): Promise<ReadonlyMap<Hex, readonly PoolEvent[]> | undefined> {
  const range = { fromBlock: toHex(first.number + 1n), toBlock: toHex(last.number) }
  const params = [{ address: pools, topics: [[SWAP, MINT, BURN]], ...range }]
  const logs = await readLogs(endpoint, params, signal)
  if (logs === undefined || logs.length > LOGS_MAX) return undefined
  const eventsByPool = new Map<Hex, PoolEvent[]>()
  const asked = new Set(pools.map(toLowerHex))
  for (const log of logs.toSorted((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex)) {
    const number = BigInt(log.blockNumber)
    const isAsked = asked.has(log.address) && number > first.number && number <= last.number
    const event = isAsked ? parseEvent(log, log.timestampSec ?? interpolateTime(number, { first, last })) : undefined
    if (event === undefined) throw new UpstreamError('The endpoint answers with logs that it was not asked for')
    const poolEvents = eventsByPool.get(log.address)
    if (poolEvents === undefined) eventsByPool.set(log.address, [event])
    else poolEvents.push(event)
  }
  return eventsByPool
}

async function readLogs(
  endpoint: Endpoint,
  params: readonly unknown[],
  signal: AbortSignal,
): Promise<readonly HistoryLog[] | undefined> {
  try {
    return await endpoint.request({ method: 'eth_getLogs', params, parse: parseLogs }, signal)
  } catch (error) {
    // Endpoints limit logs in many ways; a price without them is marked.
    const isRefused = error instanceof RpcRefusedError || error instanceof UpstreamError
    if (isRefused && !signal.aborted) return undefined
    throw error
  }
}

function interpolateTime(
  number: bigint,
  { first, last }: { readonly first: PastBlock; readonly last: PastBlock },
): number {
  const elapsed = (last.timestampSec - first.timestampSec) * (number - first.number)
  return Number(first.timestampSec + elapsed / (last.number - first.number))
}

function parseEvent({ topics, data }: HistoryLog, timeSec: number): PoolEvent | undefined {
  const [topic, , lower, upper] = topics
  if (topic === SWAP) {
    if (data.length < 2 + 5 * 64) return undefined
    return {
      kind: 'swap',
      timeSec,
      amount1: BigInt.asIntN(256, decodeWord(data, 1)),
      sqrtPriceX96: decodeWord(data, 2),
      liquidity: decodeWord(data, 3),
      tick: Number(BigInt.asIntN(24, decodeWord(data, 4))),
    }
  }
  const isMint = topic === MINT
  if (lower === undefined || upper === undefined || data.length < 2 + (isMint ? 4 : 3) * 64) return undefined
  const liquidity = decodeWord(data, isMint ? 1 : 0)
  return {
    kind: 'change',
    timeSec,
    tickLower: Number(BigInt.asIntN(24, BigInt(lower))),
    tickUpper: Number(BigInt.asIntN(24, BigInt(upper))),
    liquidity: isMint ? liquidity : -liquidity,
  }
}
