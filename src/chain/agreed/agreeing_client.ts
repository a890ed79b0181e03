import type { Hex } from 'viem'
import { UnavailableError, UpstreamError } from '../../lib/error.ts'
import { isAtBlock, type PinnedBlock } from '../block.ts'
import { openLensPage } from '../call/cursor.ts'
import { sealDeployless } from '../call/deployless.ts'
import type { Chain } from '../chain.ts'
import { readLatestBlock } from '../evm/read_block.ts'
import { answerOf, questionOf } from '../receipt/record.ts'
import { type ChainClient, type Endpoint, type EthCall, type ReadOptions, RevertError } from '../rpc/client.ts'
import { MissingBlockError, ShallowError } from '../rpc/error.ts'
import type { DissentRecorder } from './dissents.ts'
import { answerAgain } from './witness.ts'

/** So many others gave the same bytes that this endpoint's own are wrong. */
class ContradictedError extends UpstreamError {}

/** No other endpoint gave bytes to compare, perhaps because the block is this endpoint's own. */
class AloneError extends ShallowError {}

/** Too few endpoints gave the same bytes. */
class QuorumError extends UnavailableError {}

/** What an endpoint gave. */
interface Said {
  readonly endpoint: number
  readonly bytes: Hex
}

/**
 * Makes a client whose readings are answered only if `quorum` endpoints give the same bytes to every call. Calls at
 * the newest block are pinned by its hash: honest endpoints differ by a block. All are asked at once; further ones only
 * if some are away, lag or differ. An endpoint that so many others contradict is not believed, and the next one is read.
 * Work in the background and headers are read as before. Throws `UnavailableError` that names positions, never URLs.
 */
export function createAgreeingClient<Row extends Chain, Client extends ChainClient<Row>>(
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

    async function ask(other: Endpoint, within: AbortSignal): Promise<Said> {
      return { endpoint: other.index, bytes: await answerAgain(other, request, within) }
    }

    /** What one that nobody has asked says, if it has the block: others may have it sooner than it comes there. */
    function witness(reader: number): Promise<Said | undefined> {
      const attempt = async (other: Endpoint, within: AbortSignal): Promise<Said> => {
        const { index } = other
        if ((takenBy.get(index) ?? reader) !== reader) throw new ShallowError('The endpoint was asked already')
        takenBy.set(index, reader)
        try {
          return await ask(hasty(other), within)
        } catch (error) {
          if (!(error instanceof MissingBlockError)) throw error
          lagging.add(index)
          throw new ShallowError('The endpoint lags', { cause: error })
        }
      }
      return client.read(attempt, { ...reading, signal: until }).catch(() => undefined)
    }

    /** What one of those says when the block has come. */
    function lateWitness(): Promise<Said | undefined> {
      const attempt = async (other: Endpoint, within: AbortSignal): Promise<Said> => {
        if (!lagging.delete(other.index)) throw new ShallowError('The endpoint was asked already')
        try {
          return await ask(other, within)
        } catch (error) {
          // It may lag by a block, which is not a failure.
          if (error instanceof MissingBlockError) throw new ShallowError('The endpoint lags', { cause: error })
          throw error
        }
      }
      return client.read(attempt, { ...reading, signal: until }).catch(() => undefined)
    }

    try {
      const others = Array.from({ length: quorum - 1 }, (_, reader) => witness(reader + 1))
      const bytes = await ownAnswer(endpoint, request, signal)
      // The endpoint does not override: it has said nothing yet.
      if (bytes === '0x' && request.code !== undefined) return bytes
      const own: Said = { endpoint: endpoint.index, bytes }
      const said = [own]
      const add = (more: readonly (Said | undefined)[]) => {
        for (const each of more) if (each !== undefined && !isOfOtherGas(each, own)) said.push(each)
      }
      add(await Promise.all(others))
      for (let reader = quorum; mostSaid(said).length < quorum && takenBy.size < chain.rpcUrls.length; reader++) {
        const before = takenBy.size
        add([await witness(reader)])
        if (takenBy.size === before) break
      }
      if (mostSaid(said).length < quorum) add(await Promise.all(Array.from(lagging, lateWitness)))
      signal.throwIfAborted()
      decide(said, own, [...takenBy.keys()])
      return bytes
    } finally {
      over.abort()
    }
  }

  /** Throws unless enough endpoints, the first among them, said the same. */
  function decide(said: readonly Said[], own: Said, asked: readonly number[]): void {
    const most = mostSaid(said)
    const isEnough = most.length >= quorum
    const wrong = isEnough
      ? said.filter((each) => !isSame(each, most[0] ?? own))
      : most.length < said.length
        ? said
        : []
    for (const { endpoint } of wrong) dissent(endpoint, 'contradicted')
    if (isEnough && wrong.includes(own)) throw new ContradictedError('Other endpoints contradict the endpoint')
    if (isEnough) return
    if (wrong.length > 0) throw failed(`${positions(wrong.map(({ endpoint }) => endpoint))} contradict each other`)
    const absent = asked.filter((index) => said.every(({ endpoint }) => endpoint !== index))
    for (const index of absent) dissent(index, 'absent')
    throw new AloneError(`${positions(absent)} did not answer at the same block`)
  }

  function agreeing(endpoint: Endpoint, reading: ReadOptions): Endpoint {
    let head: Promise<PinnedBlock> | undefined
    return {
      index: endpoint.index,
      priority: endpoint.priority,
      // Those who leave together are known by what they have learned, which therefore is a copy.
      learned: new Map(endpoint.learned),
      together: false,
      async call(request, signal) {
        // What sees other surroundings is not a state of the chain.
        if (request.surroundings !== undefined) return await endpoint.call(request, signal)
        head ??= request.block === 'latest' ? readLatestBlock(endpoint, chain.id, signal) : undefined
        const block = request.block === 'latest' && head !== undefined ? { hash: (await head).hash } : request.block
        const pinned = { ...request, block }
        const bytes = await agreed({ endpoint, request: pinned, reading }, signal)
        if (questionOf(request)?.way === 'deployless') throw new RevertError(sealDeployless(bytes))
        return bytes
      },
      request: (asked, signal) => endpoint.request(asked, signal),
      observeBlock: (block) => endpoint.observeBlock(block),
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

/** What a call answers, or a deployless lens reverts with. Throws as the call does otherwise. */
function ownAnswer(endpoint: Endpoint, request: EthCall, signal: AbortSignal): Promise<Hex> {
  return answerOf(questionOf(request)?.way ?? 'override', () => endpoint.call(request, signal))
}

function isSame(a: Said, b: Said): boolean {
  return a.bytes.toLowerCase() === b.bytes.toLowerCase()
}

/** Those that said what most said, the first if there are several. */
function mostSaid(said: readonly Said[]): readonly Said[] {
  const groups = said.map((one) => said.filter((each) => isSame(each, one)))
  return groups.reduce((most, group) => (group.length > most.length ? group : most), [])
}

/** True if two pages of one block end at different entries, as they do if the endpoints grant different gas. */
function isOfOtherGas(a: Said, b: Said): boolean {
  if (isSame(a, b)) return false
  try {
    const [one, other] = [openLensPage(a.bytes), openLensPage(b.bytes)]
    return isAtBlock(one.block, other.block) && one.taken !== other.taken
  } catch {
    return false
  }
}

function positions(indexes: readonly number[]): string {
  const sorted = [...indexes].sort((a, b) => a - b).map((index) => index + 1)
  return `${sorted.length === 1 ? 'endpoint' : 'endpoints'} ${sorted.join(' and ')}`
}
