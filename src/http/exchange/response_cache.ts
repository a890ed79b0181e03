import type { Clock } from '../../lib/clock.ts'
import { createLru } from '../../lib/lru.ts'
import type { Answer, PresentContext, Reply } from '../route/route.ts'

/** What an answer depends on besides the blocks that it was read from. */
export interface CacheableRequest {
  /** Absolute address, with which the links of the answer begin. */
  readonly address: string
  readonly body: Buffer | undefined
  /** False if more than address and body decides the answer, which is then not kept. */
  readonly isAll: boolean
}

/** A success but for its request id, ready to be sent. */
export interface CachedResponse {
  /** A JSON object up to its closing brace. */
  readonly text: string
  readonly headers: Readonly<Record<string, string>>
  readonly credits: number
  /** What a caller must have to be given it. */
  readonly creditsMin: number
}

export type ResponseCache = ReturnType<typeof createResponseCache>

interface CacheEntry {
  readonly opening: CachedResponse
  readonly body: Buffer
  readonly untilMs: number
}

/** Most answers that are kept, and most characters of them all. */
const ENTRIES_MAX = 10_000
const CHARS_MAX = 32_000_000
/** Bytes at the end of a body by which it is looked up: hashing all of it would take longer than comparing it. */
const ENDING_BYTES = 64
const NO_BODY = Buffer.alloc(0)
const NO_HEADERS = {}

/** Keeps finished answers while their blocks are the newest: many callers ask the same within one block. */
export function createResponseCache(clock: Clock) {
  const entries = createLru<CacheEntry>({
    entriesMax: ENTRIES_MAX,
    weightMax: CHARS_MAX,
    weightOf: ({ opening, body }, name) => name.length + body.length + opening.text.length,
  })

  /** What was answered to the same, while its blocks are the newest. */
  function find({ address, body, isAll }: CacheableRequest): CachedResponse | undefined {
    if (!isAll) return undefined
    const name = getCacheKey(address, body)
    const kept = entries.get(name)
    if (kept === undefined) return undefined
    if (kept.untilMs <= clock.monotonicMs()) {
      entries.delete(name)
      return undefined
    }
    return body === undefined || kept.body.equals(body) ? kept.opening : undefined
  }

  return {
    find,
    /** The opening of an answer, which is kept while its blocks are the newest. */
    make(
      sent: CacheableRequest,
      { answer, creditsMin }: { readonly answer: Answer; readonly creditsMin: number },
    ): CachedResponse {
      const { address, body, isAll } = sent
      const { untilMs } = answer
      const isLasting = isAll && untilMs > 0 && untilMs > clock.monotonicMs()
      // Those who asked at the same time have shared its readings.
      const before = isLasting ? find(sent) : undefined
      if (before !== undefined) return before
      const opening = toCachedResponse(answer, { address, creditsMin })
      if (isLasting) entries.set(getCacheKey(address, body), { opening, body: body ?? NO_BODY, untilMs })
      return opening
    },
  }
}

function getCacheKey(address: string, body: Buffer | undefined): string {
  if (body === undefined) return address
  return `${address}\n${body.length}\n${body.toString('latin1', Math.max(0, body.length - ENDING_BYTES))}`
}

function toCachedResponse(
  answer: Answer,
  { address, creditsMin }: { readonly address: string; readonly creditsMin: number },
): CachedResponse {
  const reply = answer.present(new RequestAddress(address))
  const { data, coverage, pagination, counts, receipt, citation } = reply
  if (data === undefined) throw new Error('Cannot answer without data')
  const text = JSON.stringify({ data, coverage, pagination, counts, receipt, citation }).slice(0, -1)
  return { text, headers: headersOf(reply), credits: answer.credits, creditsMin }
}

function headersOf({ headers = NO_HEADERS, asOf: reads }: Reply): Readonly<Record<string, string>> {
  if (reads === undefined || reads.length === 0) return headers
  return { ...headers, 'x-as-of': reads.map(({ chainId, blockNumber }) => `${chainId}:${blockNumber}`).join(',') }
}

/** Absolute address of a request, built only if a route asks for it. */
class RequestAddress implements PresentContext {
  readonly #address: string

  constructor(address: string) {
    this.#address = address
  }

  get url(): URL {
    return new URL(this.#address)
  }
}
