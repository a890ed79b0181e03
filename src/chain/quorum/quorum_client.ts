import type { Hex } from 'viem'
import { withTimeout } from '../../lib/async/abort.ts'
import { limitWork, type Work } from '../../lib/async/work.ts'
import { UnavailableError, UpstreamError } from '../../lib/error.ts'
import { matchesBlock, type PinnedBlock } from '../block.ts'
import { callByOverride, LENS_ADDRESS } from '../call/bundle/bundle.ts'
import { decodeLensPage } from '../call/cursor.ts'
import { callDeployless, encodeDeploylessRevert } from '../call/deployless.ts'
import type { Chain } from '../chain.ts'
import { readLatestBlock } from '../evm/read_block.ts'
import { findMajority, LATE_MS } from '../past/quorum.ts'
import { readLensAnswer, toLensQuestion } from '../receipt/record.ts'
import {
  type ChainClient,
  ChainUnavailableError,
  type Endpoint,
  type EthCall,
  isUnavailable,
  type ReadOptions,
  RevertError,
  RpcRefusedError,
} from '../rpc/client.ts'
import { EndpointError, hasFault } from '../rpc/error.ts'
import type { DissentRecorder } from './dissent_tracker.ts'

/** Answer of one endpoint. */
interface EndpointAnswer {
  readonly endpoint: number
  readonly bytes: Hex
}

/**
 * Creates a client whose reads succeed only if `quorum` endpoints give the same bytes for every call. Calls at the
 * newest block are pinned by its hash, because honest endpoints differ by a block. `quorum` endpoints are asked
 * concurrently; additional ones only if some fail, lag or disagree. If a quorum contradicts the reading endpoint, the
 * next one is read. Background work and headers need no quorum. Throws `UnavailableError` with endpoint numbers, never
 * URLs.
 */
export function createQuorumClient<Row extends Chain, Client extends ChainClient<Row>>(
  client: Client,
  {
    quorum,
    dissent,
    onAlone,
  }: {
    readonly quorum: number
    readonly dissent: DissentRecorder
    /** Called where no other endpoint answers in time; the one that does is believed. @default the read fails */
    readonly onAlone?: () => void
  },
): Client {
  const { chain } = client

  function quorumFailedError(message: string): ChainUnavailableError {
    return new ChainUnavailableError(
      'quorum',
      `Cannot read chain ${chain.id} (${chain.name}): ${quorum} endpoints must give the same bytes, but ${message}`,
    )
  }

  /** Reads the bytes that `quorum` endpoints give, this endpoint among them. */
  async function readAgreed(
    { endpoint, request, reading }: { endpoint: Endpoint; request: EthCall; reading: ReadOptions },
    work: Work,
  ): Promise<Hex> {
    const over = new AbortController()
    const until = limitWork(work, over.signal)
    /** Reader by endpoint index: each endpoint is asked once. */
    const readersByEndpoint = new Map([[endpoint.index, 0]])
    /** Indexes of endpoints that did not have the block yet. */
    const lagging = new Set<number>()

    /**
     * Reads from an endpoint not asked yet; with no `reader`, retries one that lagged, now that it has the block.
     */
    function readWitness(reader?: number): Promise<EndpointAnswer | undefined> {
      const attempt = async (witnessEndpoint: Endpoint, within: Work): Promise<EndpointAnswer> => {
        const { index } = witnessEndpoint
        const canAsk =
          reader === undefined ? lagging.delete(index) : (readersByEndpoint.get(index) ?? reader) === reader
        if (!canAsk) throw new EndpointError('pruned', 'The endpoint was asked already')
        if (reader !== undefined) readersByEndpoint.set(index, reader)
        try {
          return {
            endpoint: index,
            bytes: await readWitnessAnswer(
              reader === undefined ? witnessEndpoint : withoutWaiting(witnessEndpoint),
              request,
              within,
            ),
          }
        } catch (error) {
          if (!hasFault(error, 'no_block')) throw error
          if (reader !== undefined) lagging.add(index)
          // A lag of one block is not a failure.
          throw new EndpointError('pruned', 'The endpoint lags', { cause: error })
        }
      }
      return client.read(attempt, { ...reading, work: until }).catch(() => undefined)
    }

    try {
      const witnesses = Array.from({ length: quorum - 1 }, (_, reader) => readWitness(reader + 1))
      const bytes = await readOwnAnswer(endpoint, request, work)
      // The endpoint ignored the state override, so there is no answer to compare yet.
      if (bytes === '0x' && request.code !== undefined) return bytes
      const own: EndpointAnswer = { endpoint: endpoint.index, bytes }
      const answers = [own]
      const addAnswers = (additional: readonly (EndpointAnswer | undefined)[]) => {
        for (const each of additional) if (each !== undefined && !hasDifferentGas(each, own)) answers.push(each)
      }
      const others = Promise.all(witnesses)
      const isPatient = onAlone === undefined
      addAnswers(await (isPatient ? others : withTimeout(others, { ms: LATE_MS, clock: client.clock }).catch(() => [])))
      for (
        let reader = quorum;
        findMajority(answers, isSame).length < quorum && readersByEndpoint.size < chain.rpcUrls.length;
        reader++
      ) {
        const countBefore = readersByEndpoint.size
        addAnswers([await readWitness(reader)])
        if (readersByEndpoint.size === countBefore) break
      }
      if (findMajority(answers, isSame).length < quorum)
        addAnswers(await Promise.all(Array.from(lagging, () => readWitness())))
      work.signal.throwIfAborted()
      checkQuorum(answers, own, [...readersByEndpoint.keys()])
      return bytes
    } finally {
      over.abort()
    }
  }

  /** Throws unless `quorum` endpoints, `own` among them, gave the same bytes. */
  function checkQuorum(
    answers: readonly EndpointAnswer[],
    own: EndpointAnswer,
    askedEndpoints: readonly number[],
  ): void {
    const majority = findMajority(answers, isSame)
    const isQuorum = majority.length >= quorum
    const contradicting = isQuorum
      ? answers.filter((each) => !isSame(each, majority[0] ?? own))
      : majority.length < answers.length
        ? answers
        : []
    for (const { endpoint } of contradicting) dissent(endpoint, 'contradicted')
    if (isQuorum && contradicting.includes(own)) throw new UpstreamError('Other endpoints contradict the endpoint')
    if (isQuorum) return
    if (contradicting.length > 0)
      throw quorumFailedError(`${formatPositions(contradicting.map(({ endpoint }) => endpoint))} contradict each other`)
    if (onAlone !== undefined) {
      onAlone()
      return
    }
    const absent = askedEndpoints.filter((index) => answers.every(({ endpoint }) => endpoint !== index))
    for (const index of absent) dissent(index, 'absent')
    throw new EndpointError('alone', `${formatPositions(absent)} did not answer at the same block`)
  }

  function wrapEndpoint(endpoint: Endpoint, reading: ReadOptions): Endpoint {
    let head: Promise<PinnedBlock> | undefined
    return {
      ...endpoint,
      // Calls are bundled by their `learned` map, so this client needs its own copy.
      learned: new Map(endpoint.learned),
      async call(request, work) {
        // A call with block overrides does not read the chain's state, so it needs no quorum.
        if (request.blockOverrides !== undefined) return await endpoint.call(request, work)
        head ??= request.block === 'latest' ? readLatestBlock(endpoint, chain.id, work) : undefined
        const block = request.block === 'latest' && head !== undefined ? { hash: (await head).hash } : request.block
        const pinned = { ...request, block }
        const bytes = await readAgreed({ endpoint, request: pinned, reading }, work)
        if (toLensQuestion(request)?.mode === 'deployless') throw new RevertError(encodeDeploylessRevert(bytes))
        return bytes
      },
    }
  }

  const read: ChainClient['read'] = async (attempt, options) => {
    const { past, priority = 'caller' } = options
    if (priority === 'background' || past === 'header') return await client.read(attempt, options)
    const reading = { ...options, isBundled: false, isCompared: true }
    let aloneError: EndpointError | undefined
    try {
      return await client.read(async (endpoint, work) => {
        const wrapped = wrapEndpoint(endpoint, reading)
        try {
          const answer = await attempt(wrapped, work)
          for (const [topic, each] of wrapped.learned) endpoint.learned.set(topic, each)
          return answer
        } catch (error) {
          if (hasFault(error, 'alone')) aloneError = error
          throw error
        }
      }, reading)
    } catch (error) {
      if (aloneError === undefined || !(error instanceof UnavailableError)) throw error
      throw isUnavailable(error, 'quorum') ? error : quorumFailedError(aloneError.message)
    }
  }

  return { ...client, read, agreed: quorum }
}

/** Wraps an endpoint so that it fails at once if it does not have a block. */
function withoutWaiting(endpoint: Endpoint): Endpoint {
  return { ...endpoint, call: (request, work) => endpoint.call({ ...request, mustWait: false }, work) }
}

/**
 * Reads another endpoint's answer to a call. A lens runs in the same mode, or else in the other one: endpoints differ
 * in the modes they support, and a lens answers the same in both. Throws as `Endpoint.call`.
 */
async function readWitnessAnswer(endpoint: Endpoint, request: EthCall, work: Work): Promise<Hex> {
  const question = toLensQuestion(request)
  const isAnyAddress = request.to === undefined || request.to === LENS_ADDRESS
  if (question === undefined || !isAnyAddress) return await endpoint.call(request, work)
  const { mode, ...lens } = question
  const { block, gas } = request
  const lensCall = { ...lens, block, ...(gas === undefined ? {} : { gas }) }
  // A deployless call replaces no other account's code or storage.
  const hasOneMode = lens.additionalCodes !== undefined || lens.storage !== undefined
  const [first, second] = mode === 'override' ? [callByOverride, callDeployless] : [callDeployless, callByOverride]
  try {
    return await first(endpoint, lensCall, work)
  } catch (error) {
    const isEmptyRevert = error instanceof RevertError && error.data === '0x'
    if (hasOneMode || (!isEmptyRevert && !(error instanceof RpcRefusedError))) throw error
    return await second(endpoint, lensCall, work)
  }
}

/** Reads the answer of a call; a deployless lens reverts with it. Throws as the call does otherwise. */
function readOwnAnswer(endpoint: Endpoint, request: EthCall, work: Work): Promise<Hex> {
  return readLensAnswer(toLensQuestion(request)?.mode ?? 'override', () => endpoint.call(request, work))
}

function isSame(a: EndpointAnswer, b: EndpointAnswer): boolean {
  return a.bytes.toLowerCase() === b.bytes.toLowerCase()
}

/** True if two pages of one block end at different entries, which happens if the endpoints grant different gas. */
function hasDifferentGas(a: EndpointAnswer, b: EndpointAnswer): boolean {
  if (isSame(a, b)) return false
  try {
    const [one, other] = [decodeLensPage(a.bytes), decodeLensPage(b.bytes)]
    return matchesBlock(one.block, other.block) && one.taken !== other.taken
  } catch {
    return false
  }
}

function formatPositions(indexes: readonly number[]): string {
  const sorted = [...indexes].sort((a, b) => a - b).map((index) => index + 1)
  return `${sorted.length === 1 ? 'endpoint' : 'endpoints'} ${sorted.join(' and ')}`
}
