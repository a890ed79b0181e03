import type { Clock } from '../../lib/clock.ts'
import type { Range } from '../range.ts'
import type { LogsRequest } from './reader.ts'
import type { Reaction } from './refusal.ts'
import { answered, longer, refused, startWindow, type Window, withCap } from './window.ts'

/** What one endpoint allows, as its refusals taught. What limits is doubted after some time: providers change. */
interface Limits {
  /** The longest range that it takes, so far as is known. */
  readonly cap: number | undefined
  /** The length to try in one request, if the cap is in doubt. */
  readonly trial: number | undefined
  /** True if logs of such old blocks were not refused, or that was long ago. */
  keeps(range: Range): boolean
  /** True if they were refused, but that was long ago. */
  mayKeepAgain(range: Range): boolean
  windowOf(request: Pick<LogsRequest, 'key' | 'firstBlocks'>): Window
  answered(request: LogsRequest, answer: { readonly blocks: number; readonly logs: number }): void
  /** A range of `blocks` blocks was refused for its length, its results or its time. */
  refused(request: LogsRequest, reaction: Reaction, blocks: number): void
  /** The logs of these blocks were refused because they are too old, or given. */
  pruned(range: Range): void
  kept(range: Range): void
}

/** After this time a limit is tried anew, by one request. */
const DOUBT_MS = 600_000

/** Starts to learn. */
export function createLimits(clock: Clock): Limits {
  const windows = new Map<string, Window>()
  let cap: number | undefined
  let capMs = 0
  /** Logs of older blocks are not kept there. */
  let floor = 0
  let floorMs = 0

  const isInDoubt = (sinceMs: number) => clock.monotonicMs() - sinceMs >= DOUBT_MS

  function windowOf({ key, firstBlocks }: Pick<LogsRequest, 'key' | 'firstBlocks'>): Window {
    // Another kind of filter may have met a cap, or found that it is gone.
    return withCap(windows.get(key) ?? startWindow(firstBlocks, cap), cap)
  }

  return {
    get cap() {
      return cap
    },
    get trial() {
      return cap !== undefined && isInDoubt(capMs) ? longer(cap) : undefined
    },
    keeps: ({ fromBlock }) => fromBlock >= floor || isInDoubt(floorMs),
    mayKeepAgain: ({ fromBlock }) => fromBlock < floor && isInDoubt(floorMs),
    windowOf,
    answered(request, answer) {
      if (cap !== undefined && answer.blocks > cap) cap = answer.blocks
      windows.set(request.key, answered(windowOf(request), answer))
    },
    refused(request, reaction, blocks) {
      const window = refused(windowOf(request), reaction, blocks)
      windows.set(request.key, window)
      if (reaction.kind === 'range') capMs = clock.monotonicMs()
      cap = window.cap
    },
    pruned({ toBlock }) {
      floor = Math.max(floor, toBlock + 1)
      floorMs = clock.monotonicMs()
    },
    kept({ fromBlock }) {
      floor = Math.min(floor, fromBlock)
    },
  }
}
