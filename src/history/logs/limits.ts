import type { Clock } from '../../lib/clock.ts'
import type { Range } from '../range.ts'
import type { RefusalReaction } from './refusal.ts'

/** After this time one request tries a limit again. */
const DOUBT_MS = 600_000

/** The part of a request that its length depends on. */
export interface LimitedRequest {
  /** Kind of filter, the key of learned lengths: a stream's name, and whether it is for one subject or for all. */
  readonly key: string
  /** Length of the very first piece. */
  readonly firstBlocks: number
}

/** Creates the learned limits of one endpoint. Limits are tried again after some time, because providers change. */
export function createRangeLimits(clock: Clock) {
  const windows = new Map<string, Window>()
  let cap: number | undefined
  let capLearnedMs = 0
  /** The endpoint keeps no logs of older blocks. */
  let floor = 0
  let floorLearnedMs = 0

  const isInDoubt = (sinceMs: number) => clock.monotonicMs() - sinceMs >= DOUBT_MS

  function getWindow({ key, firstBlocks }: LimitedRequest): Window {
    // Another kind of filter may have hit a cap, or found that it is gone.
    return withCap(windows.get(key) ?? startWindow(firstBlocks, cap), cap)
  }

  return {
    /** The longest accepted range; undefined if no range was refused. */
    get cap(): number | undefined {
      return cap
    },
    /** The length to try in one request, if the cap is in doubt. */
    get trial(): number | undefined {
      return cap !== undefined && isInDoubt(capLearnedMs) ? nextLength(cap) : undefined
    },
    /** True unless logs of such old blocks were refused recently. */
    isRetained: ({ fromBlock }: Range) => fromBlock >= floor || isInDoubt(floorLearnedMs),
    /** True if logs of such old blocks were refused, but long ago. */
    mayBeRetainedAgain: ({ fromBlock }: Range) => fromBlock < floor && isInDoubt(floorLearnedMs),
    getWindow,
    recordAnswer(request: LimitedRequest, answer: { readonly blocks: number; readonly logs: number }): void {
      if (cap !== undefined && answer.blocks > cap) cap = answer.blocks
      windows.set(request.key, growWindow(getWindow(request), answer))
    },
    /** Records that a range of `blocks` blocks was refused for its length, its results or its time. */
    recordRefusal(request: LimitedRequest, reaction: RefusalReaction, blocks: number): void {
      const window = shrinkWindow(getWindow(request), reaction, blocks)
      windows.set(request.key, window)
      if (reaction.kind === 'range') capLearnedMs = clock.monotonicMs()
      cap = window.cap
    },
    /** Records that the logs of these blocks were refused as too old. */
    recordPruned({ toBlock }: Range): void {
      floor = Math.max(floor, toBlock + 1)
      floorLearnedMs = clock.monotonicMs()
    },
    /** Records that the logs of these blocks are served. */
    recordRetained({ fromBlock }: Range): void {
      floor = Math.min(floor, fromBlock)
    },
  }
}

/** The range length of one endpoint for one kind of filter. Immutable: every change returns a new window. */
interface Window {
  /** Length of the next range. */
  readonly blocks: number
  /** The longest accepted range, stated by the endpoint or learned from refusals; undefined if none was refused. */
  readonly cap: number | undefined
  /** Growth factor, smaller once an answer was too long or too late. */
  readonly growth: number
}

/** Target number of logs of an answer: some 1.5 MB, far below the size limit. */
const LOGS_AIM = 2_000
const GROWTH = { first: 4, later: 1.5 } as const
/** Usual limits of endpoints whose refusals name none. */
const USUAL_CAPS = [1_000_000, 500_000, 100_000, 50_000, 20_000, 10_000, 5_000, 3_000, 2_000, 1_000, 500, 100, 10, 5, 1]

/** The initial window, within the cap that other filters have learned at the same endpoint. */
export function startWindow(blocks: number, cap: number | undefined): Window {
  return { blocks: Math.min(blocks, cap ?? blocks), cap, growth: GROWTH.first }
}

/** The window after an answer to a range of `blocks` blocks. */
export function growWindow(
  window: Window,
  { blocks, logs }: { readonly blocks: number; readonly logs: number },
): Window {
  // A shorter range predicts a longer one only if it already held too many logs.
  if (blocks < window.blocks && logs < LOGS_AIM) return window
  const dense = logs === 0 ? Number.POSITIVE_INFINITY : (blocks * LOGS_AIM) / logs
  const next = Math.max(window.blocks / 2, Math.min(window.blocks * window.growth, dense))
  return clampWindow({ ...window, blocks: Math.ceil(next) })
}

/** The window after a refusal of a range of `blocks` blocks, or an answer that was too long or too late. */
export function shrinkWindow(window: Window, reaction: RefusalReaction, blocks: number): Window {
  if (reaction.kind === 'range') {
    const cap = reaction.blocks ?? USUAL_CAPS.find((usual) => usual < blocks) ?? 1
    return clampWindow({ ...window, blocks: Math.min(window.blocks, cap), cap: Math.min(window.cap ?? cap, cap) })
  }
  if (reaction.kind === 'results' || reaction.kind === 'late') {
    const proposed = reaction.kind === 'results' ? reaction.blocks : undefined
    const shorter = Math.min(window.blocks, proposed ?? Math.ceil(blocks / 2))
    return clampWindow({ ...window, blocks: shorter, growth: GROWTH.later })
  }
  return window
}

/** The usual length next to `cap`, to try whether a cap is still there. */
export function nextLength(cap: number): number {
  return USUAL_CAPS.findLast((usual) => usual > cap) ?? 2 * cap
}

/** The same window under another cap. */
function withCap(window: Window, cap: number | undefined): Window {
  return window.cap === cap ? window : clampWindow({ ...window, cap })
}

function clampWindow(window: Window): Window {
  const { blocks, cap = blocks } = window
  return { ...window, blocks: Math.max(1, Math.min(blocks, cap)) }
}
