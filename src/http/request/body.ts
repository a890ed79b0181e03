import { TIMED_OUT, withTimeout } from '../../lib/async/wait.ts'
import { findInvalidText, isWithinJsonLimits } from '../../lib/text/json.ts'
import { HttpError } from '../error.ts'
import { BODY_BYTES_MAX, BODY_DEPTH_MAX, BODY_TIMEOUT_MS } from '../limits.ts'
import { invalidTextError } from './parameters.ts'

/** Of an answer that leaves a body unread: the connection would stay open for the rest of it. */
const CLOSE = { connection: 'close' }

/**
 * What is wrong with a body before a byte of it is read: 413 if it announces more than is taken, 415 if it is encoded.
 * Nothing otherwise.
 */
export function findBodyError(headers: Headers): HttpError | undefined {
  const announced = headers.get('content-length')
  if (announced !== null && Number(announced) > BODY_BYTES_MAX) return tooLarge()
  const encoding = headers.get('content-encoding')
  if (encoding === null || encoding.toLowerCase() === 'identity') return undefined
  return invalidBody('expected it without Content-Encoding', {
    status: 415,
    headers: { ...CLOSE, 'accept-encoding': 'identity' },
  })
}

interface JsonBody<Value> {
  readonly bytes: Buffer
  /**
   * Throws `HttpError` INVALID_REQUEST 400 if it is not UTF-8, not JSON as expected, or nested beyond 16 levels; of an
   * object also `CodedError` INVALID_PARAMETER if text in it holds NUL or half a character.
   */
  value(): Value
}

/**
 * Reads a body that should be a JSON object. Throws `HttpError` INVALID_REQUEST: 413 above 256 KiB, 408 if it does not
 * arrive in time, 400 for another content type or nothing.
 */
export async function readJson(request: Request): Promise<JsonBody<object>> {
  const { bytes, value } = await readAnyJson(request)
  return { bytes, value: () => objectOf(value(), bytes) }
}

/** Reads a body that should be any JSON value. Throws like `readJson`. */
export async function readAnyJson(request: Request): Promise<JsonBody<unknown>> {
  const type = request.headers.get('content-type')
  if (type !== null && !/^application\/json\s*(?:;|$)/i.test(type)) {
    throw invalidBody('expected content type application/json', { headers: CLOSE })
  }
  const bytes = await readBytes(request)
  if (bytes.length === 0) throw invalidBody('expected JSON, it is empty')
  return { bytes, value: () => parseJson(utf8(bytes)) }
}

/** Fields of a form that a page sent. Throws `HttpError` INVALID_REQUEST as `readJson` does. */
export async function readForm(request: Request): Promise<URLSearchParams> {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type))
    throw invalidBody('expected a form', { headers: CLOSE })
  return new URLSearchParams(utf8(await readBytes(request)))
}

/** JSON text as a value. Of a repeated key the last one counts; `__proto__` is an unknown field to every schema. */
export function parseJson(text: string): unknown {
  if (!isWithinJsonLimits(text, { levelsMax: BODY_DEPTH_MAX })) {
    throw invalidBody(`expected at most ${BODY_DEPTH_MAX} levels of nesting`)
  }
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw invalidBody('expected JSON', { cause })
  }
}

function objectOf(value: unknown, bytes: Buffer): object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalidBody('expected a JSON object')
  // UTF-8 brings NUL and half characters by escapes alone.
  const broken = bytes.includes('\\u') ? findInvalidText(value) : undefined
  if (broken !== undefined) throw invalidTextError(broken)
  return value
}

async function readBytes(request: Request): Promise<Buffer> {
  const announced = request.headers.get('content-length') ?? Number.NaN
  // The runtime takes no more than was announced, and is faster than a reader.
  if (Number(announced) <= BODY_BYTES_MAX) return Buffer.from(await inTime(request.arrayBuffer()))
  const reader = request.body?.getReader()
  if (reader === undefined) return Buffer.alloc(0)
  try {
    return await inTime(gathered(() => reader.read()))
  } catch (error) {
    reader.cancel().catch(ignoreClosed)
    throw error
  }
}

async function inTime<T>(reading: Promise<T>): Promise<T> {
  try {
    return await withTimeout(BODY_TIMEOUT_MS, reading)
  } catch (error) {
    if (error instanceof HttpError) throw error
    if (error !== TIMED_OUT) throw invalidBody('it ended early', { headers: CLOSE, cause: error })
    throw invalidBody(`expected it within ${BODY_TIMEOUT_MS / 1000} s`, { status: 408, headers: CLOSE })
  }
}

/** All chunks of a body, which `next` gives one by one. */
async function gathered(
  next: () => Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>,
): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let length = 0
  for (;;) {
    const { done, value } = await next()
    if (done || value === undefined) return Buffer.concat(chunks)
    length += value.length
    if (length > BODY_BYTES_MAX) throw tooLarge()
    chunks.push(value)
  }
}

function ignoreClosed(): void {
  // The caller is gone or the stream has ended.
}

function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw invalidBody('expected UTF-8', { cause })
  }
}

function tooLarge(): HttpError {
  return invalidBody(`expected at most ${BODY_BYTES_MAX} bytes`, { status: 413, headers: CLOSE })
}

function invalidBody(detail: string, options?: ConstructorParameters<typeof HttpError>[2]): HttpError {
  return new HttpError('INVALID_REQUEST', `Cannot read the body: ${detail}`, options)
}
