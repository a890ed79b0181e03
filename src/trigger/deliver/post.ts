import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { TIMED_OUT, withTimeout } from '../../lib/async/wait.ts'
import type { Clock } from '../../lib/clock.ts'
import { getErrnoCode } from '../../lib/error.ts'
import { AddressError, type AddressRules, resolveWebhookTarget, type WebhookTarget } from './address.ts'

/** Why there was no answer. */
export type PostFailure = 'dns' | 'address' | 'connect' | 'tls' | 'timeout' | 'closed' | 'protocol'

/** How a post ended. What the receiver said besides is not kept: it may be anything that this machine can reach. */
export interface PostResult {
  /** Of the answer; null if there was none. */
  readonly statusCode: number | null
  /** Null if there was an answer. */
  readonly failure: PostFailure | null
  /** `Retry-After` of the answer, seconds; null without one that can be read. */
  readonly retryAfterSec: number | null
  readonly latencyMs: number
}

/** Posts a body. Never rejects. */
export type Post = (
  url: string,
  message: { readonly headers: Headers; readonly body: string; readonly no: number },
) => Promise<PostResult>

type Headers = Readonly<Record<string, string>>

/** From the name's first question to the answer's headers. */
const TIMEOUT_MS = 15_000
const HEADERS_BYTES_MAX = 16 * 1024
/** The rest of an answer is read so far, so that its connection can be used again; more is cut off. */
const REST_BYTES_MAX = 64 * 1024
const REST_MS = 1_000
const IDLE_MS = 4_000
const RETRY_AFTER_SEC_MAX = 86_400

/** Makes what posts to receivers. `ca` are certificates to trust in place of the usual ones. */
export function createPost(options: {
  readonly rules: AddressRules
  readonly clock: Clock
  readonly ca?: string
  readonly timeoutMs?: number
}): Post & { readonly close: () => void } {
  const { rules, clock, ca, timeoutMs = TIMEOUT_MS } = options
  // Connections are shared by those who post to one address under one name alone.
  const kept = { keepAlive: true, timeout: IDLE_MS }
  const agents = { 'http:': new http.Agent(kept), 'https:': new https.Agent(kept) }

  async function attempt(url: string, { headers, body, no }: Parameters<Post>[1], untilMs: number) {
    const target = await withTimeout(untilMs - clock.monotonicMs(), resolveWebhookTarget(url, rules))
    const request = requestOf(target, { headers, body, no, ca })
    const send = (agent: http.Agent | false) =>
      sent({ ...request, agent }, { body, ms: untilMs - clock.monotonicMs(), isHttp: target.url.protocol === 'http:' })
    try {
      return await send(agents[target.url.protocol === 'http:' ? 'http:' : 'https:'])
    } catch (error) {
      // The receiver may have closed a kept connection just then: nothing says that it is ill.
      if (failureOf(error) !== 'closed') throw error
      return await send(false)
    }
  }

  const post: Post = async (url, message) => {
    const startedMs = clock.monotonicMs()
    const latencyMs = () => Math.max(0, Math.round(clock.monotonicMs() - startedMs))
    try {
      const answer = await attempt(url, message, startedMs + timeoutMs)
      const retryAfterSec = retryAfter(answer.headers['retry-after'], clock.now())
      const posted = { statusCode: answer.statusCode ?? null, failure: null, retryAfterSec, latencyMs: latencyMs() }
      await rest(answer)
      return posted
    } catch (error) {
      return { statusCode: null, failure: failureOf(error), retryAfterSec: null, latencyMs: latencyMs() }
    }
  }
  return Object.assign(post, {
    close() {
      for (const agent of Object.values(agents)) agent.destroy()
    },
  })
}

/** To the address itself. TLS asks for a certificate of the name; without a name, for one of the address. */
function requestOf(
  { url, addresses }: WebhookTarget,
  { headers, body, no, ca }: { headers: Headers; body: string; no: number; ca: string | undefined },
): https.RequestOptions {
  const isName = !url.hostname.startsWith('[') && !/^[\d.]+$/.test(url.hostname)
  return {
    host: addresses[no % addresses.length] ?? '',
    port: url.port || (url.protocol === 'http:' ? 80 : 443),
    path: `${url.pathname}${url.search}`,
    method: 'POST',
    maxHeaderSize: HEADERS_BYTES_MAX,
    headers: { ...headers, host: url.host, 'content-length': Buffer.byteLength(body) },
    ...(isName ? { servername: url.hostname } : {}),
    ...(ca === undefined ? {} : { ca }),
  }
}

/** The answer, once its headers are there. Redirects are answers like others. */
function sent(
  request: https.RequestOptions,
  { body, ms, isHttp }: { readonly body: string; readonly ms: number; readonly isHttp: boolean },
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = (isHttp ? http : https).request(request, (answer) => {
      clearTimeout(timer)
      resolve(answer)
    })
    const end = (error: unknown) => {
      clearTimeout(timer)
      outgoing.destroy()
      reject(error)
    }
    const timer = setTimeout(() => end(TIMED_OUT), Math.max(0, ms))
    outgoing.on('error', end)
    outgoing.end(body)
  })
}

/** Reads away what is left of an answer, so far as is worth it. Never rejects. */
function rest(answer: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0
    const cut = () => {
      answer.destroy()
      resolve()
    }
    const timer = setTimeout(cut, REST_MS)
    const ended = () => {
      clearTimeout(timer)
      resolve()
    }
    answer.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > REST_BYTES_MAX) cut()
    })
    answer.on('error', ended)
    answer.on('close', ended)
    answer.on('end', ended)
  })
}

function failureOf(error: unknown): PostFailure {
  if (error === TIMED_OUT) return 'timeout'
  if (error instanceof AddressError) return error.reason
  const code = getErrnoCode(error)
  if (/^HPE_/.test(code)) return 'protocol'
  if (/^(ECONNRESET|EPIPE|ERR_STREAM_PREMATURE_CLOSE)$/.test(code)) return 'closed'
  return /^(ECONN|EHOST|ENET|ETIMEDOUT|EADDR)/.test(code) ? 'connect' : 'tls'
}

/** Seconds, or a date; at most a day. */
function retryAfter(text: string | undefined, nowMs: number): number | null {
  if (text === undefined) return null
  const sec = /^\d{1,9}$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - nowMs) / 1_000)
  return Number.isNaN(sec) ? null : Math.min(Math.max(0, sec), RETRY_AFTER_SEC_MAX)
}
