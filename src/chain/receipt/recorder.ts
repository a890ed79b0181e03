import type { Hex } from 'viem'
import type { Work } from '../../lib/async/work.ts'
import { UpstreamError } from '../../lib/error.ts'
import { matchesBlock, type PinnedBlock } from '../block.ts'
import { decodeLensPage } from '../call/cursor.ts'
import { encodeDeploylessRevert } from '../call/deployless.ts'
import type { Chain } from '../chain.ts'
import { parseHeader, readBlock } from '../evm/read_block.ts'
import {
  type BlockOverrides,
  type ChainClient,
  type Endpoint,
  type EthCall,
  RevertError,
  RpcRefusedError,
  type RpcRequest,
} from '../rpc/client.ts'
import { EndpointError } from '../rpc/error.ts'
import {
  type ChainRecord,
  getCallKey,
  getResultKey,
  hashLensCode,
  isHeaderMethod,
  isLatestHeaderRequest,
  type LensQuery,
  listOthers,
  pickUsedFields,
  RECORDED_GAS,
  type RecordedCall,
  type RecordedResult,
  readLensAnswer,
  toLensQuestion,
} from './record.ts'

/** The newest block as the first read of an answer saw it. */
interface Head {
  readonly raw: unknown
  readonly block: PinnedBlock
}

/** A call to repeat with other block overrides. */
interface SecondLook {
  readonly endpoint: Endpoint
  readonly request: EthCall
  readonly mode: 'override' | 'deployless'
  /** Height of the call's block, if known. */
  readonly number: bigint | undefined
}

/** Reads of one attempt so far. */
interface Draft {
  readonly calls: Map<string, RecordedCall>
  readonly results: Map<string, RecordedResult>
  /** Blocks of the calls, by hash. */
  readonly blocks: Map<Hex, PinnedBlock>
  readonly faults: string[]
}

/**
 * Creates a client that records the reads of one answer. All requests for `latest` see one block, pinned by its hash;
 * with `headNumber` the block of that height counts as the newest. Calls that ask for an earlier block as such
 * (`EthCall.isEarlier`) are recorded with that block. Lens calls are sent unbundled with a fixed gas, and
 * each is sent a second time with other gas, base fee and block hashes: an answer that differs would not be
 * reproducible. Records of a failed attempt are discarded. Requests other than calls and headers are forwarded and not
 * recorded.
 */
export function createRecorder<Row extends Chain>(client: ChainClient<Row>, headNumber?: bigint) {
  const { chain, agreed = 1 } = client
  const recorded = newDraft()
  /** Headers read so far, by hash. */
  const headers = new Map<Hex, PinnedBlock>()
  let head: Promise<Head> | undefined

  /** Returns the newest block, which the first caller reads. Throws as `Endpoint.request`. */
  async function getHead(endpoint: Endpoint, work: Work): Promise<Head> {
    while (head !== undefined) {
      const pending = head
      const previous = await pending.catch(() => undefined)
      if (previous !== undefined) return previous
      if (head === pending) head = undefined
    }
    // No `await` between check and assignment, so concurrent callers share one request.
    const pending = readHead(endpoint, { chainId: chain.id, number: headNumber }, work)
    head = pending
    const { block } = await pending
    headers.set(block.hash, block)
    return await pending
  }

  /** Returns the pinned head if it has this height, so that a call at that height is pinned by the head's hash. */
  async function getHeadAt(number: bigint): Promise<PinnedBlock | undefined> {
    const { block } = (await head?.catch(() => undefined)) ?? {}
    return block?.number === number ? block : undefined
  }

  function wrapEndpoint(endpoint: Endpoint, draft: Draft): Endpoint {
    const earlierBlocks = new Map<bigint, Promise<PinnedBlock>>()

    /** Reads the header of an earlier block once, to pin its calls; it is part of their record. */
    async function readEarlier(number: bigint, work: Work): Promise<PinnedBlock> {
      const pending = earlierBlocks.get(number) ?? readBlock(endpoint, { chainId: chain.id, number }, work)
      earlierBlocks.set(number, pending)
      const block = await pending
      headers.set(block.hash, block)
      return block
    }

    async function call(request: EthCall, work: Work): Promise<Hex> {
      const question = toLensQuestion(request)
      if (question !== undefined && request.isEarlier && typeof request.block === 'bigint') {
        const at = await readEarlier(request.block, work)
        return await callRecorded(request, { question, hash: at.hash, at }, work)
      }
      const at = typeof request.block === 'bigint' ? await getHeadAt(request.block) : request.block
      if (question === undefined || at === undefined) return await endpoint.call(request, work)
      const { hash } = at === 'latest' ? (await getHead(endpoint, work)).block : at
      return await callRecorded(request, { question, hash }, work)
    }

    async function callRecorded(
      request: EthCall,
      { question, hash, at }: { readonly question: LensQuery; readonly hash: Hex; readonly at?: PinnedBlock },
      work: Work,
    ): Promise<Hex> {
      const pinnedRequest = { ...request, block: { hash } }
      const { mode } = question
      const [answer, secondAnswer] = await Promise.all([
        readLensAnswer(mode, () => endpoint.call({ ...pinnedRequest, gas: RECORDED_GAS }, work)),
        callAgain({ endpoint, request: pinnedRequest, mode, number: headers.get(hash)?.number }, work),
      ])
      const lens = hashLensCode(question.runtime)
      const { block } = decodeLensPage(answer)
      const header = headers.get(hash) ?? { ...block, hash }
      if (!matchesBlock(block, header)) {
        throw new UpstreamError('The endpoint answers from another block than it was asked')
      }
      if (at === undefined) draft.blocks.set(hash, header)
      const { data } = question
      const recordedCall = { lens, data, ...listOthers(question), gas: RECORDED_GAS, answer, ...(at && { at }) }
      draft.calls.set(getCallKey(recordedCall), recordedCall)
      const difference = describeDifference(answer, secondAnswer)
      if (difference !== undefined) draft.faults.push(difference)
      if (mode === 'deployless') throw new RevertError(encodeDeploylessRevert(answer))
      return answer
    }
    return {
      ...endpoint,
      // Bundled calls would bypass the recording.
      bundling: 'never',
      call,
      async request<T>(request: RpcRequest<T>, work: Work): Promise<T> {
        const { method, params, parse } = request
        const record = (result: unknown) => {
          if (!isHeaderMethod(method)) return
          const recordedResult = { method, params, result: pickUsedFields(result) }
          draft.results.set(getResultKey(recordedResult), recordedResult)
          if (result === null) return
          const header = parseHeader(result, 'latest')
          if (header !== undefined) headers.set(header.hash, { chainId: chain.id, ...header })
        }
        if (isLatestHeaderRequest(request)) {
          const { raw } = await getHead(endpoint, work)
          const value = parse(raw)
          record(raw)
          return value
        }
        const parseAndRecord = (result: unknown) => {
          const value = parse(result)
          record(result)
          return value
        }
        return await endpoint.request({ ...request, parse: parseAndRecord }, work)
      },
    }
  }

  const recordingClient: ChainClient<Row> = {
    ...client,
    async read(attempt, options) {
      // What was read is recorded once the client accepts it: it may examine the endpoint beside the attempt.
      const { value, draft } = await client.read(async (endpoint, work) => {
        const current = newDraft()
        return { value: await attempt(wrapEndpoint(endpoint, current), work), draft: current }
      }, options)
      for (const [name, each] of draft.calls) recorded.calls.set(name, each)
      for (const [name, each] of draft.results) recorded.results.set(name, each)
      for (const [hash, each] of draft.blocks) recorded.blocks.set(hash, each)
      recorded.faults.push(...draft.faults)
      return value
    },
  }

  return {
    client: recordingClient,
    /**
     * Returns the record; undefined without lens calls. Throws `UpstreamError` if a verifier cannot repeat the reads;
     * its message completes a sentence: `a contract answers by its gas`.
     */
    record(): ChainRecord | undefined {
      const [block, ...otherBlocks] = recorded.blocks.values()
      if (block === undefined) return undefined
      const [fault = otherBlocks.length > 0 ? 'it was read at several blocks' : undefined] = recorded.faults
      if (fault !== undefined) throw new UpstreamError(fault)
      const results = [...recorded.results].filter(
        ([, each]) => !isLatestHeaderRequest(each) || !isBlockHeader(each, block),
      )
      return { chainId: chain.id, block, calls: sortByKey(recorded.calls), headers: sortByKey(results), agreed }
    },
  }
}

function newDraft(): Draft {
  return { calls: new Map(), results: new Map(), blocks: new Map(), faults: [] }
}

/** Reads the header of the newest block, or of the block at a height. */
async function readHead(
  endpoint: Endpoint,
  { chainId, number }: { readonly chainId: number; readonly number: bigint | undefined },
  work: Work,
): Promise<Head> {
  const parse = (raw: unknown): Head => {
    const header = parseHeader(raw, number ?? 'latest')
    if (header === undefined) throw new EndpointError('no_block', 'The endpoint does not have the block')
    return { raw, block: { chainId, ...header } }
  }
  const tag = number === undefined ? 'latest' : `0x${number.toString(16)}`
  const head = await endpoint.request({ method: 'eth_getBlockByNumber', params: [tag, false], parse }, work)
  if (number === undefined) endpoint.observeBlock(head.block)
  return head
}

/** Topic under which an endpoint's refusal of block overrides is remembered. */
const TOPIC = 'surroundings'

/** Repeats a call with other gas, and with block overrides if the height is known and the endpoint takes them. */
async function callAgain({ endpoint, request, mode, number }: SecondLook, work: Work): Promise<Hex> {
  const callWith = (overrides: Pick<EthCall, 'blockOverrides'>) =>
    readLensAnswer(mode, () => endpoint.call({ ...request, gas: SECOND_GAS, ...overrides }, work))
  if (number === undefined || endpoint.learned.has(TOPIC)) return await callWith({})
  try {
    return await callWith({ blockOverrides: createBlockOverrides({ number }) })
  } catch (error) {
    if (!(error instanceof RpcRefusedError)) throw error
    const answer = await callWith({})
    endpoint.learned.set(TOPIC, { value: 'none', untilMs: Number.POSITIVE_INFINITY })
    return answer
  }
}

function isBlockHeader({ result }: RecordedResult, { hash }: PinnedBlock): boolean {
  return typeof result === 'object' && result !== null && 'hash' in result && result.hash === hash
}

function sortByKey<Item>(entries: Iterable<readonly [string, Item]>): readonly Item[] {
  return [...entries].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item)
}

/** Gas of the second call. It is lower, so a page that nearly used up its gas ends earlier. */
const SECOND_GAS = 40_000_000

/** Digits of the page header. It is not compared: it holds a block hash, which the overrides change. */
const PAGE_BLOCK_DIGITS = 2 * (1 + 8 + 8 + 8 + 32)
/** Number of earlier blocks whose hashes are overridden. */
const HASHES = 8n
const OTHER_FEE: Hex = '0x7'
const OTHER_HASH: Hex = `0x${'5ec0'.repeat(16)}`

/** Creates the overrides of the second call: another base fee, and other hashes of the blocks before. */
function createBlockOverrides({ number }: Pick<PinnedBlock, 'number'>): BlockOverrides {
  const heights = Array.from(
    { length: Number(number < HASHES ? number : HASHES) },
    (_, back) => number - 1n - BigInt(back),
  )
  return {
    baseFeePerGas: OTHER_FEE,
    blockHash: Object.fromEntries(heights.map((height) => [String(height), OTHER_HASH])),
  }
}

/** Describes a difference between both answers, as the end of a sentence; undefined if they are equal. */
function describeDifference(first: Hex, second: Hex): string | undefined {
  const from = 2 + PAGE_BLOCK_DIGITS
  if (first.slice(from) === second.slice(from)) return undefined
  return decodeLensPage(second).taken < decodeLensPage(first).taken
    ? 'the question takes more gas than every endpoint grants: ask about fewer'
    : 'a contract answers by what no other call sees alike: its gas, the base fee or the hash of a block'
}
