import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { TIMED_OUT, withTimeout } from '../../lib/async/abort.ts'
import type { Clock } from '../../lib/clock.ts'
import { getErrnoCode } from '../../lib/error.ts'
import { limitInterimAnswers } from '../../lib/interim_answers.ts'
import { AddressError, type AddressRules, resolveWebhookTarget, type WebhookTarget } from './address.ts'

/** Why there was no answer. */
type PostFailure = 'dns' | 'address' | 'connect' | 'tls' | 'timeout' | 'closed' | 'protocol'

/** The outcome of a post. The rest of the response is discarded: it may be anything that this machine can reach. */
export interface PostResult {
  /** Status of the response; null without a response. */
  readonly statusCode: number | null
  /** Null if there was a response. */
  readonly failure: PostFailure | null
  /** `Retry-After` of the response, seconds; null if absent or unreadable. */
  readonly retryAfterSec: number | null
  readonly latencyMs: number
}

/** Posts a body. `nowMs` is the time that a date in `Retry-After` is compared with. Never rejects. */
export type Post = (
  url: string,
  message: { readonly headers: Headers; readonly body: string; readonly no: number; readonly nowMs: number },
) => Promise<PostResult>

type Headers = Readonly<Record<string, string>>

/** Time limit from the DNS lookup to the response headers, milliseconds. */
const TIMEOUT_MS = 15_000
const HEADERS_BYTES_MAX = 16 * 1024
/** Up to this size a response body is drained, so that its connection can be reused; a larger one is cut off. */
const REST_BYTES_MAX = 64 * 1024
const REST_MS = 1_000
const IDLE_MS = 4_000
const INTERIM_FLOOD = new Error('The receiver sent too many interim answers')
const RETRY_AFTER_SEC_MAX = 86_400

/** Creates the function that posts to receivers. `ca`: certificates to trust instead of the system's. */
export function createPost(options: {
  readonly rules: AddressRules
  readonly clock: Clock
  readonly ca?: string
  readonly timeoutMs?: number
}): Post & { readonly close: () => void } {
  const { rules, clock, ca, timeoutMs = TIMEOUT_MS } = options
  // Connections are reused only for the same address and the same name.
  const agentOptions = { keepAlive: true, timeout: IDLE_MS }
  const agents = { 'http:': new http.Agent(agentOptions), 'https:': new https.Agent(agentOptions) }

  async function attempt(url: string, { headers, body, no }: Parameters<Post>[1], untilMs: number) {
    const target = await withTimeout(resolveWebhookTarget(url, rules), { ms: untilMs - clock.monotonicMs(), clock })
    const request = toRequestOptions(target, { headers, body, no, ca })
    const send = (agent: http.Agent | false) =>
      sendRequest(
        { ...request, agent },
        { body, ms: untilMs - clock.monotonicMs(), clock, isHttp: target.url.protocol === 'http:' },
      )
    try {
      return await send(agents[target.url.protocol === 'http:' ? 'http:' : 'https:'])
    } catch (error) {
      // The receiver may have closed a kept-alive connection at that moment, which is no failure: retry on a new one.
      if (toFailure(error) !== 'closed') throw error
      return await send(false)
    }
  }

  const post: Post = async (url, message) => {
    const startedMs = clock.monotonicMs()
    const latencyMs = () => Math.max(0, Math.round(clock.monotonicMs() - startedMs))
    try {
      const answer = await attempt(url, message, startedMs + timeoutMs)
      const retryAfterSec = parseRetryAfter(answer.headers['retry-after'], message.nowMs + latencyMs())
      const result = { statusCode: answer.statusCode ?? null, failure: null, retryAfterSec, latencyMs: latencyMs() }
      await drainBody(answer, clock)
      return result
    } catch (error) {
      return { statusCode: null, failure: toFailure(error), retryAfterSec: null, latencyMs: latencyMs() }
    }
  }
  return Object.assign(post, {
    close() {
      for (const agent of Object.values(agents)) agent.destroy()
    },
  })
}

/** The request to a checked address. TLS verifies the certificate of the name; without a name, of the address. */
function toRequestOptions(
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

/** Sends a request; resolves with the response once its headers arrive. Redirects are not followed. */
function sendRequest(
  request: https.RequestOptions,
  {
    body,
    ms,
    clock,
    isHttp,
  }: { readonly body: string; readonly ms: number; readonly clock: Clock; readonly isHttp: boolean },
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = (isHttp ? http : https).request(request, (answer) => {
      cancelTimer()
      resolve(answer)
    })
    const end = (error: unknown) => {
      cancelTimer()
      outgoing.destroy()
      reject(error)
    }
    const cancelTimer = clock.after(ms, () => end(TIMED_OUT))
    limitInterimAnswers(outgoing, () => end(INTERIM_FLOOD))
    outgoing.on('error', end)
    outgoing.end(body)
  })
}

/** Drains a response body within `REST_BYTES_MAX` and `REST_MS`. Never rejects. */
function drainBody(answer: IncomingMessage, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0
    const cut = () => {
      answer.destroy()
      resolve()
    }
    const cancelTimer = clock.after(REST_MS, cut)
    const finish = () => {
      cancelTimer()
      resolve()
    }
    answer.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > REST_BYTES_MAX) cut()
    })
    answer.on('error', finish)
    answer.on('close', finish)
    answer.on('end', finish)
  })
}

function toFailure(error: unknown): PostFailure {
  if (error === TIMED_OUT) return 'timeout'
  if (error === INTERIM_FLOOD) return 'protocol'
  if (error instanceof AddressError) return error.reason
  const code = getErrnoCode(error)
  if (/^HPE_/.test(code)) return 'protocol'
  if (/^(ECONNRESET|EPIPE|ERR_STREAM_PREMATURE_CLOSE)$/.test(code)) return 'closed'
  return /^(ECONN|EHOST|ENET|ETIMEDOUT|EADDR)/.test(code) ? 'connect' : 'tls'
}

/** Parses seconds or a date; at most a day. */
function parseRetryAfter(text: string | undefined, nowMs: number): number | null {
  if (text === undefined) return null
  const sec = /^\d{1,9}$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - nowMs) / 1_000)
  return Number.isNaN(sec) ? null : Math.min(Math.max(0, sec), RETRY_AFTER_SEC_MAX)
}
