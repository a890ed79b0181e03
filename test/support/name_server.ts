import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'

const TYPE_A = 1
const HEADER_BYTES = 12

/** A name server on 127.0.0.1. `answer` gives addresses of IPv4 for a name, anew for each question. */
export async function startNameServer(answer: (name: string) => readonly string[]) {
  const socket = createSocket('udp4')
  socket.on('message', (question, { port, address }) => socket.send(replyTo(question, answer), port, address))
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  const resolver = new Resolver()
  resolver.setServers([`127.0.0.1:${socket.address().port}`])
  return {
    resolver,
    async stop() {
      resolver.cancel()
      await new Promise<void>((resolve) => socket.close(() => resolve()))
    },
  }
}

/** As RFC 1035 has it. */
function replyTo(question: Buffer, answer: (name: string) => readonly string[]): Buffer {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
    labels.push(question.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const asked = question.subarray(HEADER_BYTES, at + 5)
  const found = question.readUInt16BE(at + 1) === TYPE_A ? answer(labels.join('.')) : []
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt16BE(question.readUInt16BE(0), 0)
  header.writeUInt16BE(0x8180, 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(found.length, 6)
  // A pointer to the question's name, type A, class IN, no time to live, four bytes.
  const records = found.map((each) =>
    Buffer.from([0xc0, HEADER_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, 4, ...each.split('.').map(Number)]),
  )
  return Buffer.concat([header, asked, ...records])
}
