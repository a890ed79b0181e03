import { withTimeout } from '../../lib/async/abort.ts'
import { limitWork, noteUnwitnessed, type Work } from '../../lib/async/work.ts'
import { AbortedError, UnavailableError } from '../../lib/error.ts'
import {
  type ChainClient,
  ChainUnavailableError,
  type Endpoint,
  isUnavailable,
  type ReadOptions,
} from '../rpc/client.ts'
import { EndpointError } from '../rpc/error.ts'

/** Endpoints that must agree before a value is cached permanently. */
export const QUORUM = 2
/** Cache TTL of past values confirmed by one endpoint of several. */
const ALONE_MS = 10 * 60_000
/** How long the other endpoints may take after the first answer, milliseconds. */
export const LATE_MS = 1_000

export interface QuorumResult<T> {
  readonly value: T
  /** Indexes of the endpoints that gave the value; fewer than the quorum if no others could be asked. */
  readonly endpoints: readonly number[]
}

interface QuorumOptions<T> extends ReadOptions {
  /** Number of endpoints that must agree. @default {2} */
  readonly quorum?: number
  /** What is read, for the error: `the prices at block 5`. */
  readonly what: string
  /** Converts an answer for comparison. It must leave out fields in which honest endpoints may differ. */
  readonly toText: (value: T) => string
}

interface EndpointAnswer<T> {
  readonly endpoint: number
  readonly value: T
  readonly text: string
}

/**
 * Runs `attempt` against several endpoints concurrently and returns the value that they agree on. If they disagree,
 * asks additional endpoints until enough agree. If fewer endpoints can answer (no more exist, or they have pruned the
 * block, fail or are late), returns the value of those. Throws `ChainUnavailableError` (disputed) if they disagree and
 * no endpoint is left to decide; throws as `ChainClient.read` if none answers.
 */
export async function readByQuorum<T>(
  client: ChainClient,
  attempt: (endpoint: Endpoint, work: Work) => Promise<T>,
  options: QuorumOptions<T>,
): Promise<QuorumResult<T>> {
  const { quorum = QUORUM, what, toText, work, ...reading } = options
  const endpoints = client.chain.rpcUrls.length
  const over = new AbortController()
  const until = limitWork(work, over.signal)
  /** Reader by endpoint index: each endpoint is asked by one reader only. */
  const readersByEndpoint = new Map<number, number>()
  const answers: EndpointAnswer<T>[] = []
  const failures: unknown[] = []
  let onFirstAnswer: () => void = () => {}
  const firstAnswer = new Promise<void>((resolve) => {
    onFirstAnswer = resolve
  })

  async function readOnce(reader: number): Promise<void> {
    const attemptOnce = async (endpoint: Endpoint, within: Work): Promise<EndpointAnswer<T>> => {
      const { index } = endpoint
      if ((readersByEndpoint.get(index) ?? reader) !== reader)
        throw new EndpointError('pruned', 'Another reading asks the endpoint')
      readersByEndpoint.set(index, reader)
      const value = await attempt(endpoint, within)
      return { endpoint: index, value, text: toText(value) }
    }
    try {
      answers.push(await client.read(attemptOnce, { ...reading, work: until, isCompared: quorum > 1 }))
      onFirstAnswer()
    } catch (error) {
      failures.push(error)
    }
  }

  try {
    const readers = Math.max(1, Math.min(quorum, endpoints))
    const all = Promise.all(Array.from({ length: readers }, (_, reader) => readOnce(reader)))
    await Promise.race([all, firstAnswer])
    await withTimeout(all, { ms: LATE_MS, clock: client.clock }).catch(() => {})
    if (work.signal.aborted) throw new AbortedError('The caller left')
    const fault = failures.find((error) => !(error instanceof UnavailableError || error instanceof AbortedError))
    if (answers.length === 0 && fault !== undefined) throw fault
    for (let reader = readers; ; reader++) {
      const majority = findMajority(answers, (a, b) => a.text === b.text)
      const [first] = majority
      // Prefer a real failure over "state pruned".
      if (first === undefined) throw failures.find((error) => !isUnavailable(error, 'pruned')) ?? failures[0]
      if (majority.length === answers.length || majority.length >= quorum) {
        logContradictions(client, { what, wrong: answers.filter(({ text }) => text !== first.text) })
        return { value: first.value, endpoints: majority.map(({ endpoint }) => endpoint) }
      }
      const countBefore = answers.length
      if (readersByEndpoint.size < endpoints) await readOnce(reader)
      if (answers.length === countBefore) throw disputeError(client, { what, answers })
    }
  } finally {
    over.abort()
  }
}

/** True if a value rests on the word of one endpoint; without any witness there is no value that rests on a word. */
export function isOneWord(witnesses: number): boolean {
  return witnesses > 0 && witnesses < QUORUM
}

/** Notes for the work if a single endpoint gave something of the past that it rests on. */
export function noteWitnesses({ chain }: Pick<ChainClient, 'chain'>, witnesses: number, work: Work): void {
  if (isOneWord(witnesses)) noteUnwitnessed(work, [chain.id])
}

/** True if a value confirmed by `witnesses` endpoints may be cached permanently: two of them, or the only one. */
export function isCacheableForever({ chain: { rpcUrls } }: ChainClient, witnesses: number): boolean {
  return witnesses >= Math.min(QUORUM, rpcUrls.length)
}

/** Cache TTL, milliseconds, of an immutable value confirmed by `witnesses` endpoints. */
export function getCacheTtlMs(client: ChainClient, witnesses: number): number {
  return isCacheableForever(client, witnesses) ? Number.POSITIVE_INFINITY : ALONE_MS
}

/** Finds the largest group of equal answers, the first of several. */
export function findMajority<Answer>(
  answers: readonly Answer[],
  isSame: (a: Answer, b: Answer) => boolean,
): readonly Answer[] {
  const groups = answers.map((answer) => answers.filter((each) => isSame(each, answer)))
  return groups.reduce((largest, group) => (group.length > largest.length ? group : largest), [])
}

function logContradictions(
  { chain, log }: ChainClient,
  { what, wrong }: { what: string; wrong: readonly EndpointAnswer<unknown>[] },
): void {
  for (const { endpoint } of wrong) {
    log.warn({ msg: 'An RPC endpoint contradicted others', chainId: chain.id, endpoint: endpoint + 1, what })
  }
}

function disputeError(
  { chain: { id, name }, log }: ChainClient,
  { what, answers }: { readonly what: string; readonly answers: readonly EndpointAnswer<unknown>[] },
): ChainUnavailableError {
  const endpoints = answers.map(({ endpoint }) => endpoint + 1).sort((a, b) => a - b)
  log.warn({ msg: 'RPC endpoints contradicted each other', chainId: id, endpoints, what })
  const named = endpoints.join(' and ')
  return new ChainUnavailableError(
    'disputed',
    `Cannot believe ${what} of chain ${id} (${name}): endpoints ${named} contradict each other (second witness)`,
  )
}
