import http, { type ClientRequest, type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import { promisify } from 'node:util'
import zlib, { type ZlibOptions } from 'node:zlib'
import { createWork } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { UpstreamError } from '../../lib/error.ts'
import { limitInterimAnswers } from '../../lib/interim_answers.ts'
import { EndpointError, hasFault } from './error.ts'
import { createRequestLimiter } from './limiter.ts'

/** The part of an HTTP answer that is read. */
export interface HttpAnswer extends Pick<Response, 'ok' | 'status'> {
  readonly headers: Pick<Headers, 'get'>
  arrayBuffer(): Promise<ArrayBuffer | Uint8Array>
}

/** A request to an endpoint. */
interface HttpRequest {
  readonly method: 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Ends the request, and its connection. */
  readonly signal: AbortSignal
}

export type Fetch = (url: string, request: HttpRequest) => Promise<HttpAnswer>

/** Idle connections are closed before the strictest balancer forgets them without a word, after four minutes. */
const IDLE_MS = 180_000
/** Idle connections kept for each endpoint: as many as it gets requests at once. */
const IDLE_MAX = 256
const HEADERS_BYTES_MAX = 128 * 1024
/** Up to this size a body is read at once, as nearly all are. */
const SMALL_BYTES_MAX = 256 * 1024
/** Larger bodies of an endpoint that are read at the same time: the others wait, so that they do not fill the memory. */
const LARGE_LIMITS = { runningMax: 4, runningMin: 4, waitingMax: 1_024 }
/** An honest body is unpacked in less than a millisecond; one of a few bytes may need tens of megabytes for it. */
const UNPACK_LIMITS = { runningMax: 1, runningMin: 1, waitingMax: 4_096 }

/** Codes of a connection that the endpoint closed while the request was on its way. */
const CLOSED = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED'])

/**
 * Creates the HTTP client of one endpoint. It keeps a connection for each request under way, follows no redirect, uses
 * no proxy, and never holds more than `BODY_BYTES_MAX` of a body, packed or unpacked, nor many large bodies at once: the
 * runtime's `fetch` keeps 64 connections for all endpoints, and unpacks before anything can count.
 */
export function createHttpClient(clock: Clock) {
  const agentOptions = { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: IDLE_MAX }
  const agents = { http: new http.Agent(agentOptions), https: new https.Agent(agentOptions) }
  /** When each connection answered last. */
  const answeredAtMs = new WeakMap<Socket, number>()
  const largeBodies = createRequestLimiter(LARGE_LIMITS)
  const unpacking = createRequestLimiter(UNPACK_LIMITS)

  async function readAnswer(
    incoming: IncomingMessage,
    request: ClientRequest,
    signal: AbortSignal,
  ): Promise<HttpAnswer> {
    const { statusCode: status = 0, headers } = incoming
    const { read } = createBodyReader(incoming)
    const coding = headers['content-encoding']
    try {
      const body = await read(SMALL_BYTES_MAX).catch((error: unknown) => {
        if (!hasFault(error, 'too_large')) throw error
        return largeBodies.run(() => read(BODY_BYTES_MAX), createWork(signal))
      })
      const bytes = coding === undefined ? body : await unpacking.run(() => unpack(body, coding), createWork(signal))
      return {
        ok: status >= 200 && status < 300,
        status,
        headers: { get: (name) => String(headers[name] ?? '') || null },
        arrayBuffer: async () => bytes,
      }
    } catch (error) {
      request.destroy()
      throw error
    }
  }

  /** Sends the request; `isFresh` opens a connection for it alone. */
  function send(url: string, request: HttpRequest, isFresh: boolean): Promise<HttpAnswer> {
    const isPlain = url.startsWith('http:')
    const { method, headers, body, signal } = request
    return new Promise((resolve, reject) => {
      const outgoing = (isPlain ? http : https).request(url, {
        method,
        agent: isFresh ? false : isPlain ? agents.http : agents.https,
        headers: { ...headers, 'accept-encoding': ACCEPTED_CODINGS, 'content-length': Buffer.byteLength(body) },
        maxHeaderSize: HEADERS_BYTES_MAX,
      })
      const abort = () => outgoing.destroy()
      signal.addEventListener('abort', abort, { once: true })
      const settle = (end: () => void) => {
        signal.removeEventListener('abort', abort)
        end()
      }
      const fail = (error: unknown) => settle(() => reject(error))
      let connection: Socket | undefined
      let wasKept = false
      outgoing.on('socket', (socket) => {
        connection = socket
        wasKept = answeredAtMs.has(socket)
      })
      limitInterimAnswers(outgoing, () => outgoing.destroy(noFinalAnswerError()))
      // The socket is no longer the request's, so that its errors need a listener of their own.
      outgoing.on('upgrade', (_, socket) => {
        socket.on('error', () => {}).destroy()
        fail(noFinalAnswerError())
      })
      outgoing.on('error', (error: { readonly code?: unknown }) => {
        // The endpoint may close a kept connection at the moment of the request, which is no failure.
        if (!wasKept || signal.aborted || !CLOSED.has(String(error.code))) return fail(error)
        settle(() => resolve(send(url, request, true)))
      })
      outgoing.on('response', (incoming) => {
        wasKept = false
        readAnswer(incoming, outgoing, signal).then((answer) => {
          if (connection !== undefined) answeredAtMs.set(connection, clock.monotonicMs())
          settle(() => resolve(answer))
        }, fail)
      })
      if (signal.aborted) abort()
      else outgoing.end(body)
    })
  }

  return {
    /** Throws `UpstreamError` for a body that is too long or cannot be unpacked, and the system's errors. */
    fetch: ((url, request) => send(url, request, false)) satisfies Fetch,
    /**
     * Closes every idle connection that has not answered since `sinceMs`, when a request was sent that got no answer: a
     * balancer that forgot one connection without a word has forgotten the others of that age, too.
     */
    closeSilent(sinceMs: number): void {
      for (const socket of Object.values({ ...agents.http.freeSockets, ...agents.https.freeSockets }).flat()) {
        if (socket !== undefined && (answeredAtMs.get(socket) ?? 0) < sinceMs) socket.destroy()
      }
    },
  }
}

function noFinalAnswerError(): UpstreamError {
  return new UpstreamError('The endpoint sends no final answer')
}

/** Reads the body of an answer as it came, in steps. */
function createBodyReader(incoming: IncomingMessage) {
  const chunks: Uint8Array[] = []
  let bytes = 0
  let bytesMax = 0
  /** Ends the step under way. */
  let settle: (error?: Error) => void = () => {}
  let end: { readonly error?: Error } | undefined
  const finish = (error?: Error) => {
    end ??= error === undefined ? {} : { error }
    settle(end.error)
  }
  const cutOff = () => finish(new UpstreamError('The answer is not UTF-8 or was cut off'))
  incoming.on('data', (chunk: Uint8Array) => {
    bytes += chunk.byteLength
    chunks.push(chunk)
    if (bytes <= bytesMax) return
    // The connection stands still until the next step.
    incoming.pause()
    settle(responseTooLargeError())
  })
  incoming.on('end', () => (incoming.complete ? finish() : cutOff()))
  incoming.on('error', cutOff)
  incoming.on('close', cutOff)

  return {
    /**
     * Reads the whole body. Throws `EndpointError` (too_large) if it is longer, and can then be called again for more;
     * `UpstreamError` if it was cut off.
     */
    async read(stepMax: number): Promise<Uint8Array> {
      bytesMax = stepMax
      if (bytes > bytesMax || Number(incoming.headers['content-length']) > bytesMax) throw responseTooLargeError()
      if (end === undefined) {
        await new Promise<void>((resolve, reject) => {
          settle = (error) => (error === undefined ? resolve() : reject(error))
          incoming.resume()
        })
      }
      if (end?.error !== undefined) throw end.error
      return Buffer.concat(chunks)
    },
  }
}

/** Size limit of an answer, bytes, packed and unpacked: far above honest answers, and small enough for memory. */
export const BODY_BYTES_MAX = 8 * 1024 * 1024

/** More codings than one are rare, and each costs another pass. */
const CODINGS_MAX = 3

type Decoder = (bytes: Uint8Array, options: ZlibOptions) => Promise<Uint8Array>

const gunzip = promisify(zlib.gunzip) as Decoder
const inflate = promisify(zlib.inflate) as Decoder
const inflateRaw = promisify(zlib.inflateRaw) as Decoder

/** The low four bits of the first byte tell the zlib format from the raw one, which some servers send as `deflate`. */
function isZlib(bytes: Uint8Array): boolean {
  return ((bytes[0] ?? 0) & 0x0f) === 8
}

const DECODERS: ReadonlyMap<string, Decoder> = new Map([
  ['gzip', gunzip],
  ['x-gzip', gunzip],
  ['deflate', (bytes, options) => (isZlib(bytes) ? inflate : inflateRaw)(bytes, options)],
  ['br', promisify(zlib.brotliDecompress) as Decoder],
  // Node has it since version 22.15.
  ...('zstdDecompress' in zlib
    ? [['zstd', promisify(zlib.zstdDecompress as typeof zlib.gunzip) as Decoder] as const]
    : []),
])

/** The codings that `unpack` knows, for `Accept-Encoding`. */
const ACCEPTED_CODINGS = [...DECODERS.keys()].filter((name) => name !== 'x-gzip').join(', ')

/**
 * Unpacks a body by its `Content-Encoding`, and stops at `BODY_BYTES_MAX`: a few hundred bytes may stand for gigabytes.
 * Throws `EndpointError` (too_large), and `UpstreamError` for bytes or a coding that cannot be read.
 */
async function unpack(body: Uint8Array, contentEncoding: string | undefined): Promise<Uint8Array> {
  const codings = (contentEncoding ?? '')
    .toLowerCase()
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '' && each !== 'identity')
  if (codings.length > CODINGS_MAX) throw new UpstreamError('The answer is packed too often')
  let bytes = body
  // The last coding was applied last.
  for (const coding of codings.reverse()) {
    const decode = DECODERS.get(coding)
    if (decode === undefined) throw new UpstreamError('The answer is packed in an unknown way')
    bytes = await decode(bytes, { maxOutputLength: BODY_BYTES_MAX }).catch((error: { readonly code?: unknown }) => {
      throw error.code === 'ERR_BUFFER_TOO_LARGE'
        ? responseTooLargeError()
        : new UpstreamError('The answer cannot be unpacked, or was cut off')
    })
  }
  return bytes
}

/** The error of a body beyond `BODY_BYTES_MAX`. */
function responseTooLargeError(): EndpointError {
  return new EndpointError('too_large', `The answer is longer than ${BODY_BYTES_MAX} bytes`)
}
