import type { Clock } from '../../../lib/clock.ts'

/** How long a refusal is remembered: a pool of nodes, or an operator, may offer more later. */
const MEMORY_MS = 10 * 60_000
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
      refusals.set(endpoint, { block: highest, untilMs: clock.monotonicMs() + (isWrong ? WRONG_MS : MEMORY_MS) })
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
