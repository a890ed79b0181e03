import { HttpError } from '../http/error.ts'
import { isJsonObject } from '../lib/text/json.ts'

/** The fields of a JSON-RPC message that are read before the SDK's checks. */
export interface RawMessage {
  readonly method?: unknown
  readonly id?: unknown
  readonly params?: unknown
}

/** Upper bound of the messages of one request; protocol versions since 2025-06-18 send one. */
const MESSAGES_MAX = 20

/**
 * Parses the messages of a body. Cancellations are dropped: without a session they can only refer to messages of the
 * same body, whose answer would then stay incomplete; callers cancel by closing the connection. Throws `HttpError`
 * INVALID_REQUEST for anything but 1 to 20 objects, and for duplicate ids.
 */
export function parseMessages(body: unknown): readonly RawMessage[] {
  const messages = Array.isArray(body) ? body : [body]
  if (messages.length === 0 || messages.length > MESSAGES_MAX) {
    throw invalid(`expected 1 to ${MESSAGES_MAX} messages`)
  }
  if (!messages.every(isJsonObject)) throw invalid('expected a JSON-RPC message')
  const ids = messages.flatMap(({ id }) => (id === undefined ? [] : [id]))
  if (new Set(ids).size !== ids.length) throw invalid('expected another id for each message')
  return messages.filter(({ method }) => method !== 'notifications/cancelled')
}

/** True for a request to call a tool. */
export function isToolCall({ method, id }: RawMessage): boolean {
  return method === 'tools/call' && id !== undefined
}

/** Returns the tool's name of a request to call one; undefined if it has none. */
export function getToolName({ params }: RawMessage): string | undefined {
  const name = isObject(params) && 'name' in params ? params.name : undefined
  return typeof name === 'string' ? name : undefined
}

/** Returns the arguments of a request to call a tool, as they were sent. */
export function getArguments({ params }: RawMessage): Readonly<Record<string, unknown>> {
  const args = isObject(params) && 'arguments' in params ? params.arguments : undefined
  return isObject(args) ? { ...args } : {}
}

/**
 * Returns the `_meta` of a message that names its own version of the protocol, as every message does since 2026-07-28,
 * whose requests belong to no session; undefined for other messages. The SDK serves those by no older version.
 */
export function getEnvelope({ params }: RawMessage): object | undefined {
  const meta = isObject(params) && '_meta' in params ? params._meta : undefined
  return isObject(meta) && VERSION_KEY in meta ? meta : undefined
}

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'

/** True for the message that starts a session. */
export function isInitialize({ method }: RawMessage): boolean {
  return method === 'initialize'
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function invalid(detail: string): HttpError {
  return new HttpError('INVALID_REQUEST', `Cannot read the body: ${detail}`)
}
