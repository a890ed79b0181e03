import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { constants, createBrotliCompress } from 'node:zlib'

/**
 * A server that answers by its path: `/unpacks` with few bytes that stand for a gigabyte, `/continues` with interim
 * answers without end. Prints its port and the length of the few bytes.
 */

const MEGABYTE = Buffer.alloc(1_000_000, ' ')
const INTERIM = Buffer.from('HTTP/1.1 100 Continue\r\n\r\n'.repeat(2_500))

/** What the server tells about itself. */
export interface HostileServer {
  readonly port: number
  readonly packedBytes: number
}

async function packGigabyte(): Promise<Buffer> {
  const packer = createBrotliCompress({
    params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_LGWIN]: 24 },
  })
  const chunks: Buffer[] = []
  packer.on('data', (chunk: Buffer) => chunks.push(chunk))
  const ended = once(packer, 'end')
  for (let megabytes = 0; megabytes < 1_000; megabytes++) if (!packer.write(MEGABYTE)) await once(packer, 'drain')
  packer.end()
  await ended
  return Buffer.concat(chunks)
}

function sendEndlessly(socket: Socket, chunk: Buffer): void {
  while (!socket.destroyed) {
    if (socket.write(chunk)) continue
    socket.once('drain', () => sendEndlessly(socket, chunk))
    return
  }
}

const packed = await packGigabyte()
const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: br\r\nContent-Length: ${packed.length}\r\n\r\n`
const server = createServer((socket) => {
  let isSending = false
  socket.on('error', () => undefined)
  socket.on('data', (chunk) => {
    if (isSending) return
    const path = /^POST (\S+)/.exec(chunk.toString('latin1'))?.[1]
    if (path === '/unpacks') socket.write(Buffer.concat([Buffer.from(head), packed]))
    if (path !== '/continues') return
    isSending = true
    sendEndlessly(socket, INTERIM)
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  console.log(JSON.stringify({ port, packedBytes: packed.length } satisfies HostileServer))
})
