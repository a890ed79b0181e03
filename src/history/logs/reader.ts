import type { Hex } from 'viem'
import { RpcRefusedError } from '../../chain/rpc/client.ts'
import { together } from '../../lib/async/together.ts'
import type { Clock } from '../../lib/clock.ts'
import { UpstreamError } from '../../lib/error.ts'
import type { HistoryLog, LogFilter } from '../stream.ts'
import { FalseLogsError } from './check_logs.ts'
import { LogsRefusedError, type Reaction } from './refusal.ts'
import type { LogSource } from './source.ts'
import { createThrottle } from './throttle.ts'
import { answered, piecesOf, type Range, refused, startWindow, type Window } from './window.ts'
import { compareLogs, isSameLog } from './witness.ts'

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
}

/** One endpoint with what was learned about its ranges. In memory only: what endpoints allow changes. */
export interface LearnedSource {
  readonly source: LogSource
  /** The longest range that it takes, so far as is known. */
  readonly cap: number | undefined
  /** True if it can be asked for logs of these blocks now. */
  serves(range: Range): boolean
  /** True if it can be asked for them, now or after the pause that follows a failure. */
  mayServe(range: Range): boolean
  /** Length of the next piece of this kind. */
  blocksOf(request: Pick<LogsRequest, 'key' | 'firstBlocks'>): number
  /** All logs of a range, in order. Throws `UpstreamError` if the endpoint fails or cannot, `FilterError`. */
  read(request: LogsRequest, signal: AbortSignal): Promise<readonly HistoryLog[]>
  /**
   * True if the endpoint has this final block, false if it has another one of that height, and undefined if it does not
   * say. Asked once for each block.
   */
  follows(final: FinalBlock, signal: AbortSignal): Promise<boolean | undefined>
  /** Runs a small request within the endpoint's limits. */
  ask<T>(task: (source: LogSource) => Promise<T>, signal: AbortSignal): Promise<T>
  /** Leaves it alone for some time: it gave what is not so. */
  distrust(): void
}

/** A block that is final, so that every endpoint must have it. */
export interface FinalBlock {
  readonly number: number
  readonly hash: Hex
}

/** The filter names too many topics or addresses for an endpoint. */
export class FilterError extends UpstreamError {}

/** How a request for logs ended, for the metrics. */
export type LogsOutcome = 'useful' | 'refused' | 'failed'

const RETRIES = 4
const AGAIN_MS = 200
/** Rests after a failure, an endpoint that is behind, silence, a lie, and a refusal of everything. */
const REST_MS = { failed: 5_000, behind: 2_000, silent: 60_000, false: 600_000, unable: 3_600_000 }
/** Late answers in a row that only make ranges shorter, which is four lengths; who is later still is silent. */
const LATE_MAX = 7
/** One that fails so often in a row is as good as one that gives no logs. */
const FAILURES_MAX = 20
/** Rate limits in a row that one read waits for. */
const RATE_WAITS = 6

/** Starts to learn about an endpoint. */
export function createLearnedSource(options: {
  readonly source: LogSource
  readonly clock: Clock
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  readonly record?: (outcome: LogsOutcome) => void
}): LearnedSource {
  const { source, clock, sleep, record = () => {} } = options
  const throttle = createThrottle({ clock, sleep })
  const windows = new Map<string, Window>()
  const probes = new Map<string, Promise<unknown>>()
  let cap: number | undefined
  /** Monotonic: until when it is left alone after a failure, and until when it counts as unable. */
  let restUntilMs = 0
  let outUntilMs = 0
  let failuresInARow = 0
  let lateInARow = 0
  /** Logs of older blocks are not kept there. */
  let floor = 0
  /** The final block that it was asked for last, and whether it has it. */
  let followed: { readonly hash: Hex; readonly verdict: boolean } | undefined

  function rest(why: keyof typeof REST_MS): void {
    const untilMs = clock.monotonicMs() + REST_MS[why]
    if (why === 'failed' && ++failuresInARow >= FAILURES_MAX) rest('unable')
    if (why === 'failed' || why === 'behind') restUntilMs = Math.max(restUntilMs, untilMs)
    else outUntilMs = Math.max(outUntilMs, untilMs)
  }

  function mayServe({ fromBlock }: Range): boolean {
    return source.usable && clock.monotonicMs() >= outUntilMs && fromBlock >= floor
  }

  function windowOf({ key, firstBlocks }: Pick<LogsRequest, 'key' | 'firstBlocks'>): Window {
    const window = windows.get(key) ?? startWindow(firstBlocks, cap)
    // Another kind of filter may have met a cap meanwhile.
    return cap === undefined || window.blocks <= cap ? window : { ...window, blocks: cap, cap }
  }

  /** Learns from a refusal of a whole range; throws if no shorter range would be taken either. */
  function learn(request: LogsRequest, range: Range, reaction: Reaction): void {
    const blocks = range.toBlock - range.fromBlock + 1
    if (reaction.kind === 'range' || reaction.kind === 'results' || reaction.kind === 'late') {
      const window = refused(windowOf(request), reaction, blocks)
      windows.set(request.key, window)
      cap = window.cap
      const isSilent = reaction.kind === 'late' && ++lateInARow > LATE_MAX
      if (blocks > 1 && !isSilent) return
      lateInARow = 0
      rest(reaction.kind === 'late' ? 'silent' : 'unable')
    }
    if (reaction.kind === 'filter') throw new FilterError('The endpoint takes fewer topics')
    if (reaction.kind === 'pruned') floor = Math.max(floor, range.toBlock + 1)
    if (reaction.kind === 'behind' || reaction.kind === 'unable') rest(reaction.kind)
    throw new UpstreamError(`The endpoint gives no logs of these blocks (${reaction.kind})`)
  }

  /** One request for each filter; asks again after a rate limit or a failure. */
  async function askOnce(request: LogsRequest, range: Range, signal: AbortSignal): Promise<readonly HistoryLog[]> {
    const lists = await together(
      request.filters.map((filter) => (within: AbortSignal) => askFilter(filter, range, within)),
      signal,
    )
    const blocks = range.toBlock - range.fromBlock + 1
    const logs = Math.max(0, ...lists.map((list) => list.length))
    windows.set(request.key, answered(windowOf(request), { blocks, logs }))
    return lists.length === 1 ? (lists[0] ?? []) : merged(lists)
  }

  async function askFilter(filter: LogFilter, range: Range, signal: AbortSignal): Promise<readonly HistoryLog[]> {
    let failures = 0
    let waits = 0
    for (;;) {
      let isAsked = false
      try {
        const logs = await throttle.run(() => {
          // While this waited for its turn, others may have learned that it is too long.
          if (cap !== undefined && range.toBlock - range.fromBlock >= cap) {
            throw new LogsRefusedError(0, { kind: 'range', blocks: cap })
          }
          isAsked = true
          return source.logs(filter, range, signal)
        }, signal)
        record('useful')
        failuresInARow = 0
        lateInARow = 0
        return logs
      } catch (error) {
        if (!(error instanceof UpstreamError || error instanceof LogsRefusedError)) throw error
        if (isAsked) record(error instanceof LogsRefusedError ? 'refused' : 'failed')
        if (error instanceof FalseLogsError) rest('false')
        if (error instanceof LogsRefusedError) {
          if (error.reaction.kind !== 'rate') throw error
          throttle.limited(error.reaction.pauseMs)
          if (++waits <= RATE_WAITS) continue
          rest('failed')
          throw new UpstreamError('The endpoint limits its rate')
        }
        if (error instanceof FalseLogsError || ++failures > RETRIES) {
          rest('failed')
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
      const half = Math.ceil((range.toBlock - range.fromBlock + 1) / 2)
      const pieces = piecesOf(range, Math.min(half, windowOf(request).blocks), false)
      return await readPieces(request, pieces, signal)
    }
  }

  async function readPieces(
    request: LogsRequest,
    pieces: readonly Range[],
    signal: AbortSignal,
  ): Promise<readonly HistoryLog[]> {
    const lists = await together(
      pieces.map((piece) => (within: AbortSignal) => readPiece(request, piece, within)),
      signal,
    )
    return lists.reverse().flat()
  }

  /** Until an endpoint has answered one request of a kind, no others are sent: all might be refused alike. */
  async function probed(request: LogsRequest, signal: AbortSignal): Promise<readonly HistoryLog[]> {
    const { range } = request
    const first = Math.min(range.toBlock - range.fromBlock + 1, windowOf(request).blocks)
    const probe = readPiece(request, { fromBlock: range.toBlock - first + 1, toBlock: range.toBlock }, signal)
    probes.set(
      request.key,
      probe.catch(() => probes.delete(request.key)),
    )
    const newest = await probe
    const rest = { ...range, toBlock: range.toBlock - first }
    if (rest.toBlock < rest.fromBlock) return newest
    return [...(await readPieces(request, divided({ ...request, range: rest }), signal)), ...newest]
  }

  function divided(request: LogsRequest): readonly Range[] {
    const blocks = Math.ceil(windowOf(request).blocks / (1 + Math.floor(request.turn / 2)))
    return piecesOf(request.range, blocks, request.turn % 2 === 1)
  }

  return {
    source,
    get cap() {
      return cap
    },
    serves: (range) => mayServe(range) && clock.monotonicMs() >= restUntilMs,
    mayServe,
    blocksOf: (request) => windowOf(request).blocks,
    async read(request, signal) {
      const probe = probes.get(request.key)
      if (probe === undefined) return await probed(request, signal)
      await probe
      return await readPieces(request, divided(request), signal)
    },
    async follows({ number, hash }, signal) {
      if (followed?.hash === hash) return followed.verdict
      try {
        const header = await throttle.run(() => source.header(BigInt(number), signal), signal)
        if (header !== undefined) {
          followed = { hash, verdict: header.hash === hash }
          return followed.verdict
        }
      } catch (error) {
        if (!(error instanceof UpstreamError || error instanceof RpcRefusedError)) throw error
      }
      rest('failed')
      return undefined
    },
    ask: (task, signal) => throttle.run(() => task(source), signal),
    distrust: () => rest('false'),
  }
}

/** The longest range that any endpoint takes; undefined if one of them never refused one, or none is usable. */
export function widestOf(sources: readonly LearnedSource[]): number | undefined {
  const caps = sources.filter(({ source }) => source.usable).map(({ cap }) => cap ?? Number.POSITIVE_INFINITY)
  const most = Math.max(0, ...caps)
  return most === 0 || most === Number.POSITIVE_INFINITY ? undefined : most
}

/** Lists of different filters as one; a log that several filters found comes once. */
function merged(lists: readonly (readonly HistoryLog[])[]): readonly HistoryLog[] {
  const all = lists.flat().sort(compareLogs)
  return all.filter((log, index) => {
    const before = all[index - 1]
    if (before === undefined || compareLogs(before, log) !== 0) return true
    if (!isSameLog(before, log)) throw new FalseLogsError('The endpoint gave two logs at one position')
    return false
  })
}
