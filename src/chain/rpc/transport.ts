import { isAscii } from 'node:buffer'
import { startDeadline, untilAborted } from '../../lib/async/abort.ts'
import { yieldToEventLoop } from '../../lib/async/cooperative.ts'
import type { Clock } from '../../lib/clock.ts'
import { AbortedError, UpstreamError } from '../../lib/error.ts'
import { isWithinJsonLimits } from '../../lib/text/json.ts'
import { RevertError, RpcRefusedError, type RpcRequest } from './client.ts'
import { EndpointError, errorFromRpc } from './error.ts'
import { createHttpClient, type Fetch, type HttpAnswer } from './http_client.ts'
import { getRpcError, parseObject, parseRefusal, parseRetryAfterMs, type RpcErrorObject } from './refusal.ts'
import { parseRpcUrl, RPC_URL_EXPECTED } from './url.ts'

/** JSON limits far above honest answers: Solana nests six levels, and 10,000 logs have 130,000 values. */
const BODY_JSON_LIMITS = { levelsMax: 32, valuesMax: 200_000 } as const

/** Each pass over a longer answer yields to the event loop first: over megabytes a pass takes milliseconds. */
const LONG_CHARS = 65_536

/** Mapping of endpoint errors for one kind of chain. No message may repeat the endpoint's own message. */
export interface RpcErrorMapping {
  /** Maps the `error` member of an answer. */
  fromRpc(error: RpcErrorObject): Error
  /** Maps an HTTP status outside 200 to 299 without such a member, except 413 and 429. */
  fromStatus(status: number): Error
}

/** Statuses of gateways that timed out on the node; 524 is Cloudflare's. */
const TIMEOUT_STATUSES: ReadonlySet<number> = new Set([408, 504, 524])

const EVM_MEANINGS: RpcErrorMapping = {
  fromRpc: errorFromRpc,
  fromStatus(status) {
    const message = `The endpoint answered HTTP ${status}`
    return TIMEOUT_STATUSES.has(status) ? new EndpointError('late', message) : new EndpointError('failed', message)
  },
}

export interface TransportOptions {
  readonly url: string
  /** Default time limit of a request, from sending to the last byte, milliseconds. */
  readonly timeoutMs: number
  readonly clock: Clock
  /** Replaces the HTTP client. */
  readonly fetch?: Fetch | undefined
  /** Mapping of errors; absent: that of EVM nodes. */
  readonly meanings?: RpcErrorMapping
}

/** Creates a JSON-RPC client over HTTP that checks every answer. Throws for a URL that `parseRpcUrl` refuses. */
export function createTransport(options: TransportOptions) {
  const { clock, meanings = EVM_MEANINGS } = options
  const target = parseRpcUrl(options.url)
  if (target === undefined) throw new Error(`Cannot use an endpoint: expected ${RPC_URL_EXPECTED}`)
  const { url, authorization } = target
  const httpClient = createHttpClient(url, clock)
  const fetch = options.fetch ?? ((_, request) => httpClient.send(request))
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json',
    ...(authorization === undefined ? {} : { authorization }),
  }
  let lastId = 0

  return {
    /**
     * Sends a request. Throws `RevertError`, `RpcRefusedError`, `AbortedError` if the caller left, and `UpstreamError`
     * for everything else: a timeout, 429 (`EndpointError`, busy), 5xx, HTML, an answer that is too long, malformed or
     * for another request.
     */
    async send<T>(request: RpcRequest<T>, signal: AbortSignal): Promise<T> {
      const { method, params, rewrite, timeoutMs = options.timeoutMs } = request
      const id = ++lastId
      const body = JSON.stringify({ jsonrpc: '2.0', id, method, params })
      const sentMs = clock.monotonicMs()
      const deadline = startDeadline(timeoutMs, { parent: signal, clock })
      try {
        const exchange = async () => {
          const response = await fetch(url, { method: 'POST', headers, body, signal: deadline.signal })
          return { response, text: decode(toBuffer(await response.arrayBuffer())) }
        }
        const { response, text } = await untilAborted(exchange(), deadline.signal)
        return await parseResponse({ request, response, text: rewrite?.(text) ?? text, id, meanings })
      } catch (error) {
        if (signal.aborted) throw new AbortedError('The caller left')
        if (deadline.signal.aborted) {
          httpClient.closeSilent(sentMs)
          throw new EndpointError('late', `No answer within ${timeoutMs} ms`)
        }
        throw error instanceof UpstreamError || error instanceof RevertError || error instanceof RpcRefusedError
          ? error
          : new UpstreamError(`Cannot reach the endpoint${formatReason(error)}`)
      } finally {
        deadline.stop()
      }
    },
  }
}

/** The same memory. */
function toBuffer(bytes: ArrayBuffer | Uint8Array): Buffer {
  return bytes instanceof ArrayBuffer ? Buffer.from(bytes) : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}

function decode(bytes: Buffer): string {
  // Nearly all answers are ASCII, whose decoder checks less.
  if (isAscii(bytes)) return bytes.toString('latin1')
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new UpstreamError('The answer is not UTF-8 or was cut off')
  }
}

interface RawResponse<T> {
  readonly request: Pick<RpcRequest<T>, 'parse' | 'takeText' | 'mapRefusal'>
  readonly response: HttpAnswer
  readonly text: string
  readonly id: number
  readonly meanings: RpcErrorMapping
}

/** Parses a response. Nodes send JSON-RPC errors with any status, so the body is checked first. */
async function parseResponse<T>({ request, response, text, id, meanings }: RawResponse<T>): Promise<T> {
  const { parse, takeText, mapRefusal } = request
  const { status } = response
  const isLong = text.length > LONG_CHARS
  const refusal = mapRefusal === undefined ? undefined : parseRefusal(response, text)
  const mappedError = refusal === undefined ? undefined : mapRefusal?.(refusal)
  if (mappedError !== undefined) throw mappedError
  if (status === 429)
    throw new EndpointError('busy', 'The endpoint limits its rate', { retryAfterMs: parseRetryAfterMs(response) })
  if (status === 413) throw new RpcRefusedError(0, 'The request is too long for the endpoint', 'size')
  if (isLong) await yieldToEventLoop()
  const result = status === 200 && takeText !== undefined ? findResult(text, id) : undefined
  const taken = result === undefined ? undefined : takeText?.(result)
  if (taken !== undefined) return taken
  if (!isWithinJsonLimits(text, BODY_JSON_LIMITS))
    throw new EndpointError('too_large', 'The answer nests too deep or has too many values')
  if (isLong) await yieldToEventLoop()
  const body = parseObject(text)
  const error = body === undefined ? undefined : getRpcError(body)
  if (body === undefined || (!response.ok && error === undefined)) {
    throw response.ok ? new UpstreamError('The answer is not a JSON object') : meanings.fromStatus(status)
  }
  if (error !== undefined && body['id'] === null) {
    // An error without an id can only be about the HTTP request as a whole; a revert must name its call.
    const meaning = meanings.fromRpc(error)
    throw meaning instanceof RevertError ? new UpstreamError('The answer names no request') : meaning
  }
  if (body['jsonrpc'] !== '2.0' || body['id'] !== id) throw new UpstreamError('The answer is for another request')
  if (error !== undefined) {
    if (body['result'] !== undefined && body['result'] !== null)
      throw new UpstreamError('The answer has result and error')
    throw meanings.fromRpc(error)
  }
  if (body['result'] === undefined) throw new UpstreamError('The answer has no result')
  if (isLong) await yieldToEventLoop()
  return parseResult(body['result'], parse)
}

function parseResult<T>(result: unknown, parse: RpcRequest<T>['parse']): T {
  try {
    return parse(result)
  } catch (cause) {
    throw new UpstreamError('The answer has an unexpected result', { cause })
  }
}

/** Parses a result whose text was taken before, within the same limits. Throws `UpstreamError`. */
export async function parseTakenText<T>(text: string, parse: RpcRequest<T>['parse']): Promise<T> {
  if (!isWithinJsonLimits(text, BODY_JSON_LIMITS)) throw new UpstreamError('The answer has too many values')
  await yieldToEventLoop()
  let result: unknown
  try {
    result = JSON.parse(text)
  } catch (cause) {
    throw new UpstreamError('The answer is not JSON', { cause })
  }
  await yieldToEventLoop()
  return parseResult(result, parse)
}

/** The text of a result in one of the usual envelopes, without spaces; undefined in any other. */
function findResult(text: string, id: number): string | undefined {
  const last = text.endsWith('\n') ? text.length - 1 : text.length
  for (const [head, end] of [
    [`{"jsonrpc":"2.0","id":${id},"result":`, '}'],
    [`{"jsonrpc":"2.0","result":`, `,"id":${id}}`],
  ] as const)
    if (text.startsWith(head) && text.endsWith(end, last)) return text.slice(head.length, last - end.length)
  return undefined
}

/** Formats the system's code of a failed connection, ` (ECONNREFUSED)`; never the message, which quotes the URL. */
function formatReason(error: unknown): string {
  const { code, cause } = (error ?? {}) as { readonly code?: unknown; readonly cause?: { readonly code?: unknown } }
  const name = [code, cause?.code].find((each) => typeof each === 'string' && /^[A-Za-z_]{1,40}$/.test(each))
  return name === undefined ? '' : ` (${name})`
}
