import type { Hex } from 'viem'
import type { PinnedBlock } from '../../chain/block.ts'
import type { ChainClient } from '../../chain/rpc/client.ts'
import { hasFault } from '../../chain/rpc/error.ts'
import type { Database } from '../../db/database.ts'
import { createWork, type Requesters, type Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import type { UnavailableError } from '../../lib/error.ts'
import { groupBy } from '../../lib/group_by.ts'
import type { Log } from '../../lib/log.ts'
import type { Coverage, SubjectCoverage } from '../coverage.ts'
import { type AdaptiveLogSource, type FinalBlock, RangeTooNarrowError } from '../logs/reader.ts'
import { storeProvenRange } from '../proof/cover.ts'
import { findSourcesWithBlock, rankSources } from '../proof/proof.ts'
import { countBlocksIn, type Range, subtractRanges } from '../range.ts'
import { classifyFailedCheck, type EnsureRequest, IncompleteError, type Stream, type StreamTarget } from '../stream.ts'
import { createFollowEntry, type FollowEntry, isolateEntries, type ProgressEstimate } from './entry.ts'
import { createRecentFailures, rangeTooNarrowError } from './failure.ts'
import { getUsableRanges, isAgreed, isVerified } from './usable_ranges.ts'

/** Which history to complete, and which blocks of it. */
interface HistoryRequest {
  /** Null: the global history. */
  readonly subject: Hex | null
  readonly fromBlock: number
  /** The last block, which is final. */
  readonly final: FinalBlock
  /** The requesters, which are served in turn. */
  readonly requesters: Requesters
}

interface FollowerOptions<Row, Target extends StreamTarget> {
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

/** The history of a subject that is requested up to a final block, and its stored ranges by subject. */
interface CheckRequest extends Pick<EnsureRequest<never, never>, 'subject' | 'startBlock'> {
  readonly finalized: PinnedBlock
  readonly coverageBySubject: ReadonlyMap<Hex | null, SubjectCoverage>
}

/** Completes the histories of one stream at one target, while requests continue. */
export interface Follower<Target extends StreamTarget> {
  /**
   * Resolves when the requested blocks are stored and checked; true if two endpoints agreed on all of them. Throws
   * `UnavailableError` if they cannot be completed, `AbortedError` if `signal` fires; the work then continues for half
   * a minute.
   */
  complete(request: HistoryRequest, target: Target, signal: AbortSignal): Promise<boolean>
  /**
   * Starts to read the state for the check of a subject's rows at the final block, so that it is under way while logs
   * are read. Nothing if they are checked already.
   */
  startCheck(request: CheckRequest, target: Target, work: Work): void
  /** Progress of a subject's history; undefined without a request. */
  getProgress(subject: Hex | null): ProgressEstimate | undefined
  /** The failed check that blocks a subject's history; undefined if none failed recently. */
  findFailure(subject: Hex | null): UnavailableError | undefined
  /** Remaining blocks of the global scan; undefined while no scan runs. */
  readonly scanBlocksLeft: number | undefined
  /** True while no request waits and nothing is read. */
  readonly isIdle: boolean
  /** Stops all work; parts under way are not stored. */
  close(): Promise<void>
}

/** Work continues this long after the last request, milliseconds: longer than the `Retry-After` of callers. */
const KEEP_MS = 30_000
/** Maximum number of subjects of one request for logs. */
const SUBJECTS_MAX = 200
/** Length of a task's turn: afterwards new requests and blocks stored by other processes are considered. */
const TURN_MS = 5_000
/** After this time requests name `SUBJECTS_MAX` subjects again, although an endpoint once accepted fewer. */
const SUBJECTS_DOUBT_MS = 600_000
/** Pause while another process works on the same history. */
const OTHERS_MS = 250

/** Requester of unnamed requests. */
const UNNAMED = ['']

/** Creates a follower; it does nothing before the first request. */
export function createFollower<Row, Target extends StreamTarget>(
  options: FollowerOptions<Row, Target>,
): Follower<Target> {
  const { stream, client, sources, coverage, db, clock, log, onStored, onHealed } = options
  const entries = new Map<Hex | null, FollowEntry>()
  const tasks = new Set<Promise<void>>()
  const scheduler = createFairScheduler()
  const failures = createRecentFailures({
    chain: client.chain,
    stream: stream.name,
    target: options.target,
    log,
    clock,
  })
  const closeController = new AbortController()
  const ownWork = createWork(closeController.signal)
  let target = options.target
  /** The final block of the last request. */
  let final: FinalBlock | undefined
  let schedulerRun: Promise<void> | undefined
  let mustRerun = false
  let subjectsMax = SUBJECTS_MAX
  let subjectsReducedMs = 0
  let isScanning = false
  let scanBlocksLeft = 0
  /** The last result of the continuity check, for the range that ends before `fromBlock`. */
  let later: { readonly fromBlock: number; readonly value: unknown } | undefined

  const getHistoryName = () => ({ target, stream: stream.name })

  /** Starts tasks for idle entries. */
  function startIdleTasks(): void {
    mustRerun = true
    schedulerRun ??= runScheduler().finally(() => {
      schedulerRun = undefined
      // A request may have come between the last pass and this callback.
      if (mustRerun && !closeController.signal.aborted) startIdleTasks()
    })
  }

  async function runScheduler(): Promise<void> {
    while (mustRerun && !closeController.signal.aborted) {
      mustRerun = false
      const idle = [...entries.values()].filter(({ isBusy }) => !isBusy)
      for (const entry of idle) if (!isRequested(entry)) entries.delete(entry.subject)
      try {
        if (idle.some(isRequested)) await startTasks(idle.filter(isRequested))
      } catch (error) {
        for (const entry of idle) entry.settle(error)
      }
    }
  }

  /** True if a request waits for the entry, or may come back for it. */
  function isRequested(entry: FollowEntry): boolean {
    return entry.isAwaited || clock.monotonicMs() - entry.requestedMs <= KEEP_MS
  }

  /** Drops complete entries, plans the rest, and groups entries missing the same blocks. */
  async function startTasks(idle: readonly FollowEntry[]): Promise<void> {
    const coverageBySubject = await coverage.find(getHistoryName(), [
      null,
      ...idle.flatMap(({ subject }) => subject ?? []),
    ])
    const globalRanges = getUsableRanges(coverageBySubject.get(null), sources)
    const incompleteEntries: IncompleteEntry[] = []
    const scanEntries: FollowEntry[] = []
    for (const entry of idle) {
      const requester = scheduler.pickRequester(entry)
      const ownCoverage = entry.subject === null ? undefined : coverageBySubject.get(entry.subject)
      const missing = subtractRanges(entry.range, [...getUsableRanges(ownCoverage, sources), ...globalRanges])
      entry.progress.setBlocksLeft(countBlocksIn(missing), countBlocksIn([entry.range]))
      if (missing.length === 0) {
        entry.isAgreed = isAgreed(entry.range, [ownCoverage, coverageBySubject.get(null)])
        if (stream.verify === undefined || isVerified(entry, ownCoverage)) {
          entries.delete(entry.subject)
          entry.settle()
        } else if (!failures.rejectKnownFault(entry, 'subject') && requester !== undefined)
          startTask({ taskEntries: [entry], requester }, () => checkEntry(entry, requester))
        continue
      }
      const plan = entry.subject === null ? 'global' : createPlan(entry, missing, globalRanges)
      if (plan === 'impossible')
        entry.settle(rangeTooNarrowError(client.chain, computeShortfall(missing, { stream, sources })))
      else if (failures.rejectKnownFault(entry, plan)) continue
      else if (plan === 'global') scanEntries.push(entry)
      else if (requester !== undefined) incompleteEntries.push({ entry, missing, requester })
    }
    for (const group of groupByMissing(incompleteEntries)) startGroup(group)
    if (scanEntries.length > 0 && !isScanning) startScan(scanEntries, globalRanges)
  }

  const createPlan = (entry: FollowEntry, missing: readonly Range[], globalRanges: readonly Range[]) =>
    choosePlan({
      missing,
      globalMissing: subtractRanges({ fromBlock: target.startBlock, toBlock: entry.range.toBlock }, globalRanges),
      hasGlobalRanges: globalRanges.length > 0,
      canScan: stream.subjectsOnly !== true,
      widest: getWidestRange(sources),
    })

  function startGroup(group: readonly IncompleteEntry[]): void {
    const { missing: [range] = [], requester = '' } = group[0] ?? {}
    if (range === undefined) return
    if (clock.monotonicMs() - subjectsReducedMs >= SUBJECTS_DOUBT_MS) subjectsMax = SUBJECTS_MAX
    for (let offset = 0; offset < group.length && scheduler.mayStart(requester); offset += subjectsMax) {
      const taskEntries = group.slice(offset, offset + subjectsMax).map(({ entry }) => entry)
      const subjects = taskEntries.flatMap(({ subject }) => subject ?? [])
      const requested = taskEntries[0]?.range ?? range
      startTask({ taskEntries, requester }, () => readTurn(subjects, { range, requested }, { taskEntries, requester }))
    }
  }

  /** Starts one scan for all entries that wait for it, down to the oldest block that any of them lacks. */
  function startScan(scanEntries: readonly FollowEntry[], globalRanges: readonly Range[]): void {
    const requested = {
      fromBlock: Math.min(...scanEntries.map(({ range }) => range.fromBlock)),
      toBlock: Math.max(...scanEntries.map(({ range }) => range.toBlock)),
    }
    const [range] = subtractRanges(requested, globalRanges)
    if (range === undefined) return
    isScanning = true
    scanBlocksLeft = countBlocksIn(subtractRanges(requested, globalRanges))
    startTask({ taskEntries: scanEntries }, async () => {
      try {
        await readTurn(null, { range, requested }, { taskEntries: scanEntries })
      } finally {
        isScanning = false
      }
    })
  }

  function startTask({ taskEntries, requester }: ReadTask, run: () => Promise<void>): void {
    for (const entry of taskEntries) entry.isBusy = true
    if (requester !== undefined) scheduler.start(requester)
    const task = runTask({ taskEntries, ...(requester !== undefined && { requester }) }, run).finally(() => {
      tasks.delete(task)
      if (requester !== undefined) scheduler.end(requester)
      for (const entry of taskEntries) entry.isBusy = false
      startIdleTasks()
    })
    tasks.add(task)
  }

  async function runTask({ taskEntries, requester }: ReadTask, run: () => Promise<void>): Promise<void> {
    const isScan = requester === undefined
    try {
      await run()
      failures.clear(taskEntries, isScan)
    } catch (error) {
      if (closeController.signal.aborted) return
      if (hasFault(error, 'wide_filter') && !isScan && taskEntries.length > 1) {
        // Groups that are refused at the same time count once, because the limit is half of one group.
        subjectsMax = Math.min(subjectsMax, Math.ceil(taskEntries.length / 2))
        subjectsReducedMs = clock.monotonicMs()
        return
      }
      // The next pass makes another plan with the range length that was learned.
      if (error instanceof RangeTooNarrowError) return
      if (error instanceof IncompleteError && error.isFaulty && !isScan && isolateEntries(taskEntries)) return
      await clock.sleep(failures.record(error, taskEntries, isScan), closeController.signal).catch(() => {})
    }
  }

  /** Reads and stores a range under a lease on the requested blocks, for at most `TURN_MS`. */
  async function readTurn(
    subjects: readonly Hex[] | null,
    { range, requested }: { readonly range: Range; readonly requested: Range },
    { taskEntries, requester }: ReadTask,
  ): Promise<void> {
    const leasedSubjects = await coverage.lease(getHistoryName(), subjects, requested)
    if (leasedSubjects.length === 0) return clock.sleep(OTHERS_MS, closeController.signal)
    const ownSubjects = subjects === null ? null : subjects.filter((subject) => leasedSubjects.includes(subject))
    const startedMs = clock.monotonicMs()
    let isFirst = true
    try {
      const sourcesWithBlock = final === undefined ? [] : await findSourcesWithBlock(sources, final, ownWork)
      const epoch = final?.epoch ?? 0
      const value = await storeProvenRange(
        {
          stream,
          target,
          subjects: ownSubjects,
          range,
          sources: sourcesWithBlock,
          epoch,
          db,
          onHealed,
          requester,
          later: ownSubjects === null && later?.fromBlock === range.toBlock + 1 ? later.value : null,
          canContinue() {
            const canRead =
              isFirst ||
              (clock.monotonicMs() - startedMs < TURN_MS && (taskEntries.length === 0 || taskEntries.some(isRequested)))
            isFirst = false
            return canRead
          },
          onStored(part) {
            const blocks = part.toBlock - part.fromBlock + 1
            for (const entry of taskEntries) entry.progress.addStored(blocks)
            if (ownSubjects === null) {
              later = { fromBlock: part.fromBlock, value: null }
              scanBlocksLeft -= blocks
            }
            onStored(blocks)
          },
        },
        ownWork,
      )
      if (ownSubjects === null && later !== undefined) later = { ...later, value }
    } finally {
      await coverage.release(getHistoryName(), ownSubjects).catch(() => {})
    }
  }

  /** Checks a subject's rows against on-chain state; blocks with missing rows are read once more. */
  async function checkEntry(entry: FollowEntry, requester: string): Promise<void> {
    const { subject, range } = entry
    if (subject === null || stream.verify === undefined) return
    try {
      await stream.verify(target, { subject, client, db, ...range }, ownWork)
      await coverage.recordCheck(getHistoryName(), subject, range.toBlock)
    } catch (error) {
      if (!(error instanceof IncompleteError)) throw error
      const previousFailure = entry.rereadCause
      if (previousFailure !== undefined)
        throw classifyFailedCheck(error, { before: previousFailure, witnesses: rankSources(sources, error).length })
      entry.rereadCause = error
      const rereadRange = { fromBlock: error.fromBlock, toBlock: error.toBlock }
      await readTurn([subject], { range: rereadRange, requested: range }, { taskEntries: [], requester })
    }
  }

  return {
    async complete({ subject, fromBlock, final: finalBlock, requesters }, nextTarget, signal) {
      target = nextTarget
      if (final?.epoch !== finalBlock.epoch) later = undefined
      // Always use the block of the last request: an earlier one may have been replaced.
      final = finalBlock
      const range = { fromBlock, toBlock: finalBlock.number }
      const entry = entries.get(subject) ?? createFollowEntry(subject, range, clock)
      entries.set(subject, entry)
      entry.requestedMs = clock.monotonicMs()
      for (const requester of requesters.size === 0 ? UNNAMED : requesters) entry.requesters.add(requester)
      entry.range = { fromBlock: Math.min(entry.range.fromBlock, range.fromBlock), toBlock: range.toBlock }
      const settledPromise = entry.waitUntilSettled(signal)
      startIdleTasks()
      await settledPromise
      return entry.isAgreed
    },
    startCheck({ subject, startBlock = 0, finalized, coverageBySubject }, nextTarget, work) {
      const range = { fromBlock: Math.max(nextTarget.startBlock, startBlock), toBlock: Number(finalized.number) }
      if (range.fromBlock > range.toBlock || isVerified({ subject, range }, coverageBySubject.get(subject))) return
      stream.prefetch?.(nextTarget, { subject, client, finalized }, work)
    },
    getProgress: (subject) => entries.get(subject)?.progress,
    findFailure: (subject) => entries.get(subject)?.failure,
    get scanBlocksLeft() {
      return isScanning ? scanBlocksLeft : undefined
    },
    get isIdle() {
      return tasks.size === 0 && schedulerRun === undefined && ![...entries.values()].some(({ isAwaited }) => isAwaited)
    },
    async close() {
      closeController.abort()
      await Promise.all([schedulerRun, ...tasks])
    },
  }
}

/** How missing blocks are read: for the subject alone, for all subjects, or not at all with these endpoints. */
type Plan = 'subject' | 'global' | 'impossible'

/** The entries of one task, and the requester whose turn it uses; a global scan has none. */
interface ReadTask {
  readonly taskEntries: readonly FollowEntry[]
  readonly requester?: string
}

/** An entry with its missing blocks, newest first, and the requester whose turn they use. */
interface IncompleteEntry {
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

/** Groups entries with the same missing blocks and the same requester. */
function groupByMissing(incompleteEntries: readonly IncompleteEntry[]): Iterable<readonly IncompleteEntry[]> {
  return groupBy(incompleteEntries, ({ missing, requester, entry: { subject, isIsolated: isApart } }) =>
    JSON.stringify([missing, requester, isApart ? subject : null]),
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
function getWidestRange(sources: readonly AdaptiveLogSource[]): number | undefined {
  const caps = sources
    .filter(({ source }) => source.usable)
    .map(({ cap, isCapInDoubt }) => (isCapInDoubt ? undefined : cap) ?? Number.POSITIVE_INFINITY)
  const capMax = Math.max(0, ...caps)
  return capMax === 0 || capMax === Number.POSITIVE_INFINITY ? undefined : capMax
}

/** Maximum number of concurrent tasks, per requester and in total. */
const TASKS_MAX = { requester: 4, all: 256 } as const

/** Creates a scheduler that shares tasks among requesters, so that a large request does not hold up the others. */
function createFairScheduler() {
  const running = new Map<string, number>()
  let all = 0
  const countTasks = (requester: string) => running.get(requester) ?? 0
  const canStart = (requester: string) => all < TASKS_MAX.all && countTasks(requester) < TASKS_MAX.requester

  return {
    /** The requester of an entry with the fewest tasks; undefined if all of them have reached their limit. */
    pickRequester: ({ requesters }: Pick<FollowEntry, 'requesters'>) =>
      [...requesters].sort((a, b) => countTasks(a) - countTasks(b)).find(canStart),
    /** True if a requester may start one more task. */
    mayStart: canStart,
    start(requester: string): void {
      all++
      running.set(requester, countTasks(requester) + 1)
    },
    end(requester: string): void {
      all--
      if (countTasks(requester) > 1) running.set(requester, countTasks(requester) - 1)
      else running.delete(requester)
    },
  }
}
