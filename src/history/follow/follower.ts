import type { Hex } from 'viem'
import type { UnavailableError } from '../../lib/error.ts'
import { FilterTooWideError, type FinalBlock, RangeTooNarrowError } from '../logs/reader.ts'
import { storeProvenRange } from '../proof/cover.ts'
import { findSourcesWithBlock, rankSources } from '../proof/proof.ts'
import { countBlocksIn, type Range, subtractRanges } from '../range.ts'
import { classifyFailedCheck, FaultyCheckError, IncompleteError, type StreamTarget } from '../stream.ts'
import { createFollowEntry, type FollowEntry, isolateEntries } from './entry.ts'
import { createRecentFailures, rangeTooNarrowError } from './failure.ts'
import type { FollowerOptions, HistoryRequest } from './options.ts'
import {
  choosePlan,
  computeShortfall,
  getWidestRange,
  groupByMissing,
  type IncompleteEntry,
  type ReadTask,
} from './plan.ts'
import { createHistoryPrefetch, type HistoryPrefetch } from './prefetch.ts'
import type { ProgressEstimate } from './progress.ts'
import { createFairScheduler } from './scheduler.ts'
import { getUsableRanges, isAgreed, isVerified } from './usable_ranges.ts'

/** Completes the histories of one stream at one place, while somebody asks. */
export interface Follower<Place extends StreamTarget> extends Pick<HistoryPrefetch<Place>, 'foresee' | 'foreseeCheck'> {
  /**
   * Resolves when the wanted blocks are stored and checked; true if two endpoints agreed on all. Throws if they cannot
   * be (`UnavailableError`) or `signal` fires (`AbortedError`); the work then goes on for half a minute.
   */
  complete(wanted: HistoryRequest, place: Place, signal: AbortSignal): Promise<boolean>
  /** How far the work on a subject's history is; undefined if nobody asked for it. */
  paceOf(subject: Hex | null): ProgressEstimate | undefined
  /** The check that keeps a subject's history from being complete; undefined if none failed lately. */
  failureOf(subject: Hex | null): UnavailableError | undefined
  /** Blocks that are left of the scan for everybody; undefined while none is under way. */
  readonly scanLeft: number | undefined
  /** Stops; what is under way is not stored. */
  close(): Promise<void>
}

/** Work goes on this long after somebody asked: longer than callers are told to wait before they come back. */
const KEEP_MS = 30_000
/** Subjects that one request asks for. */
const SUBJECTS_MAX = 200
/** After this time the work looks who else waits, and which blocks other processes have stored. */
const TURN_MS = 5_000
/** After this time as many subjects are asked for as at first, although an endpoint once took fewer. */
const SUBJECTS_DOUBT_MS = 600_000
/** Pause while another process works on the same history. */
const OTHERS_MS = 250

/** Stands for those who ask without a name. */
const UNNAMED = ['']

/** Makes a follower; it does nothing until somebody asks. */
export function createFollower<Row, Place extends StreamTarget>(options: FollowerOptions<Row, Place>): Follower<Place> {
  const { stream, client, sources, coverage, db, clock, log, sleep, onStored, onHealed } = options
  const entries = new Map<Hex | null, FollowEntry>()
  const foresight = createHistoryPrefetch(options, (subject) =>
    subject === null ? isScanning : entries.get(subject)?.isBusy === true,
  )
  const tasks = new Set<Promise<void>>()
  const turns = createFairScheduler()
  const failures = createRecentFailures({ chain: client.chain, stream: stream.name, place: options.place, log, clock })
  const closing = new AbortController()
  let place = options.place
  /** The final block that was asked for last. */
  let final: FinalBlock | undefined
  let looking: Promise<void> | undefined
  let mustLook = false
  let subjectsMax = SUBJECTS_MAX
  let subjectsMs = 0
  let isScanning = false
  let scanLeft = 0
  /** What the continuity check gave last, for the range that ends before this block. */
  let later: { readonly fromBlock: number; readonly value: unknown } | undefined

  const name = () => ({ place, stream: stream.name })

  /** Gives those something to do that nobody works on. */
  function look(): void {
    mustLook = true
    looking ??= lookAgain().finally(() => {
      looking = undefined
      // Somebody may have come after the last look, before this.
      if (mustLook && !closing.signal.aborted) look()
    })
  }

  async function lookAgain(): Promise<void> {
    while (mustLook && !closing.signal.aborted) {
      mustLook = false
      const idle = [...entries.values()].filter(({ isBusy }) => !isBusy)
      for (const entry of idle) if (!isWanted(entry)) entries.delete(entry.subject)
      try {
        if (idle.some(isWanted)) await startTasks(idle.filter(isWanted))
      } catch (error) {
        for (const entry of idle) entry.settle(error)
      }
    }
  }

  /** True if somebody waits for it, or is expected back. */
  function isWanted(entry: FollowEntry): boolean {
    return entry.isAwaited || clock.monotonicMs() - entry.askedMs <= KEEP_MS
  }

  /** Whatever is complete leaves; for the rest a plan is made, and those who lack the same blocks go together. */
  async function startTasks(idle: readonly FollowEntry[]): Promise<void> {
    const covered = await coverage.find(name(), [null, ...idle.flatMap(({ subject }) => subject ?? [])])
    const everybody = getUsableRanges(covered.get(null), sources)
    const alone: IncompleteEntry[] = []
    const scanned: FollowEntry[] = []
    for (const entry of idle) {
      const asker = turns.nextFor(entry)
      const own = entry.subject === null ? undefined : covered.get(entry.subject)
      const missing = subtractRanges(entry.range, [...getUsableRanges(own, sources), ...everybody])
      entry.pace.left(countBlocksIn(missing), countBlocksIn([entry.range]))
      if (missing.length === 0) {
        entry.isAgreed = isAgreed(entry.range, [own, covered.get(null)])
        if (stream.verify === undefined || isVerified(entry, own)) {
          entries.delete(entry.subject)
          entry.settle()
        } else if (!failures.tell(entry, 'subject') && asker !== undefined)
          startTask({ of: [entry], asker }, () => check(entry, asker))
        continue
      }
      const plan = entry.subject === null ? 'everybody' : planFor(entry, missing, everybody)
      if (plan === 'impossible')
        entry.settle(rangeTooNarrowError(client.chain, computeShortfall(missing, { stream, sources })))
      else if (failures.tell(entry, plan)) continue
      else if (plan === 'everybody') scanned.push(entry)
      else if (asker !== undefined) alone.push({ entry, missing, asker })
    }
    for (const group of groupByMissing(alone, foresight.has)) startGroup(group)
    if (scanned.length > 0 && !isScanning) startScan(scanned, everybody)
  }

  const planFor = (entry: FollowEntry, missing: readonly Range[], everybody: readonly Range[]) =>
    choosePlan({
      missing,
      everybody: subtractRanges({ fromBlock: place.startBlock, toBlock: entry.range.toBlock }, everybody),
      isFollowed: everybody.length > 0,
      mayScan: stream.subjectsOnly !== true,
      widest: getWidestRange(sources),
    })

  function startGroup(group: readonly IncompleteEntry[]): void {
    const { missing: [range] = [], asker = '' } = group[0] ?? {}
    if (range === undefined) return
    if (clock.monotonicMs() - subjectsMs >= SUBJECTS_DOUBT_MS) subjectsMax = SUBJECTS_MAX
    for (let at = 0; at < group.length && turns.mayStart(asker); at += subjectsMax) {
      const of = group.slice(at, at + subjectsMax).map(({ entry }) => entry)
      const subjects = of.flatMap(({ subject }) => subject ?? [])
      const wanted = of[0]?.range ?? range
      startTask({ of, asker }, () => coverTurn(subjects, { range, wanted }, { of, asker }))
    }
  }

  /** One scan serves all who wait for it; it goes as far down as the oldest that any of them lacks. */
  function startScan(scanned: readonly FollowEntry[], everybody: readonly Range[]): void {
    const wanted = {
      fromBlock: Math.min(...scanned.map(({ range }) => range.fromBlock)),
      toBlock: Math.max(...scanned.map(({ range }) => range.toBlock)),
    }
    const [range] = subtractRanges(wanted, everybody)
    if (range === undefined) return
    isScanning = true
    scanLeft = countBlocksIn(subtractRanges(wanted, everybody))
    startTask({ of: scanned }, async () => {
      try {
        await coverTurn(null, { range, wanted }, { of: scanned })
      } finally {
        isScanning = false
      }
    })
  }

  function startTask({ of, asker }: ReadTask, run: () => Promise<void>): void {
    for (const entry of of) entry.isBusy = true
    if (asker !== undefined) turns.start(asker)
    const task = runTask({ of, ...(asker !== undefined && { asker }) }, run).finally(() => {
      tasks.delete(task)
      if (asker !== undefined) turns.end(asker)
      for (const entry of of) entry.isBusy = false
      look()
    })
    tasks.add(task)
  }

  async function runTask({ of, asker }: ReadTask, run: () => Promise<void>): Promise<void> {
    const isScan = asker === undefined
    try {
      await run()
      failures.forget(of, isScan)
    } catch (error) {
      if (closing.signal.aborted) return
      if (error instanceof FilterTooWideError && !isScan && of.length > 1) {
        // Groups that are refused at the same time count once.
        subjectsMax = Math.min(subjectsMax, Math.ceil(of.length / 2))
        subjectsMs = clock.monotonicMs()
        return
      }
      // Now that it is known how short ranges must be, another plan is made.
      if (error instanceof RangeTooNarrowError) return
      if (error instanceof FaultyCheckError && !isScan && isolateEntries(of)) return
      await sleep(failures.note(error, of, isScan), closing.signal).catch(() => {})
    }
  }

  /** Works on a range, of all that is wanted, for some time. */
  async function coverTurn(
    subjects: readonly Hex[] | null,
    { range, wanted }: { readonly range: Range; readonly wanted: Range },
    { of, asker }: ReadTask,
  ): Promise<void> {
    const granted = await coverage.lease(name(), subjects, wanted)
    if (granted.length === 0) return sleep(OTHERS_MS, closing.signal)
    const mine = subjects === null ? null : subjects.filter((subject) => granted.includes(subject))
    const startedMs = clock.monotonicMs()
    let isFirst = true
    try {
      const following = final === undefined ? [] : await findSourcesWithBlock(sources, final, closing.signal)
      const epoch = final?.epoch ?? 0
      const value = await storeProvenRange(
        {
          stream,
          place,
          subjects: mine,
          range,
          sources: following,
          epoch,
          db,
          onHealed,
          asker,
          begun: (part) => foresight.take(mine, part),
          later: mine === null && later?.fromBlock === range.toBlock + 1 ? later.value : null,
          mayGoOn() {
            const may = isFirst || (clock.monotonicMs() - startedMs < TURN_MS && (of.length === 0 || of.some(isWanted)))
            isFirst = false
            return may
          },
          onStored(part) {
            const blocks = part.toBlock - part.fromBlock + 1
            for (const entry of of) entry.pace.stored(blocks)
            if (mine === null) {
              later = { fromBlock: part.fromBlock, value: null }
              scanLeft -= blocks
            }
            onStored(blocks)
          },
        },
        closing.signal,
      )
      if (mine === null && later !== undefined) later = { ...later, value }
    } finally {
      await coverage.release(name(), mine).catch(() => {})
    }
  }

  /** The check of a subject's rows against the state; what it finds missing is read once more. */
  async function check(entry: FollowEntry, asker: string): Promise<void> {
    const { subject, range } = entry
    if (subject === null || stream.verify === undefined) return
    try {
      await stream.verify(place, { subject, client, db, ...range }, closing.signal)
      await coverage.checked(name(), subject, range.toBlock)
    } catch (error) {
      if (!(error instanceof IncompleteError)) throw error
      const before = entry.reread
      if (before !== undefined)
        throw classifyFailedCheck(error, { before, witnesses: rankSources(sources, error).length })
      entry.reread = error
      const again = { fromBlock: error.fromBlock, toBlock: error.toBlock }
      await coverTurn([subject], { range: again, wanted: range }, { of: [], asker })
    }
  }

  return {
    async complete({ subject, fromBlock, final: asked, askers }, nextPlace, signal) {
      place = nextPlace
      if (final?.epoch !== asked.epoch) later = undefined
      // Always the last that was asked for: one that turned out to be false must not stay.
      final = asked
      const range = { fromBlock, toBlock: asked.number }
      const entry = entries.get(subject) ?? createFollowEntry(subject, range, clock)
      entries.set(subject, entry)
      entry.askedMs = clock.monotonicMs()
      for (const asker of askers.size === 0 ? UNNAMED : askers) entry.askers.add(asker)
      entry.range = { fromBlock: Math.min(entry.range.fromBlock, range.fromBlock), toBlock: range.toBlock }
      const completed = entry.settled(signal)
      look()
      await completed
      return entry.isAgreed
    },
    ...foresight,
    paceOf: (subject) => entries.get(subject)?.pace,
    failureOf: (subject) => entries.get(subject)?.failure,
    get scanLeft() {
      return isScanning ? scanLeft : undefined
    },
    async close() {
      closing.abort()
      await Promise.all([looking, ...tasks])
    },
  }
}
