import type { Hex } from 'viem'
import { isSameBlock, matchesBlock, type PinnedBlock } from '../chain/block.ts'
import { callByOverride } from '../chain/call/bundle/bundle.ts'
import { decodeLensPage } from '../chain/call/cursor.ts'
import { callDeployless } from '../chain/call/deployless.ts'
import { createChainClient, type EvmClient } from '../chain/evm/evm_client.ts'
import { type BlockId, parseHeader, readHeader } from '../chain/evm/read_block.ts'
import type { ChainRecord, LensQuery, RecordedCall, RecordedResult } from '../chain/receipt/record.ts'
import type { ChainClient } from '../chain/rpc/client.ts'
import { parseQuantity } from '../chain/rpc/value.ts'
import type { Work } from '../lib/async/work.ts'
import type { Clock } from '../lib/clock.ts'
import { silentLog } from '../lib/log.ts'
import type { Payload } from './payload.ts'
import type { CheckResult } from './proof/check.ts'
import type { ReplayedAnswer } from './replay.ts'

/** Endpoints of the verifier's own choice. */
interface Endpoints {
  readonly rpcUrls: readonly string[]
  readonly clock: Clock
  readonly work: Work
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
  { rpcUrls, clock, work, fetch }: Endpoints,
): Promise<EndpointResults | undefined> {
  const { chainId } = question.record
  const results: EndpointResults[] = []
  for (const url of rpcUrls) {
    const chain = { id: chainId, name: '', rpcUrls: [url], reuseMs: 0, finality: { depth: 0 } }
    const client = createChainClient({ chain, clock, log: silentLog, ...(fetch && { fetch }) })
    try {
      const served = await askChain(client, work)
      if (served === 'own') results.push(await compareWithClient(client, question, work))
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
  work: Work,
): Promise<EndpointResults> {
  const { block, calls, headers } = record
  const { atTimeSec: atSec, queries } = replayed
  const answers: CheckResult[] = []
  const blocks = [await compareBlock(client, block, work)]
  if (atSec !== undefined) blocks.push(await compareTime(client, { block, atSec }, work))
  // A proof stands for everything at its block.
  if (level === 'proven') return { answers, blocks }
  for (const call of calls) {
    const query = queries.get(call)
    answers.push(
      query === undefined
        ? { is: 'unknown', because: 'it is not known which code was called' }
        : await compareCall(client, { call, question: query, block: call.at ?? block }, work),
    )
  }
  for (const recorded of headers) answers.push(await compareHeader(client, recorded, work))
  for (const earlier of collectEarlierBlocks(record)) blocks.push(await compareBlock(client, earlier, work))
  return { answers, blocks }
}

/** Asks an endpoint which chain it serves: the client's own, or another one. */
async function askChain(client: EvmClient, work: Work): Promise<'own' | 'other' | 'unknown'> {
  const request = { method: 'eth_chainId', params: [], parse: parseQuantity }
  try {
    await client.background[0]?.request(request, work)
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

const BUDGET_MS = 20_000

/** Repeats a recorded call and compares the bytes. Never throws: no answer gives `unknown`. */
async function compareCall(
  client: ChainClient,
  { call, question, block }: { readonly call: RecordedCall; readonly question: LensQuery; readonly block: PinnedBlock },
  work: Work,
): Promise<CheckResult> {
  const { mode, ...lens } = question
  const ask = mode === 'override' ? callByOverride : callDeployless
  const lensCall = { ...lens, block: { hash: block.hash }, gas: call.gas }
  try {
    const answer = await client.read((endpoint, within) => ask(endpoint, lensCall, within), {
      work,
      budgetMs: BUDGET_MS,
      past: block,
    })
    return compareAnswers(answer, { call, block })
  } catch {
    return { is: 'unknown', because: 'the endpoint does not answer the call at that block' }
  }
}

function compareAnswers(
  answer: Hex,
  { call, block }: { readonly call: RecordedCall; readonly block: PinnedBlock },
): CheckResult {
  if (answer.toLowerCase() === call.answer) return { is: 'true', because: 'the endpoint answers the same bytes' }
  const [theirs, ours] = [tryDecodePage(answer), tryDecodePage(call.answer)]
  if (theirs !== undefined && ours !== undefined) {
    if (!matchesBlock(theirs.block, block)) return { is: 'unknown', because: 'the endpoint answers from another block' }
    if (theirs.taken < ours.taken) return { is: 'unknown', because: 'the endpoint grants less gas' }
  }
  return { is: 'false', because: 'the endpoint answers other bytes' }
}

function tryDecodePage(answer: Hex) {
  try {
    return decodeLensPage(answer)
  } catch {
    return undefined
  }
}

/** Compares a recorded header with the endpoint's header of that height, whichever way it was named. Never throws. */
async function compareHeader(
  client: ChainClient,
  { method, result }: RecordedResult,
  work: Work,
): Promise<CheckResult> {
  try {
    const header = parseHeader(result, 'latest')
    const theirs = header && (await readAt(client, header.number, work))
    if (header === undefined || theirs === undefined) {
      return { is: 'unknown', because: 'the endpoint does not know a block that the answer rests on' }
    }
    const isSame = header.hash === theirs.hash && isSameBlock({ ...header, chainId: theirs.chainId }, theirs)
    return isSame
      ? { is: 'true', because: 'the endpoint has the same headers' }
      : { is: 'false', because: `the endpoint has another block at ${header.number}` }
  } catch {
    return { is: 'unknown', because: `the endpoint does not answer ${method}` }
  }
}

/**
 * Checks that a block is the last one at or before a time (seconds since the epoch): the block after it is later.
 * Never throws.
 */
async function compareTime(
  client: ChainClient,
  { block, atSec }: { readonly block: PinnedBlock; readonly atSec: number },
  work: Work,
): Promise<CheckResult> {
  if (Number(block.timestampSec) > atSec)
    return { is: 'false', because: 'it is later than the time that was asked for' }
  try {
    const next = await readAt(client, block.number + 1n, work)
    if (next === undefined) {
      return {
        is: 'unknown',
        because: 'the endpoint has no later block, which would show that the time means this one',
      }
    }
    return Number(next.timestampSec) > atSec
      ? { is: 'true', because: 'it is the last block at or before the time that was asked for' }
      : { is: 'false', because: `block ${next.number} is at or before the time that was asked for too` }
  } catch {
    return { is: 'unknown', because: 'the endpoint does not answer about the block after it' }
  }
}

/** Compares a block with the endpoint's block of that hash and of that height. Never throws. */
async function compareBlock(client: ChainClient, block: PinnedBlock, work: Work): Promise<CheckResult> {
  const { number, hash } = block
  try {
    const header = await readAt(client, { hash }, work)
    if (header === undefined) return { is: 'unknown', because: 'the endpoint does not know the block' }
    if (!matchesBlock(header, block) || header.parentHash !== block.parentHash) {
      return { is: 'false', because: 'the endpoint knows another block by that hash' }
    }
    if ((await readAt(client, number, work))?.hash !== hash)
      return { is: 'false', because: `another block has replaced it at ${number}` }
    const finalHeader = await readAt(client, 'finalized', work).catch(() => undefined)
    const isFinal = finalHeader !== undefined && finalHeader.number >= number
    return { is: 'true', because: isFinal ? 'it is on the chain, final' : 'it is on the chain, not known to be final' }
  } catch {
    return { is: 'unknown', because: 'the endpoint does not answer about the block' }
  }
}

function readAt(client: ChainClient, at: BlockId, work: Work): Promise<PinnedBlock | undefined> {
  return client.read((endpoint, within) => readHeader(endpoint, { chainId: client.chain.id, at }, within), {
    work,
    budgetMs: BUDGET_MS,
    past: 'header',
  })
}
