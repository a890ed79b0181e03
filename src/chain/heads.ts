import type { Clock } from '../lib/clock.ts'

/** How far behind, in time, an endpoint may answer before others are preferred; also the least in blocks. */
const LAG_MS_MAX = 30_000
const LAG_BLOCKS_MIN = 3
/** Heads older than this count no longer, so that a lie or a deep rollback is forgotten. */
const MEMORY_MS = 60_000

/** Heads that a chain's endpoints have shown lately. */
export interface Heads {
  /** Notes a block that `endpoint` answered from. False where it is further back than a reorg or a slow node explains. */
  observe(endpoint: number, blockNumber: bigint): boolean
  /** True where the endpoint's last head was too far back. */
  isBehind(endpoint: number): boolean
}

/**
 * Compares heads of one chain. A head is judged when it is seen, against what was seen before: the highest recent one,
 * or with three endpoints or more the second highest, so that one of them alone cannot make the others look late. A
 * single endpoint has nobody to be compared with and may go back.
 */
export function createHeads(options: { readonly clock: Clock; readonly blockTimeMs: number }): Heads {
  const { clock, blockTimeMs } = options
  const lagMax = BigInt(Math.max(LAG_BLOCKS_MIN, blockTimeMs > 0 ? Math.ceil(LAG_MS_MAX / blockTimeMs) : 0))
  const seen = new Map<number, { readonly head: bigint; readonly atMs: number; readonly behind: boolean }>()

  function recent<T extends { readonly atMs: number }>(entry: T | undefined): entry is T {
    return entry !== undefined && clock.monotonicMs() - entry.atMs < MEMORY_MS
  }

  return {
    observe(endpoint, head) {
      seen.set(endpoint, { head, atMs: clock.monotonicMs(), behind: false })
      const heads = [...seen.values()].filter(recent).map((each) => each.head)
      heads.sort((a, b) => (a < b ? 1 : a > b ? -1 : 0))
      const behind = head + lagMax < (heads[heads.length >= 3 ? 1 : 0] ?? head)
      seen.set(endpoint, { head, atMs: clock.monotonicMs(), behind })
      return !behind
    },
    isBehind(endpoint) {
      const entry = seen.get(endpoint)
      return recent(entry) && entry.behind
    },
  }
}
