import type { Clock } from '../../../lib/clock.ts'

/** How long a refusal is remembered: a pool of nodes, or an operator, may offer more later. */
const MEMORY_MS = 10 * 60_000

/** What endpoints of one chain have shown of past state, by their place in the configuration. */
export type EndpointDepths = ReturnType<typeof createEndpointDepths>

/** Makes an empty memory. Nodes drop old state first, so what holds for a block holds for all beyond it. */
export function createEndpointDepths(clock: Clock) {
  const floors = new Map<number, bigint>()
  const refusals = new Map<number, { readonly block: bigint; readonly untilMs: number }>()

  /** The highest block whose state it lately said it does not have; undefined without such an answer. */
  function missingOf(endpoint: number): bigint | undefined {
    const refusal = refusals.get(endpoint)
    return refusal !== undefined && refusal.untilMs > clock.monotonicMs() ? refusal.block : undefined
  }

  return {
    /** Notes that the endpoint answered from the state of a block. */
    reached(endpoint: number, block: bigint): void {
      const floor = floors.get(endpoint)
      if (floor === undefined || block < floor) floors.set(endpoint, block)
      const missing = missingOf(endpoint)
      if (missing !== undefined && block <= missing) refusals.delete(endpoint)
    },
    /** Notes that the endpoint does not have the state of a block. */
    missed(endpoint: number, block: bigint): void {
      const missing = missingOf(endpoint)
      const highest = missing === undefined || block > missing ? block : missing
      refusals.set(endpoint, { block: highest, untilMs: clock.monotonicMs() + MEMORY_MS })
      const floor = floors.get(endpoint)
      // The window of a node that prunes moves on with the chain.
      if (floor !== undefined && floor <= block) floors.delete(endpoint)
    },
    /** 0 if the endpoint reaches the block, 1 if nobody knows, undefined if it said lately that it does not. */
    rankOf(endpoint: number, block: bigint): number | undefined {
      const missing = missingOf(endpoint)
      if (missing !== undefined && block <= missing) return undefined
      const floor = floors.get(endpoint)
      return floor !== undefined && floor <= block ? 0 : 1
    },
    /** The lowest block whose state it has shown; undefined if it was never asked for the past. */
    floorOf: (endpoint: number) => floors.get(endpoint),
  }
}
