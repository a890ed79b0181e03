import type { Clock } from '../../../lib/clock.ts'
import type { Block } from '../../block.ts'

/**
 * How far behind, in time, an endpoint may answer before others are preferred, and the minimum of that lag in blocks.
 */
const LAG_MS_MAX = 30_000
const LAG_BLOCKS_MIN = 3
/** Heads seen longer ago are ignored, so that a false head or a deep rollback is forgotten. */
const MEMORY_MS = 60_000
/** A chain may make blocks this many times faster than configured. */
const HASTE = 2n
/** Block time assumed if none is configured: shorter than any chain's. */
const BLOCK_MS_MIN = 10

/** An endpoint's newest block, already checked against the wall clock. */
type Head = Pick<Block, 'number' | 'timestampSec'>

/**
 * Result of comparing a head with others: `behind` by more than a slow node is, `ahead` by more than block times allow.
 */
type HeadVerdict = 'believed' | 'behind' | 'ahead'

/** Recent heads of a chain's endpoints. */
export type HeadTracker = ReturnType<typeof createHeadTracker>

interface ObservedHead {
  readonly head: Head
  readonly atMs: number
  readonly verdict: HeadVerdict
}

/**
 * Creates a tracker that compares the heads of one chain. A head is classified when it is seen, against earlier heads:
 * the highest recent one, or with three or more endpoints the second highest, so that one endpoint cannot make the
 * others look late. A head is excluded from comparisons as false if it is higher than the time between the blocks
 * explains and no other endpoint comes near it. A single endpoint is not compared, so its head may move in both
 * directions.
 */
export function createHeadTracker({
  clock,
  blockTimeMs = 0,
}: {
  readonly clock: Clock
  readonly blockTimeMs?: number | undefined
}) {
  const lagMax = BigInt(Math.max(LAG_BLOCKS_MIN, blockTimeMs > 0 ? Math.ceil(LAG_MS_MAX / blockTimeMs) : 0))
  const blockMs = BigInt(Math.max(BLOCK_MS_MIN, blockTimeMs))
  const observedHeads = new Map<number, ObservedHead>()

  function isRecent({ atMs }: ObservedHead): boolean {
    return clock.monotonicMs() - atMs < MEMORY_MS
  }

  /** True if a chain that was at `from` can be at `to`. */
  function canReach(to: Head, from: Head): boolean {
    const ms = (to.timestampSec - from.timestampSec) * 1_000n
    return to.number <= from.number + lagMax + (ms > 0n ? (HASTE * ms) / blockMs : 0n)
  }

  function classify(endpoint: number, head: Head): HeadVerdict {
    const recent = [...observedHeads].filter(([, entry]) => isRecent(entry))
    const otherHeads = recent.filter(([index]) => index !== endpoint).map(([, entry]) => entry)
    if (otherHeads.length === 0) return 'believed'
    const isExplained =
      otherHeads.some((other) => head.number <= other.head.number + lagMax) ||
      recent.some(([, { head: before, verdict }]) => verdict !== 'ahead' && canReach(head, before))
    if (!isExplained) return 'ahead'
    const numbers = otherHeads.filter(({ verdict }) => verdict !== 'ahead').map((other) => other.head.number)
    const highest = [head.number, ...numbers].sort((a, b) => Number(b - a))
    const reference = highest[highest.length >= 3 ? 1 : 0] ?? head.number
    return head.number + lagMax < reference ? 'behind' : 'believed'
  }

  return {
    /** Notes and classifies a head of an endpoint. */
    observe(endpoint: number, head: Head): HeadVerdict {
      const verdict = classify(endpoint, head)
      observedHeads.set(endpoint, { head, atMs: clock.monotonicMs(), verdict })
      return verdict
    },
    /** True if the endpoint's last head was `behind` or `ahead`. */
    isDoubted(endpoint: number): boolean {
      const entry = observedHeads.get(endpoint)
      return entry !== undefined && isRecent(entry) && entry.verdict !== 'believed'
    },
    /** Returns an endpoint's newest block, unless it was `behind` or `ahead`. */
    getHead(endpoint: number): Head | undefined {
      const entry = observedHeads.get(endpoint)
      return entry?.verdict === 'believed' ? entry.head : undefined
    },
    /** Drops the endpoint's head. */
    forget: (endpoint: number) => void observedHeads.delete(endpoint),
  }
}
