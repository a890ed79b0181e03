import { noteUnwitnessed, type Work } from '../../lib/async/work.ts'
import { createLru } from '../../lib/lru.ts'
import { blockAgeMaxSec } from '../block_age.ts'
import type { Chain } from '../chain.ts'
import { QUORUM } from '../past/quorum.ts'
import { type CanaryBlock, type CanaryMemory, examineState, type StateEvidence } from '../past/state_canary.ts'
import type { ChainClient, Endpoint, ReadOptions } from '../rpc/client.ts'
import { EndpointError, hasFault } from '../rpc/error.ts'
import { createQuorumClient } from './quorum_client.ts'

/** How long what endpoints showed of a block is believed: a node behind an address may be replaced. */
const MEMORY_MS = 10 * 60_000
/** Remembered states, over all endpoints of a chain. */
const STATES_MAX = 20_000
const NOT_REFUTED: readonly StateEvidence[] = ['proven', 'present', 'untold']

interface Remembered<Value> {
  readonly value: Value
  readonly untilMs: number
}

/**
 * Creates a client whose reads of past states succeed only at endpoints that do not show another state: an empty one,
 * as nodes do that have pruned it, or a later one. The examination runs concurrently with the read and is remembered
 * for ten minutes, so a past read takes no additional round trip; where a state has no ring of block hashes, the first
 * read of a block may take two. An endpoint with another state counts as one that does not keep the block. Where no
 * endpoint proves the state, two must give the same bytes for each call; if only one has the block, its word counts,
 * and is noted for the work of that read (`noteUnwitnessed`). Blocks as young as the newest one may be are not examined:
 * every node keeps them.
 */
export function createWitnessedClient<Row extends Chain, Client extends ChainClient<Row>>(client: Client): Client {
  const { chain, clock, log } = client
  // A chain that is allowed to stand still has old states all the same.
  const youngSec = blockAgeMaxSec(chain.blockTimeMs === undefined ? {} : { blockTimeMs: chain.blockTimeMs })
  const memories = new Map<number, CanaryMemory>()
  const limits = {
    entriesMax: STATES_MAX,
    isOver: ({ untilMs }: Remembered<unknown>) => untilMs <= clock.monotonicMs(),
  }
  const states = createLru<Remembered<StateEvidence>>(limits)
  /** Blocks whose state no endpoint proved, by hash: their reads compare endpoints at once. */
  const unprovenBlocks = createLru<Remembered<true>>(limits)

  function remember<Value>(value: Value): Remembered<Value> {
    return { value, untilMs: clock.monotonicMs() + MEMORY_MS }
  }

  function recall<Value>(remembered: Remembered<Value> | undefined): Value | undefined {
    return remembered !== undefined && remembered.untilMs > clock.monotonicMs() ? remembered.value : undefined
  }

  /** Examines a state once; a state that the endpoint did not let examine is untold. */
  async function getEvidence(endpoint: Endpoint, block: CanaryBlock, work: Work): Promise<StateEvidence> {
    const key = `${endpoint.index}:${block.hash}`
    const known = recall(states.get(key))
    if (known !== undefined) return known
    const memory = memories.get(endpoint.index) ?? {}
    memories.set(endpoint.index, memory)
    try {
      const evidence = await examineState(endpoint, { block, memory }, work)
      if (evidence !== 'refuted') states.set(key, remember(evidence))
      return evidence
    } catch {
      return 'untold'
    }
  }

  /** Wraps an attempt so that it succeeds only where the endpoint's evidence of the state is accepted. */
  function examineEach<T>(
    attempt: (endpoint: Endpoint, work: Work) => Promise<T>,
    { block, accepted }: { readonly block: CanaryBlock; readonly accepted: readonly StateEvidence[] },
  ): { readonly attempt: typeof attempt; readonly shown: Set<StateEvidence> } {
    const shown = new Set<StateEvidence>()
    const examined = async (endpoint: Endpoint, work: Work) => {
      const asked = attempt(endpoint, work)
      let refusal: unknown
      asked.catch((error: unknown) => {
        if (hasFault(error, 'pruned')) refusal = error
      })
      await Promise.resolve()
      // Of readers that ask different endpoints, one leaves this one at once.
      if (refusal !== undefined) throw refusal
      // In the same turn, so that both share one `eth_call` if they are bundled.
      const [evidence, answer] = await Promise.allSettled([getEvidence(endpoint, block, work), asked])
      if (evidence.status === 'rejected') throw evidence.reason
      shown.add(evidence.value)
      if (evidence.value === 'refuted')
        throw new EndpointError('wrong_state', 'The endpoint answers from another state than that of the block')
      if (!accepted.includes(evidence.value)) {
        // That no transaction tells depends on the block, so other endpoints would show no more.
        if (evidence.value === 'present') throw new Error('The endpoint may answer from a later state')
        throw new EndpointError('pruned', 'The endpoint may answer from an empty state')
      }
      if (answer.status === 'rejected') throw answer.reason
      return answer.value
    }
    return { attempt: examined, shown }
  }

  /** Reads what two endpoints agree on, or else the word of the only one that has the block. */
  async function readCompared<T>(
    attempt: (endpoint: Endpoint, work: Work) => Promise<T>,
    block: CanaryBlock,
    options: ReadOptions,
  ): Promise<T> {
    const examining: ChainClient<Row> = {
      ...client,
      read: (each, reading) => client.read(examineEach(each, { block, accepted: NOT_REFUTED }).attempt, reading),
    }
    // Background reads are compared by their callers, which count the witnesses of what they store.
    let isAlone = false
    const comparing = createQuorumClient(examining, {
      quorum: QUORUM,
      dissent(endpoint) {
        const msg = 'An RPC endpoint contradicted others about a past state'
        log.warn({ msg, chainId: chain.id, endpoint: endpoint + 1, block: block.number })
      },
      onAlone() {
        isAlone = true
      },
    })
    const answer = await comparing.read(attempt, options)
    unprovenBlocks.set(block.hash, remember(true))
    if (isAlone) noteUnwitnessed(options.work, [chain.id])
    return answer
  }

  const read: ChainClient['read'] = async (attempt, options) => {
    const block = findExaminedBlock(options)
    if (block === undefined) return await client.read(attempt, options)
    const { isCompared = false, work } = options
    if (chain.rpcUrls.length === 1) {
      const examined = examineEach(attempt, { block, accepted: NOT_REFUTED })
      const answer = await client.read(examined.attempt, options)
      if (!examined.shown.has('proven')) noteUnwitnessed(work, [chain.id])
      return answer
    }
    if (isCompared || recall(unprovenBlocks.get(block.hash)) === undefined) {
      const accepted: readonly StateEvidence[] = isCompared ? ['proven', 'present'] : ['proven']
      const examined = examineEach(attempt, { block, accepted })
      try {
        return await client.read(examined.attempt, options)
      } catch (error) {
        const isUnproven = examined.shown.has('present') || examined.shown.has('untold')
        if (!isUnproven || work.signal.aborted) throw error
      }
    }
    if (!isCompared) return await readCompared(attempt, block, options)
    return await client.read(examineEach(attempt, { block, accepted: NOT_REFUTED }).attempt, options)
  }

  function findExaminedBlock({ past }: ReadOptions): CanaryBlock | undefined {
    if (past === undefined || past === 'header' || past.hash === undefined || past.parentHash === undefined) return
    const { number, hash, parentHash, timestampSec } = past
    const isYoung = clock.now() / 1_000 - Number(timestampSec) <= youngSec
    return isYoung || number === 0n ? undefined : { number, hash, parentHash }
  }

  return { ...client, read }
}
