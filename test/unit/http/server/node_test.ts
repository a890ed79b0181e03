import { afterEach, expect, test } from 'bun:test'
import { createSharedBody, createSharedResponse } from '../../../../src/http/respond.ts'
import type { ListeningServer } from '../../../../src/http/server/listening.ts'
import { serveNode } from '../../../../src/http/server/node.ts'
import { systemClock } from '../../../../src/lib/clock.ts'

let server: ListeningServer | undefined
afterEach(() => server?.stop())

test('Node sends the bytes of a shared body themselves, never a stream of copies', async () => {
  const body = createSharedBody(new TextEncoder().encode('shared'.repeat(50_000)))
  let reads = 0
  const init = { status: 200, headers: { 'content-type': 'text/plain', 'content-length': String(body.bytes.length) } }
  const handler = async () => {
    const response = createSharedResponse(body, init)
    Object.defineProperty(response, 'body', {
      get() {
        reads++
        return null
      },
    })
    return response
  }
  server = await serveNode({ handler } as never, { port: 0, host: '127.0.0.1', clock: systemClock })
  const answer = await fetch(server.url)
  expect(answer.headers.get('content-length')).toBe(String(body.bytes.length))
  expect(answer.headers.get('transfer-encoding')).toBeNull()
  expect(Buffer.from(await answer.arrayBuffer()).equals(body.bytes)).toBe(true)
  expect(reads).toBe(0)
})
