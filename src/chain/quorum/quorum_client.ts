import type { Hex } from 'viem'
import { UnavailableError, UpstreamError } from '../../lib/error.ts'
import { matchesBlock, type PinnedBlock } from '../block.ts'
import { callByOverride, LENS_ADDRESS } from '../call/bundle/bundle.ts'
import { decodeLensPage } from '../call/cursor.ts'
import { callDeployless, encodeDeploylessRevert } from '../call/deployless.ts'
import type { Chain } from '../chain.ts'
import { readLatestBlock } from '../evm/read_block.ts'
import { findMajority } from '../past/quorum.ts'
import { readLensAnswer, toLensQuestion } from '../receipt/record.ts'
import {
  type ChainClient,
  type Endpoint,
  type EthCall,
  type ReadOptions,
  RevertError,
  RpcRefusedError,
} from '../rpc/client.ts'
import { EndpointPrunedError, MissingBlockError } from '../rpc/error.ts'
import type { DissentRecorder } from './dissent_tracker.ts'

/** No other endpoint gave bytes to compare, perhaps because the block is this endpoint's own. */
class AloneError extends EndpointPrunedError {}

/** Too few endpoints gave the same bytes. */
class QuorumError extends UnavailableError {}

/** What an endpoint gave. */
interface EndpointAnswer {
  readonly endpoint: number
  readonly bytes: Hex
}

/**
 * Makes a client whose readings are answered only if `quorum` endpoints give the same bytes to every call. Calls at
 * the newest block are pinned by its hash: honest endpoints differ by a block. All are asked at once; further ones only
 * if some are away, lag or differ. An endpoint that so many others contradict is not believed, and the next one is read.
 * Work in the background and headers are read as before. Throws `UnavailableError` that names positions, never URLs.
 */
export function createQuorumClient<Row extends Chain, Client extends ChainClient<Row>>(
  client: Client,
  { quorum, dissent }: { readonly quorum: number; readonly dissent: DissentRecorder },
): Client {
  const { chain } = client

  function failed(message: string): QuorumError {
    return new QuorumError(
      `Cannot read chain ${chain.id} (${chain.name}): ${quorum} endpoints must give the same bytes, but ${message}`,
    )
  }

  /** What `quorum` endpoints give, this one among them. */
  async function agreed(
    { endpoint, request, reading }: { endpoint: Endpoint; request: EthCall; reading: ReadOptions },
    signal: AbortSignal,
  ): Promise<Hex> {
    const over = new AbortController()
    const until = AbortSignal.any([signal, over.signal])
    /** Who asks which endpoint: each is asked once. */
    const takenBy = new Map([[endpoint.index, 0]])
    /** Those that did not have the block yet. */
    const lagging = new Set<number>()

    /**
     * What one that nobody has asked says, if it has the block: others may have it sooner than it comes there. Without
     * `reader` what one of those says that lagged, when the block has come.
     */
    function witness(reader?: number): Promise<EndpointAnswer | undefined> {
      const attempt = async (other: Endpoint, within: AbortSignal): Promise<EndpointAnswer> => {
        const { index } = other
        const isMine = reader === undefined ? lagging.delete(index) : (takenBy.get(index) ?? reader) === reader
        if (!isMine) throw new EndpointPrunedError('The endpoint was asked already')
        if (reader !== undefined) takenBy.set(index, reader)
        try {
          return {
            endpoint: index,
            bytes: await answerAgain(reader === undefined ? other : hasty(other), request, within),
          }
        } catch (error) {
          if (!(error instanceof MissingBlockError)) throw error
          if (reader !== undefined) lagging.add(index)
          // It may lag by a block, which is not a failure.
          throw new EndpointPrunedError('The endpoint lags', { cause: error })
        }
      }
      return client.read(attempt, { ...reading, signal: until }).catch(() => undefined)
    }

    try {
      const others = Array.from({ length: quorum - 1 }, (_, reader) => witness(reader + 1))
      const bytes = await ownAnswer(endpoint, request, signal)
      // The endpoint does not override: it has said nothing yet.
      if (bytes === '0x' && request.code !== undefined) return bytes
      const own: EndpointAnswer = { endpoint: endpoint.index, bytes }
      const said = [own]
      const add = (more: readonly (EndpointAnswer | undefined)[]) => {
        for (const each of more) if (each !== undefined && !isOfOtherGas(each, own)) said.push(each)
      }
      add(await Promise.all(others))
      for (
        let reader = quorum;
        findMajority(said, isSame).length < quorum && takenBy.size < chain.rpcUrls.length;
        reader++
      ) {
        const before = takenBy.size
        add([await witness(reader)])
        if (takenBy.size === before) break
      }
      if (findMajority(said, isSame).length < quorum) add(await Promise.all(Array.from(lagging, () => witness())))
      signal.throwIfAborted()
      decide(said, own, [...takenBy.keys()])
      return bytes
    } finally {
      over.abort()
    }
  }

  /** Throws unless enough endpoints, the first among them, said the same. */
  function decide(said: readonly EndpointAnswer[], own: EndpointAnswer, asked: readonly number[]): void {
    const most = findMajority(said, isSame)
    const isEnough = most.length >= quorum
    const wrong = isEnough
      ? said.filter((each) => !isSame(each, most[0] ?? own))
      : most.length < said.length
        ? said
        : []
    for (const { endpoint } of wrong) dissent(endpoint, 'contradicted')
    if (isEnough && wrong.includes(own)) throw new UpstreamError('Other endpoints contradict the endpoint')
    if (isEnough) return
    if (wrong.length > 0) throw failed(`${positions(wrong.map(({ endpoint }) => endpoint))} contradict each other`)
    const absent = asked.filter((index) => said.every(({ endpoint }) => endpoint !== index))
    for (const index of absent) dissent(index, 'absent')
    throw new AloneError(`${positions(absent)} did not answer at the same block`)
  }

  function agreeing(endpoint: Endpoint, reading: ReadOptions): Endpoint {
    let head: Promise<PinnedBlock> | undefined
    return {
      ...endpoint,
      // Those who leave together are known by what they have learned, which therefore is a copy.
      learned: new Map(endpoint.learned),
      async call(request, signal) {
        // What sees other surroundings is not a state of the chain.
        if (request.surroundings !== undefined) return await endpoint.call(request, signal)
        head ??= request.block === 'latest' ? readLatestBlock(endpoint, chain.id, signal) : undefined
        const block = request.block === 'latest' && head !== undefined ? { hash: (await head).hash } : request.block
        const pinned = { ...request, block }
        const bytes = await agreed({ endpoint, request: pinned, reading }, signal)
        if (toLensQuestion(request)?.way === 'deployless') throw new RevertError(encodeDeploylessRevert(bytes))
        return bytes
      },
    }
  }

  const read: ChainClient['read'] = async (attempt, options) => {
    const { past, priority = 'caller' } = options
    if (priority === 'background' || past === 'header') return await client.read(attempt, options)
    const reading = { ...options, together: false }
    let alone: AloneError | undefined
    try {
      return await client.read(async (endpoint, signal) => {
        const own = agreeing(endpoint, reading)
        try {
          const answer = await attempt(own, signal)
          for (const [topic, each] of own.learned) endpoint.learned.set(topic, each)
          return answer
        } catch (error) {
          if (error instanceof AloneError) alone = error
          throw error
        }
      }, reading)
    } catch (error) {
      if (alone === undefined || !(error instanceof UnavailableError)) throw error
      throw error instanceof QuorumError ? error : failed(alone.message)
    }
  }

  return { ...client, read, agreed: quorum }
}

/** The same endpoint, which says at once that it does not have a block. */
function hasty(endpoint: Endpoint): Endpoint {
  return { ...endpoint, call: (request, signal) => endpoint.call({ ...request, waits: false }, signal) }
}

/**
 * What another endpoint answers to a call. A lens is run there in the same way, else in the other one: endpoints
 * differ in what they can do, and a lens answers the same in both. Throws as `Endpoint.call`.
 */
async function answerAgain(endpoint: Endpoint, request: EthCall, signal: AbortSignal): Promise<Hex> {
  const question = toLensQuestion(request)
  const isAnywhere = request.to === undefined || request.to === LENS_ADDRESS
  if (question === undefined || !isAnywhere) return await endpoint.call(request, signal)
  const { runtime, data, way } = question
  const { block, gas } = request
  const asked = { runtime, data, block, ...(gas === undefined ? {} : { gas }) }
  const [first, second] = way === 'override' ? [callByOverride, callDeployless] : [callDeployless, callByOverride]
  try {
    return await first(endpoint, asked, signal)
  } catch (error) {
    const isSilent = error instanceof RevertError && error.data === '0x'
    if (!isSilent && !(error instanceof RpcRefusedError)) throw error
    return await second(endpoint, asked, signal)
  }
}

/** What a call answers, or a deployless lens reverts with. Throws as the call does otherwise. */
function ownAnswer(endpoint: Endpoint, request: EthCall, signal: AbortSignal): Promise<Hex> {
  return readLensAnswer(toLensQuestion(request)?.way ?? 'override', () => endpoint.call(request, signal))
}

function isSame(a: EndpointAnswer, b: EndpointAnswer): boolean {
  return a.bytes.toLowerCase() === b.bytes.toLowerCase()
}

/** True if two pages of one block end at different entries, as they do if the endpoints grant different gas. */
function isOfOtherGas(a: EndpointAnswer, b: EndpointAnswer): boolean {
  if (isSame(a, b)) return false
  try {
    const [one, other] = [decodeLensPage(a.bytes), decodeLensPage(b.bytes)]
    return matchesBlock(one.block, other.block) && one.taken !== other.taken
  } catch {
    return false
  }
}

function positions(indexes: readonly number[]): string {
  const sorted = [...indexes].sort((a, b) => a - b).map((index) => index + 1)
  return `${sorted.length === 1 ? 'endpoint' : 'endpoints'} ${sorted.join(' and ')}`
}
