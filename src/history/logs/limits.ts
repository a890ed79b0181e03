import type { Clock } from '../../lib/clock.ts'
import type { Range } from '../range.ts'
import type { LogsRequest } from './reader.ts'
import type { RefusalReaction } from './refusal.ts'
import { growWindow, nextLength, shrinkWindow, startWindow, type Window, withCap } from './window.ts'

/** After this time one request tries a limit again. */
const DOUBT_MS = 600_000

/** Creates the learned limits of one endpoint. Limits are tried again after some time, because providers change. */
export function createRangeLimits(clock: Clock) {
  const windows = new Map<string, Window>()
  let cap: number | undefined
  let capLearnedMs = 0
  /** The endpoint keeps no logs of older blocks. */
  let floor = 0
  let floorLearnedMs = 0

  const isInDoubt = (sinceMs: number) => clock.monotonicMs() - sinceMs >= DOUBT_MS

  function getWindow({ key, firstBlocks }: Pick<LogsRequest, 'key' | 'firstBlocks'>): Window {
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
    recordAnswer(request: LogsRequest, answer: { readonly blocks: number; readonly logs: number }): void {
      if (cap !== undefined && answer.blocks > cap) cap = answer.blocks
      windows.set(request.key, growWindow(getWindow(request), answer))
    },
    /** Records that a range of `blocks` blocks was refused for its length, its results or its time. */
    recordRefusal(request: LogsRequest, reaction: RefusalReaction, blocks: number): void {
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
