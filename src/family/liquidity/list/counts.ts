import { checksumAddress } from 'viem'
import type { ClassifiedPositions, SpamPosition } from './classify.ts'

/** Most spam positions that an answer lists; more would not help. */
const SPAMS_SHOWN_MAX = 1_000

/**
 * Presents the number of positions of each kind, and the spam positions. `unreadable` counts additional positions that
 * failed to decode in full.
 */
export function presentCounts(
  reads: readonly ClassifiedPositions<{ readonly liquidity: bigint }>[],
  { filtered, unreadable = 0 }: { readonly filtered: number; readonly unreadable?: number },
) {
  const positions = reads.flatMap((read) => read.positions)
  const spams = reads.flatMap((read) => read.spams)
  const totalActive = positions.filter(({ liquidity }) => liquidity > 0n).length
  return presentTotals({
    totalActive,
    totalInactive: positions.length - totalActive,
    filtered,
    errors: reads.reduce((sum, read) => sum + read.unreadable.length, unreadable),
    spams: spams.slice(0, SPAMS_SHOWN_MAX).map(presentSpam),
  })
}

/** Presents the number of positions of each kind on any chain; `filtered` are those that match the request. */
export function presentTotals<Spam>(counts: {
  readonly totalActive: number
  readonly totalInactive: number
  readonly filtered: number
  /** Positions that cannot be decoded. */
  readonly errors: number
  /** As answers have them. */
  readonly spams: readonly Spam[]
}) {
  const { totalActive, totalInactive, filtered, errors, spams } = counts
  const total = totalActive + totalInactive
  return { totalActive, totalInactive, total, filtered, errors, spams: spams.slice(0, SPAMS_SHOWN_MAX) }
}

/** Presents a spam position, with the reason. */
function presentSpam({ tokenId, chainId, manager, reason }: SpamPosition) {
  return { token_id: tokenId.toString(), chain_id: chainId, manager_address: checksumAddress(manager), reason }
}
