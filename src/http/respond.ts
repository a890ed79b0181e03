import { gzipSync } from 'node:zlib'
import type { ErrorCode } from '../lib/error.ts'
import type { HttpFailure } from './error.ts'
import { createTextStream } from './text_stream.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

/** An answer that is ready to be sent once it is charged. */
export interface PreparedAnswer {
  readonly status: number
  /** Complete text; null only for 204 and 304. */
  readonly body: string | null
  /** Bytes in the encoding that the headers name, sent instead of `body`. */
  readonly shared?: SharedBody
  /** Texts that follow `body`, made as their reader takes them. They do not throw. */
  readonly rest?: AsyncGenerator<string, void>
  /** Price; 0 unless the status is 2xx. */
  readonly credits: number
  readonly headers: Readonly<Record<string, string>>
  /** Code of the error, if it is one. */
  readonly code?: ErrorCode
}

/** Creates a free success. */
export function successAnswer(body: string, headers: PreparedAnswer['headers'] = {}): PreparedAnswer {
  return { status: 200, body, credits: 0, headers }
}

/** State of the organization's one-second window after this request. */
export interface RateLimit {
  readonly limit: number
  readonly remaining: number
  /** Unix second at which the oldest slot frees. */
  readonly resetSec: number
  /** Milliseconds from the admission until then, not rounded to seconds: the wait of a refused caller. */
  readonly waitMs: number
}

/** State of the caller's organization, sent with every answer to a recognized key. */
export interface AccountState {
  readonly rateLimit: RateLimit
  readonly creditsCharged: number
  readonly creditsRemaining: bigint
}

/** Converts an error to an answer: `{ error: { code, message, request_id } }`. */
export function failureAnswer(error: HttpFailure, requestId: string): PreparedAnswer {
  const { code, message, status } = error
  const headers = status === 503 ? { 'retry-after': '1', ...error.headers } : error.headers
  return {
    status,
    body: JSON.stringify({ error: { code, message, request_id: requestId } }),
    credits: 0,
    headers,
    code,
  }
}

/**
 * Creates the adapter's response from one string and all headers at once: a `Response` from another one, or from
 * `Response.json`, loses its type or length on one of the runtimes.
 */
export function respond(
  outcome: PreparedAnswer,
  options: {
    readonly requestId: string
    readonly account?: AccountState | undefined
    /** Headers of the request; read only if the body is long. */
    readonly requestHeaders: Headers
    readonly cors?: Readonly<Record<string, string>> | undefined
    /** Address of the page that describes the codes of errors, if the service has it. */
    readonly errorsUrl?: string | undefined
    /** True if the connection must end with the answer. */
    readonly close: boolean
  },
): Response {
  const { account, cors, errorsUrl } = options
  const headers = createHeaders(options.requestId, account)
  if (outcome.body === null) delete headers['content-type']
  if (options.close) headers['connection'] = 'close'
  Object.assign(headers, outcome.headers, cors)
  const { body, shared, rest, code } = outcome
  if (code !== undefined && errorsUrl !== undefined) headers['link'] = `<${errorsUrl}#${code}>; rel="help"`
  if (shared !== undefined) headers['content-length'] = String(shared.bytes.length)
  const varies = shared === undefined && body !== null && isCompressible(body)
  const vary = outcome.headers['vary'] ?? (varies ? 'accept-encoding' : undefined)
  if (vary !== undefined) headers['vary'] = cors?.['vary'] === undefined ? vary : `${vary}, ${cors['vary']}`
  if (rest !== undefined) {
    const isCompressed = parseAccepted(options.requestHeaders.get('accept-encoding') ?? '').includes('gzip')
    if (isCompressed) headers['content-encoding'] = 'gzip'
    const stream = createTextStream(follow(body ?? '', rest), { isCompressed })
    return new Response(stream, { status: outcome.status, headers })
  }
  const compressedBody = varies ? compressBody(body, options.requestHeaders.get('accept-encoding')) : undefined
  if (compressedBody !== undefined) headers['content-encoding'] = compressedBody.encoding
  const init = { status: outcome.status, headers }
  return shared === undefined ? new Response(compressedBody?.bytes ?? body, init) : createSharedResponse(shared, init)
}

async function* follow(first: string, rest: AsyncGenerator<string, void>): AsyncGenerator<string, void> {
  yield first
  yield* rest
}

/** Returns headers as literals: adding them one by one takes twice as long. */
function createHeaders(requestId: string, account: AccountState | undefined): Record<string, string> {
  if (account === undefined) {
    return {
      'content-type': JSON_TYPE,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-request-id': requestId,
    }
  }
  const { rateLimit, creditsCharged, creditsRemaining } = account
  return {
    'content-type': JSON_TYPE,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-request-id': requestId,
    'x-ratelimit-limit': String(rateLimit.limit),
    'x-ratelimit-remaining': String(rateLimit.remaining),
    'x-ratelimit-reset': String(rateLimit.resetSec),
    'x-credits-charged': String(creditsCharged),
    'x-credits-remaining': String(creditsRemaining),
  }
}

/**
 * Bytes of an answer that all its readers share. A runtime copies text and other bytes for each reader, and keeps the
 * copy for as long as that one does not read: Bun all but those of a Blob, Node's adapter all but those that `node.ts`
 * sends itself.
 */
interface SharedBody {
  readonly bytes: Uint8Array<ArrayBuffer>
  /** Undefined on Node. */
  readonly blob: Blob | undefined
}

const bodies = new WeakMap<Response, SharedBody>()

/** Creates a body to be sent by `createSharedResponse`. */
export function createSharedBody(bytes: Uint8Array<ArrayBuffer>): SharedBody {
  return { bytes, blob: 'Bun' in globalThis ? new Blob([bytes]) : undefined }
}

/** Creates a response with a body that it shares with others. */
export function createSharedResponse(body: SharedBody, init: ResponseInit): Response {
  const response = new Response(body.blob ?? null, init)
  bodies.set(response, body)
  return response
}

/** Returns the bytes of a response that shares them; undefined for any other. */
export function findSharedBytes(response: Response): Uint8Array | undefined {
  return bodies.get(response)?.bytes
}

/** Least length of a compressed body; shorter ones fit into one packet. */
const COMPRESSED_LENGTH_MIN = 1_024
/** The fastest level, as every answer is compressed again; the next levels save a tenth and take twice as long. */
const LEVEL = 1

/**
 * Compresses a body in an encoding that the caller accepts; undefined to send it as it is. Prefers zstd, which is
 * faster and shorter than gzip; only Bun has it.
 */
function compressBody(
  body: string,
  accept: string | null,
): { readonly encoding: 'zstd' | 'gzip'; readonly bytes: Uint8Array<ArrayBuffer> } | undefined {
  if (accept === null || !isCompressible(body)) return undefined
  const accepted = parseAccepted(accept)
  if (zstd !== undefined && accepted.includes('zstd')) return { encoding: 'zstd', bytes: zstd(body) }
  if (!accepted.includes('gzip')) return undefined
  return { encoding: 'gzip', bytes: new Uint8Array(gzipSync(body, { level: LEVEL })) }
}

/** True if the body is long enough to be compressed for callers that accept it. */
function isCompressible(body: string): boolean {
  return body.length >= COMPRESSED_LENGTH_MIN
}

/** True if the client accepts gzip. */
export function acceptsGzip(request: Request): boolean {
  return parseAccepted(request.headers.get('accept-encoding') ?? '').includes('gzip')
}

const zstd =
  typeof Bun === 'undefined'
    ? undefined
    : (body: string) => new Uint8Array(Bun.zstdCompressSync(body, { level: LEVEL }))

/** Parses the names in an `Accept-Encoding`, without those of weight zero. */
function parseAccepted(accept: string): readonly string[] {
  const parts = accept.toLowerCase().split(',')
  return parts.filter((part) => !/;\s*q=0(?:\.0*)?\s*$/.test(part)).map((part) => (part.split(';')[0] ?? '').trim())
}
