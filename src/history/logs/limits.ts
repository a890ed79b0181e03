import type { Clock } from '../../lib/clock.ts'
import type { Range } from '../range.ts'
import type { LogsRequest } from './reader.ts'
import type { RefusalReaction } from './refusal.ts'
import { growWindow, nextLength, shrinkWindow, startWindow, type Window, withCap } from './window.ts'

/** After this time a limit is tried anew, by one request. */
const DOUBT_MS = 600_000

/** What one endpoint allows, as its refusals taught. What limits is doubted after some time: providers change. */
export function createRangeLimits(clock: Clock) {
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
    /** The longest range that it takes, so far as is known. */
    get cap(): number | undefined {
      return cap
    },
    /** The length to try in one request, if the cap is in doubt. */
    get trial(): number | undefined {
      return cap !== undefined && isInDoubt(capMs) ? nextLength(cap) : undefined
    },
    /** True if logs of such old blocks were not refused, or that was long ago. */
    keeps: ({ fromBlock }: Range) => fromBlock >= floor || isInDoubt(floorMs),
    /** True if they were refused, but that was long ago. */
    mayKeepAgain: ({ fromBlock }: Range) => fromBlock < floor && isInDoubt(floorMs),
    windowOf,
    answered(request: LogsRequest, answer: { readonly blocks: number; readonly logs: number }): void {
      if (cap !== undefined && answer.blocks > cap) cap = answer.blocks
      windows.set(request.key, growWindow(windowOf(request), answer))
    },
    /** A range of `blocks` blocks was refused for its length, its results or its time. */
    refused(request: LogsRequest, reaction: RefusalReaction, blocks: number): void {
      const window = shrinkWindow(windowOf(request), reaction, blocks)
      windows.set(request.key, window)
      if (reaction.kind === 'range') capMs = clock.monotonicMs()
      cap = window.cap
    },
    /** The logs of these blocks were refused because they are too old. */
    pruned({ toBlock }: Range): void {
      floor = Math.max(floor, toBlock + 1)
      floorMs = clock.monotonicMs()
    },
    /** They were given. */
    kept({ fromBlock }: Range): void {
      floor = Math.min(floor, fromBlock)
    },
  }
}
