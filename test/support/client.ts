import { connect } from 'node:net'
import type { HattipHandler } from '@hattip/core'

/** What a test looks at in an answer. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON; undefined if it is empty or something else. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
  readonly body: any
}

/** A request as tests write it: `fetch` without a server. */
export interface ClientRequest {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array<ArrayBuffer>
  readonly signal?: AbortSignal
  /** Sent as the bearer key. */
  readonly key?: string
}

/** Calls a handler as an adapter would; `path` starts with `/` and is taken as it stands. */
export function createClient(handler: HattipHandler) {
  return async (path: string, request: ClientRequest = {}): Promise<Answer> => {
    const headers: Record<string, string> = { host: 'test.local', ...request.headers }
    if (request.key !== undefined) headers['authorization'] = `Bearer ${request.key}`
    const made = new Request(`http://test.local${path}`, {
      method: request.method ?? 'GET',
      headers,
      ...(request.body === undefined ? {} : { body: request.body }),
      ...(request.signal === undefined ? {} : { signal: request.signal }),
    })
    const response = await handler({
      request: made,
      ip: '127.0.0.1',
      platform: { name: 'test' },
      env: () => undefined,
      passThrough: () => {},
      waitUntil: () => {},
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: parsed(text) }
  }
}

/** An answer off the wire. */
export interface RawAnswer {
  /** 0 if the connection closed without one. */
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  /** The error code of the envelope; empty if there is none. */
  readonly code: string
}

/** A server that says nothing for so long has failed. */
const SILENT_MS = 20_000

/** Sends bytes over a new connection and reads until the answer is whole or the connection closes. */
export function sendRaw(port: number, bytes: string | Uint8Array): Promise<RawAnswer> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const chunks: Buffer[] = []
    const finish = () => {
      clearTimeout(timer)
      socket.destroy()
      resolve(rawAnswer(Buffer.concat(chunks)))
    }
    const timer = setTimeout(finish, SILENT_MS)
    socket.on('connect', () => socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes))
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      timer.refresh()
      if (isWhole(Buffer.concat(chunks).toString('latin1'))) finish()
    })
    socket.on('close', finish)
    // An answer before a reset still counts; without one the status is 0.
    socket.on('error', finish)
  })
}

function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return false
  const length = /^content-length: *(\d+)/im.exec(text.slice(0, end))
  return length !== null && Buffer.byteLength(text.slice(end + 4), 'latin1') >= Number(length[1])
}

function rawAnswer(bytes: Buffer): RawAnswer {
  const text = bytes.toString('utf8')
  const end = text.indexOf('\r\n\r\n')
  const [first = '', ...lines] = (end < 0 ? text : text.slice(0, end)).split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const body = end < 0 ? '' : text.slice(end + 4)
  const code = /"error":\{"code":"([A-Z_]+)"/.exec(body)?.[1] ?? ''
  return { status: Number(/^HTTP\/1\.[01] (\d{3})/.exec(first)?.[1] ?? 0), headers, text: body, code }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
