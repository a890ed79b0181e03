import type { Hex } from 'viem'
import { groupBy } from '../../lib/group_by.ts'
import type { AdaptiveLogSource } from '../logs/reader.ts'
import { countBlocksIn, type Range } from '../range.ts'
import type { FollowEntry } from './entry.ts'

/** How missing blocks are fetched: for the subject alone, for everybody, or not at all with these endpoints. */
type Plan = 'subject' | 'everybody' | 'impossible'

/** What one task works on, and in whose turn; a scan is everybody's. */
export interface ReadTask {
  readonly of: readonly FollowEntry[]
  readonly asker?: string
}

/** An entry with the blocks that it lacks, the newest first, and in whose turn they are read. */
export interface IncompleteEntry {
  readonly entry: FollowEntry
  readonly missing: readonly Range[]
  readonly asker: string
}

/** A subject's history is fetched alone if it takes at most this many ranges. */
const WINDOWS_MAX = 64
/** How long a range is thought to be while no endpoint has refused one. */
const USUAL_BLOCKS = { subject: 1_000_000, everybody: 10_000 } as const
/** With shorter ranges than this nobody waits for a scan of a whole chain. */
const SCAN_BLOCKS_MIN = 1_000

/**
 * Decides how to complete a subject's history. `widest` is the longest range that any endpoint takes; undefined if none
 * ever refused one.
 */
export function choosePlan({
  missing,
  everybody,
  isFollowed,
  mayScan,
  widest,
}: {
  /** What the subject lacks. */
  readonly missing: readonly Range[]
  /** What everybody's history lacks. */
  readonly everybody: readonly Range[]
  /** True if some of everybody's history is stored. */
  readonly isFollowed: boolean
  /** False if nothing is ever read for everybody. */
  readonly mayScan: boolean
  readonly widest: number | undefined
}): Plan {
  // Where everybody's history is kept, one request completes it for all who ask.
  if (isFollowed && windowsOf(everybody, widest ?? USUAL_BLOCKS.everybody) <= WINDOWS_MAX) return 'everybody'
  if (windowsOf(missing, widest ?? USUAL_BLOCKS.subject) <= WINDOWS_MAX) return 'subject'
  if (widest === undefined) return mayScan ? 'everybody' : 'subject'
  return mayScan && widest >= SCAN_BLOCKS_MIN ? 'everybody' : 'impossible'
}

/**
 * Those who lack the same blocks, and are read in the same turn, go together. A subject stays alone if `isForeseen`:
 * blocks that it lacks are being read for it alone.
 */
export function groupByMissing(
  lacking: readonly IncompleteEntry[],
  isForeseen: (subject: Hex | null, ranges: readonly Range[]) => boolean,
): Iterable<readonly IncompleteEntry[]> {
  return groupBy(lacking, ({ missing, asker, entry: { subject, isApart } }) =>
    JSON.stringify([missing, asker, isApart || isForeseen(subject, missing) ? subject : null]),
  ).values()
}

/** How long the widest endpoint's ranges must be if no plan is possible, and how long they are. */
export function computeShortfall(
  missing: readonly Range[],
  options: { readonly stream: { readonly subjectsOnly?: boolean }; readonly sources: readonly AdaptiveLogSource[] },
): { readonly needed: number; readonly widest: number } {
  const alone = Math.ceil(countBlocksIn(missing) / WINDOWS_MAX)
  return { needed: options.stream.subjectsOnly ? alone : SCAN_BLOCKS_MIN, widest: getWidestRange(options.sources) ?? 0 }
}

function windowsOf(ranges: readonly Range[], blocks: number): number {
  return Math.ceil(countBlocksIn(ranges) / blocks) + ranges.length - 1
}

/**
 * The longest range that any endpoint takes; undefined if one of them never refused one or did so long ago, or none is
 * usable.
 */
export function getWidestRange(sources: readonly AdaptiveLogSource[]): number | undefined {
  const caps = sources
    .filter(({ source }) => source.usable)
    .map(({ cap, isCapInDoubt }) => (isCapInDoubt ? undefined : cap) ?? Number.POSITIVE_INFINITY)
  const most = Math.max(0, ...caps)
  return most === 0 || most === Number.POSITIVE_INFINITY ? undefined : most
}
