import type { LensCursor } from '../../../chain/call/cursor.ts'
import type { FeeGrowth } from '../../math/liquidity.ts'
import type { UsdAnswers } from '../../price/price.ts'
import { readUsdAnswers } from '../../price/price_sources.ts'
import { type RawToken, readToken } from '../../token/token.ts'

/** A token with what the sources of its price answer; nothing in a reading in brief. */
export interface RawPricedToken extends RawToken {
  readonly usd: UsdAnswers
}

/** What `positions.sol` wrote about a token. */
export function readPricedToken(from: LensCursor): RawPricedToken {
  return { ...readToken(from), usd: readUsdAnswers(from) }
}

/** Counters of fees of both tokens. */
export function readGrowth(from: LensCursor): FeeGrowth {
  return { growth0: from.uint(32), growth1: from.uint(32) }
}

/** A tick or the space between ticks: 24 bits with a sign. */
export function readTick(from: LensCursor): number {
  return (from.number(3) << 8) >> 8
}
