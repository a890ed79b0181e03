import { delay } from '../../lib/async/abort.ts'
import { AbortedError, UnavailableError } from '../../lib/error.ts'
import { type ChainClient, type Endpoint, type ReadOptions, StatePrunedError } from '../rpc/client.ts'
import { EndpointPrunedError } from '../rpc/error.ts'

/** So many different endpoints must say the same before it is kept for ever. */
export const QUORUM = 2
/** How long what one endpoint alone says of the past is used, if there are others. */
const ALONE_MS = 10 * 60_000
/** So much longer than the first answer the others may take, milliseconds. */
const LATE_MS = 1_000

export interface QuorumResult<T> {
  readonly value: T
  /** Positions of those that said it: fewer than were wanted if no others could be asked. */
  readonly endpoints: readonly number[]
}

/** Endpoints contradict each other, and no third one decides between them. */
export class DisputeError extends UnavailableError {}

interface QuorumOptions<T> extends ReadOptions {
  /** How many different endpoints must say the same. @default {2} */
  readonly quorum?: number
  /** What is read, for the error: `the prices at block 5`. */
  readonly what: string
  /** Answers with the same text are the same. It must leave out what honest endpoints may say differently. */
  readonly textOf: (value: T) => string
}

interface EndpointAnswer<T> {
  readonly endpoint: number
  readonly value: T
  readonly text: string
}

/**
 * Runs `attempt` against several different endpoints at the same time, and returns what they agree on. If they differ,
 * further endpoints are asked until enough say the same. If fewer can be asked at all (there are no more, they do not
 * keep that past, fail or are late), it is what those say. Throws `DisputeError` if they differ and nobody is left to
 * decide; else as `ChainClient.read`, if none of them answers.
 */
export async function readByQuorum<T>(
  client: ChainClient,
  attempt: (endpoint: Endpoint, signal: AbortSignal) => Promise<T>,
  options: QuorumOptions<T>,
): Promise<QuorumResult<T>> {
  const { quorum = QUORUM, what, textOf, signal, ...reading } = options
  const endpoints = client.chain.rpcUrls.length
  const over = new AbortController()
  const until = AbortSignal.any([signal, over.signal])
  /** Who asks which endpoint: each is asked by one reading only. */
  const takenBy = new Map<number, number>()
  const said: EndpointAnswer<T>[] = []
  const failures: unknown[] = []
  let hear: () => void = () => {}
  const heard = new Promise<void>((resolve) => {
    hear = resolve
  })

  async function ask(reader: number): Promise<void> {
    const attemptOnce = async (endpoint: Endpoint, within: AbortSignal): Promise<EndpointAnswer<T>> => {
      const { index } = endpoint
      if ((takenBy.get(index) ?? reader) !== reader) throw new EndpointPrunedError('Another reading asks the endpoint')
      takenBy.set(index, reader)
      const value = await attempt(endpoint, within)
      return { endpoint: index, value, text: textOf(value) }
    }
    try {
      said.push(await client.read(attemptOnce, { ...reading, signal: until }))
      hear()
    } catch (error) {
      failures.push(error)
    }
  }

  try {
    const asked = Math.max(1, Math.min(quorum, endpoints))
    const all = Promise.all(Array.from({ length: asked }, (_, reader) => ask(reader)))
    await Promise.race([all, heard])
    await Promise.race([all, delay(LATE_MS, until).catch(() => {})])
    if (signal.aborted) throw new AbortedError('The caller left')
    const fault = failures.find((error) => !(error instanceof UnavailableError || error instanceof AbortedError))
    if (said.length === 0 && fault !== undefined) throw fault
    for (let reader = asked; ; reader++) {
      const agreed = findMajority(said, (a, b) => a.text === b.text)
      const [first] = agreed
      // That one endpoint does not reach back says less than that another one fails.
      if (first === undefined) throw failures.find((error) => !(error instanceof StatePrunedError)) ?? failures[0]
      if (agreed.length === said.length || agreed.length >= quorum) {
        tell(client, { what, wrong: said.filter(({ text }) => text !== first.text) })
        return { value: first.value, endpoints: agreed.map(({ endpoint }) => endpoint) }
      }
      const before = said.length
      if (takenBy.size < endpoints) await ask(reader)
      if (said.length === before) throw disputed(client, { what, said })
    }
  } finally {
    over.abort()
  }
}

/** True if what so many endpoints gave may be kept for ever: two of them, or the only one that there is. */
export function isCacheableForever({ chain: { rpcUrls } }: ChainClient, witnesses: number): boolean {
  return witnesses >= Math.min(QUORUM, rpcUrls.length)
}

/** How long what never changes may be used, milliseconds, if so many endpoints gave it. */
export function getCacheTtlMs(client: ChainClient, witnesses: number): number {
  return isCacheableForever(client, witnesses) ? Number.POSITIVE_INFINITY : ALONE_MS
}

/** Those that most endpoints said, the first if there are several. */
export function findMajority<Said>(said: readonly Said[], isSame: (a: Said, b: Said) => boolean): readonly Said[] {
  const groups = said.map((one) => said.filter((each) => isSame(each, one)))
  return groups.reduce((most, group) => (group.length > most.length ? group : most), [])
}

function tell(
  { chain, log }: ChainClient,
  { what, wrong }: { what: string; wrong: readonly EndpointAnswer<unknown>[] },
): void {
  for (const { endpoint } of wrong) {
    log.warn({ msg: 'An RPC endpoint contradicted others', chainId: chain.id, endpoint: endpoint + 1, what })
  }
}

function disputed(
  { chain: { id, name }, log }: ChainClient,
  { what, said }: { readonly what: string; readonly said: readonly EndpointAnswer<unknown>[] },
): DisputeError {
  const endpoints = said.map(({ endpoint }) => endpoint + 1).sort((a, b) => a - b)
  log.warn({ msg: 'RPC endpoints contradicted each other', chainId: id, endpoints, what })
  const named = endpoints.join(' and ')
  return new DisputeError(
    `Cannot believe ${what} of chain ${id} (${name}): endpoints ${named} contradict each other (second witness)`,
  )
}
