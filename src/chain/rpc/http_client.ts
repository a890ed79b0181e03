import http, { type ClientRequest, type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import type { Clock } from '../../lib/clock.ts'
import { UpstreamError } from '../../lib/error.ts'
import { limitInterimAnswers } from '../../lib/interim_answers.ts'
import { ACCEPTED_CODINGS, BODY_BYTES_MAX, responseTooLargeError, unpack } from './unpack.ts'

/** The part of an HTTP answer that is read. */
export interface HttpAnswer extends Pick<Response, 'ok' | 'status'> {
  readonly headers: Pick<Headers, 'get'>
  arrayBuffer(): Promise<ArrayBuffer | Uint8Array>
}

/** A request to an endpoint. */
export interface HttpRequest {
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

/** Codes of a connection that the endpoint closed while the request was on its way. */
const CLOSED = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED'])

/**
 * Creates the HTTP client of one endpoint. It keeps a connection for each request under way, follows no redirect, uses
 * no proxy, and never holds more than `BODY_BYTES_MAX` of a body, packed or unpacked: the runtime's `fetch` keeps 64
 * connections for all endpoints, and unpacks before anything can count.
 */
export function createHttpClient(clock: Clock) {
  const agentOptions = { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: IDLE_MAX }
  const agents = { http: new http.Agent(agentOptions), https: new https.Agent(agentOptions) }
  /** When each connection answered last. */
  const answeredAtMs = new WeakMap<Socket, number>()

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
        readAnswer(incoming, outgoing).then((answer) => {
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

async function readAnswer(incoming: IncomingMessage, outgoing: ClientRequest): Promise<HttpAnswer> {
  const { statusCode: status = 0, headers } = incoming
  try {
    const bytes = await unpack(await readBytes(incoming), headers['content-encoding'])
    return {
      ok: status >= 200 && status < 300,
      status,
      headers: { get: (name) => String(headers[name] ?? '') || null },
      arrayBuffer: async () => bytes,
    }
  } catch (error) {
    outgoing.destroy()
    throw error
  }
}

/** Reads a body as it came. Throws `ResponseTooLargeError`, and `UpstreamError` if it was cut off. */
function readBytes(incoming: IncomingMessage): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = []
    let bytes = 0
    if (Number(incoming.headers['content-length']) > BODY_BYTES_MAX) return reject(responseTooLargeError())
    incoming.on('data', (chunk: Uint8Array) => {
      bytes += chunk.byteLength
      if (bytes > BODY_BYTES_MAX) reject(responseTooLargeError())
      else chunks.push(chunk)
    })
    const cutOff = () => reject(new UpstreamError('The answer is not UTF-8 or was cut off'))
    incoming.on('end', () => (incoming.complete ? resolve(Buffer.concat(chunks)) : cutOff()))
    incoming.on('error', cutOff)
    incoming.on('close', cutOff)
  })
}
