import { createLru } from '../../lib/lru.ts'
import { blockAgeMaxSec } from '../block_age.ts'
import type { Chain } from '../chain.ts'
import type { ChainClient, Endpoint, ReadOptions } from '../rpc/client.ts'
import { EndpointPrunedError, MissingStateError } from '../rpc/error.ts'
import { type CanaryBlock, type CanaryMemory, examineState, type StateEvidence } from './state_canary.ts'

/** How long an endpoint's state of a block is believed: a node behind its address may be replaced. */
const MEMORY_MS = 10 * 60_000
/** Remembered states, over all endpoints of a chain. */
const STATES_MAX = 20_000

/**
 * Creates a client whose reads of past states succeed only at endpoints that do not show another state: an empty one,
 * as nodes do that have pruned it, or a later one. The examination runs concurrently with the read and is remembered
 * for ten minutes, so a past read takes no additional round trip; where a state has no ring of block hashes, the first
 * read of a block may take two. An endpoint with another state counts as one that does not keep the block. Where
 * nothing tells whether a state is empty, other endpoints come first. Blocks as young as the newest one may be are not
 * examined: every node keeps them.
 */
export function createWitnessedClient<Row extends Chain, Client extends ChainClient<Row>>(client: Client): Client {
  const { chain, clock } = client
  // A chain that is allowed to stand still has old states all the same.
  const youngSec = blockAgeMaxSec(chain.blockTimeMs === undefined ? {} : { blockTimeMs: chain.blockTimeMs })
  const memories = new Map<number, CanaryMemory>()
  const states = createLru<{ readonly evidence: StateEvidence; readonly untilMs: number }>({ entriesMax: STATES_MAX })

  /** Examines a state once; a state that the endpoint did not let examine is untold. */
  async function getEvidence(endpoint: Endpoint, block: CanaryBlock, signal: AbortSignal): Promise<StateEvidence> {
    const key = `${endpoint.index}:${block.hash}`
    const known = states.get(key)
    if (known !== undefined && known.untilMs > clock.monotonicMs()) return known.evidence
    const memory = memories.get(endpoint.index) ?? {}
    memories.set(endpoint.index, memory)
    try {
      const evidence = await examineState(endpoint, { block, memory }, signal)
      if (evidence !== 'refuted') states.set(key, { evidence, untilMs: clock.monotonicMs() + MEMORY_MS })
      return evidence
    } catch {
      return 'untold'
    }
  }

  const read: ChainClient['read'] = async (attempt, options) => {
    const block = findExaminedBlock(options)
    if (block === undefined) return await client.read(attempt, options)
    let isUntold = false
    const createAttempt =
      (accepted: readonly StateEvidence[]): typeof attempt =>
      async (endpoint, signal) => {
        // Started first, in the same turn, so that both share one `eth_call` if they are bundled.
        const examined = getEvidence(endpoint, block, signal)
        const [evidence, answer] = await Promise.allSettled([examined, attempt(endpoint, signal)])
        if (evidence.status === 'rejected') throw evidence.reason
        if (evidence.value === 'refuted')
          throw new MissingStateError('The endpoint answers from another state than that of the block')
        if (!accepted.includes(evidence.value)) {
          isUntold = true
          throw new EndpointPrunedError('The endpoint may answer from an empty state')
        }
        if (answer.status === 'rejected') throw answer.reason
        return answer.value
      }
    if (chain.rpcUrls.length === 1) return await client.read(createAttempt(['proven', 'present', 'untold']), options)
    try {
      return await client.read(createAttempt(['proven', 'present']), options)
    } catch (error) {
      if (!isUntold || options.signal.aborted) throw error
      return await client.read(createAttempt(['proven', 'present', 'untold']), options)
    }
  }

  function findExaminedBlock({ past }: ReadOptions): CanaryBlock | undefined {
    if (past === undefined || past === 'header' || past.hash === undefined || past.parentHash === undefined) return
    const { number, hash, parentHash, timestampSec } = past
    const isYoung = clock.now() / 1_000 - Number(timestampSec) <= youngSec
    return isYoung || number === 0n ? undefined : { number, hash, parentHash }
  }

  return { ...client, read }
}
