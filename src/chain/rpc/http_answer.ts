import { UpstreamError } from '../../lib/error.ts'
import { INTERIM_MAX } from '../../lib/interim_answers.ts'

/** Head of an answer; names of header fields are in lower case. */
interface HttpHead {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly framing: Framing
  /** False if the server closes the connection after the answer. */
  readonly isKept: boolean
}

/** How the end of a body is told: by its length, by chunks, or by the connection's end. */
type Framing = number | 'chunks' | 'close'

/** An answer with its body as it was sent. */
export interface RawAnswer {
  readonly head: HttpHead
  readonly body: Buffer
}

const HEAD_BYTES_MAX = 128 * 1024
/** Parts of a body that are kept before they are joined: more than honest bodies of up to 256 KiB come in. */
const PARTS_MAX = 256
/** A chunk's size, and extensions that no endpoint sends. */
const LINE_BYTES_MAX = 1024
const HEAD_END = Buffer.from('\r\n\r\n')
const LINE_END = Buffer.from('\r\n')
const EMPTY = Buffer.alloc(0)

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: |$)/
const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const LENGTH = /^\d{1,15}$/
const CHUNK_SIZE = /^([0-9A-Fa-f]{1,12})[ \t]*(?:;|$)/

/**
 * Creates the reader of one answer to a POST, from the bytes of its connection (RFC 9112). It refuses what two readers
 * could understand differently: another answer would then end up in this one's place.
 */
export function createAnswerReader() {
  let unread: Buffer = EMPTY
  /** The body: what was joined already, then the parts behind it. */
  const joined: Buffer[] = []
  const parts: Buffer[] = []
  let head: HttpHead | undefined
  let announcedBytes = 0
  let bodyBytes = 0
  let isEnded = false
  let answer: RawAnswer | undefined

  /** Waits for bytes up to and including `mark`, and returns those before it. */
  function* readUntil(mark: Buffer, bytesMax: number): Generator<void, Buffer> {
    for (let from = 0; ; ) {
      const at = unread.indexOf(mark, from)
      if ((at < 0 ? unread.length : at) > bytesMax) throw malformedError()
      if (at >= 0) {
        const found = unread.subarray(0, at)
        unread = unread.subarray(at + mark.length)
        return found
      }
      from = Math.max(0, unread.length - mark.length + 1)
      yield
    }
  }

  /** Adds a part of the body. An endpoint may send it byte by byte, and each part is an object. */
  function append(part: Buffer): void {
    if (part.length === 0) return
    bodyBytes += part.length
    parts.push(part)
    if (parts.length === PARTS_MAX) joined.push(Buffer.concat(parts.splice(0)))
  }

  /** Adds the next bytes to the body. */
  function* readBody(length: number): Generator<void, void> {
    for (let left = length; left > 0; ) {
      const part = unread.subarray(0, left)
      unread = unread.subarray(part.length)
      append(part)
      left -= part.length
      if (left > 0) yield
    }
  }

  function* readChunks(): Generator<void, void> {
    for (;;) {
      const line = (yield* readUntil(LINE_END, LINE_BYTES_MAX)).toString('latin1')
      const size = Number.parseInt(CHUNK_SIZE.exec(line)?.[1] ?? '', 16)
      if (Number.isNaN(size)) throw malformedError()
      if (size === 0) break
      yield* readBody(size)
      if ((yield* readUntil(LINE_END, LINE_BYTES_MAX)).length > 0) throw malformedError()
    }
    // Fields behind the body end, like those before it, with an empty line.
    for (let left = HEAD_BYTES_MAX; ; ) {
      const { length } = yield* readUntil(LINE_END, left)
      if (length === 0) return
      left = Math.max(0, left - length)
    }
  }

  function* readHead(): Generator<void, HttpHead> {
    for (let interim = 0; interim <= INTERIM_MAX; interim++) {
      const found = parseHead((yield* readUntil(HEAD_END, HEAD_BYTES_MAX)).toString('latin1'))
      if (found.status >= 200) return found
      // What follows is another protocol.
      if (found.status === 101) break
    }
    throw new UpstreamError('The endpoint sends no final answer')
  }

  function* readAnswer(): Generator<void, void> {
    head = yield* readHead()
    const { framing } = head
    if (framing === 'chunks') yield* readChunks()
    else if (framing !== 'close') {
      announcedBytes = framing
      yield* readBody(framing)
    } else {
      while (!isEnded) {
        yield* readBody(unread.length)
        yield
      }
    }
    const [only = EMPTY, ...others] = [...joined, ...parts]
    answer = { head, body: others.length === 0 ? only : Buffer.concat([only, ...others]) }
  }

  const steps = readAnswer()

  return {
    /** Reads further bytes. Throws `UpstreamError` if they are not HTTP/1.1 or have no final answer. */
    push(bytes: Buffer): void {
      unread = unread.length === 0 ? bytes : Buffer.concat([unread, bytes])
      steps.next()
    },
    /** Tells that the connection has ended, which completes a body without a length. */
    end(): void {
      isEnded = true
      if (head !== undefined && answer === undefined) steps.next()
    },
    get hasHead(): boolean {
      return head !== undefined
    },
    /** Undefined until all of it has been read. */
    get answer(): RawAnswer | undefined {
      return answer
    },
    /** Bytes of the body, as far as they have been read or announced. */
    get bytes(): number {
      return Math.max(bodyBytes, announcedBytes)
    },
    /** True if bytes follow that belong to no answer. */
    get hasRest(): boolean {
      return unread.length > 0
    },
  }
}

function parseHead(text: string): HttpHead {
  const [first = '', ...lines] = text.split('\r\n')
  const [, minor, code] = STATUS_LINE.exec(first) ?? []
  if (code === undefined) throw malformedError()
  const status = Number(code)
  const headers = new Map<string, string>()
  for (const line of lines) {
    const at = line.indexOf(':')
    const name = line.slice(0, at).toLowerCase()
    const value = line.slice(at + 1).trim()
    const before = headers.get(name)
    const isRepeatedLength = before !== undefined && name === 'content-length'
    if (at < 0 || !FIELD_NAME.test(name) || /[\0\r\n]/.test(value) || isRepeatedLength) throw malformedError()
    headers.set(name, before === undefined ? value : `${before}, ${value}`)
  }
  const framing = toFraming(status, headers)
  const options = (headers.get('connection') ?? '').toLowerCase().split(',')
  const isKept = minor === '1' && framing !== 'close' && !options.some((option) => option.trim() === 'close')
  return { status, headers, framing, isKept }
}

function toFraming(status: number, headers: ReadonlyMap<string, string>): Framing {
  const length = headers.get('content-length')
  const coding = headers.get('transfer-encoding')?.toLowerCase()
  if (coding !== undefined && (coding !== 'chunked' || length !== undefined)) throw malformedError()
  if (length !== undefined && !LENGTH.test(length)) throw malformedError()
  if (status < 200 || status === 204 || status === 304) return 0
  return coding === undefined ? (length === undefined ? 'close' : Number(length)) : 'chunks'
}

function malformedError(): UpstreamError {
  return new UpstreamError('The answer is not HTTP/1.1')
}
