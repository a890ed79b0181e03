import { TIMED_OUT, withTimeout } from '../../lib/async/abort.ts'
import type { Clock } from '../../lib/clock.ts'
import { findInvalidText, isWithinJsonLimits } from '../../lib/text/json.ts'
import { HttpError } from '../error.ts'
import { BODY_BYTES_MAX, BODY_DEPTH_MAX, BODY_TIMEOUT_MS } from '../limits.ts'
import { invalidTextError } from './parameters.ts'

/** Closes the connection after an answer that leaves a body unread: it would stay open for the rest of the body. */
const CLOSE = { connection: 'close' }

/**
 * Finds the error of a body before it is read: 413 if its announced length is too large, 415 if it is encoded;
 * undefined otherwise.
 */
export function findBodyError(headers: Headers): HttpError | undefined {
  const announced = headers.get('content-length')
  if (announced !== null && Number(announced) > BODY_BYTES_MAX) return tooLargeError()
  const encoding = headers.get('content-encoding')
  if (encoding === null || encoding.toLowerCase() === 'identity') return undefined
  return invalidBodyError('expected it without Content-Encoding', {
    status: 415,
    headers: { ...CLOSE, 'accept-encoding': 'identity' },
  })
}

interface JsonBody<Value> {
  readonly bytes: Buffer
  /**
   * Parses the body. Throws `HttpError` INVALID_REQUEST 400 if it is not UTF-8, not the expected JSON, or nested beyond
   * 16 levels; for an object also `CodedError` INVALID_PARAMETER if text holds NUL or a lone surrogate.
   */
  value(): Value
}

/**
 * Reads a body that must be a JSON object. Throws `HttpError` INVALID_REQUEST: 413 above 256 KiB, 408 if the body does
 * not arrive in time, 400 for another content type or an empty body.
 */
export async function readJson(request: Request, clock: Clock): Promise<JsonBody<object>> {
  const { bytes, value } = await readAnyJson(request, clock)
  return { bytes, value: () => requireObject(value(), bytes) }
}

/** Reads a body of any JSON value. Throws as `readJson` does. */
export async function readAnyJson(request: Request, clock: Clock): Promise<JsonBody<unknown>> {
  const type = request.headers.get('content-type')
  if (type !== null && !/^application\/json\s*(?:;|$)/i.test(type)) {
    throw invalidBodyError('expected content type application/json', { headers: CLOSE })
  }
  const bytes = await readBytes(request, clock)
  if (bytes.length === 0) throw invalidBodyError('expected JSON, it is empty')
  return { bytes, value: () => parseJson(utf8(bytes)) }
}

/** Reads the fields of a form of at most `bytesMax` bytes that a page sent. Throws `HttpError` INVALID_REQUEST as `readJson` does. */
export async function readForm(request: Request, clock: Clock, bytesMax: number): Promise<URLSearchParams> {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type))
    throw invalidBodyError('expected a form', { headers: CLOSE })
  return new URLSearchParams(utf8(await readBytes(request, clock, bytesMax)))
}

/** Parses JSON text. The last value of a repeated key counts; `__proto__` is an unknown field to every schema. */
export function parseJson(text: string): unknown {
  if (!isWithinJsonLimits(text, { levelsMax: BODY_DEPTH_MAX })) {
    throw invalidBodyError(`expected at most ${BODY_DEPTH_MAX} levels of nesting`)
  }
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw invalidBodyError('expected JSON', { cause })
  }
}

function requireObject(value: unknown, bytes: Buffer): object {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidBodyError('expected a JSON object')
  // In valid UTF-8, JSON can contain NUL and lone surrogates only as escapes.
  const invalidName = bytes.includes('\\u') ? findInvalidText(value) : undefined
  if (invalidName !== undefined) throw invalidTextError(invalidName)
  return value
}

async function readBytes(request: Request, clock: Clock, bytesMax = BODY_BYTES_MAX): Promise<Buffer> {
  const announced = request.headers.get('content-length') ?? Number.NaN
  // The runtime reads no more than the announced length, and is faster than a reader.
  if (Number(announced) <= bytesMax) return Buffer.from(await withBodyTimeout(request.arrayBuffer(), clock))
  const reader = request.body?.getReader()
  if (reader === undefined) return Buffer.alloc(0)
  try {
    return await withBodyTimeout(
      collectChunks(() => reader.read(), bytesMax),
      clock,
    )
  } catch (error) {
    reader.cancel().catch(ignoreClosed)
    throw error
  }
}

async function withBodyTimeout<T>(reading: Promise<T>, clock: Clock): Promise<T> {
  try {
    return await withTimeout(reading, { ms: BODY_TIMEOUT_MS, clock })
  } catch (error) {
    if (error instanceof HttpError) throw error
    if (error !== TIMED_OUT) throw invalidBodyError('it ended early', { headers: CLOSE, cause: error })
    throw invalidBodyError(`expected it within ${BODY_TIMEOUT_MS / 1000} s`, { status: 408, headers: CLOSE })
  }
}

/** Collects the chunks of a body, which `next` returns one by one. */
async function collectChunks(
  next: () => Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>,
  bytesMax: number,
): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let length = 0
  for (;;) {
    const { done, value } = await next()
    if (done || value === undefined) return Buffer.concat(chunks)
    length += value.length
    if (length > bytesMax) throw tooLargeError(bytesMax)
    chunks.push(value)
  }
}

function ignoreClosed(): void {
  // The caller has disconnected or the stream has ended.
}

function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw invalidBodyError('expected UTF-8', { cause })
  }
}

function tooLargeError(bytesMax = BODY_BYTES_MAX): HttpError {
  return invalidBodyError(`expected at most ${bytesMax} bytes`, { status: 413, headers: CLOSE })
}

function invalidBodyError(detail: string, options?: ConstructorParameters<typeof HttpError>[2]): HttpError {
  return new HttpError('INVALID_REQUEST', `Cannot read the body: ${detail}`, options)
}
