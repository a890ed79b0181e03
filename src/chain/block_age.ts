import { UpstreamError } from '../lib/error.ts'
import type { Block } from './block.ts'
import type { Chain } from './chain.ts'

/** The larger of the two is the default distance of the newest block from the wall clock. */
const AGE_SEC_MIN = 60
const AGE_BLOCKS = 20

/** Maximum distance of a chain's newest block from the wall clock, seconds; 60 if its block time is unknown. */
export function blockAgeMaxSec({
  blockTimeMs = 0,
  maxBlockAgeSec,
}: Pick<Chain, 'blockTimeMs' | 'maxBlockAgeSec'>): number {
  return maxBlockAgeSec ?? Math.max(AGE_SEC_MIN, (AGE_BLOCKS * blockTimeMs) / 1_000)
}

/** Finality by tag depends on another chain or a vote and lags by up to an hour. */
const FINAL_LAG_SEC = 3_600

/** Maximum age of a chain's newest final block by the wall clock, seconds. */
export function finalAgeMaxSec(chain: Pick<Chain, 'blockTimeMs' | 'maxBlockAgeSec' | 'finality'>): number {
  const { finality, blockTimeMs = 0 } = chain
  const lagSec = 'depth' in finality ? (finality.depth * blockTimeMs) / 1_000 : FINAL_LAG_SEC
  return blockAgeMaxSec(chain) + lagSec
}

/** The endpoint's newest block is too far from the wall clock; `distance` says how far, for the caller. */
export class BlockAgeError extends UpstreamError {
  readonly distance: string

  constructor({
    number,
    distance,
    maxSec,
  }: { readonly number: bigint; readonly distance: string; readonly maxSec: number }) {
    super(`The newest block of the endpoint, ${number}, is ${distance}: expected at most ${maxSec} s`)
    this.distance = `${distance} (limit ${maxSec} s)`
  }
}

/**
 * Throws `BlockAgeError` if an endpoint's newest block is further from the wall clock (`nowMs`) than the chain allows.
 * An old block means that the endpoint, or the chain, has stopped. A block in the future is as wrong: interest would
 * accrue that is not owed, and fresh prices would look stale.
 */
export function checkBlockAge(
  block: Pick<Block, 'number' | 'timestampSec'>,
  { chain, nowMs }: { readonly chain: Chain; readonly nowMs: number },
): void {
  const ageSec = Math.round(nowMs / 1_000 - Number(block.timestampSec))
  const maxSec = blockAgeMaxSec(chain)
  if (Math.abs(ageSec) <= maxSec) return
  const distance = ageSec > 0 ? `${ageSec} s old` : `${-ageSec} s ahead of the clock`
  throw new BlockAgeError({ number: block.number, distance, maxSec })
}
