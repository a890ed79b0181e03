import type { Hex } from 'viem'
import type { ChainClient } from '../../chain/rpc/client.ts'
import type { Database } from '../../db/database.ts'
import { createPrefetcher } from '../../lib/async/prefetch.ts'
import type { Requesters, Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { Coverage, SubjectCoverage } from '../coverage.ts'
import type { AdaptiveLogSource, FinalBlock } from '../logs/reader.ts'
import { getBlocksPerRequest, type PrefetchedPart, prefetchPart } from '../proof/cover.ts'
import { rankSources } from '../proof/proof.ts'
import { countBlocks, type Range, subtractRanges } from '../range.ts'
import type { EnsureRequest, ExpectedFinalBlock, Stream, StreamTarget } from '../stream.ts'
import type { FollowEntry } from './entry.ts'

/** Which history to complete, and which blocks of it. */
export interface HistoryRequest {
  /** Null: the global history. */
  readonly subject: Hex | null
  readonly fromBlock: number
  /** The last block, which is final. */
  readonly final: FinalBlock
  /** The requesters, which are served in turn. */
  readonly requesters: Requesters
}

export interface FollowerOptions<Row, Target extends StreamTarget> {
  readonly stream: Stream<Row, Target>
  readonly target: Target
  readonly client: ChainClient
  readonly sources: readonly AdaptiveLogSource[]
  readonly coverage: Coverage
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly onStored: (blocks: number) => void
  readonly onHealed: (logs: number) => void
}

/** The history of a subject that will be requested if a block becomes final. */
interface PrefetchRequest extends Pick<EnsureRequest<never, never>, 'subject' | 'startBlock'> {
  readonly finalized: ExpectedFinalBlock
  /** Stored ranges of the subject, and of the global history (null). */
  readonly coverageBySubject: ReadonlyMap<Hex | null, SubjectCoverage>
}

/** Reads parts of histories before the endpoints have agreed on the final block. */
export interface HistoryPrefetch<Target extends StreamTarget> {
  /**
   * Starts to read the missing blocks of a subject, if one request to each endpoint is enough, and the state for the
   * check of its rows. If a global history is stored, its missing blocks are read instead. Dropped when `work` ends.
   */
  prefetch(request: PrefetchRequest, target: Target, work: Work): void
  /** Starts to read only the state for the check. */
  prefetchCheck(request: PrefetchRequest, target: Target, work: Work): void
  /** True if a read of one of these ranges was started for this subject alone. */
  has(subject: Hex | null, ranges: readonly Range[]): boolean
  /** Takes the part read for exactly these subjects (null: all), once; undefined if there is none or it failed. */
  take(subjects: readonly Hex[] | null, range: Range): Promise<PrefetchedPart | undefined>
}

/** Subjects that are prefetched at the same time; further ones are read in groups, once the tip is known. */
const PREFETCHED_MAX = 4

/** Creates the prefetch of one stream. `isBusy` is true if a task already works on a subject (null: on a scan). */
export function createHistoryPrefetch<Row, Target extends StreamTarget>(
  options: Pick<FollowerOptions<Row, Target>, 'stream' | 'client' | 'sources' | 'onHealed'>,
  isBusy: (subject: Hex | null) => boolean,
): HistoryPrefetch<Target> {
  const { stream, client, sources, onHealed } = options
  const prefetcher = createPrefetcher<PrefetchedPart>({ readsMax: PREFETCHED_MAX })

  function prefetchCheck(request: PrefetchRequest, target: Target, work: Work): void {
    const { subject, coverageBySubject, finalized } = request
    const range = toRange(request, target)
    if (range.fromBlock > range.toBlock || isVerified({ subject, range }, coverageBySubject.get(subject))) return
    stream.prefetch?.(target, { subject, client, finalized }, work)
  }

  return {
    prefetchCheck,
    prefetch(request, target, work) {
      prefetchCheck(request, target, work)
      const { subject, coverageBySubject } = request
      const range = toRange(request, target)
      const globalRanges = getUsableRanges(coverageBySubject.get(null), sources)
      const scope = globalRanges.length > 0 ? null : subject
      const stored = scope === null ? globalRanges : getUsableRanges(coverageBySubject.get(scope), sources)
      const [missing, ...moreMissing] = subtractRanges(range, stored)
      if (isBusy(scope) || missing === undefined || moreMissing.length > 0) return
      const [requester] = work.requesters
      const subjects = scope === null ? null : [scope]
      const servingSources = sources.filter((source) => source.mayServe(missing))
      const part = { stream, target, subjects, range: missing, sources: servingSources, requester, onHealed }
      if (countBlocks(missing) > getBlocksPerRequest(part, missing.toBlock)) return
      prefetcher.start(getKey(subjects, missing), (within) => prefetchPart(part, within), work)
    },
    has: (subject, ranges) =>
      ranges.some((range) => prefetcher.has(getKey(subject === null ? null : [subject], range))),
    take: (subjects, range) => prefetcher.take(getKey(subjects, range)),
  }
}

function toRange({ startBlock = 0, finalized }: PrefetchRequest, target: StreamTarget): Range {
  return { fromBlock: Math.max(target.startBlock, startBlock), toBlock: Number(finalized.number) }
}

function getKey(subjects: readonly Hex[] | null, { fromBlock, toBlock }: Range): string {
  return `${subjects === null ? 'global' : subjects.join()}:${fromBlock}:${toBlock}`
}

/** Ranges that count as stored: unconfirmed ones only while no second endpoint could confirm them. */
export function getUsableRanges(
  coverage: SubjectCoverage | undefined,
  sources: readonly AdaptiveLogSource[],
): readonly Range[] {
  const { ranges = [], agreed = [] } = coverage ?? {}
  const unconfirmed = ranges.flatMap((range) => subtractRanges(range, agreed))
  return [...agreed, ...unconfirmed.filter((range) => rankSources(sources, range, 'mayServe').length < 2)]
}

/** True if two endpoints agreed on all blocks of a range. */
export function isAgreed(range: Range, coverages: readonly (SubjectCoverage | undefined)[]): boolean {
  return (
    subtractRanges(
      range,
      coverages.flatMap((each) => each?.agreed ?? []),
    ).length === 0
  )
}

/** True if the subject's rows matched on-chain state at the range's last block. Global scans are not checked. */
export function isVerified(
  { subject, range }: Pick<FollowEntry, 'subject' | 'range'>,
  coverage: SubjectCoverage | undefined,
): boolean {
  return subject === null || (coverage?.checkedTo ?? -1) >= range.toBlock
}
