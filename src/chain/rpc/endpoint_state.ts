import type { Clock } from '../../lib/clock.ts'
import type { Block } from '../block.ts'

/** After this many failures in a row only one caller at a time tries an endpoint. */
const FAILURES_TO_OPEN = 3
const COOL_DOWN_MS_MIN = 250
const COOL_DOWN_MS_MAX = 30_000
/** Pause after a rate limit without `Retry-After`; doubled if the next request is limited as well. */
const BUSY_MS_MIN = 100
const BUSY_MS_MAX = 2_000
/** Weight of the newest sample in the moving average of latency. */
const LATENCY_WEIGHT = 0.2
/**
 * Window of latency samples. Compare endpoints by their fastest recent response, of this window or the previous one:
 * slow responses measure the request, and heavy requests must not decide routing.
 */
const QUICKEST_MS = 15_000
/** Endpoints count as equally fast within a factor of two; below this all count as equally fast. */
const LATENCY_MS_FLOOR = 100

/** `ready` serves; `doubtful` failed lately; `open` failed repeatedly and gets one try at a time. */
export type HealthState = 'ready' | 'doubtful' | 'open'

/** Observed health of one endpoint. Times are monotonic milliseconds. */
export type Health = ReturnType<typeof createHealth>

/** Creates the state of a healthy endpoint. `random` gives numbers in [0, 1). */
export function createHealth({ clock, random }: { readonly clock: Clock; readonly random: () => number }) {
  let failures = 0
  let errors = 0
  let failuresInSilence = 0
  let probeAtMs = 0
  let busyUntilMs = 0
  let pausesInARow = 0
  let latencyMs: number | undefined
  /** Fastest answer of the previous window and of the current one, and when the current one began. */
  let quickestMs = { before: Number.POSITIVE_INFINITY, now: Number.POSITIVE_INFINITY, sinceMs: 0 }

  return {
    state: (): HealthState => (failures === 0 ? 'ready' : failures < FAILURES_TO_OPEN ? 'doubtful' : 'open'),
    /** True if an `open` endpoint answered nothing at all between its last two failures, and since. */
    isSilent: () => failures >= FAILURES_TO_OPEN && failuresInSilence >= 2,
    /** Milliseconds until the endpoint's rate limit allows the next request; 0 if no limit is in force. */
    busyMs: () => Math.max(0, busyUntilMs - clock.monotonicMs()),
    /** True if the pause of a failed endpoint is over, so that it may be probed. */
    isProbeDue: () => failures > 0 && clock.monotonicMs() >= probeAtMs,
    /** Moving average of the latency; undefined before the first answer. */
    latencyMs: () => latencyMs,
    /** Number of requests with an unusable answer or none so far; refusals do not count. */
    errors: () => errors,
    /** Counts one such request. */
    countError(): void {
      errors++
    },
    /**
     * Returns 0 if fast or unknown, plus one for each doubling of latency, so that small differences do not change
     * ranks.
     */
    getLatencyClass(): number {
      const { before, now } = quickestMs
      const ms = Math.min(before, now)
      return Number.isFinite(ms) ? Math.max(0, Math.ceil(Math.log2(ms / LATENCY_MS_FLOOR))) : 0
    },
    recordSuccess(): void {
      failures = 0
    },
    /** Records an answer of any kind. */
    recordAnswer(): void {
      failuresInSilence = 0
    },
    /**
     * Records a failure. Each one in a row doubles the pause before the next probe, with a jitter of up to a half. A
     * failure that `isProof` opens the circuit of an endpoint that failed before, however often.
     */
    recordFailure({ isProof = false } = {}): void {
      const pauseMs = Math.min(COOL_DOWN_MS_MAX, COOL_DOWN_MS_MIN * 2 ** Math.min(failures, 10))
      probeAtMs = clock.monotonicMs() + pauseMs * (0.5 + random() / 2)
      failuresInSilence++
      failures = isProof && failures > 0 ? Math.max(failures + 1, FAILURES_TO_OPEN) : failures + 1
    },
    /** Records a rate limit; `retryAfterMs` is undefined if the endpoint gives no duration. */
    recordRateLimit(retryAfterMs: number | undefined): void {
      const nowMs = clock.monotonicMs()
      if (retryAfterMs !== undefined) busyUntilMs = Math.max(busyUntilMs, nowMs + retryAfterMs)
      // Refusals of concurrent requests count as one rate limit.
      else if (nowMs >= busyUntilMs) busyUntilMs = nowMs + Math.min(BUSY_MS_MAX, BUSY_MS_MIN * 2 ** pausesInARow++)
    },
    /** Records the latency of an answered request. */
    recordLatency(sampleMs: number): void {
      const nowMs = clock.monotonicMs()
      // An answer to a request sent before the rate limit does not end the pause.
      if (nowMs >= busyUntilMs) pausesInARow = 0
      const { before, now, sinceMs } = quickestMs
      quickestMs =
        nowMs - sinceMs < QUICKEST_MS
          ? { before, now: Math.min(now, sampleMs), sinceMs }
          : { before: now, now: sampleMs, sinceMs: nowMs }
      latencyMs = latencyMs === undefined ? sampleMs : latencyMs + LATENCY_WEIGHT * (sampleMs - latencyMs)
    },
  }
}

const GOLDEN_RATIO = 0.618_033_988_749_895

/**
 * Creates a generator of evenly spread numbers in [0, 1) (multiples of the golden ratio), starting from any `seed`:
 * they keep the pauses of several endpoints and processes apart. The same seed gives the same numbers.
 */
export function createJitterSequence(seed: number): () => number {
  let value = (Math.abs(seed) * GOLDEN_RATIO) % 1
  return () => {
    value = (value + GOLDEN_RATIO) % 1
    return value
  }
}

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

/** How long a refusal is remembered: a pool of nodes, or an operator, may offer more later. */
const REFUSAL_MS = 10 * 60_000
/** The same of a wrong state: the node behind the address may be mended at any time. */
const WRONG_MS = 20_000

/** Past state that the endpoints of one chain have shown, by index in the configuration. */
export type EndpointDepths = ReturnType<typeof createEndpointDepths>

/** Creates an empty record. Nodes prune old state first, so an endpoint that has a block also has all later ones. */
export function createEndpointDepths(clock: Clock) {
  const floors = new Map<number, bigint>()
  const refusals = new Map<number, { readonly block: bigint; readonly untilMs: number }>()

  /** Returns the highest block whose state was recently missing; undefined if there is none. */
  function getMissing(endpoint: number): bigint | undefined {
    const refusal = refusals.get(endpoint)
    return refusal !== undefined && refusal.untilMs > clock.monotonicMs() ? refusal.block : undefined
  }

  return {
    /** Notes that the endpoint answered from the state of a block. */
    noteReached(endpoint: number, block: bigint): void {
      const floor = floors.get(endpoint)
      if (floor === undefined || block < floor) floors.set(endpoint, block)
      const missing = getMissing(endpoint)
      if (missing !== undefined && block <= missing) refusals.delete(endpoint)
    },
    /** Notes that the endpoint does not have the state of a block, or answered from another one. */
    noteMissing(endpoint: number, block: bigint, { isWrong = false }: { readonly isWrong?: boolean } = {}): void {
      const missing = getMissing(endpoint)
      const highest = missing === undefined || block > missing ? block : missing
      refusals.set(endpoint, { block: highest, untilMs: clock.monotonicMs() + (isWrong ? WRONG_MS : REFUSAL_MS) })
      const floor = floors.get(endpoint)
      // The window of a node that prunes moves on with the chain.
      if (floor !== undefined && floor <= block) floors.delete(endpoint)
    },
    /** Sort rank: 0 the endpoint has the block's state, 1 unknown, `undefined` it recently said it does not. */
    getRank(endpoint: number, block: bigint): number | undefined {
      const missing = getMissing(endpoint)
      if (missing !== undefined && block <= missing) return undefined
      const floor = floors.get(endpoint)
      return floor !== undefined && floor <= block ? 0 : 1
    },
    /** Returns the lowest block whose state the endpoint has shown; undefined if it never did. */
    getFloor: (endpoint: number) => floors.get(endpoint),
  }
}
