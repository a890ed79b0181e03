import type { Hex } from 'viem'
import { groupBy } from '../../lib/group_by.ts'
import type { AdaptiveLogSource } from '../logs/reader.ts'
import { countBlocksIn, type Range } from '../range.ts'
import type { FollowEntry } from './entry.ts'

/** How missing blocks are read: for the subject alone, for all subjects, or not at all with these endpoints. */
type Plan = 'subject' | 'global' | 'impossible'

/** The entries of one task, and the requester whose turn it uses; a global scan has none. */
export interface ReadTask {
  readonly taskEntries: readonly FollowEntry[]
  readonly requester?: string
}

/** An entry with its missing blocks, newest first, and the requester whose turn they use. */
export interface IncompleteEntry {
  readonly entry: FollowEntry
  readonly missing: readonly Range[]
  readonly requester: string
}

/** A subject's history is read alone if it takes at most this many ranges. */
const WINDOWS_MAX = 64
/** Assumed range length while no endpoint has refused a range. */
const USUAL_BLOCKS = { subject: 1_000_000, global: 10_000 } as const
/** Below this range length a full-chain scan takes too long to wait for. */
const SCAN_BLOCKS_MIN = 1_000

/**
 * Chooses how to complete a subject's history. `widest` is the longest range that any endpoint accepts; undefined if
 * none was ever refused.
 */
export function choosePlan({
  missing,
  globalMissing,
  hasGlobalRanges,
  canScan,
  widest,
}: {
  /** Missing blocks of the subject. */
  readonly missing: readonly Range[]
  /** Missing blocks of the global history. */
  readonly globalMissing: readonly Range[]
  /** True if any block of the global history is stored. */
  readonly hasGlobalRanges: boolean
  /** False if the stream has no global scans. */
  readonly canScan: boolean
  readonly widest: number | undefined
}): Plan {
  // Where a global history is stored, one request extends it for all requesters.
  if (hasGlobalRanges && countWindows(globalMissing, widest ?? USUAL_BLOCKS.global) <= WINDOWS_MAX) return 'global'
  if (countWindows(missing, widest ?? USUAL_BLOCKS.subject) <= WINDOWS_MAX) return 'subject'
  if (widest === undefined) return canScan ? 'global' : 'subject'
  return canScan && widest >= SCAN_BLOCKS_MIN ? 'global' : 'impossible'
}

/**
 * Groups entries with the same missing blocks and the same requester. A subject stays alone if `isPrefetched`: its
 * missing blocks are already being read for it.
 */
export function groupByMissing(
  incompleteEntries: readonly IncompleteEntry[],
  isPrefetched: (subject: Hex | null, ranges: readonly Range[]) => boolean,
): Iterable<readonly IncompleteEntry[]> {
  return groupBy(incompleteEntries, ({ missing, requester, entry: { subject, isIsolated: isApart } }) =>
    JSON.stringify([missing, requester, isApart || isPrefetched(subject, missing) ? subject : null]),
  ).values()
}

/** If no plan is possible: the range length that the widest endpoint needs, and the length that it accepts. */
export function computeShortfall(
  missing: readonly Range[],
  options: { readonly stream: { readonly subjectsOnly?: boolean }; readonly sources: readonly AdaptiveLogSource[] },
): { readonly needed: number; readonly widest: number } {
  const subjectBlocks = Math.ceil(countBlocksIn(missing) / WINDOWS_MAX)
  return {
    needed: options.stream.subjectsOnly ? subjectBlocks : SCAN_BLOCKS_MIN,
    widest: getWidestRange(options.sources) ?? 0,
  }
}

function countWindows(ranges: readonly Range[], blocks: number): number {
  return Math.ceil(countBlocksIn(ranges) / blocks) + ranges.length - 1
}

/**
 * The longest range that any endpoint accepts; undefined if one endpoint has not refused a range recently, or none is
 * usable.
 */
export function getWidestRange(sources: readonly AdaptiveLogSource[]): number | undefined {
  const caps = sources
    .filter(({ source }) => source.usable)
    .map(({ cap, isCapInDoubt }) => (isCapInDoubt ? undefined : cap) ?? Number.POSITIVE_INFINITY)
  const capMax = Math.max(0, ...caps)
  return capMax === 0 || capMax === Number.POSITIVE_INFINITY ? undefined : capMax
}
