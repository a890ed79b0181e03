import type { PinnedBlock } from '../chain/block.ts'
import { createChainClient, type EvmClient } from '../chain/evm/evm_client.ts'
import type { ChainRecord } from '../chain/receipt/record.ts'
import { parseQuantity } from '../chain/rpc/value.ts'
import type { Clock } from '../lib/clock.ts'
import { silentLog } from '../lib/log.ts'
import { compareBlock, compareCall, compareHeader, compareTime } from './compare.ts'
import type { Payload } from './payload.ts'
import type { CheckResult } from './proof/check.ts'
import type { ReplayedAnswer } from './replay.ts'

/** Endpoints of the verifier's own choice. */
interface Endpoints {
  readonly rpcUrls: readonly string[]
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
}

/** A record, and the replay that used it. */
export interface RecordQuestion {
  readonly record: ChainRecord
  readonly level: Payload['level']
  readonly replayed: ReplayedAnswer
}

/** Results about what a chain answered, and about the blocks that it was asked at. */
export interface EndpointResults {
  readonly answers: readonly CheckResult[]
  readonly blocks: readonly CheckResult[]
}

/**
 * Compares a record with every given endpoint of its chain: the answers of its calls, the other results that decided
 * what was read, its blocks, and which block a time means. Undefined if none is of its chain. Never throws.
 */
export async function compareWithEndpoints(
  question: RecordQuestion,
  { rpcUrls, clock, signal, fetch }: Endpoints,
): Promise<EndpointResults | undefined> {
  const { chainId } = question.record
  const results: EndpointResults[] = []
  for (const url of rpcUrls) {
    const chain = { id: chainId, name: '', rpcUrls: [url], reuseMs: 0, finality: { depth: 0 } }
    const client = createChainClient({ chain, clock, log: silentLog, ...(fetch && { fetch }) })
    try {
      const served = await askChain(client, signal)
      if (served === 'own') results.push(await compareWithClient(client, question, signal))
      if (served === 'unknown') results.push(toBoth('an endpoint does not say which chain it serves'))
    } finally {
      client.close()
    }
  }
  if (results.length === 0) return undefined
  return { answers: results.flatMap(({ answers }) => answers), blocks: results.flatMap(({ blocks }) => blocks) }
}

async function compareWithClient(
  client: EvmClient,
  { record, level, replayed }: RecordQuestion,
  signal: AbortSignal,
): Promise<EndpointResults> {
  const { block, calls, headers } = record
  const { atTimeSec: atSec, queries } = replayed
  const answers: CheckResult[] = []
  const blocks = [await compareBlock(client, block, signal)]
  if (atSec !== undefined) blocks.push(await compareTime(client, { block, atSec }, signal))
  // A proof stands for everything at its block.
  if (level === 'proven') return { answers, blocks }
  for (const call of calls) {
    const query = queries.get(call)
    answers.push(
      query === undefined
        ? { is: 'unknown', because: 'it is not known which code was called' }
        : await compareCall(client, { call, question: query, block: call.at ?? block }, signal),
    )
  }
  for (const recorded of headers) answers.push(await compareHeader(client, recorded, signal))
  for (const earlier of collectEarlierBlocks(record)) blocks.push(await compareBlock(client, earlier, signal))
  return { answers, blocks }
}

/** Asks an endpoint which chain it serves: the client's own, or another one. */
async function askChain(client: EvmClient, signal: AbortSignal): Promise<'own' | 'other' | 'unknown'> {
  const request = { method: 'eth_chainId', params: [], parse: parseQuantity }
  try {
    await client.background[0]?.request(request, signal)
    return 'own'
  } catch {
    return client.report().some(({ state }) => state === 'removed') ? 'other' : 'unknown'
  }
}

/** Collects the earlier blocks of a record's calls, each once: prices by pools rest on them. */
function collectEarlierBlocks({ calls }: ChainRecord): readonly PinnedBlock[] {
  return [...new Map(calls.flatMap(({ at }) => (at === undefined ? [] : [[at.hash, at] as const]))).values()]
}

function toBoth(because: string): EndpointResults {
  const results = [{ is: 'unknown', because } as const]
  return { answers: results, blocks: results }
}
