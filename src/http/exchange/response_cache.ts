import type { Clock } from '../../lib/clock.ts'
import { createLru } from '../../lib/lru.ts'
import { hashText } from '../../lib/text/hash_text.ts'
import type { Answer, PresentContext, Reply } from '../route/route.ts'

/** Identifies an answer besides the blocks from which it was read. */
export interface CacheableRequest {
  /** Absolute address, which the links of the answer repeat. */
  readonly address: string
  readonly body: Buffer | undefined
  /** False if the answer depends on more than address and body; then it is not cached. */
  readonly isCacheable: boolean
  /** Returns further headers of a reply. Throws if it must not be answered. @default none */
  readonly toOwnHeaders?: ((reply: Reply) => Readonly<Record<string, string>>) | undefined
}

/** A success without its request id, ready to be sent. */
export interface CachedResponse {
  /** A JSON object up to its closing brace. */
  readonly text: string
  readonly headers: Readonly<Record<string, string>>
  readonly credits: number
  /** Credits that a caller must have to receive it. */
  readonly creditsMin: number
}

export type ResponseCache = ReturnType<typeof createResponseCache>

interface CacheEntry {
  readonly response: CachedResponse
  readonly body: Buffer
  readonly untilMs: number
}

/** Most cached answers, and most characters in total. */
const ENTRIES_MAX = 10_000
const CHARS_MAX = 32_000_000
/** Bytes at the end of a body that are part of its key: hashing all of it would take longer than comparing it. */
const ENDING_BYTES = 64
const NO_BODY = Buffer.alloc(0)
const NO_HEADERS = {}
const NO_READS: readonly never[] = []

/** Caches finished answers while their blocks are the newest: many callers send the same request within one block. */
export function createResponseCache(clock: Clock) {
  const entries = createLru<CacheEntry>({
    entriesMax: ENTRIES_MAX,
    weightMax: CHARS_MAX,
    getWeight: ({ response, body }, name) => name.length + body.length + response.text.length,
    isOver: ({ untilMs }) => untilMs <= clock.monotonicMs(),
  })

  /** Finds the answer to the same request, while its blocks are the newest. */
  function find({ address, body, isCacheable: isAll }: CacheableRequest): CachedResponse | undefined {
    if (!isAll) return undefined
    const name = getCacheKey(address, body)
    const entry = entries.get(name)
    if (entry === undefined) return undefined
    if (entry.untilMs <= clock.monotonicMs()) {
      entries.delete(name)
      return undefined
    }
    return body === undefined || entry.body.equals(body) ? entry.response : undefined
  }

  return {
    find,
    /** Converts an answer to a response, and caches it while its blocks are the newest. */
    store(
      request: CacheableRequest,
      { answer, creditsMin }: { readonly answer: Answer; readonly creditsMin: number },
    ): CachedResponse {
      const { address, body, isCacheable: isAll, toOwnHeaders } = request
      const { untilMs } = answer
      const isLasting = isAll && untilMs > 0 && untilMs > clock.monotonicMs()
      // A concurrent request with the same readings may have stored its response.
      const existing = isLasting ? find(request) : undefined
      if (existing !== undefined) return existing
      const response = toCachedResponse(answer, { address, creditsMin, toOwnHeaders })
      if (isLasting) entries.set(getCacheKey(address, body), { response, body: body ?? NO_BODY, untilMs })
      return response
    },
  }
}

function getCacheKey(address: string, body: Buffer | undefined): string {
  if (body === undefined) return address
  return `${address}\n${body.length}\n${body.toString('latin1', Math.max(0, body.length - ENDING_BYTES))}`
}

function toCachedResponse(
  answer: Answer,
  {
    address,
    creditsMin,
    toOwnHeaders,
  }: Pick<CacheableRequest, 'address' | 'toOwnHeaders'> & Pick<CachedResponse, 'creditsMin'>,
): CachedResponse {
  const reply = answer.present(new RequestAddress(address))
  return {
    text: formatReply(reply),
    headers: toOwnHeaders === undefined ? toHeaders(reply) : { ...toHeaders(reply), ...toOwnHeaders(reply) },
    credits: answer.credits,
    creditsMin,
  }
}

function toHeaders({
  headers = NO_HEADERS,
  asOf: reads = NO_READS,
  unwitnessed = NO_READS,
}: Reply): Readonly<Record<string, string>> {
  if (reads.length === 0 && unwitnessed.length === 0) return headers
  return {
    ...headers,
    ...(reads.length > 0 && {
      'x-as-of': reads.map(({ chainId, blockNumber }) => `${chainId}:${blockNumber}`).join(','),
    }),
    ...(unwitnessed.length > 0 && { 'x-unwitnessed': [...unwitnessed].sort((a, b) => a - b).join(',') }),
  }
}

/** Absolute address of a request, parsed only if a route reads it. */
class RequestAddress implements PresentContext {
  readonly #address: string

  constructor(address: string) {
    this.#address = address
  }

  get url(): URL {
    return new URL(this.#address)
  }
}

/** Formats the body of a success without its request id: a JSON object up to its closing brace. */
export function formatReply({ data, fx, coverage, pagination, counts, receipt, citation }: Reply): string {
  if (data === undefined) throw new Error('Cannot answer without data')
  return JSON.stringify({ data, fx, coverage, pagination, counts, receipt, citation }).slice(0, -1)
}

/**
 * Creates the `ETag` of a response for who asked what: of its text and the blocks that it was read from. The same text is
 * an answer to other questions, such as for another wallet that is empty, and neither those nor other organizations have
 * paid for it. Each response is hashed once.
 */
export function createTag(
  response: CachedResponse,
  { organizationId, address }: { readonly organizationId: string; readonly address: string },
): string {
  const content = hashes.get(response) ?? hashText(`${JSON.stringify(response.headers)}${response.text}`)
  hashes.set(response, content)
  return `"${hashText(`${organizationId}\n${address}\n${content}`)}"`
}

const hashes = new WeakMap<CachedResponse, string>()

/** Completes a body with its request id. Request ids contain no character that JSON escapes. */
export function withRequestId(text: string, requestId: string): string {
  return `${text},"request_id":"${requestId}"}`
}
