import { type Hex, padHex, toEventSelector } from 'viem'
import { decodeWord, toLowerHex } from '../../chain/call/words.ts'
import { isZero } from '../../finance/math/pnl/flow.ts'
import { type HistoryLog, IncompleteError, type LogFilter } from '../../history/stream.ts'
import type { ChangeAmounts, LiquidityChange } from '../liquidity/position_history/liquidity_change.ts'
import type { PositionFlow } from '../liquidity/position_history/position_flow.ts'
import type { UniswapV4Deployment } from './table.ts'

/** Topic of the event of a change; its further topics are the id of the pool and the position manager. */
export const CHANGE_TOPIC = toEventSelector('ModifyLiquidity(bytes32,address,int24,int24,int256,bytes32)')
/** Data of the event: both ticks, the liquidity and the salt, which is the token id. */
const DATA = /^0x[0-9a-f]{256}$/

/** Decodes changes from the pool manager's logs, in their order. Throws `IncompleteError` for a log that is cut off. */
export function decodeChanges(logs: readonly HistoryLog[]): LiquidityChange[] {
  return logs.map(({ topics, data, blockNumber: block, logIndex, transactionHash, timestampSec }) => {
    const [, pool] = topics
    if (pool === undefined || !DATA.test(data)) throw new IncompleteError('shape', { fromBlock: block, toBlock: block })
    return {
      pool,
      tokenId: decodeWord(data, 3),
      block,
      logIndex,
      tickLower: Number(BigInt.asIntN(24, decodeWord(data, 0))),
      tickUpper: Number(BigInt.asIntN(24, decodeWord(data, 1))),
      liquidity: BigInt.asIntN(256, decodeWord(data, 2)),
      transactionHash,
      timestampSec,
    }
  })
}

/**
 * Converts a change to flows. Every change pays all fees, and removed liquidity is paid out at once, so both are one
 * collect; a change without liquidity is a collect alone. The flows of a change share a log.
 */
export function toFlows(change: LiquidityChange & { readonly amounts: ChangeAmounts }): PositionFlow[] {
  const { tokenId, block, logIndex, transactionHash, timestampSec, liquidity, amounts } = change
  const { principal, fees, sqrtPriceX96 } = amounts
  const shared = { tokenId, block, logIndex, transactionHash, timestampSec, sqrtPriceX96 }
  if (liquidity > 0n) {
    const increase: PositionFlow = { ...shared, kind: 'increase', liquidity, ...principal }
    if (isZero([fees.amount0, fees.amount1])) return [increase]
    return [increase, { ...shared, kind: 'collect', liquidity: 0n, ...fees }]
  }
  const [amount0, amount1] = [principal.amount0 + fees.amount0, principal.amount1 + fees.amount1]
  const collect: PositionFlow = { ...shared, kind: 'collect', liquidity: 0n, amount0, amount1 }
  return liquidity === 0n ? [collect] : [{ ...shared, kind: 'decrease', liquidity: -liquidity, ...principal }, collect]
}

/** Events of a position that triggers can watch. */
export const POSITION_EVENTS = ['increase', 'decrease', 'collect'] as const

interface ChangeEvent {
  readonly tokenId: bigint
  readonly type: (typeof POSITION_EVENTS)[number]
  readonly log: HistoryLog
}

type Managers = Pick<UniswapV4Deployment, 'positionManager' | 'poolManager'>

/** Creates a filter of the changes of all positions of a position manager. */
export function createEventFilter({ positionManager, poolManager }: Managers): LogFilter {
  const sender = padHex(toLowerHex(positionManager), { size: 32 })
  return { addresses: [toLowerHex(poolManager)], topics: [[CHANGE_TOPIC], null, [sender]] }
}

/**
 * Lists the events in logs, in their order; unrelated logs are ignored. Removing liquidity pays all fees too, so it is
 * also a collect. Whether an increase paid fees no log tells. Throws as `decodeChanges`.
 */
export function listChangeEvents(logs: readonly HistoryLog[], managers: Managers): readonly ChangeEvent[] {
  const { addresses, topics } = createEventFilter(managers)
  const isChange = (log: HistoryLog) =>
    addresses?.includes(log.address) && topics.every((each, index) => each?.includes(log.topics[index] ?? '0x') ?? true)
  return logs
    .filter(isChange)
    .flatMap((log) =>
      decodeChanges([log]).flatMap(({ tokenId, liquidity }) =>
        listTypes(liquidity).map((type) => ({ tokenId, type, log })),
      ),
    )
}

function listTypes(liquidity: bigint): readonly ChangeEvent['type'][] {
  if (liquidity > 0n) return ['increase']
  return liquidity === 0n ? ['collect'] : ['decrease', 'collect']
}

/** An event that moved a pool's price or its fees. */
export interface PoolEvent {
  readonly block: number
  readonly logIndex: number
  /** The square root of the price after the event, in Q96; undefined if only fees moved. */
  readonly sqrtPriceX96: bigint | undefined
}

const INITIALIZE = toEventSelector('Initialize(bytes32,address,address,uint24,int24,address,uint160,int24)')
const SWAP = toEventSelector('Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)')
const DONATE = toEventSelector('Donate(bytes32,address,uint256,uint256)')
/** The number of words in an event's data, and the index of the price. */
const EVENT_SHAPES = new Map<Hex, { readonly words: number; readonly price?: number }>([
  [INITIALIZE, { words: 5, price: 3 }],
  [SWAP, { words: 6, price: 2 }],
  [DONATE, { words: 2 }],
])

/** Creates a filter of the events that move a pool's price or fees. */
export function createPoolEventFilter({
  poolManager,
  pool,
}: {
  readonly poolManager: Hex
  readonly pool: Hex
}): LogFilter {
  return { addresses: [poolManager], topics: [[...EVENT_SHAPES.keys()], [pool]] }
}

/** Creates a filter of the pool's events that contain a price. */
export function createPriceFilter({ poolManager, pool }: { readonly poolManager: Hex; readonly pool: Hex }): LogFilter {
  return { addresses: [poolManager], topics: [[INITIALIZE, SWAP], [pool]] }
}

/** Decodes the logs of either filter, in their order. Throws `IncompleteError` for a log that is cut off. */
export function decodePoolEvents(logs: readonly HistoryLog[]): PoolEvent[] {
  return logs.map(({ topics, data, blockNumber: block, logIndex }) => {
    const shape = EVENT_SHAPES.get(topics[0] ?? '0x')
    if (shape === undefined || data.length !== 2 + 64 * shape.words) {
      throw new IncompleteError('shape', { fromBlock: block, toBlock: block })
    }
    const { price } = shape
    return { block, logIndex, sqrtPriceX96: price === undefined ? undefined : decodeWord(data, price) }
  })
}
