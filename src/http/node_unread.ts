import { IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'

/** Takes a request and its answer, as a server's `request` listener does. */
export type Listener = (incoming: IncomingMessage, outgoing: ServerResponse) => void

/** What Node's parser says of bytes that it cannot read. */
interface ParserError extends Error {
  readonly code?: string
  /** What came in the packet at fault. */
  readonly rawPacket?: Buffer
}

/** Statuses that Node itself would answer with; anything else is 400. */
const STATUS_BY_ERROR: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

/** The head of a request by itself: method, target, version, then header lines. */
const HEAD =
  /^([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) (\S+) HTTP\/1\.([01])\r\n((?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:.*\r\n)*)\r\n/

/**
 * Answers what the parser cannot read: a method that it does not know by the app, as any other method that a path does
 * not have; all else as Node would, with a bare status. The connection ends with it.
 */
export function answerUnread(error: ParserError, options: { readonly socket: Duplex; readonly listener: Listener }) {
  const { socket, listener } = options
  const incoming = error.code === 'HPE_INVALID_METHOD' ? unknownMethod(error.rawPacket, socket) : undefined
  if (incoming !== undefined) return answerOn(socket, { incoming, listener })
  if (!socket.writable || error.code === 'ECONNRESET' || answering(socket)) return void socket.destroy()
  const status = STATUS_BY_ERROR[error.code ?? ''] ?? 400
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n\r\n`)
}

/** Answers a request that Node hands over without an answer to write to, and ends the connection. */
export function answerOn(
  socket: Duplex,
  { incoming, listener }: { readonly incoming: IncomingMessage; readonly listener: Listener },
): void {
  const outgoing = new ServerResponse(incoming)
  outgoing.shouldKeepAlive = false
  try {
    outgoing.assignSocket(incoming.socket)
  } catch {
    // An earlier request of this connection waits for its answer, which nothing may overtake.
    socket.destroy()
    return
  }
  outgoing.once('finish', () => socket.end())
  // A caller who is gone already: there is nobody left to tell.
  socket.on('error', () => socket.destroy())
  listener(incoming, outgoing)
}

/** The request of a packet that begins with a method unknown to Node; nothing where its head is not whole, or broken. */
function unknownMethod(packet: Buffer | undefined, socket: Duplex): IncomingMessage | undefined {
  const match = HEAD.exec(packet?.toString('latin1') ?? '')
  if (match === null) return undefined
  const [, method, url, minor, lines = ''] = match
  const incoming = new IncomingMessage(socket as IncomingMessage['socket'])
  const headers: Record<string, string> = {}
  for (const line of lines.split('\r\n').slice(0, -1)) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`
    incoming.rawHeaders.push(line.slice(0, colon), value)
  }
  Object.assign(incoming, { method, url, headers, httpVersion: `1.${minor}` })
  // Its body, if there is one, means nothing: no path has such a method.
  incoming.push(null)
  return incoming
}

/** True where the head of an answer is out: whatever is written now would stand in its body. */
function answering(socket: Duplex): boolean {
  const { _httpMessage: message } = socket as { readonly _httpMessage?: ServerResponse | null }
  return message?.headersSent === true
}
