import type { EvmClient } from '../../chain/evm/evm_client.ts'
import { readStateDepth } from '../../chain/past/state_depth.ts'
import { timeoutSignal } from '../../lib/async/abort.ts'
import type { Clock } from '../../lib/clock.ts'
import { createLru } from '../../lib/lru.ts'

/** How long a depth is shown until it is asked for anew; one that could not be had sooner. */
const KEPT_MS = 3_600_000
const AGAIN_MS = 60_000
const ASK_MS = 20_000
const ENDPOINTS_MAX = 4_096

interface KnownDepth {
  readonly depth: number | 'all' | null
  readonly untilMs: number
}

/**
 * How far back endpoints keep state, as `doctor` finds it. Whoever asks gets what is known by then, null at first: the
 * questions wait in the background until callers leave slots free.
 */
export function createStateDepths(clock: Clock) {
  const known = createLru<KnownDepth>({ entriesMax: ENDPOINTS_MAX })

  async function find(
    { background }: EvmClient,
    { index, head }: { index: number; head: bigint },
  ): Promise<KnownDepth> {
    const endpoint = background[index]
    if (endpoint?.usable !== true) return { depth: null, untilMs: clock.monotonicMs() + AGAIN_MS }
    try {
      const depth = await readStateDepth(endpoint, head, timeoutSignal(ASK_MS))
      return { depth: depth === 'all' ? depth : Number(depth), untilMs: clock.monotonicMs() + KEPT_MS }
    } catch {
      return { depth: null, untilMs: clock.monotonicMs() + AGAIN_MS }
    }
  }

  /** The depth of the endpoint at position `index`, whose newest block is `head`. */
  return (client: EvmClient, at: { readonly index: number; readonly head: bigint }): number | 'all' | null => {
    const name = `${client.chain.id} ${at.index}`
    const found = known.get(name)
    if (found !== undefined && found.untilMs > clock.monotonicMs()) return found.depth
    // Meanwhile what was known, and no second question.
    const depth = found?.depth ?? null
    known.set(name, { depth, untilMs: clock.monotonicMs() + 2 * ASK_MS })
    void find(client, at).then((each) => known.set(name, each))
    return depth
  }
}
