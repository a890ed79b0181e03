import net, { isIP, type Socket } from 'node:net'
import tls from 'node:tls'
import { promisify } from 'node:util'
import zlib, { type ZlibOptions } from 'node:zlib'
import { createWork } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { getErrnoCode, UpstreamError } from '../../lib/error.ts'
import { EndpointError, hasFault } from './error.ts'
import { createAnswerReader, type RawAnswer } from './http_answer.ts'
import { createRequestLimiter } from './limiter.ts'
import type { HttpAnswerHead } from './refusal.ts'

/** The part of an HTTP answer that is read. */
export interface HttpAnswer extends HttpAnswerHead {
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

/** What happens to a connection during a request. */
interface Exchange {
  take(bytes: Buffer): void
  /** The endpoint ends its side in order. */
  end(): void
  fail(error: Error | undefined): void
}

/** A connection, which serves one request at a time. */
interface Connection {
  readonly socket: Socket
  /** When it answered last; undefined if it has not yet. */
  answeredAtMs: number | undefined
  /** After so long without a request it is closed. */
  idleMs: number
  /** What its bytes and its end are for; undefined while it is idle. */
  exchange: Exchange | undefined
}

/** Idle connections are closed before the strictest balancer forgets them without a word, after four minutes. */
const IDLE_MS = 180_000
/** A connection is closed so long before the endpoint says that it will. */
const IDLE_MARGIN_MS = 1_000
/** Idle connections kept for each endpoint: as many as it gets requests at once. */
const IDLE_MAX = 256
const SOCKET_OPTIONS = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 1_000 }
/** Up to this size a body is read at once, as nearly all are. */
const SMALL_BYTES_MAX = 256 * 1024
/** Larger bodies of an endpoint that are read at the same time: the others wait, so that they do not fill the memory. */
const LARGE_LIMITS = { runningMax: 4, runningMin: 4, waitingMax: 1_024 }
/** An honest body is unpacked in less than a millisecond; one of a few bytes may need tens of megabytes for it. */
const UNPACK_LIMITS = { runningMax: 1, runningMin: 1, waitingMax: 4_096 }

/** Codes of a connection that the endpoint closed while the request was on its way. */
const CLOSED = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED'])

/**
 * Creates the HTTP client of the endpoint at `url`. It keeps a connection for each request under way, follows no redirect,
 * uses no proxy, and never holds more than `BODY_BYTES_MAX` of a body, packed or unpacked, nor many large bodies at once:
 * the runtime's `fetch` keeps 64 connections for all endpoints, and unpacks before anything can count. It reads answers
 * itself, because `node:http` takes more than twice the CPU for a request.
 */
export function createHttpClient(url: string, clock: Clock) {
  const target = new URL(url)
  const isPlain = target.protocol === 'http:'
  const host = target.hostname.replace(/^\[|\]$/g, '')
  const port = Number(target.port || (isPlain ? 80 : 443))
  const head =
    `POST ${target.pathname}${target.search} HTTP/1.1\r\nHost: ${target.host}\r\nConnection: keep-alive\r\n` +
    `Accept-Encoding: ${ACCEPTED_CODINGS}\r\n`
  /** The one used last is used next. */
  const idle: Connection[] = []
  /** Resumes a session of TLS on a new connection. */
  let session: Buffer | undefined
  const largeBodies = createRequestLimiter(LARGE_LIMITS)
  const unpacking = createRequestLimiter(UNPACK_LIMITS)

  function openSocket(): Socket {
    if (isPlain) return net.connect({ host, port, ...SOCKET_OPTIONS })
    const servername = isIP(host) === 0 ? host : ''
    const socket = tls.connect({ host, port, servername, session, ALPNProtocols: ['http/1.1'], ...SOCKET_OPTIONS })
    socket.on('session', (found) => {
      session = found
    })
    return socket
  }

  function open(): Connection {
    const socket = openSocket()
    const connection: Connection = { socket, answeredAtMs: undefined, idleMs: IDLE_MS, exchange: undefined }
    let failure: Error | undefined
    socket.on('data', (bytes: Buffer) => {
      // Bytes that no request asked for must not become the next answer.
      if (connection.exchange === undefined) socket.destroy()
      else connection.exchange.take(bytes)
    })
    socket.on('error', (error) => {
      failure = error
    })
    socket.on('end', () => connection.exchange?.end())
    socket.on('close', () => {
      const at = idle.indexOf(connection)
      if (at >= 0) idle.splice(at, 1)
      connection.exchange?.fail(failure)
    })
    socket.on('timeout', () => {
      if (connection.exchange === undefined) socket.destroy()
    })
    socket.setTimeout(IDLE_MS)
    return connection
  }

  function takeIdle(): Connection | undefined {
    for (let found = idle.pop(); found !== undefined; found = idle.pop()) {
      if (found.socket.destroyed || !found.socket.writable) continue
      found.socket.ref()
      return found
    }
    return undefined
  }

  /** Keeps a connection for the next request, if the answer left it in order. */
  function release(connection: Connection, headers: ReadonlyMap<string, string>): void {
    const { socket } = connection
    const hintSec = /(?:^|[ ,;])timeout=(\d{1,6})(?:[ ,;]|$)/.exec(headers.get('keep-alive') ?? '')?.[1]
    const idleMs = hintSec === undefined ? IDLE_MS : Math.min(IDLE_MS, Number(hintSec) * 1_000 - IDLE_MARGIN_MS)
    if (idleMs <= 0 || idle.length >= IDLE_MAX || socket.destroyed || socket.writableLength > 0) {
      socket.destroy()
      return
    }
    if (idleMs !== connection.idleMs) socket.setTimeout(idleMs)
    connection.idleMs = idleMs
    connection.answeredAtMs = clock.monotonicMs()
    idle.push(connection)
    // An idle connection lets the process end.
    socket.unref()
  }

  async function sendOn(connection: Connection, { headers, body, signal }: HttpRequest): Promise<RawAnswer> {
    const { socket } = connection
    const exchange = createExchange(connection)
    const abort = () => socket.destroy()
    signal.addEventListener('abort', abort, { once: true })
    try {
      const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
      await exchange.write(`${head}${fields.join('')}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
      const answer = await exchange.read(SMALL_BYTES_MAX).catch((error: unknown) => {
        if (!hasFault(error, 'too_large')) throw error
        return largeBodies.run(() => exchange.read(BODY_BYTES_MAX), createWork(signal))
      })
      connection.exchange = undefined
      if (answer.head.isKept && !exchange.hasRest()) release(connection, answer.head.headers)
      else socket.destroy()
      return answer
    } catch (error) {
      socket.destroy()
      throw error
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  async function sendRaw(request: HttpRequest): Promise<RawAnswer> {
    const kept = takeIdle()
    if (kept === undefined) return await sendOn(open(), request)
    try {
      return await sendOn(kept, request)
    } catch (error) {
      // The endpoint may close a kept connection at the moment of the request, which is no failure.
      if (request.signal.aborted || !CLOSED.has(getErrnoCode(error))) throw error
      return await sendOn(open(), request)
    }
  }

  return {
    /** Throws `UpstreamError` for a body that is too long or cannot be read or unpacked, and the system's errors. */
    async send(request: HttpRequest): Promise<HttpAnswer> {
      const { signal } = request
      signal.throwIfAborted()
      const { head, body } = await sendRaw(request)
      const { status, headers } = head
      const coding = headers.get('content-encoding')
      const bytes = coding === undefined ? body : await unpacking.run(() => unpack(body, coding), createWork(signal))
      return {
        ok: status >= 200 && status < 300,
        status,
        headers: { get: (name) => headers.get(name) ?? null },
        arrayBuffer: async () => bytes,
      }
    },
    /**
     * Closes every idle connection that has not answered since `sinceMs`, when a request was sent that got no answer: a
     * balancer that forgot one connection without a word has forgotten the others of that age, too.
     */
    closeSilent(sinceMs: number): void {
      for (const { socket, answeredAtMs = 0 } of [...idle]) if (answeredAtMs < sinceMs) socket.destroy()
    },
  }
}

/** Sends a request on a connection and reads its answer, in steps. */
function createExchange(connection: Connection) {
  const { socket } = connection
  const reader = createAnswerReader()
  let bytesMax = SMALL_BYTES_MAX
  /** Ends the step under way. */
  let settle: (error?: Error) => void = () => {}
  let failure: Error | undefined
  const fail = (error: Error) => {
    failure ??= error
    settle(failure)
  }
  const failAtEnd = (error?: Error) => {
    if (reader.hasHead) fail(cutOffError())
    else fail(error ?? Object.assign(new Error('The endpoint closed the connection'), { code: 'ECONNRESET' }))
  }
  connection.exchange = {
    take(bytes) {
      if (failure !== undefined) return
      try {
        reader.push(bytes)
      } catch (error) {
        return fail(error as Error)
      }
      if (reader.bytes > bytesMax) {
        // The connection stands still until the next step.
        socket.pause()
        settle(responseTooLargeError())
      } else if (reader.answer !== undefined) settle()
    },
    end() {
      reader.end()
      if (reader.answer !== undefined) settle()
      else failAtEnd()
    },
    fail: failAtEnd,
  }
  const step = () =>
    new Promise<void>((resolve, reject) => {
      settle = (error) => (error === undefined ? resolve() : reject(error))
    })

  return {
    /** Writes the request, once the other side is known to be the endpoint. */
    async write(text: string): Promise<void> {
      if (socket instanceof tls.TLSSocket && connection.answeredAtMs === undefined) {
        socket.once('secureConnect', () => settle())
        await step()
      }
      socket.write(text)
    },
    /**
     * Returns the whole answer. Throws `EndpointError` (too_large) if its body is longer, and can then be called again for more;
     * `UpstreamError` if it was cut off or is not HTTP.
     */
    async read(stepMax: number): Promise<RawAnswer> {
      bytesMax = stepMax
      if (failure !== undefined) throw failure
      if (reader.bytes > bytesMax) throw responseTooLargeError()
      if (socket.isPaused()) socket.resume()
      if (reader.answer === undefined) await step()
      if (reader.answer === undefined) throw cutOffError()
      return reader.answer
    },
    /** True if the endpoint sent more than its answer. */
    hasRest: () => reader.hasRest,
  }
}

function cutOffError(): UpstreamError {
  return new UpstreamError('The answer is not UTF-8 or was cut off')
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
