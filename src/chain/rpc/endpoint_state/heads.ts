import type { Clock } from '../../../lib/clock.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { Block } from '../../block.ts'

/**
 * How far behind, in time, an endpoint may answer before others are preferred, and the least such distance in blocks.
 */
const LAG_MS_MAX = 30_000
const LAG_BLOCKS_MIN = 3
/** Heads older than this are ignored, so that a lie or a deep rollback is forgotten. */
const MEMORY_MS = 60_000
/** A chain may make blocks this many times faster than its row says. */
const HASTE = 2n
/** Block time assumed if the row gives none: shorter than any chain's. */
const BLOCK_MS_MIN = 10

/** What an endpoint calls its newest block, already checked against the wall clock. */
type Head = Pick<Block, 'number' | 'timestampSec'>

/** Result of comparing a head with the others: a slow node does not explain `behind`, nor the block times `ahead`. */
type HeadVerdict = 'believed' | 'behind' | 'ahead'

/** An endpoint's newest block is far off what others have shown; says nothing about its health. */
export class HeadMismatchError extends UpstreamError {}

/** Heads that a chain's endpoints have shown lately. */
export type HeadTracker = ReturnType<typeof createHeadTracker>

interface ObservedHead {
  readonly head: Head
  readonly atMs: number
  readonly verdict: HeadVerdict
}

/**
 * Compares heads of one chain. A head is judged when it is seen, against what was seen before: the highest recent head,
 * or with three or more endpoints the second highest, so that one endpoint cannot make the others look late. A head is
 * ignored in comparisons if it is higher than the time between the blocks explains and no other endpoint comes near it:
 * it is a mistake or a lie. A single endpoint is not compared and may go back and forth.
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
  const shown = new Map<number, ObservedHead>()

  function isRecent({ atMs }: ObservedHead): boolean {
    return clock.monotonicMs() - atMs < MEMORY_MS
  }

  /** True if a chain that was at `from` can be at `to`. */
  function canReach(to: Head, from: Head): boolean {
    const ms = (to.timestampSec - from.timestampSec) * 1_000n
    return to.number <= from.number + lagMax + (ms > 0n ? (HASTE * ms) / blockMs : 0n)
  }

  function judge(endpoint: number, head: Head): HeadVerdict {
    const recent = [...shown].filter(([, entry]) => isRecent(entry))
    const others = recent.filter(([index]) => index !== endpoint).map(([, entry]) => entry)
    if (others.length === 0) return 'believed'
    const isExplained =
      others.some((other) => head.number <= other.head.number + lagMax) ||
      recent.some(([, { head: before, verdict }]) => verdict !== 'ahead' && canReach(head, before))
    if (!isExplained) return 'ahead'
    const numbers = others.filter(({ verdict }) => verdict !== 'ahead').map((other) => other.head.number)
    const highest = [head.number, ...numbers].sort((a, b) => Number(b - a))
    const measure = highest[highest.length >= 3 ? 1 : 0] ?? head.number
    return head.number + lagMax < measure ? 'behind' : 'believed'
  }

  return {
    /** Notes a head of `endpoint`, and judges it. */
    observe(endpoint: number, head: Head): HeadVerdict {
      const verdict = judge(endpoint, head)
      shown.set(endpoint, { head, atMs: clock.monotonicMs(), verdict })
      return verdict
    },
    /** True if the endpoint's last head was not believed. */
    isDoubted(endpoint: number): boolean {
      const entry = shown.get(endpoint)
      return entry !== undefined && isRecent(entry) && entry.verdict !== 'believed'
    },
    /** The newest block that an endpoint has shown, if it was believed. */
    headOf(endpoint: number): Head | undefined {
      const entry = shown.get(endpoint)
      return entry?.verdict === 'believed' ? entry.head : undefined
    },
    /** Drops what the endpoint has shown. */
    forget: (endpoint: number) => void shown.delete(endpoint),
  }
}
