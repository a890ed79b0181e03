import { type Address, type Hex, toFunctionSelector } from 'viem'
import { decodeLensPage, type LensCursor, readOptional } from '../../../chain/call/cursor.ts'
import type { LensPage } from '../../../chain/call/pages.ts'
import { encodeBytes, encodeCall, packAddress } from '../../../chain/call/words.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { UsdAnswers } from '../price.ts'
import { encodePriceSources, PRICE_SOURCES_ARGUMENT, type PriceSources, readUsdAnswers } from '../price_sources.ts'

const FIND = toFunctionSelector(`find(address factory, bytes quotes, bytes tokens, ${PRICE_SOURCES_ARGUMENT})`)
const LOOK = toFunctionSelector('look(bytes pools, uint256 points, uint256 windowSec)')

/** Tiers of a factory: fee in hundredths of a basis point, and the distance of its usable ticks. */
const TIERS = 4
/** Ends the pools of a token, and a list of ticks. */
const LAST_POOL = 255
const LAST_TICK = 0x7fffff
/** Marks a pool whose priced token is `token1`. */
const TOKEN1_FLAG = 128

/** The part of a search that all its pages share. */
export interface PoolSearch {
  readonly factory: Address
  readonly quotes: readonly Address[]
  readonly prices: PriceSources
}

/** A pool of a token, as a search finds it. */
export interface FoundPool {
  readonly pool: Address
  /** Index of the quote token in the search. */
  readonly quote: number
  /** Index of the tier: 0.01 %, 0.05 %, 0.3 %, 1 %. */
  readonly tier: number
  readonly sqrtPriceX96: bigint
  readonly liquidity: bigint
  /** Quote tokens in the pool, smallest units. */
  readonly quoteRaw: bigint
  /** Times of its oracle's newest and oldest observation, seconds since the epoch modulo 2^32. */
  readonly newestSec: number
  readonly oldestSec: number
}

/** One page of a search; `taken` counts tokens. */
export interface FoundPools extends LensPage {
  /** Decimals and prices of quote tokens; no decimals if the token does not return a uint8. */
  readonly quotes: readonly { readonly decimals: number | undefined; readonly usd: UsdAnswers }[]
  /** Initialised pools of each token, in the order of the tokens. */
  readonly pools: readonly (readonly FoundPool[])[]
}

/** Encodes the call data of a search. */
export function encodeSearch({ factory, quotes, prices }: PoolSearch, tokens: readonly Address[]): Hex {
  const [packedQuotes, packedTokens] = [quotes, tokens].map((each) => encodeBytes(each.map(packAddress).join('')))
  return encodeCall(FIND, factory, packedQuotes ?? '0x', packedTokens ?? '0x', encodePriceSources(prices))
}

/** Decodes one page of a search. The head of `lens.sol` describes its layout. Throws `UpstreamError` if it is cut short. */
export function decodeSearch(answer: Hex, quoteCount: number): FoundPools {
  const { from, block, taken } = decodeLensPage(answer)
  const quotes = Array.from({ length: quoteCount }, () => ({
    decimals: readOptional(from, () => from.number(1)),
    usd: readUsdAnswers(from),
  }))
  const pools = Array.from({ length: taken }, () => [...readFoundPools(from, quoteCount)])
  return { block, taken, quotes, pools }
}

function* readFoundPools(from: LensCursor, quoteCount: number): Generator<FoundPool> {
  for (let candidate = from.number(1); candidate !== LAST_POOL; candidate = from.number(1)) {
    const quote = Math.floor(candidate / TIERS)
    if (quote >= quoteCount) throw new UpstreamError('Cannot decode the lens: unknown quote token')
    yield {
      quote,
      tier: candidate % TIERS,
      pool: from.address(),
      sqrtPriceX96: from.uint(20),
      liquidity: from.uint(16),
      quoteRaw: from.uint(16),
      newestSec: from.number(4),
      oldestSec: from.number(4),
    }
  }
}

/** A pool to look at. */
export interface PoolRow {
  readonly pool: Address
  readonly quote: Address
  readonly tier: number
  /** True if the priced token is `token1` of the pool. */
  readonly isToken1: boolean
}

/** An initialised tick, and the liquidity that an upward crossing adds. */
interface RawTick {
  readonly tick: number
  readonly net: bigint
}

/** Initialised ticks on one side of the price, nearest first. */
export interface TickSide {
  readonly ticks: readonly RawTick[]
  /** The tick up to which they were read. */
  readonly end: number
}

/** Sums of a pool's oracle at a moment: ticks over seconds (56 bits), seconds per liquidity (Q128, 160 bits). */
export interface OracleSums {
  readonly tickSum: bigint
  readonly inverseSum: bigint
}

/** What stands in a pool at a block, in the pool's own ticks. */
export interface RawPool {
  readonly sqrtPriceX96: bigint
  readonly tick: number
  readonly liquidity: bigint
  /** Quote tokens in the pool, smallest units. */
  readonly quoteRaw: bigint
  /** At equal steps over the window, the last of them now; one, now, if the oracle does not remember the window. */
  readonly sums: readonly OracleSums[]
  readonly below: TickSide
  readonly above: TickSide
}

/** One page of looks; `taken` counts pools. */
export interface RawPools extends LensPage {
  /** Undefined for a pool that is not there at the block. */
  readonly pools: readonly (RawPool | undefined)[]
}

/** Encodes the call data of a look at pools; `points` moments of the oracle over the window, one for now alone. */
export function encodeLook(
  rows: readonly PoolRow[],
  { points, windowSec }: { readonly points: number; readonly windowSec: number },
): Hex {
  const packed = rows.map(({ pool, quote, tier, isToken1 }) => {
    const kind = tier + (isToken1 ? TOKEN1_FLAG : 0)
    return packAddress(pool) + packAddress(quote) + kind.toString(16).padStart(2, '0')
  })
  return encodeCall(LOOK, encodeBytes(packed.join('')), BigInt(points), BigInt(windowSec))
}

/** Decodes one page of looks. Throws `UpstreamError` if it is cut short. */
export function decodeLook(answer: Hex): RawPools {
  const { from, block, taken } = decodeLensPage(answer)
  return { block, taken, pools: Array.from({ length: taken }, () => readPool(from)) }
}

function readPool(from: LensCursor): RawPool | undefined {
  if (from.number(1) === 0) return undefined
  return {
    sqrtPriceX96: from.uint(20),
    tick: readTick(from),
    liquidity: from.uint(16),
    quoteRaw: from.uint(16),
    sums: Array.from({ length: from.number(1) }, () => ({
      tickSum: BigInt.asIntN(56, from.uint(7)),
      inverseSum: from.uint(20),
    })),
    below: readSide(from),
    above: readSide(from),
  }
}

function readSide(from: LensCursor): TickSide {
  const ticks: RawTick[] = []
  for (let tick = readTick(from); tick !== LAST_TICK; tick = readTick(from)) {
    ticks.push({ tick, net: BigInt.asIntN(128, from.uint(16)) })
  }
  return { ticks, end: readTick(from) }
}

/** Reads a signed number of 3 bytes. */
function readTick(from: LensCursor): number {
  return (from.number(3) << 8) >> 8
}
