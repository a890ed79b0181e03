import type { Hex } from 'viem'
import { UpstreamError } from '../../lib/error.ts'
import { matchesBlock, type PinnedBlock } from '../block.ts'
import { decodeLensPage } from '../call/cursor.ts'
import { encodeDeploylessRevert } from '../call/deployless.ts'
import type { Chain } from '../chain.ts'
import { parseHeader } from '../evm/read_block.ts'
import {
  type ChainClient,
  type Endpoint,
  type EthCall,
  RevertError,
  RpcRefusedError,
  type RpcRequest,
} from '../rpc/client.ts'
import { MissingBlockError } from '../rpc/error.ts'
import {
  type ChainRecord,
  getCallKey,
  getResultKey,
  hashLensCode,
  isHeaderMethod,
  isLatestHeaderRequest,
  pickUsedFields,
  RECORDED_GAS,
  type RecordedCall,
  type RecordedResult,
  readLensAnswer,
  toLensQuestion,
} from './record.ts'
import { createBlockOverrides, describeDifference, SECOND_GAS } from './second_look.ts'

/** What was read says nothing to anybody else; the message is the end of a sentence: `a contract answers by its gas`. */
export class UnrecordableError extends Error {
  override readonly name = 'UnrecordableError'
}

/** The newest block, as the first reading of an answer saw it. */
interface Head {
  readonly raw: unknown
  readonly block: PinnedBlock
}

/** A call that was made, to be made again in other surroundings. */
interface Look {
  readonly endpoint: Endpoint
  readonly sent: EthCall
  readonly way: 'override' | 'deployless'
  /** Height of its block, if it is known. */
  readonly number: bigint | undefined
}

/** What one attempt of a reading has read so far. */
interface Draft {
  readonly calls: Map<string, RecordedCall>
  readonly results: Map<string, RecordedResult>
  /** Blocks of its calls by hash. */
  readonly blocks: Map<Hex, PinnedBlock>
  readonly faults: string[]
}

/**
 * Makes a client that notes what is read through it, for one answer, over the client of a chain. All that asks for the
 * newest block sees one, pinned by its hash, in place of `latest`. Calls of lenses go alone, with a gas that is named, and
 * each is asked a second time beside the first with other gas, base fee and hashes of blocks: what then differs would
 * differ elsewhere. A failed attempt leaves no trace. What is not a call, header or code is passed on and not noted. With
 * `headNumber` the block of that height is taken for the newest.
 */
export function createRecorder<Row extends Chain>(client: ChainClient<Row>, headNumber?: bigint) {
  const { chain, agreed = 1 } = client
  const kept = newDraft()
  /** All headers that were read, by hash. */
  const headers = new Map<Hex, PinnedBlock>()
  let head: Promise<Head> | undefined

  /** The newest block, which the first asker reads. Throws as its request. */
  async function newest(endpoint: Endpoint, signal: AbortSignal): Promise<Head> {
    while (head !== undefined) {
      const reading = head
      const before = await reading.catch(() => undefined)
      if (before !== undefined) return before
      if (head === reading) head = undefined
    }
    // Nothing is awaited between the look above and this: who asks at the same time waits for the same.
    const reading = readHead(endpoint, { chainId: chain.id, number: headNumber }, signal)
    head = reading
    const { block } = await reading
    headers.set(block.hash, block)
    return await reading
  }

  /** The newest block if it has this height: what was read there without its hash is followed by its height. */
  async function headAt(number: bigint): Promise<PinnedBlock | undefined> {
    const { block } = (await head?.catch(() => undefined)) ?? {}
    return block?.number === number ? block : undefined
  }

  function noting(endpoint: Endpoint, draft: Draft): Endpoint {
    async function call(request: EthCall, signal: AbortSignal): Promise<Hex> {
      const question = toLensQuestion(request)
      const at = typeof request.block === 'bigint' ? await headAt(request.block) : request.block
      if (question === undefined || at === undefined) return await endpoint.call(request, signal)
      const { hash } = at === 'latest' ? (await newest(endpoint, signal)).block : at
      const sent = { ...request, block: { hash } }
      const { way } = question
      const [answer, second] = await Promise.all([
        readLensAnswer(way, () => endpoint.call({ ...sent, gas: RECORDED_GAS }, signal)),
        lookAgain({ endpoint, sent, way, number: headers.get(hash)?.number }, signal),
      ])
      const lens = hashLensCode(question.runtime)
      const { block } = decodeLensPage(answer)
      const header = headers.get(hash) ?? { ...block, hash }
      if (!matchesBlock(block, header)) {
        throw new UpstreamError('The endpoint answers from another block than it was asked')
      }
      draft.blocks.set(hash, header)
      const noted = { lens, data: question.data, gas: RECORDED_GAS, answer }
      draft.calls.set(getCallKey(noted), noted)
      const difference = describeDifference(answer, second)
      if (difference !== undefined) draft.faults.push(difference)
      if (way === 'deployless') throw new RevertError(encodeDeploylessRevert(answer))
      return answer
    }
    return {
      ...endpoint,
      // What leaves within another call would not be noted.
      together: 'never',
      call,
      async request<T>(asked: RpcRequest<T>, signal: AbortSignal): Promise<T> {
        const { method, params, parse } = asked
        const note = (result: unknown) => {
          const used = pickUsedFields(method, result)
          const noted = { method, params, result: used }
          if (used !== undefined) draft.results.set(getResultKey(noted), noted)
          if (!isHeaderMethod(method) || result === null) return
          const header = parseHeader(result, 'latest')
          if (header !== undefined) headers.set(header.hash, { chainId: chain.id, ...header })
        }
        if (isLatestHeaderRequest(asked)) {
          const { raw } = await newest(endpoint, signal)
          const value = parse(raw)
          note(raw)
          return value
        }
        const noting = (result: unknown) => {
          const value = parse(result)
          note(result)
          return value
        }
        return await endpoint.request({ ...asked, parse: noting }, signal)
      },
    }
  }

  const noted: ChainClient<Row> = {
    ...client,
    read: (attempt, options) =>
      client.read(async (endpoint, signal) => {
        const draft = newDraft()
        const value = await attempt(noting(endpoint, draft), signal)
        for (const [name, each] of draft.calls) kept.calls.set(name, each)
        for (const [name, each] of draft.results) kept.results.set(name, each)
        for (const [hash, each] of draft.blocks) kept.blocks.set(hash, each)
        kept.faults.push(...draft.faults)
        return value
      }, options),
  }

  return {
    client: noted,
    /** What was read; undefined if nothing was. Throws `UnrecordableError` if nobody else would read the same. */
    record(): ChainRecord | undefined {
      const [block, ...others] = kept.blocks.values()
      if (block === undefined) return undefined
      const [fault = others.length > 0 ? 'it was read at several blocks' : undefined] = kept.faults
      if (fault !== undefined) throw new UnrecordableError(fault)
      const results = [...kept.results].filter(([, each]) => !isLatestHeaderRequest(each) || !isHeaderOf(each, block))
      return { chainId: chain.id, block, calls: sorted(kept.calls), headers: sorted(results), agreed }
    },
  }
}

function newDraft(): Draft {
  return { calls: new Map(), results: new Map(), blocks: new Map(), faults: [] }
}

/** The header of the newest block, or of that of a height. */
async function readHead(
  endpoint: Endpoint,
  { chainId, number }: { readonly chainId: number; readonly number: bigint | undefined },
  signal: AbortSignal,
): Promise<Head> {
  const parse = (raw: unknown): Head => {
    const header = parseHeader(raw, number ?? 'latest')
    if (header === undefined) throw new MissingBlockError('The endpoint does not have the block')
    return { raw, block: { chainId, ...header } }
  }
  const tag = number === undefined ? 'latest' : `0x${number.toString(16)}`
  const head = await endpoint.request({ method: 'eth_getBlockByNumber', params: [tag, false], parse }, signal)
  if (number === undefined) endpoint.observeBlock(head.block)
  return head
}

/** What is learned about an endpoint that takes no surroundings. */
const TOPIC = 'surroundings'

/** The answer to a call with other gas, in other surroundings if the block is known and the endpoint takes them. */
async function lookAgain({ endpoint, sent, way, number }: Look, signal: AbortSignal): Promise<Hex> {
  const look = (around: Pick<EthCall, 'surroundings'>) =>
    readLensAnswer(way, () => endpoint.call({ ...sent, gas: SECOND_GAS, ...around }, signal))
  if (number === undefined || endpoint.learned.has(TOPIC)) return await look({})
  try {
    return await look({ surroundings: createBlockOverrides({ number }) })
  } catch (error) {
    if (!(error instanceof RpcRefusedError)) throw error
    const answer = await look({})
    endpoint.learned.set(TOPIC, { value: 'none', untilMs: Number.POSITIVE_INFINITY })
    return answer
  }
}

function isHeaderOf({ result }: RecordedResult, { hash }: PinnedBlock): boolean {
  return typeof result === 'object' && result !== null && 'hash' in result && result.hash === hash
}

function sorted<Item>(entries: Iterable<readonly [string, Item]>): readonly Item[] {
  return [...entries].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item)
}
