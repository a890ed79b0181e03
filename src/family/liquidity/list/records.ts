import type { LensCursor } from '../../../chain/call/cursor.ts'
import type { FeeGrowth } from '../../../finance/math/liquidity.ts'
import type { UsdAnswers } from '../../../finance/price/price.ts'
import { readUsdAnswers } from '../../../finance/price/price_sources.ts'
import { type RawToken, readToken } from '../../../finance/token/token.ts'

/** A token with the answers of its price sources; a brief read has none. */
export interface RawPricedToken extends RawToken {
  readonly usd: UsdAnswers
}

/** Decodes a token as `positions.sol` writes it. */
export function readPricedToken(from: LensCursor): RawPricedToken {
  return { ...readToken(from), usd: readUsdAnswers(from) }
}

/** Decodes the fee counters of both tokens. */
export function readGrowth(from: LensCursor): FeeGrowth {
  return { growth0: from.uint(32), growth1: from.uint(32) }
}

/** Decodes a tick or a tick spacing: 24 bits with a sign. */
export function readTick(from: LensCursor): number {
  return (from.number(3) << 8) >> 8
}
