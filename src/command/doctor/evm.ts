import type { PinnedBlock } from '../../chain/block.ts'
import { blockAgeMaxSec } from '../../chain/block_age.ts'
import type { Chain } from '../../chain/chain.ts'
import { createEndpoint } from '../../chain/evm/endpoint.ts'
import { readHeader } from '../../chain/evm/read_block.ts'
import { createHeadTracker } from '../../chain/rpc/endpoint_state/heads.ts'
import { parseQuantity } from '../../chain/rpc/value.ts'
import type { Clock } from '../../lib/clock.ts'
import { type Finding, failureFinding, okFinding, warningFinding } from '../../lib/finding.ts'
import type { Log } from '../../lib/log.ts'
import { examineCalls } from './calls.ts'
import { examineLogs, examineOldLogs, examineState } from './past.ts'
import { examineProofs } from './proofs.ts'

/** Dependencies of an examination, besides the endpoint. */
export interface Examination {
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

/** Time limit of one request, milliseconds. */
const QUESTION_MS = 10_000
const USELESS = 'unusable'
const HISTORY_COST = 'no history is stored from it, because it does not show which block is final'
const FINALIZED_COST = 'it does not support the `finalized` tag'
/** Maximum normal lead of a block over the clock, on every chain, seconds. */
const AHEAD_SEC = 5

/**
 * Examines the endpoint at position `index` of a chain: some thirty small requests, one after another. Never throws for
 * a failure of the endpoint.
 */
export async function examineEvm(chain: Chain, index: number, examination: Examination): Promise<readonly Finding[]> {
  const { signal, ...shared } = examination
  const heads = createHeadTracker({ clock: shared.clock, blockTimeMs: chain.blockTimeMs })
  const endpoint = createEndpoint(index, { ...shared, chain, heads, timeoutMs: QUESTION_MS, random: () => 0 })
  const startedMs = shared.clock.monotonicMs()
  try {
    const id = await endpoint.request({ method: 'eth_chainId', params: [], parse: parseQuantity }, signal)
    const ms = Math.round(shared.clock.monotonicMs() - startedMs)
    if (id !== BigInt(chain.id)) return [failureFinding('chain id', `it is chain ${id}`, USELESS)]
    const head = await readHeader(endpoint, { chainId: chain.id, at: 'latest' }, signal)
    if (head === undefined) return [failureFinding('head', 'it has no newest block', USELESS)]
    const headFinding = examineHead(head, chain, shared.clock.now())
    return [
      okFinding('answers', `in ${ms} ms`),
      headFinding,
      ...(await examineFinality(endpoint, chain, signal)),
      ...(await examineCalls(endpoint, signal)),
      await examineState(endpoint, head.number, signal),
      await examineLogs(endpoint, head.number, signal),
      await examineOldLogs(endpoint, signal),
      ...(await examineProofs(endpoint, { head, clock: shared.clock }, signal)),
    ]
  } catch (error) {
    if (signal.aborted) throw error
    return [failureFinding('answers', formatReason(error), USELESS)]
  }
}

function examineHead(head: PinnedBlock, chain: Chain, nowMs: number): Finding {
  const ageSec = Math.round(nowMs / 1_000 - Number(head.timestampSec))
  const age = ageSec < 0 ? `${-ageSec} s ahead of this machine's clock` : `${ageSec} s old`
  const found = `block ${head.number}, ${age}`
  const maxSec = blockAgeMaxSec(chain)
  if (Math.abs(ageSec) > maxSec) {
    return failureFinding(
      'head',
      `${found}; at most ${maxSec} s are accepted`,
      'its answers are rejected until it catches up',
    )
  }
  if (ageSec >= -AHEAD_SEC) return okFinding('head', found)
  return warningFinding('head', found, 'one of the clocks is wrong; ages of prices are off by the difference')
}

/** Examines the chain's finality tag, and `finalized`, which verifiers use. */
async function examineFinality(
  endpoint: Parameters<typeof readHeader>[0],
  { id, finality }: Chain,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const examine = async (check: string, tag: 'safe' | 'finalized', cost: string): Promise<Finding> => {
    try {
      const block = await readHeader(endpoint, { chainId: id, at: tag }, signal)
      return block === undefined
        ? warningFinding(check, `no ${tag} block`, cost)
        : okFinding(check, `block ${block.number}`)
    } catch (error) {
      if (signal.aborted) throw error
      return warningFinding(check, formatReason(error), cost)
    }
  }
  const tag = 'tag' in finality ? finality.tag : undefined
  return [
    ...(tag === undefined ? [] : [await examine('finality', tag, HISTORY_COST)]),
    await examine('finalized tag', 'finalized', FINALIZED_COST),
  ]
}

/** Returns an error's message. Messages of endpoint errors are ours and contain no address. */
export function formatReason(error: unknown): string {
  return error instanceof Error ? error.message : 'it failed'
}
