import { expect, test } from 'bun:test'
import { createAnswerReader } from '../../../../src/chain/rpc/http_answer.ts'

const OK = 'HTTP/1.1 200 OK\r\n'

/** Reads an answer that comes in pieces, and the end of its connection. */
function read(pieces: readonly string[]) {
  const reader = createAnswerReader()
  for (const piece of pieces) reader.push(Buffer.from(piece, 'latin1'))
  const isToldBeforeEnd = reader.answer !== undefined
  reader.end()
  if (reader.answer === undefined) return 'cut off'
  const { head, body } = reader.answer
  const { status, headers, isKept } = head
  return {
    status,
    type: headers.get('content-type'),
    body: body.toString('latin1'),
    isKept: isKept && isToldBeforeEnd && !reader.hasRest,
  }
}

/** The text as a whole, in two pieces cut anywhere, and byte by byte. */
function* cut(text: string): Generator<string[]> {
  yield [text]
  yield [...text]
  for (let at = 1; at < text.length; at++) yield [text.slice(0, at), text.slice(at)]
}

test.each<[name: string, text: string, expected: Exclude<ReturnType<typeof read>, string>]>([
  [
    'a length',
    `${OK}Content-Type:  a/b \r\nCONTENT-LENGTH: 3\r\n\r\nabc`,
    { status: 200, type: 'a/b', body: 'abc', isKept: true },
  ],
  [
    'chunks, with extensions and trailing fields',
    `${OK}Transfer-Encoding: Chunked\r\n\r\n3;a=b\r\nabc\r\n0A \r\n0123456789\r\n000\r\nX: y\r\n\r\n`,
    { status: 200, type: undefined, body: 'abc0123456789', isKept: true },
  ],
  ['the end', 'HTTP/1.1 500 \r\n\r\nabc', { status: 500, type: undefined, body: 'abc', isKept: false }],
  ['no body', 'HTTP/1.1 204 No Content\r\n\r\n', { status: 204, type: undefined, body: '', isKept: true }],
  [
    'interim answers before it',
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 x\r\nLink: a\r\n\r\n${OK}Content-Length: 1\r\n\r\na`,
    { status: 200, type: undefined, body: 'a', isKept: true },
  ],
  [
    'a connection that is closed',
    `${OK}Connection: x, Close\r\nContent-Length: 1\r\n\r\na`,
    { status: 200, type: undefined, body: 'a', isKept: false },
  ],
  [
    'HTTP/1.0',
    'HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na',
    { status: 200, type: undefined, body: 'a', isKept: false },
  ],
  [
    'bytes behind it',
    `${OK}Content-Length: 1\r\n\r\na${OK}`,
    { status: 200, type: undefined, body: 'a', isKept: false },
  ],
  [
    'a field twice',
    `${OK}Content-Type: a\r\nContent-Type: b\r\nContent-Length: 0\r\n\r\n`,
    { status: 200, type: 'a, b', body: '', isKept: true },
  ],
])('an answer is read however its bytes come: %s', (_, text, expected) => {
  for (const pieces of cut(text)) expect(read(pieces)).toEqual(expected)
})

test.each([
  ['two lengths', `${OK}Content-Length: 1\r\nContent-Length: 1\r\n\r\na`],
  ['a length beside chunks', `${OK}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['a length of other digits', `${OK}Content-Length: +1\r\n\r\na`],
  ['an unknown coding', `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
  ['a field without a name', `${OK}: a\r\nContent-Length: 1\r\n\r\na`],
  ['a space before the colon', `${OK}Content-Length : 1\r\n\r\na`],
  ['a field in two lines', `${OK}X: a\r\n b\r\nContent-Length: 1\r\n\r\na`],
  ['a bare line end in a field', `${OK}X: a\nContent-Length: 1\r\n\r\na`],
  ['another version', 'HTTP/2 200 OK\r\nContent-Length: 1\r\n\r\na'],
  ['another protocol', '220 mail.example ESMTP\r\n\r\n'],
  ['a chunk without a size', `${OK}Transfer-Encoding: chunked\r\n\r\n\r\nabc`],
  ['a chunk of a negative size', `${OK}Transfer-Encoding: chunked\r\n\r\n-1\r\nabc`],
  ['a chunk that is longer than its size', `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n`],
  ['a line of a chunk without end', `${OK}Transfer-Encoding: chunked\r\n\r\n1;${'x'.repeat(2_000)}`],
  [
    'endless fields behind chunks',
    `${OK}Transfer-Encoding: chunked\r\n\r\n0\r\n${`X: ${'y'.repeat(1_000)}\r\n`.repeat(200)}`,
  ],
])('what may be understood differently is refused: %s', (_, text) => {
  expect(() => read([text])).toThrow('The answer is not HTTP/1.1')
  expect(() => read([...text])).toThrow('The answer is not HTTP/1.1')
})

test('a body that its length or its chunks do not end is cut off', () => {
  expect(read([`${OK}Content-Length: 4\r\n\r\nabc`])).toBe('cut off')
  expect(read([`${OK}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`])).toBe('cut off')
  expect(read([OK])).toBe('cut off')
})

test('the bytes of a body are counted as announced, and as they come', () => {
  const reader = createAnswerReader()
  reader.push(Buffer.from(`${OK}Content-Length: 5000000000\r\n\r\nabc`))
  expect(reader.bytes).toBe(5_000_000_000)
  const other = createAnswerReader()
  other.push(Buffer.from(`${OK}\r\nabc`))
  other.push(Buffer.from('de'))
  expect(other.bytes).toBe(5)
})
