/** Largest answer that is read, bytes: thirty accounts of the largest kind in base64 stay below it. */
export const SOLANA_RESPONSE_BYTES_MAX = 4 * 1024 * 1024

/**
 * Why one request failed: `configuration` will fail again at this endpoint, `throttled` may work after
 * `retryAfterMs`, `transient` may work at once, elsewhere sooner than here.
 */
export type SolanaFailureKind = 'configuration' | 'throttled' | 'transient'

/** One request to one endpoint failed. The message is ours alone: it holds no URL and no text of the endpoint's. */
export class SolanaRpcError extends Error {
  override readonly name = 'SolanaRpcError'
  readonly kind: SolanaFailureKind
  /** How long the endpoint asked to be left alone. */
  readonly retryAfterMs: number | undefined

  constructor(kind: SolanaFailureKind, message: string, options: { readonly retryAfterMs?: number } = {}) {
    super(message)
    this.kind = kind
    this.retryAfterMs = options.retryAfterMs
  }
}

/** One JSON-RPC request. */
export interface SolanaRequest {
  readonly url: string
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

/** Codes of errors that are about what we ask or who we are: the same endpoint will say so again. */
const CONFIGURATION_CODES: ReadonlySet<unknown> = new Set([-32600, -32601, -32602, -32401, -32010])
const THROTTLED_CODES: ReadonlySet<unknown> = new Set([429, -32429])

/**
 * Sends one request and answers with the `result` of the reply to it. Follows no redirect, reads no more than
 * `SOLANA_RESPONSE_BYTES_MAX`, and believes only a reply that carries the request's id. Throws `SolanaRpcError`;
 * when `signal` fires, whatever `fetch` throws.
 */
export async function requestSolana({ url, id, method, params }: SolanaRequest, signal: AbortSignal): Promise<unknown> {
  const response = await send(url, { body: JSON.stringify({ jsonrpc: '2.0', id, method, params }), signal })
  if (response.status !== 200) {
    await response.body?.cancel().catch(() => {
      // A body that is not wanted may be broken.
    })
    throw httpFailure(response)
  }
  const reply = parseJson(await readBody(response, signal))
  if (reply['id'] !== id) throw new SolanaRpcError('transient', 'The reply has another id')
  const { error, result } = reply
  if (error !== undefined && error !== null) throw rpcFailure(error)
  if (result === undefined || result === null) throw new SolanaRpcError('transient', 'The reply has no result')
  return result
}

async function send(
  url: string,
  { body, signal }: { readonly body: string; readonly signal: AbortSignal },
): Promise<Response> {
  try {
    return await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body,
      redirect: 'manual',
      signal,
    })
  } catch (error) {
    if (signal.aborted) throw error
    throw new SolanaRpcError('transient', 'The connection failed')
  }
}

function httpFailure({ status, headers }: Response): SolanaRpcError {
  const message = `The endpoint answered HTTP ${status}`
  if (status === 429) return new SolanaRpcError('throttled', message, retryAfter(headers))
  if (status >= 500 || status === 408) return new SolanaRpcError('transient', message, retryAfter(headers))
  return new SolanaRpcError('configuration', message)
}

function retryAfter(headers: Headers): { readonly retryAfterMs?: number } {
  const text = headers.get('retry-after') ?? ''
  return /^\d{1,6}$/.test(text) ? { retryAfterMs: Number(text) * 1000 } : {}
}

function rpcFailure(error: unknown): SolanaRpcError {
  const code = isRecord(error) && Number.isSafeInteger(error['code']) ? error['code'] : 'unknown'
  const message = `The endpoint answered JSON-RPC error ${code}`
  if (THROTTLED_CODES.has(code)) return new SolanaRpcError('throttled', message)
  return new SolanaRpcError(CONFIGURATION_CODES.has(code) ? 'configuration' : 'transient', message)
}

async function readBody(response: Response, signal: AbortSignal): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  const reader = response.body?.getReader()
  try {
    for (;;) {
      const next = await reader?.read()
      if (next === undefined || next.done) break
      size += next.value.length
      if (size > SOLANA_RESPONSE_BYTES_MAX) throw new SolanaRpcError('configuration', 'The reply is too large')
      chunks.push(next.value)
    }
  } catch (error) {
    if (error instanceof SolanaRpcError || signal.aborted) throw error
    throw new SolanaRpcError('transient', 'The reply broke off')
  } finally {
    await reader?.cancel().catch(() => {
      // What is left of a body that is not wanted may be broken.
    })
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parseJson(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    if (isRecord(value)) return value
  } catch {
    // Told below, without the text.
  }
  throw new SolanaRpcError('transient', 'The reply is not a JSON object')
}

/** True for a JSON object. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
