import { afterEach, expect, test } from 'bun:test'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { AdapterRequestContext } from '@hattip/core'
import { serveBun } from '../../../../src/http/server/bun.ts'
import type { ListeningServer } from '../../../../src/http/server/listening.ts'
import { serveNode } from '../../../../src/http/server/node.ts'
import { createTextStream } from '../../../../src/http/text_stream.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { settle } from '../../../support/test_clock.ts'

const PLACE = { port: 0, host: '127.0.0.1' }
const SERVERS = [
  ['Bun', async (handler: object) => serveBun({ handler } as never, PLACE)],
  ['Node', (handler: object) => serveNode({ handler } as never, { ...PLACE, clock: systemClock })],
] as const
/** Far more than the buffers of a connection hold. */
const TEXTS = 2_000
const TEXT = 'x'.repeat(64 * 1024)

let server: ListeningServer | undefined
afterEach(() => server?.stop())

test.each(SERVERS)('%s makes no more texts than a connection takes, and none once it is closed', async (_, serve) => {
  const left = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  let made = 0
  async function* makeTexts(): AsyncGenerator<string, void> {
    try {
      while (made < TEXTS) {
        made++
        yield TEXT
      }
    } finally {
      ended.resolve()
    }
  }
  server = await serve(async ({ request }: AdapterRequestContext) => {
    request.signal.addEventListener('abort', () => left.resolve())
    return new Response(createTextStream(makeTexts(), { isCompressed: false }))
  })
  const socket = connect(server.port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await once(socket, 'readable')
  socket.destroy()
  await Promise.all([left.promise, ended.promise])
  expect(made).toBeLessThan(TEXTS)
})

test.each([true, false])('a reader may leave while a text is made, compressed: %p', async (isCompressed) => {
  const held = Promise.withResolvers<void>()
  let hasEnded = false
  async function* makeTexts(): AsyncGenerator<string, void> {
    try {
      yield TEXT
      await held.promise
      yield TEXT
    } finally {
      hasEnded = true
    }
  }
  const reader = createTextStream(makeTexts(), { isCompressed }).getReader()
  await reader.read()
  const second = reader.read()
  await settle()
  const cancelled = reader.cancel()
  held.resolve()
  await cancelled
  expect([(await second).done, hasEnded]).toEqual([true, true])
  await settle()
})

test.each(SERVERS)('%s sends every text, and an end', async (_, serve) => {
  async function* makeTexts(): AsyncGenerator<string, void> {
    for (let index = 0; index < 40; index++) yield `${index}${TEXT}`
  }
  const type = { 'content-type': 'text/csv', 'content-encoding': 'gzip' }
  server = await serve(
    async () => new Response(createTextStream(makeTexts(), { isCompressed: true }), { headers: type }),
  )
  const text = await (await fetch(server.url)).text()
  expect(text).toBe(Array.from({ length: 40 }, (_, index) => `${index}${TEXT}`).join(''))
})
