import { type Hex, toEventSelector } from 'viem'
import { decodeWord } from '../../../chain/call/words.ts'
import { type HistoryLog, IncompleteError, type LogFilter } from '../../../history/stream.ts'

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
