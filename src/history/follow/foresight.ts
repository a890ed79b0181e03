import type { Hex } from 'viem'
import { createPrefetcher } from '../../lib/async/prefetch.ts'
import { getRequesters } from '../../lib/async/requesters.ts'
import type { Covered } from '../coverage.ts'
import { type BegunPart, beginPart, blocksAtOnce } from '../proof/cover.ts'
import { lengthOf, missingOf, type Range } from '../range.ts'
import type { EnsureRequest, ForeseenBlock, StreamPlace } from '../stream.ts'
import { countedOf, isChecked } from './counted.ts'
import type { FollowerOptions } from './options.ts'

/** What will be wanted of a subject if a block turns out to be final. */
interface Foreseen extends Pick<EnsureRequest<never, never>, 'subject' | 'startBlock'> {
  readonly finalized: ForeseenBlock
  /** What is stored of it, and of everybody. */
  readonly covered: ReadonlyMap<Hex | null, Covered>
}

/** Parts of histories that are read while endpoints still agree on which block is final. */
export interface Foresight<Place extends StreamPlace> {
  /**
   * Begins to read the blocks that a subject lacks, if one request to each endpoint is enough, and the state that its
   * rows are checked against. If everybody's history is kept, the blocks are those that it lacks. Dropped when `signal`
   * fires.
   */
  foresee(wanted: Foreseen, place: Place, signal: AbortSignal): void
  /** Begins to read that state alone. */
  foreseeCheck(wanted: Foreseen, place: Place, signal: AbortSignal): void
  /** True if one of these ranges was begun for this subject alone. */
  has(subject: Hex | null, ranges: readonly Range[]): boolean
  /** What was begun for exactly these subjects (null: everybody), once; undefined if nothing was, or if it failed. */
  take(subjects: readonly Hex[] | null, range: Range): Promise<BegunPart | undefined>
}

/** Subjects whose blocks are read ahead at the same time; the others are read in groups, once the tip is known. */
const FORESEEN_MAX = 4

/** Makes it for one stream. `isBusy` is true if a task works on a subject already (null: on everybody). */
export function createForesight<Row, Place extends StreamPlace>(
  options: Pick<FollowerOptions<Row, Place>, 'stream' | 'client' | 'sources' | 'onHealed'>,
  isBusy: (subject: Hex | null) => boolean,
): Foresight<Place> {
  const { stream, client, sources, onHealed } = options
  const ahead = createPrefetcher<BegunPart>({ readsMax: FORESEEN_MAX })

  function foreseeCheck(wanted: Foreseen, place: Place, signal: AbortSignal): void {
    const { subject, covered, finalized } = wanted
    const range = rangeOf(wanted, place)
    if (range.fromBlock > range.toBlock || isChecked({ subject, range }, covered.get(subject))) return
    stream.foresee?.(place, { subject, client, finalized }, signal)
  }

  return {
    foreseeCheck,
    foresee(wanted, place, signal) {
      foreseeCheck(wanted, place, signal)
      const { subject, covered } = wanted
      const range = rangeOf(wanted, place)
      const everybody = countedOf(covered.get(null), sources)
      const of = everybody.length > 0 ? null : subject
      const stored = of === null ? everybody : countedOf(covered.get(of), sources)
      const [missing, ...others] = missingOf(range, stored)
      if (isBusy(of) || missing === undefined || others.length > 0) return
      const [asker] = getRequesters(signal)
      const subjects = of === null ? null : [of]
      const able = sources.filter((source) => source.mayServe(missing))
      const part = { stream, place, subjects, range: missing, sources: able, asker, onHealed }
      if (lengthOf(missing) > blocksAtOnce(part, missing.toBlock)) return
      ahead.start(nameOf(subjects, missing), (within) => beginPart(part, within), signal)
    },
    has: (subject, ranges) => ranges.some((range) => ahead.has(nameOf(subject === null ? null : [subject], range))),
    take: (subjects, range) => ahead.take(nameOf(subjects, range)),
  }
}

function rangeOf({ startBlock = 0, finalized }: Foreseen, place: StreamPlace): Range {
  return { fromBlock: Math.max(place.startBlock, startBlock), toBlock: Number(finalized.number) }
}

function nameOf(subjects: readonly Hex[] | null, { fromBlock, toBlock }: Range): string {
  return `${subjects === null ? 'everybody' : subjects.join()}:${fromBlock}:${toBlock}`
}
