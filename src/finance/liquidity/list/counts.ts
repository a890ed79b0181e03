import { checksumAddress } from 'viem'
import type { ClassifiedPositions, SpamPosition } from './classify.ts'

/** Most spam positions that an answer explains; more would not help. */
const SPAMS_SHOWN_MAX = 1_000

/**
 * How many positions there are of each kind, and those that were left out as spam. `unreadable` are further positions that
 * could not be decoded when they were read whole.
 */
export function presentCounts(
  reads: readonly ClassifiedPositions<{ readonly liquidity: bigint }>[],
  { filtered, unreadable = 0 }: { readonly filtered: number; readonly unreadable?: number },
) {
  const positions = reads.flatMap((read) => read.positions)
  const spams = reads.flatMap((read) => read.spams)
  const totalActive = positions.filter(({ liquidity }) => liquidity > 0n).length
  return {
    totalActive,
    totalInactive: positions.length - totalActive,
    total: positions.length,
    filtered,
    errors: reads.reduce((sum, read) => sum + read.unreadable.length, unreadable),
    spams: spams.slice(0, SPAMS_SHOWN_MAX).map(presentSpam),
  }
}

/** A position that was left out, with the reason. */
function presentSpam({ tokenId, chainId, manager, reason }: SpamPosition) {
  return { token_id: tokenId.toString(), chain_id: chainId, manager_address: checksumAddress(manager), reason }
}
