import { HttpError } from '../http/error.ts'

/** A JSON-RPC message as far as it is looked at before the protocol's own checks. */
export interface RawMessage {
  readonly method?: unknown
  readonly id?: unknown
  readonly params?: unknown
}

/** Most messages of one request; protocol versions since 2025-06-18 send one. */
const MESSAGES_MAX = 20

/**
 * The messages of a body. Cancellations are left out: without a session they can only mean messages of the same body,
 * whose answer would then never be whole; a caller cancels by closing the connection. Throws `HttpError`
 * INVALID_REQUEST for anything but 1 to 20 objects, and if two of them have one id.
 */
export function parseMessages(body: unknown): readonly RawMessage[] {
  const messages = Array.isArray(body) ? body : [body]
  if (messages.length === 0 || messages.length > MESSAGES_MAX) {
    throw invalid(`expected 1 to ${MESSAGES_MAX} messages`)
  }
  if (!messages.every(isObject)) throw invalid('expected a JSON-RPC message')
  const ids = messages.flatMap(({ id }) => (id === undefined ? [] : [id]))
  if (new Set(ids).size !== ids.length) throw invalid('expected another id for each message')
  return messages.filter(({ method }) => method !== 'notifications/cancelled')
}

/** True for a request to call a tool. */
export function isToolCall({ method, id }: RawMessage): boolean {
  return method === 'tools/call' && id !== undefined
}

/** True for the message that begins a session. */
export function isInitialize({ method }: RawMessage): boolean {
  return method === 'initialize'
}

function isObject(value: unknown): value is RawMessage {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function invalid(detail: string): HttpError {
  return new HttpError('INVALID_REQUEST', `Cannot read the body: ${detail}`)
}
