import type { EvmClient } from '../../chain/evm/evm_client.ts'
import { readStateDepth } from '../../chain/past/state_depth.ts'
import type { Clock } from '../../lib/clock.ts'
import { createLru } from '../../lib/lru.ts'

/** How long a depth is cached; `RETRY_MS` after a failed reading. */
const DEPTH_TTL_MS = 3_600_000
const RETRY_MS = 60_000
const READ_TIMEOUT_MS = 20_000
const ENDPOINTS_MAX = 4_096

interface CachedDepth {
  readonly depth: number | 'all' | null
  readonly untilMs: number
}

/**
 * Creates a cache of how far back endpoints keep state, measured as `doctor` does. It returns the cached depth at once,
 * null at first; readings run in the background and yield to requests of callers.
 */
export function createStateDepths(clock: Clock) {
  const depths = createLru<CachedDepth>({ entriesMax: ENDPOINTS_MAX })

  async function readDepth(
    { background }: EvmClient,
    { index, head }: { index: number; head: bigint },
  ): Promise<CachedDepth> {
    const endpoint = background[index]
    if (endpoint?.usable !== true) return { depth: null, untilMs: clock.monotonicMs() + RETRY_MS }
    try {
      const depth = await readStateDepth(endpoint, head, clock.timeout(READ_TIMEOUT_MS))
      return { depth: depth === 'all' ? depth : Number(depth), untilMs: clock.monotonicMs() + DEPTH_TTL_MS }
    } catch {
      return { depth: null, untilMs: clock.monotonicMs() + RETRY_MS }
    }
  }

  /** Returns the depth of the endpoint at position `index`, whose newest block is `head`. */
  return (client: EvmClient, position: { readonly index: number; readonly head: bigint }): number | 'all' | null => {
    const key = `${client.chain.id} ${position.index}`
    const cached = depths.get(key)
    if (cached !== undefined && cached.untilMs > clock.monotonicMs()) return cached.depth
    // Until the reading ends, keep the previous depth, and start no second reading.
    const depth = cached?.depth ?? null
    depths.set(key, { depth, untilMs: clock.monotonicMs() + 2 * READ_TIMEOUT_MS })
    void readDepth(client, position).then((each) => depths.set(key, each))
    return depth
  }
}
