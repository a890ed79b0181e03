import type { Hex } from 'viem'
import { RpcRefusedError } from '../../chain/rpc/client.ts'
import { EndpointError, hasFault } from '../../chain/rpc/error.ts'
import { createRetrier } from '../../chain/rpc/retrier.ts'
import { createFairTurns } from '../../lib/async/fair_queue.ts'
import { allOrAbort } from '../../lib/async/parallel.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { UpstreamError } from '../../lib/error.ts'
import type { LogsOutcome } from '../metrics.ts'
import { countBlocks, type Range, splitNewest, splitRange } from '../range.ts'
import type { LogFilter } from '../stream.ts'
import { mergeLogs } from './check_logs.ts'
import { createRangeLimits, type LimitedRequest } from './limits.ts'
import { LogsRefusedError, type RefusalReaction } from './refusal.ts'
import type { LogSource } from './source.ts'
import { toWritten, type WrittenLogs } from './written.ts'

/** The logs to read, and how the range is divided. */
export interface LogsRequest extends LimitedRequest {
  readonly filters: readonly LogFilter[]
  readonly range: Range
  /** Number of earlier reads of the range: each read divides it at other blocks. */
  readonly turn: number
  /** True to leave the logs unread, so that their text can be compared with that of an earlier read. */
  readonly isUnread?: boolean
  /** The requester; endpoints serve requesters in turn. Absent for global scans. */
  readonly requester?: string | undefined
}

/** One endpoint with the learned limits of its ranges. In memory only, because limits change. */
export type AdaptiveLogSource = ReturnType<typeof createAdaptiveLogSource>

/** A block that is final, so that every endpoint must have it. */
export interface FinalBlock {
  readonly number: number
  readonly hash: Hex
  /** Number of rollbacks of the chain's history before the block was read. */
  readonly epoch: number
}

/** The endpoint accepts far shorter ranges than planned, so the range would take too many requests. */
export class RangeTooNarrowError extends Error {
  override readonly name = 'RangeTooNarrowError'
}

const RETRIES = 4
const AGAIN_MS = 200
/** Consecutive late answers that only shorten ranges, by four lengths; after more the endpoint counts as silent. */
const LATE_MAX = 7
/** Consecutive rate limits that one read waits for. */
const RATE_WAITS = 6
/** Length of the one far shorter range that is tried after a refusal in unknown words, or repeated failures. */
const SHORT_BLOCKS = 10
/** A refusal of a range's length that names no limit. */
const ABOUT_LENGTH: RefusalReaction = { kind: 'range', blocks: undefined }
/** Pieces of one read, at most. */
const PIECES_MAX = 256

/** Starts to learn about an endpoint. */
export function createAdaptiveLogSource(options: {
  readonly source: LogSource
  readonly clock: Clock
  readonly onOutcome?: (outcome: LogsOutcome) => void
}) {
  const { source, clock, onOutcome = () => {} } = options
  const throttle = createThrottle(clock)
  const runSmallRequest = createSmallRequestQueue({ source, throttle, clock })
  const limits = createRangeLimits(clock)
  const probes = new Map<string, Promise<unknown>>()
  /** The range length above the cap that one request tries now; 0 without a trial. */
  let trialBlocks = 0
  /** The request that tries whether older blocks are served again. */
  let reprobe: Promise<unknown> | undefined
  // After an endpoint was unable, a single request probes it again.
  const backoff = createBackoff(clock, () => {
    probes.clear()
    servesShort = false
  })
  let lateInARow = 0
  /** True once a short range was served after a refusal in unknown words, which then counts as one of the length. */
  let servesShort = false
  /** The last final block that was checked, and whether the endpoint has it. */
  let finalBlockCheck: { readonly hash: Hex; readonly verdict: boolean } | undefined

  /** True if the endpoint can serve logs of these blocks, now or after the pause that follows a failure. */
  function mayServe(range: Range): boolean {
    return source.usable && !backoff.isExcluded && limits.isRetained(range)
  }

  /** Learns from a refusal of a whole range; throws if a shorter range would be refused, too. */
  function learnFromRefusal(request: LogsRequest, range: Range, reaction: RefusalReaction): void {
    const blocks = countBlocks(range)
    if (reaction.kind === 'range' || reaction.kind === 'results' || reaction.kind === 'late') {
      limits.recordRefusal(request, reaction, blocks)
      const isSilent = reaction.kind === 'late' && ++lateInARow > LATE_MAX
      if (blocks > 1 && !isSilent) return
      lateInARow = 0
      backoff.start(reaction.kind === 'late' ? 'silent' : 'unable')
    }
    if (reaction.kind === 'filter') throw new EndpointError('wide_filter', 'The endpoint accepts fewer topics')
    if (reaction.kind === 'pruned') limits.recordPruned(range)
    if (reaction.kind === 'behind') backoff.start('behind')
    if (reaction.kind === 'unable' || reaction.kind === 'unknown') backoff.start('unable')
    throw new UpstreamError(`The endpoint gives no logs of these blocks (${reaction.kind})`)
  }

  /** Sends one request for each filter; retries after a rate limit or a failure. */
  async function requestOnce(
    request: LogsRequest,
    range: Range,
    work: Work,
    retriesMax = RETRIES,
  ): Promise<WrittenLogs> {
    const lists = await allOrAbort(
      request.filters.map((filter) => (within: Work) => requestFilter(request, { filter, range, retriesMax }, within)),
      work,
    )
    limits.recordAnswer(request, { blocks: countBlocks(range), logs: Math.max(0, ...lists.map(({ count }) => count)) })
    const [only, ...others] = lists
    if (only !== undefined && others.length === 0) return only
    return toWritten(mergeLogs(await Promise.all(lists.map((list) => list.read()))))
  }

  async function requestFilter(
    { requester, filters, isUnread = false }: LogsRequest,
    { filter, range, retriesMax }: { readonly filter: LogFilter; readonly range: Range; readonly retriesMax: number },
    work: Work,
  ): Promise<WrittenLogs> {
    let failures = 0
    let rateWaits = 0
    for (;;) {
      let isSent = false
      try {
        const requestLogs = () => {
          const { cap } = limits
          // Another request may have lowered the cap while this one waited for its turn.
          if (cap !== undefined && countBlocks(range) > Math.max(cap, trialBlocks)) {
            throw new LogsRefusedError(0, { kind: 'range', blocks: cap })
          }
          isSent = true
          return source.written({ filter, range, isUnread: isUnread && filters.length === 1 }, work)
        }
        const logs = await throttle.run(requestLogs, { signal: work.signal, requester })
        onOutcome('useful')
        backoff.recordSuccess()
        lateInARow = 0
        return logs
      } catch (error) {
        if (!(error instanceof UpstreamError || error instanceof LogsRefusedError)) throw error
        const isRefused = error instanceof LogsRefusedError || hasFault(error, 'busy')
        if (isSent) onOutcome(isRefused ? 'refused' : 'failed')
        if (error instanceof LogsRefusedError) throw error
        if (hasFault(error, 'false_logs')) backoff.start('false')
        if (hasFault(error, 'busy')) {
          throttle.recordRateLimit(error.retryAfterMs)
          if (++rateWaits <= RATE_WAITS) continue
        }
        if (hasFault(error, 'busy', 'false_logs') || ++failures > retriesMax) {
          backoff.start('failed')
          throw error
        }
        await clock.sleep(AGAIN_MS * 2 ** (failures - 1), work.signal)
      }
    }
  }

  async function readPiece(request: LogsRequest, range: Range, work: Work): Promise<readonly WrittenLogs[]> {
    try {
      return [await requestOnce(request, range, work)]
    } catch (error) {
      const reaction = await interpretRefusal(error, { request, range }, work)
      learnFromRefusal(request, range, reaction)
      const { blocks } = limits.getWindow(request)
      if (countBlocks(request.range) > PIECES_MAX * blocks)
        throw new RangeTooNarrowError('The endpoint takes far shorter ranges')
      return await readPieces(
        request,
        splitRange(range, Math.min(Math.ceil(countBlocks(range) / 2), blocks), false),
        work,
      )
    }
  }

  /**
   * The reaction to a refused range. A refusal in unknown words is about the length if a far shorter range is served,
   * and so are repeated failures, since some nodes fail where others refuse. Throws every other error.
   */
  async function interpretRefusal(
    error: unknown,
    { request, range }: { readonly request: LogsRequest; readonly range: Range },
    work: Work,
  ): Promise<RefusalReaction> {
    const isFailure = hasFault(error, 'failed')
    if (!(error instanceof LogsRefusedError || isFailure)) throw error
    const reaction: RefusalReaction = isFailure ? { kind: 'unknown' } : error.reaction
    if (reaction.kind !== 'unknown') return reaction
    if (countBlocks(range) > 1 && servesShort && !isFailure) return ABOUT_LENGTH
    const short = { ...range, fromBlock: Math.max(range.fromBlock + 1, range.toBlock - SHORT_BLOCKS + 1) }
    if (short.fromBlock <= short.toBlock) {
      try {
        await requestOnce(request, short, work, 0)
        servesShort = true
        return ABOUT_LENGTH
      } catch (shortError) {
        if (isFailure || work.signal.aborted) throw error
        if (!(shortError instanceof LogsRefusedError)) throw shortError
        return shortError.reaction
      }
    }
    if (isFailure) throw error
    return reaction
  }

  async function readPieces(
    request: LogsRequest,
    pieces: readonly Range[],
    work: Work,
  ): Promise<readonly WrittenLogs[]> {
    const lists = await allOrAbort(
      pieces.map((piece) => (within: Work) => readPiece(request, piece, within)),
      work,
    )
    return lists.reverse().flat()
  }

  /** Sends one request of a kind before all others, which might be refused for the same reason. */
  async function readWithProbe(request: LogsRequest, work: Work): Promise<readonly WrittenLogs[]> {
    const blocks = Math.min(countBlocks(request.range), limits.getWindow(request).blocks)
    const [older, first] = splitNewest(request.range, blocks)
    const probe = readPiece(request, first, work)
    probes.set(
      request.key,
      probe.catch(() => probes.delete(request.key)),
    )
    return await addOlder(request, { older, newest: await probe }, work)
  }

  /** Tries one request longer than a cap that was learned long ago; if it succeeds, the cap rises. */
  async function readWithTrial(request: LogsRequest, blocks: number, work: Work): Promise<readonly WrittenLogs[]> {
    const [older, first] = splitNewest(request.range, blocks)
    trialBlocks = blocks
    const newest = await readPiece(request, first, work).finally(() => {
      trialBlocks = 0
    })
    return await addOlder(request, { older, newest }, work)
  }

  async function addOlder(
    request: LogsRequest,
    { older, newest }: { readonly older: Range; readonly newest: readonly WrittenLogs[] },
    work: Work,
  ): Promise<readonly WrittenLogs[]> {
    if (older.toBlock < older.fromBlock) return newest
    return [...(await readPieces(request, splitPieces({ ...request, range: older }), work)), ...newest]
  }

  /** Reads one block that the endpoint refused as too old long ago; concurrent reads share the request. */
  async function reprobeOldest(request: LogsRequest, work: Work): Promise<void> {
    const { fromBlock } = request.range
    const oldest = { fromBlock, toBlock: fromBlock }
    reprobe ??= readPiece({ ...request, range: oldest }, oldest, work)
      .then(() => limits.recordRetained(oldest))
      .finally(() => {
        reprobe = undefined
      })
    await reprobe
  }

  function splitPieces(request: LogsRequest): readonly Range[] {
    const blocks = Math.ceil(limits.getWindow(request).blocks / (1 + Math.floor(request.turn / 2)))
    return splitRange(request.range, blocks, request.turn % 2 === 1)
  }

  return {
    source,
    /** The longest accepted range; undefined if no range was refused. */
    get cap(): number | undefined {
      return limits.cap
    },
    /** True if the cap was learned long ago: the next read tries a longer range. */
    get isCapInDoubt(): boolean {
      return limits.trial !== undefined
    },
    /** True if the endpoint can serve logs of these blocks now. */
    serves: (range: Range) => mayServe(range) && !backoff.isResting,
    mayServe,
    /** Length of the next piece of this kind. */
    getNextBlocks: (request: Pick<LogsRequest, 'key' | 'firstBlocks'>) => limits.getWindow(request).blocks,
    /**
     * Reads all logs of a range, in order, by one request or more. Throws `UpstreamError` if the endpoint fails or cannot
     * serve them, `EndpointError` (wide_filter), `RangeTooNarrowError`.
     */
    async read(request: LogsRequest, work: Work): Promise<readonly WrittenLogs[]> {
      if (limits.mayBeRetainedAgain(request.range)) await reprobeOldest(request, work)
      for (;;) {
        const probe = probes.get(request.key)
        if (probe === undefined) return await readWithProbe(request, work)
        await probe
        if (probes.has(request.key)) break
        if (!mayServe(request.range)) throw new UpstreamError('The endpoint gave no logs to another request')
      }
      const { cap, trial = 0 } = limits
      const trialLength = Math.min(trial, countBlocks(request.range))
      if (trialBlocks === 0 && trialLength > (cap ?? trialLength))
        return await readWithTrial(request, trialLength, work)
      return await readPieces(request, splitPieces(request), work)
    },
    /**
     * True if the endpoint has this final block, false if it has another one of that height, undefined if it does not
     * answer. Each block is checked once.
     */
    async hasFinalBlock(
      { number, hash }: Pick<FinalBlock, 'number' | 'hash'>,
      work: Work,
    ): Promise<boolean | undefined> {
      if (finalBlockCheck?.hash === hash) return finalBlockCheck.verdict
      try {
        const header = await runSmallRequest((each) => each.header(BigInt(number), work), work.signal)
        if (header !== undefined) {
          finalBlockCheck = { hash, verdict: header.hash === hash }
          return finalBlockCheck.verdict
        }
      } catch (error) {
        if (!(error instanceof UpstreamError || error instanceof RpcRefusedError)) throw error
      }
      backoff.start('failed')
      return undefined
    },
    /** Records that the endpoint has just returned this final block with the tip. */
    recordFinalBlock({ hash }: Pick<FinalBlock, 'hash'>): void {
      finalBlockCheck = { hash, verdict: true }
    },
    /** Runs a small request within the endpoint's limits, a few times if it fails. */
    ask: runSmallRequest,
    /** Excludes the endpoint for some time after it returned false logs. */
    distrust: () => backoff.start('false'),
  }
}

/**
 * Pauses after a failure, a lagging answer, silence, false logs, and a refusal of all ranges. None is longer, however
 * often it recurs: an endpoint that is well again serves within 25 seconds, and one that is not costs a request in 20.
 */
const REST_MS = { failed: 5_000, behind: 2_000, silent: 20_000, false: 20_000, unable: 20_000 }
/** After this many consecutive failures, treat the endpoint as unable to serve logs. */
const FAILURES_MAX = 20

/** Creates the backoff of one endpoint; `onUnable` is called when the endpoint starts to count as unable. */
export function createBackoff(clock: Clock, onUnable: () => void) {
  let restUntilMs = 0
  let outUntilMs = Number.NEGATIVE_INFINITY
  let failuresInARow = 0

  function start(reason: keyof typeof REST_MS): void {
    const nowMs = clock.monotonicMs()
    if (reason === 'failed' && ++failuresInARow >= FAILURES_MAX) start('unable')
    if (reason === 'failed' || reason === 'behind') restUntilMs = Math.max(restUntilMs, nowMs + REST_MS[reason])
    else if (nowMs >= outUntilMs) outUntilMs = nowMs + REST_MS[reason]
    if (reason === 'unable') onUnable()
  }

  return {
    /** True during the pause after a failure. */
    get isResting(): boolean {
      return clock.monotonicMs() < restUntilMs
    },
    /** True while the endpoint counts as silent, unable or false. */
    get isExcluded(): boolean {
      return clock.monotonicMs() < outUntilMs
    },
    start,
    recordSuccess(): void {
      failuresInARow = 0
    },
  }
}

/** Concurrent requests of history to one endpoint; the endpoint's own queue still lets callers go first. */
const RUNNING_MAX = 8
/** Pause after a rate limit without `Retry-After`, doubled for each consecutive one. */
const PAUSE_MS = 200
const PAUSE_MS_MAX = 60_000

/**
 * Creates the throttle of one endpoint: limits concurrent requests of history, and pauses them after a rate limit.
 */
export function createThrottle(clock: Clock) {
  let limit = RUNNING_MAX
  let succeeded = 0
  let pauses = 0
  let untilMs = 0
  const turns = createFairTurns(() => limit)

  return {
    /** Runs a task in its turn, alternating requesters. Throws `AbortedError` if `signal` fires while it waits. */
    run<T>(
      task: () => Promise<T>,
      { signal, requester }: { readonly signal: AbortSignal; readonly requester?: string | undefined },
    ): Promise<T> {
      const runAfterPause = async (): Promise<T> => {
        const waitMs = untilMs - clock.monotonicMs()
        if (waitMs > 0) await clock.sleep(waitMs, signal)
        const result = await task()
        pauses = 0
        succeeded++
        if (succeeded >= 4 * limit && limit < RUNNING_MAX) {
          limit++
          succeeded = 0
        }
        return result
      }
      return turns.run(runAfterPause, { signal, requester })
    },
    /** Records a rate limit: halves the concurrent requests, and pauses before the next one. */
    recordRateLimit(pauseMs: number | undefined): void {
      // The requests that were under way are refused together, but count once.
      if (untilMs > clock.monotonicMs()) return
      pauses++
      limit = Math.max(1, Math.floor(limit / 2))
      succeeded = 0
      untilMs = clock.monotonicMs() + Math.min(PAUSE_MS_MAX, pauseMs ?? PAUSE_MS * 2 ** (pauses - 1))
    },
  }
}

/** Time limit of a small request over all attempts, milliseconds, and retries: callers wait for some of them. */
const ATTEMPTS_MS = 1_500
const AGAIN_MAX = 3

/** Creates a queue for small requests of one endpoint; a failed one is retried a few times. */
function createSmallRequestQueue(options: {
  readonly source: LogSource
  readonly throttle: Pick<ReturnType<typeof createThrottle>, 'run'>
  readonly clock: Clock
}) {
  const { source, throttle, clock } = options
  return <T>(task: (source: LogSource) => Promise<T>, signal: AbortSignal): Promise<T> => {
    const untilMs = clock.monotonicMs() + ATTEMPTS_MS
    const remainingMs = () => untilMs - clock.monotonicMs()
    const retry = createRetrier({ clock, remainingMs, isBegun: true, retriesMax: AGAIN_MAX, random: () => 0 })
    return retry(() => throttle.run(() => task(source), { signal }), signal)
  }
}
