import { type Address, type Hex, toEventSelector, toHex } from 'viem'
import { type Block, matchesBlock } from '../../../chain/block.ts'
import type { LensAccess } from '../../../chain/call/lens.ts'
import { decodeWord, toLowerHex } from '../../../chain/call/words.ts'
import { type CallBlock, type Endpoint, type PastBlock, RpcRefusedError } from '../../../chain/rpc/client.ts'
import { hasFault } from '../../../chain/rpc/error.ts'
import { parseLogs } from '../../../history/logs/parse_logs.ts'
import type { HistoryLog } from '../../../history/stream.ts'
import { allOrAbort } from '../../../lib/async/parallel.ts'
import type { Work } from '../../../lib/async/work.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { Q96, Q128 } from '../../../lib/number/fixed_point.ts'
import { sqrtPriceAtTickX96 } from '../../math/liquidity.ts'
import { decodeLook, encodeLook, type FoundPool, type PoolRow, type RawPool } from './abi.ts'
import {
  ABSENT_LOOK,
  computeLook,
  computeStanding,
  INTERVALS,
  type Interval,
  type Look,
  orient,
  type Segment,
  type Standing,
  type SumsAt,
  toIntervals,
  toSegments,
  toSpotX96,
  toWindowIntervals,
  WINDOW_SEC,
} from './depth.ts'
import type { PoolReading, PricedQuote } from './pool_price.ts'
import { type Anchors, computeLookAges, estimateNumber, isAtTime, searchBlock } from './read_past_blocks.ts'

/** Pools of one call; a page takes as many as its gas reaches. */
const PAGE_POOLS = 250
const LIGHT_POOLS_MAX = 16
/** Fees of the tiers, millionths. */
const TIER_FEES = [100, 500, 3_000, 10_000] as const

/** A pool to read in full. */
export interface Candidate {
  readonly row: PoolRow
  readonly quote: PricedQuote
  readonly found: FoundPool
}

/** An endpoint with the lens, and the blocks of a question. */
interface PoolsContext {
  readonly access: LensAccess
  readonly endpoint: Endpoint
  readonly anchors: Anchors
}

/** Pools at a block, in the order of their rows. */
interface PoolsAt {
  readonly timeSec: bigint
  readonly pools: readonly (RawPool | undefined)[]
}

/**
 * Reads pools in full, at their block and at earlier ones, concurrently; by their logs if the endpoint does not keep
 * earlier states. Throws as `LensAccess.call`, and `UpstreamError` if an answer is of another block than requested.
 */
export async function readPools(
  context: PoolsContext,
  candidates: readonly Candidate[],
  work: Work,
): Promise<PoolReading[]> {
  const { block } = context.anchors
  const rows = candidates.map(({ row }) => row)
  const startSec = block.timestampSec - BigInt(WINDOW_SEC)
  const forgetful = candidates.filter(({ found }) => BigInt(found.oldestSec) > startSec).map(({ row }) => row)
  const readNow = async () => {
    const now = await readRows(context, { rows, at: { hash: block.hash }, points: INTERVALS + 1, isEarlier: false })
    if (!matchesBlock(now.block, block)) throw new UpstreamError('The chain changed before pools were read')
    return { timeSec: block.timestampSec, pools: now.pools }
  }
  const times = computeLookAges(block.hash).map((ageSec) => block.timestampSec - BigInt(ageSec))
  const [now, start, ...looks] = await allOrAbort<PoolsAt | undefined>(
    [
      readNow,
      (within) => readEarlier(context, { rows: forgetful, timeSec: startSec }, within),
      ...times.map((timeSec) => (within: Work) => readEarlier(context, { rows, timeSec }, within)),
    ],
    work,
  )
  if (now === undefined) throw new UpstreamError('Cannot read pools: no answer')
  const earlier = looks.filter((look) => look !== undefined)
  if (earlier.length < looks.length || start === undefined) return await readByLogs(context, { candidates, now }, work)
  const startByRow = new Map(forgetful.map((row, index) => [row, start.pools[index]]))
  return candidates.map((candidate, index) => {
    const past = [
      { timeSec: start.timeSec, pool: startByRow.get(candidate.row) },
      ...earlier.map(({ timeSec, pools }) => ({ timeSec, pool: pools[index] })),
    ]
    return toReading(candidate, { now, pool: now.pools[index], past })
  })
}

/** Reads pools at the last block at or before a moment, or near it; undefined if the endpoint does not keep its state. */
async function readEarlier(
  context: PoolsContext,
  { rows, timeSec }: { readonly rows: readonly PoolRow[]; readonly timeSec: bigint },
  work: Work,
): Promise<PoolsAt | undefined> {
  const { endpoint, anchors } = context
  const absent = { timeSec, pools: rows.map(() => undefined) }
  const number = estimateNumber(anchors, timeSec)
  if (number === undefined || rows.length === 0) return absent
  const readAt = (at: bigint) => readRows(context, { rows, at, points: 1, isEarlier: true })
  try {
    const read = await readAt(number)
    if (isAtTime(read.block, timeSec)) return { timeSec: read.block.timestampSec, pools: read.pools }
    const block = await searchBlock(endpoint, { anchors, timeSec }, work)
    if (block === undefined) return absent
    const { pools } = block.number === number ? read : await readAt(block.number)
    return { timeSec: block.timestampSec, pools }
  } catch (error) {
    if (hasFault(error, 'no_state', 'no_block')) return undefined
    throw error
  }
}

/** Reads rows at one block, in as many pages as their gas takes. */
async function readRows(
  { access, anchors: { chainId } }: PoolsContext,
  {
    rows,
    at,
    points,
    isEarlier,
  }: {
    readonly rows: readonly PoolRow[]
    readonly at: CallBlock
    readonly points: number
    readonly isEarlier: boolean
  },
): Promise<{ readonly block: Block; readonly pools: readonly (RawPool | undefined)[] }> {
  const pools: (RawPool | undefined)[] = []
  let block: Block | undefined
  while (pools.length < rows.length) {
    const pageRows = rows.slice(pools.length, pools.length + PAGE_POOLS)
    const data = encodeLook(pageRows, { points, windowSec: WINDOW_SEC })
    const isLight = !isEarlier && pageRows.length <= LIGHT_POOLS_MAX
    const page = decodeLook(
      await access.call({ data, block: at, isLight, ...(isEarlier && { isEarlier, mustWait: false }) }),
    )
    if (page.taken === 0) throw new RpcRefusedError(0, 'The endpoint allows too little gas for one pool', 'size')
    const isRequested = page.block.chainId === chainId && (typeof at !== 'bigint' || page.block.number === at)
    if (!isRequested || (block !== undefined && !matchesBlock(page.block, block))) {
      throw new UpstreamError('The endpoint answers from another block than it was asked')
    }
    block = page.block
    pools.push(...page.pools)
  }
  if (block === undefined) throw new UpstreamError('Cannot read pools: no rows')
  return { block, pools }
}

/** A pool's states, and the block now. */
interface PoolStates {
  readonly now: PoolsAt
  readonly pool: RawPool | undefined
  /** The start of the window, read only if the pool does not remember it; then the looks. */
  readonly past: readonly { readonly timeSec: bigint; readonly pool: RawPool | undefined }[]
}

function toReading({ row, quote }: Candidate, { now, pool, past }: PoolStates): PoolReading {
  const { isToken1 } = row
  const [, ...looks] = past
  const states = [{ timeSec: now.timeSec, pool }, ...past]
  return {
    row,
    quote,
    standing: pool && (computeRemembered(pool, { now, isToken1 }) ?? computeFromStates(states, isToken1)),
    looks: [pool, ...looks.map((each) => each.pool)].map((each) => toLook(each, isToken1)),
    spotX96: pool && toSpotX96(pool, isToken1),
    hasPast: true,
  }
}

/** By the pool's own oracle; undefined if it does not remember the window. */
function computeRemembered(
  { sums }: RawPool,
  { now, isToken1 }: { readonly now: PoolsAt; readonly isToken1: boolean },
): Standing | undefined {
  if (sums.length <= 1) return undefined
  return computeStanding(toWindowIntervals(sums, { timeSec: Number(now.timeSec), isToken1 }))
}

/** By the sums of the oracle in earlier states. */
function computeFromStates(
  states: readonly { readonly timeSec: bigint; readonly pool: RawPool | undefined }[],
  isToken1: boolean,
): Standing | undefined {
  const sums = states.flatMap(({ timeSec, pool }): SumsAt[] => {
    const last = pool?.sums.at(-1)
    return last === undefined ? [] : [{ ...last, timeSec: Number(timeSec) }]
  })
  return computeStanding(
    toIntervals(
      sums.toSorted((a, b) => a.timeSec - b.timeSec),
      { isToken1 },
    ),
  )
}

function toLook(pool: RawPool | undefined, isToken1: boolean): Look {
  return pool === undefined ? ABSENT_LOOK : computeLook(pool, toSegments(pool, isToken1), isToken1)
}

/** Reads the past of pools from their logs; without logs they have none. */
async function readByLogs(
  { endpoint, anchors }: PoolsContext,
  { candidates, now }: { readonly candidates: readonly Candidate[]; readonly now: PoolsAt },
  work: Work,
): Promise<PoolReading[]> {
  const { block } = anchors
  const timeSec = block.timestampSec - BigInt(WINDOW_SEC)
  const first = (await searchBlock(endpoint, { anchors, timeSec }, work)) ?? { number: 0n, timestampSec: timeSec }
  const pools = candidates.map(({ row }) => row.pool)
  const eventsByPool = await readPoolEvents(endpoint, { pools, first, last: block }, work)
  return candidates.map(({ row, quote }, index): PoolReading => {
    const pool = now.pools[index]
    const reading = { row, quote, spotX96: pool && toSpotX96(pool, row.isToken1), hasPast: eventsByPool !== undefined }
    if (pool === undefined) return { ...reading, standing: undefined, looks: [ABSENT_LOOK] }
    if (eventsByPool === undefined) return { ...reading, standing: undefined, looks: [toLook(pool, row.isToken1)] }
    return { ...reading, ...replayLogs({ row, pool, now }, eventsByPool.get(toLowerHex(row.pool)) ?? []) }
  })
}

function replayLogs(
  { row, pool, now }: { readonly row: PoolRow; readonly pool: RawPool; readonly now: PoolsAt },
  events: readonly PoolEvent[],
): Pick<PoolReading, 'standing' | 'looks'> {
  const { isToken1, tier } = row
  const fee = TIER_FEES[tier] ?? 0
  const intervals = () => computeLogIntervals(events, pool, { fee, timeSec: Number(now.timeSec), isToken1 })
  return {
    standing: computeRemembered(pool, { now, isToken1 }) ?? computeStanding(intervals()),
    looks: [computeLook(pool, dropNewLiquidity(toSegments(pool, isToken1), events, isToken1), isToken1)],
  }
}

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
async function readPoolEvents(
  endpoint: Endpoint,
  { pools, first, last }: { readonly pools: readonly Address[]; readonly first: PastBlock; readonly last: Block },
  work: Work,
): Promise<ReadonlyMap<Hex, readonly PoolEvent[]> | undefined> {
  const range = { fromBlock: toHex(first.number + 1n), toBlock: toHex(last.number) }
  const params = [{ address: pools, topics: [[SWAP, MINT, BURN]], ...range }]
  const logs = await readLogs(endpoint, params, work)
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
  work: Work,
): Promise<readonly HistoryLog[] | undefined> {
  try {
    return await endpoint.request({ method: 'eth_getLogs', params, parse: parseLogs }, work)
  } catch (error) {
    // Endpoints limit logs in many ways; a price without them is marked.
    const isRefused = error instanceof RpcRefusedError || error instanceof UpstreamError
    if (isRefused && !work.signal.aborted) return undefined
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

const TICK_MIN = -887_272
const TICK_MAX = 887_272
const FEE_UNIT = 1_000_000n

/** A change of a pool, in its own ticks. */
export type PoolEvent = { readonly timeSec: number } & (
  | {
      readonly kind: 'swap'
      /** Square root of the price, liquidity and tick after it. */
      readonly sqrtPriceX96: bigint
      readonly liquidity: bigint
      readonly tick: number
      /** What the pool received of `token1`, below zero if it paid. */
      readonly amount1: bigint
    }
  | {
      readonly kind: 'change'
      readonly tickLower: number
      readonly tickUpper: number
      /** Liquidity that a mint adds, below zero for a burn. */
      readonly liquidity: bigint
    }
)

/** A pool's tick and liquidity from a moment on. */
interface Step {
  readonly fromSec: number
  readonly tick: number
  readonly liquidity: bigint
}

/**
 * Computes the twelve intervals of a window from the events in it and what stands at its end: ticks and liquidity are
 * steps between events. `fee` is the tier's, millionths.
 *
 * @source v3-core `SwapMath.computeSwapStep`: √P before a swap is √P after it, less its net amount of `token1` over L
 */
export function computeLogIntervals(
  events: readonly PoolEvent[],
  pool: Pick<RawPool, 'sqrtPriceX96' | 'liquidity'>,
  options: { readonly fee: number; readonly timeSec: number; readonly isToken1: boolean },
): Interval[] {
  const { timeSec, isToken1 } = options
  const startSec = timeSec - WINDOW_SEC
  const steps = toSteps(events, { fromSec: startSec, ...findStart(events, pool, options.fee) })
  const length = WINDOW_SEC / INTERVALS
  return Array.from({ length: INTERVALS }, (_, index) => {
    const [from, until] = [startSec + index * length, startSec + (index + 1) * length]
    let [ticks, inverse] = [0, 0n]
    for (const [at, { fromSec, tick, liquidity }] of steps.entries()) {
      const seconds = Math.min(until, steps[at + 1]?.fromSec ?? timeSec) - Math.max(from, fromSec)
      if (seconds <= 0) continue
      ticks += tick * seconds
      inverse += (BigInt(seconds) * Q128) / (liquidity > 0n ? liquidity : 1n)
    }
    const liquidity = inverse === 0n ? 0n : (BigInt(length) * Q128) / inverse
    return { seconds: length, tick: orient(Math.floor(ticks / length), isToken1), liquidity }
  })
}

function findStart(
  events: readonly PoolEvent[],
  { sqrtPriceX96, liquidity }: Pick<RawPool, 'sqrtPriceX96' | 'liquidity'>,
  fee: number,
): Pick<Step, 'tick' | 'liquidity'> {
  const firstSwap = events.findIndex(({ kind }) => kind === 'swap')
  const swap = events[firstSwap]
  const start =
    swap?.kind === 'swap'
      ? { tick: findTick(undoSwap(swap, fee)), liquidity: swap.liquidity }
      : { tick: findTick(sqrtPriceX96), liquidity }
  for (const event of firstSwap < 0 ? events : events.slice(0, firstSwap)) {
    if (event.kind === 'change' && isAround(event, start.tick)) start.liquidity -= event.liquidity
  }
  return start
}

function undoSwap(
  { sqrtPriceX96, liquidity, amount1 }: Extract<PoolEvent, { readonly kind: 'swap' }>,
  fee: number,
): bigint {
  if (liquidity === 0n) return sqrtPriceX96
  const net = amount1 > 0n ? (amount1 * (FEE_UNIT - BigInt(fee))) / FEE_UNIT : amount1
  const before = sqrtPriceX96 - (net * Q96) / liquidity
  return before > 0n ? before : sqrtPriceX96
}

function toSteps(events: readonly PoolEvent[], start: Step): Step[] {
  const steps = [start]
  let current = start
  for (const event of events) {
    const fromSec = Math.max(start.fromSec, event.timeSec)
    if (event.kind === 'swap') current = { fromSec, tick: event.tick, liquidity: event.liquidity }
    else if (!isAround(event, current.tick)) continue
    else current = { fromSec, tick: current.tick, liquidity: current.liquidity + event.liquidity }
    steps.push(current)
  }
  return steps
}

function isAround(range: { readonly tickLower: number; readonly tickUpper: number }, tick: number): boolean {
  return range.tickLower <= tick && tick < range.tickUpper
}

/** The greatest tick whose square root is at most this one. */
export function findTick(sqrtPriceX96: bigint): number {
  let [low, high] = [TICK_MIN, TICK_MAX]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (sqrtPriceAtTickX96(middle) <= sqrtPriceX96) low = middle
    else high = middle - 1
  }
  return low
}

/**
 * Takes away, range by range, the liquidity that was minted in a window and not burned again: what is new proves nothing
 * where no earlier state is known.
 */
export function dropNewLiquidity(
  segments: readonly Segment[],
  events: readonly PoolEvent[],
  isToken1: boolean,
): Segment[] {
  const added = new Map<string, { readonly lowX96: bigint; readonly highX96: bigint; liquidity: bigint }>()
  for (const event of events) {
    if (event.kind !== 'change') continue
    const { tickLower, tickUpper } = event
    const key = `${tickLower}:${tickUpper}`
    const range = added.get(key) ?? { ...toRange(tickLower, tickUpper, isToken1), liquidity: 0n }
    range.liquidity += event.liquidity
    added.set(key, range)
  }
  const ranges = [...added.values()].filter(({ liquidity }) => liquidity > 0n)
  return segments
    .map((segment) => {
      const inside = ranges.filter(({ lowX96, highX96 }) => lowX96 < segment.highX96 && segment.lowX96 < highX96)
      return { ...segment, liquidity: inside.reduce((rest, { liquidity }) => rest - liquidity, segment.liquidity) }
    })
    .filter(({ liquidity }) => liquidity > 0n)
}

function toRange(tickLower: number, tickUpper: number, isToken1: boolean) {
  const [low, high] = [sqrtPriceAtTickX96(tickLower), sqrtPriceAtTickX96(tickUpper)]
  const square = Q96 * Q96
  return isToken1 ? { lowX96: square / high, highX96: square / low } : { lowX96: low, highX96: high }
}
