import type { Hex } from 'viem'
import { createPrefetcher } from '../../lib/async/prefetch.ts'
import { getRequesters } from '../../lib/async/requesters.ts'
import type { SubjectCoverage } from '../coverage.ts'
import { getBlocksPerRequest, type PrefetchedPart, prefetchPart } from '../proof/cover.ts'
import { countBlocks, type Range, subtractRanges } from '../range.ts'
import type { EnsureRequest, ExpectedFinalBlock, StreamTarget } from '../stream.ts'
import type { FollowerOptions } from './options.ts'
import { getUsableRanges, isVerified } from './usable_ranges.ts'

/** What will be wanted of a subject if a block turns out to be final. */
interface PrefetchRequest extends Pick<EnsureRequest<never, never>, 'subject' | 'startBlock'> {
  readonly finalized: ExpectedFinalBlock
  /** What is stored of it, and of everybody. */
  readonly covered: ReadonlyMap<Hex | null, SubjectCoverage>
}

/** Parts of histories that are read while endpoints still agree on which block is final. */
export interface HistoryPrefetch<Place extends StreamTarget> {
  /**
   * Begins to read the blocks that a subject lacks, if one request to each endpoint is enough, and the state that its
   * rows are checked against. If everybody's history is kept, the blocks are those that it lacks. Dropped when `signal`
   * fires.
   */
  foresee(wanted: PrefetchRequest, place: Place, signal: AbortSignal): void
  /** Begins to read that state alone. */
  foreseeCheck(wanted: PrefetchRequest, place: Place, signal: AbortSignal): void
  /** True if one of these ranges was begun for this subject alone. */
  has(subject: Hex | null, ranges: readonly Range[]): boolean
  /** What was begun for exactly these subjects (null: everybody), once; undefined if nothing was, or if it failed. */
  take(subjects: readonly Hex[] | null, range: Range): Promise<PrefetchedPart | undefined>
}

/** Subjects whose blocks are read ahead at the same time; the others are read in groups, once the tip is known. */
const FORESEEN_MAX = 4

/** Makes it for one stream. `isBusy` is true if a task works on a subject already (null: on everybody). */
export function createHistoryPrefetch<Row, Place extends StreamTarget>(
  options: Pick<FollowerOptions<Row, Place>, 'stream' | 'client' | 'sources' | 'onHealed'>,
  isBusy: (subject: Hex | null) => boolean,
): HistoryPrefetch<Place> {
  const { stream, client, sources, onHealed } = options
  const ahead = createPrefetcher<PrefetchedPart>({ readsMax: FORESEEN_MAX })

  function foreseeCheck(wanted: PrefetchRequest, place: Place, signal: AbortSignal): void {
    const { subject, covered, finalized } = wanted
    const range = rangeOf(wanted, place)
    if (range.fromBlock > range.toBlock || isVerified({ subject, range }, covered.get(subject))) return
    stream.foresee?.(place, { subject, client, finalized }, signal)
  }

  return {
    foreseeCheck,
    foresee(wanted, place, signal) {
      foreseeCheck(wanted, place, signal)
      const { subject, covered } = wanted
      const range = rangeOf(wanted, place)
      const everybody = getUsableRanges(covered.get(null), sources)
      const of = everybody.length > 0 ? null : subject
      const stored = of === null ? everybody : getUsableRanges(covered.get(of), sources)
      const [missing, ...others] = subtractRanges(range, stored)
      if (isBusy(of) || missing === undefined || others.length > 0) return
      const [asker] = getRequesters(signal)
      const subjects = of === null ? null : [of]
      const able = sources.filter((source) => source.mayServe(missing))
      const part = { stream, place, subjects, range: missing, sources: able, asker, onHealed }
      if (countBlocks(missing) > getBlocksPerRequest(part, missing.toBlock)) return
      ahead.start(nameOf(subjects, missing), (within) => prefetchPart(part, within), signal)
    },
    has: (subject, ranges) => ranges.some((range) => ahead.has(nameOf(subject === null ? null : [subject], range))),
    take: (subjects, range) => ahead.take(nameOf(subjects, range)),
  }
}

function rangeOf({ startBlock = 0, finalized }: PrefetchRequest, place: StreamTarget): Range {
  return { fromBlock: Math.max(place.startBlock, startBlock), toBlock: Number(finalized.number) }
}

function nameOf(subjects: readonly Hex[] | null, { fromBlock, toBlock }: Range): string {
  return `${subjects === null ? 'everybody' : subjects.join()}:${fromBlock}:${toBlock}`
}
