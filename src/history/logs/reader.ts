import type { Hex } from 'viem'
import { RpcRefusedError } from '../../chain/rpc/client.ts'
import { RateLimitedError } from '../../chain/rpc/error.ts'
import { allOrAbort } from '../../lib/async/all_or_abort.ts'
import type { Clock } from '../../lib/clock.ts'
import { UpstreamError } from '../../lib/error.ts'
import type { LogsOutcome } from '../metrics.ts'
import { countBlocks, type Range, splitNewest, splitRange } from '../range.ts'
import type { HistoryLog, LogFilter } from '../stream.ts'
import { createBackoff } from './backoff.ts'
import { InvalidLogsError, mergeLogs } from './check_logs.ts'
import { createRangeLimits } from './limits.ts'
import { LogsRefusedError, type RefusalReaction } from './refusal.ts'
import type { LogSource } from './source.ts'
import { createSmallRequestQueue, createThrottle } from './throttle.ts'

/** What is read, and how it is divided. */
export interface LogsRequest {
  /** Kind of filter, for what was learned about lengths: a stream's name, and whether it is for everybody. */
  readonly key: string
  readonly filters: readonly LogFilter[]
  readonly range: Range
  /** Length of the first piece ever asked for. */
  readonly firstBlocks: number
  /** How often the range was read before: each read divides it at other blocks. */
  readonly turn: number
  /** Who asked for it: endpoints serve different askers in turn. Absent: it serves everybody. */
  readonly asker?: string | undefined
}

/** One endpoint with what was learned about its ranges. In memory only: what endpoints allow changes. */
export type AdaptiveLogSource = ReturnType<typeof createAdaptiveLogSource>

/** A block that is final, so that every endpoint must have it. */
export interface FinalBlock {
  readonly number: number
  readonly hash: Hex
  /** Counts how often the chain's history was taken back before it was read. */
  readonly epoch: number
}

/** The filter names too many topics or addresses for an endpoint. */
export class FilterTooWideError extends UpstreamError {}

/** The range was chosen before it was known how short ranges must be: it would take far more requests than planned. */
export class RangeTooNarrowError extends Error {
  override readonly name = 'RangeTooNarrowError'
}

const RETRIES = 4
const AGAIN_MS = 200
/** Late answers in a row that only make ranges shorter, which is four lengths; who is later still is silent. */
const LATE_MAX = 7
/** Rate limits in a row that one read waits for. */
const RATE_WAITS = 6
/** Pieces of one read, at most. */
const PIECES_MAX = 256

/** Starts to learn about an endpoint. */
export function createAdaptiveLogSource(options: {
  readonly source: LogSource
  readonly clock: Clock
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  readonly record?: (outcome: LogsOutcome) => void
}) {
  const { source, clock, sleep, record = () => {} } = options
  const throttle = createThrottle({ clock, sleep })
  const ask = createSmallRequestQueue({ source, throttle, clock })
  const limits = createRangeLimits(clock)
  const probes = new Map<string, Promise<unknown>>()
  /** The length that one request tries at the moment, above the cap. */
  let trying = 0
  /** The request that tries whether older blocks are kept again. */
  let digging: Promise<unknown> | undefined
  // After it was unable, a single request finds out whether it is able again.
  const rests = createBackoff(clock, () => probes.clear())
  let lateInARow = 0
  /** The final block that it was asked for last, and whether it has it. */
  let followed: { readonly hash: Hex; readonly verdict: boolean } | undefined

  /** True if it can be asked for logs of these blocks, now or after the pause that follows a failure. */
  function mayServe(range: Range): boolean {
    return source.usable && !rests.isOut && limits.keeps(range)
  }

  /** Learns from a refusal of a whole range; throws if no shorter range would be taken either. */
  function learn(request: LogsRequest, range: Range, reaction: RefusalReaction): void {
    const blocks = countBlocks(range)
    if (reaction.kind === 'range' || reaction.kind === 'results' || reaction.kind === 'late') {
      limits.refused(request, reaction, blocks)
      const isSilent = reaction.kind === 'late' && ++lateInARow > LATE_MAX
      if (blocks > 1 && !isSilent) return
      lateInARow = 0
      rests.start(reaction.kind === 'late' ? 'silent' : 'unable')
    }
    if (reaction.kind === 'filter') throw new FilterTooWideError('The endpoint takes fewer topics')
    if (reaction.kind === 'pruned') limits.pruned(range)
    if (reaction.kind === 'behind' || reaction.kind === 'unable') rests.start(reaction.kind)
    throw new UpstreamError(`The endpoint gives no logs of these blocks (${reaction.kind})`)
  }

  /** One request for each filter; asks again after a rate limit or a failure. */
  async function askOnce(request: LogsRequest, range: Range, signal: AbortSignal): Promise<readonly HistoryLog[]> {
    const lists = await allOrAbort(
      request.filters.map((filter) => (within: AbortSignal) => askFilter(request, { filter, range }, within)),
      signal,
    )
    limits.answered(request, { blocks: countBlocks(range), logs: Math.max(0, ...lists.map((list) => list.length)) })
    return lists.length === 1 ? (lists[0] ?? []) : mergeLogs(lists)
  }

  async function askFilter(
    { asker }: LogsRequest,
    { filter, range }: { readonly filter: LogFilter; readonly range: Range },
    signal: AbortSignal,
  ): Promise<readonly HistoryLog[]> {
    let failures = 0
    let waits = 0
    for (;;) {
      let isAsked = false
      try {
        const ask = () => {
          const { cap } = limits
          // While this waited for its turn, others may have learned that it is too long.
          if (cap !== undefined && countBlocks(range) > Math.max(cap, trying)) {
            throw new LogsRefusedError(0, { kind: 'range', blocks: cap })
          }
          isAsked = true
          return source.logs(filter, range, signal)
        }
        const logs = await throttle.run(ask, { signal, asker })
        record('useful')
        rests.succeeded()
        lateInARow = 0
        return logs
      } catch (error) {
        if (!(error instanceof UpstreamError || error instanceof LogsRefusedError)) throw error
        const isRefused = error instanceof LogsRefusedError || error instanceof RateLimitedError
        if (isAsked) record(isRefused ? 'refused' : 'failed')
        if (error instanceof LogsRefusedError) throw error
        if (error instanceof InvalidLogsError) rests.start('false')
        if (error instanceof RateLimitedError) {
          throttle.limited(error.retryAfterMs)
          if (++waits <= RATE_WAITS) continue
        }
        if (error instanceof RateLimitedError || error instanceof InvalidLogsError || ++failures > RETRIES) {
          rests.start('failed')
          throw error
        }
        await sleep(AGAIN_MS * 2 ** (failures - 1), signal)
      }
    }
  }

  async function readPiece(request: LogsRequest, range: Range, signal: AbortSignal): Promise<readonly HistoryLog[]> {
    try {
      return await askOnce(request, range, signal)
    } catch (error) {
      if (!(error instanceof LogsRefusedError)) throw error
      learn(request, range, error.reaction)
      const { blocks } = limits.windowOf(request)
      if (countBlocks(request.range) > PIECES_MAX * blocks)
        throw new RangeTooNarrowError('The endpoint takes far shorter ranges')
      return await readPieces(
        request,
        splitRange(range, Math.min(Math.ceil(countBlocks(range) / 2), blocks), false),
        signal,
      )
    }
  }

  async function readPieces(
    request: LogsRequest,
    pieces: readonly Range[],
    signal: AbortSignal,
  ): Promise<readonly HistoryLog[]> {
    const lists = await allOrAbort(
      pieces.map((piece) => (within: AbortSignal) => readPiece(request, piece, within)),
      signal,
    )
    return lists.reverse().flat()
  }

  /** Until an endpoint has answered one request of a kind, no others are sent: all might be refused alike. */
  async function probed(request: LogsRequest, signal: AbortSignal): Promise<readonly HistoryLog[]> {
    const blocks = Math.min(countBlocks(request.range), limits.windowOf(request).blocks)
    const [older, first] = splitNewest(request.range, blocks)
    const probe = readPiece(request, first, signal)
    probes.set(
      request.key,
      probe.catch(() => probes.delete(request.key)),
    )
    return await withOlder(request, { older, newest: await probe }, signal)
  }

  /** One request longer than the cap, which was learned long ago: what it takes now, all others may be. */
  async function tried(request: LogsRequest, blocks: number, signal: AbortSignal): Promise<readonly HistoryLog[]> {
    const [older, first] = splitNewest(request.range, blocks)
    trying = blocks
    const newest = await readPiece(request, first, signal).finally(() => {
      trying = 0
    })
    return await withOlder(request, { older, newest }, signal)
  }

  async function withOlder(
    request: LogsRequest,
    { older, newest }: { readonly older: Range; readonly newest: readonly HistoryLog[] },
    signal: AbortSignal,
  ): Promise<readonly HistoryLog[]> {
    if (older.toBlock < older.fromBlock) return newest
    return [...(await readPieces(request, divided({ ...request, range: older }), signal)), ...newest]
  }

  /** Asks for one block that was too old for the endpoint long ago, once for all who want such blocks. */
  async function dug(request: LogsRequest, signal: AbortSignal): Promise<void> {
    const { fromBlock } = request.range
    const oldest = { fromBlock, toBlock: fromBlock }
    digging ??= readPiece({ ...request, range: oldest }, oldest, signal)
      .then(() => limits.kept(oldest))
      .finally(() => {
        digging = undefined
      })
    await digging
  }

  function divided(request: LogsRequest): readonly Range[] {
    const blocks = Math.ceil(limits.windowOf(request).blocks / (1 + Math.floor(request.turn / 2)))
    return splitRange(request.range, blocks, request.turn % 2 === 1)
  }

  return {
    source,
    /** The longest range that it takes, so far as is known. */
    get cap(): number | undefined {
      return limits.cap
    },
    /** True if nothing longer was refused for some time: the next read tries it. */
    get isCapInDoubt(): boolean {
      return limits.trial !== undefined
    },
    /** True if it can be asked for logs of these blocks now. */
    serves: (range: Range) => mayServe(range) && !rests.isResting,
    mayServe,
    /** Length of the next piece of this kind. */
    blocksOf: (request: Pick<LogsRequest, 'key' | 'firstBlocks'>) => limits.windowOf(request).blocks,
    /** All logs of a range, in order. Throws `UpstreamError` if it fails or cannot, `FilterTooWideError`, `RangeTooNarrowError`. */
    async read(request: LogsRequest, signal: AbortSignal): Promise<readonly HistoryLog[]> {
      if (limits.mayKeepAgain(request.range)) await dug(request, signal)
      for (;;) {
        const probe = probes.get(request.key)
        if (probe === undefined) return await probed(request, signal)
        await probe
        if (probes.has(request.key)) break
        if (!mayServe(request.range)) throw new UpstreamError('The endpoint gave no logs to another who asked')
      }
      const { cap, trial = 0 } = limits
      const most = Math.min(trial, countBlocks(request.range))
      if (trying === 0 && most > (cap ?? most)) return await tried(request, most, signal)
      return await readPieces(request, divided(request), signal)
    },
    /**
     * True if the endpoint has this final block, false if it has another one of that height, and undefined if it does
     * not say. Asked once for each block.
     */
    async follows(
      { number, hash }: Pick<FinalBlock, 'number' | 'hash'>,
      signal: AbortSignal,
    ): Promise<boolean | undefined> {
      if (followed?.hash === hash) return followed.verdict
      try {
        const header = await ask((each) => each.header(BigInt(number), signal), signal)
        if (header !== undefined) {
          followed = { hash, verdict: header.hash === hash }
          return followed.verdict
        }
      } catch (error) {
        if (!(error instanceof UpstreamError || error instanceof RpcRefusedError)) throw error
      }
      rests.start('failed')
      return undefined
    },
    /** Notes that it has just given this final block to whoever read the newest. */
    gave({ hash }: Pick<FinalBlock, 'hash'>): void {
      followed = { hash, verdict: true }
    },
    /** Runs a small request within the endpoint's limits, a few times if it fails. */
    ask,
    /** Leaves it alone for some time: it gave what is not so. */
    distrust: () => rests.start('false'),
  }
}
