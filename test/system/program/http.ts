import { connect } from 'node:net'
import { gunzipSync } from 'node:zlib'

/** One request as bytes on its own connection, so that no client library repeats or changes it. */
export interface RawRequest {
  readonly method: string
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** One answer. Names of headers are in lower case. */
export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A proof of an exit takes longest: the node names hundreds of accounts for it. */
const TIMEOUT_MS = 60_000

/** Sends one request and reads its answer to the end. Throws when the connection breaks or nothing comes within `TIMEOUT_MS`. */
export function ask(port: number, request: RawRequest): Promise<RawAnswer> {
  const body = Buffer.from(request.body ?? '')
  const headers: Record<string, string> = { Host: `127.0.0.1:${port}`, ...request.headers, Connection: 'close' }
  if (request.body !== undefined) headers['Content-Length'] = String(body.length)
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return send(
    port,
    Buffer.concat([Buffer.from(`${request.method} ${request.target} HTTP/1.1\r\n${head.join('')}\r\n`), body]),
  )
}

/** Sends bytes as they are and reads the answer until the server closes the connection. */
function send(port: number, bytes: Uint8Array): Promise<RawAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>()
  const chunks: Buffer[] = []
  const socket = connect({ port, host: '127.0.0.1' })
  const timer = setTimeout(
    () => socket.destroy(new Error(`Cannot wait longer than ${TIMEOUT_MS} ms for an answer`)),
    TIMEOUT_MS,
  )
  socket.on('connect', () => socket.write(bytes))
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.on('error', reject)
  socket.on('close', () => {
    clearTimeout(timer)
    try {
      resolve(parseAnswer(Buffer.concat(chunks)))
    } catch (error) {
      reject(error)
    }
  })
  return promise
}

function parseAnswer(bytes: Buffer): RawAnswer {
  const end = bytes.indexOf('\r\n\r\n')
  const [first = '', ...lines] = bytes.subarray(0, Math.max(0, end)).toString('latin1').split('\r\n')
  const status = /^HTTP\/1\.1 (\d{3})/.exec(first)?.[1]
  if (status === undefined) throw new Error(`Cannot read an answer of ${bytes.length} bytes: expected a status line`)
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
  const rest = bytes.subarray(end + 4)
  const body = headers['transfer-encoding'] === 'chunked' ? unchunk(rest) : rest
  const isWhole = body.length > 0
  const text = isWhole && headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body
  return { status: Number(status), headers, body: text.toString('utf8') }
}

function unchunk(bytes: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    const size = Number.parseInt(bytes.subarray(at, lineEnd).toString('latin1'), 16)
    if (!(size > 0)) break
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 2 + size + 2
  }
  return Buffer.concat(parts)
}
