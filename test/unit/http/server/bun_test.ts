import { afterEach, describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { serveBun } from '../../../../src/http/server/bun.ts'
import type { ListeningServer } from '../../../../src/http/server/listening.ts'
import { sendRaw } from '../../../support/client.ts'
import { createFixture } from '../../../support/http/fixture.ts'
import { settle } from '../../../support/test_clock.ts'

const ITEM = '/v1/positions/uniswap-v3/5'
const HEAD_LINES = 'Host: h\r\nAuthorization: Bearer good\r\n'

let served: ListeningServer | undefined

afterEach(async () => {
  await served?.stop()
  served = undefined
})

describe('serveBun()', () => {
  test('HEAD has the length of GET and no body', async () => {
    const { app, gate } = createFixture()
    served = serveBun(app, { port: 0, host: '127.0.0.1' })
    const id = 'X-Request-Id: the-same-id\r\nConnection: close\r\n\r\n'
    const got = await sendRaw(served.port, `GET ${ITEM} HTTP/1.1\r\n${HEAD_LINES}${id}`)
    const head = await sendRaw(served.port, `HEAD ${ITEM} HTTP/1.1\r\n${HEAD_LINES}${id}`)
    expect([head.status, head.text]).toEqual([200, ''])
    expect(head.headers['content-length']).toBe(String(Buffer.byteLength(got.text)))
    expect(gate.rows.map((row) => [row.method, row.creditsCharged])).toEqual([
      ['GET', 2],
      ['HEAD', 2],
    ])
  })

  test('refuses a port that another service has', () => {
    served = serveBun(createFixture().app, { port: 0, host: '127.0.0.1' })
    const { port } = served
    expect(() => serveBun(createFixture().app, { port, host: '127.0.0.1' })).toThrow(
      expect.objectContaining({ code: 'EADDRINUSE' }),
    )
  })

  test('a caller who hangs up is logged as 499 and not charged', async () => {
    const { app, gate, happenings } = createFixture()
    served = serveBun(app, { port: 0, host: '127.0.0.1' })
    const reading = Promise.withResolvers<void>()
    happenings.instead = () => {
      reading.resolve()
      return new Promise(() => {})
    }
    const socket = connect(served.port, '127.0.0.1')
    socket.write(`GET ${ITEM} HTTP/1.1\r\n${HEAD_LINES}\r\n`)
    await reading.promise
    socket.destroy()
    expect(await app.idle({ deadlineMs: 2_000 })).toBe(true)
    expect(gate.rows.map((row) => [row.status, row.creditsCharged])).toEqual([[499, 0]])
  })

  test('a caller who ends its side after the request counts as one who hung up, which looks the same', async () => {
    const { app, gate, happenings } = createFixture()
    served = serveBun(app, { port: 0, host: '127.0.0.1' })
    happenings.held = new Promise(() => {})
    const socket = connect({ port: served.port, host: '127.0.0.1', allowHalfOpen: true })
    const closed = new Promise((resolve) => socket.once('close', resolve))
    let answer = ''
    socket.on('data', (bytes) => {
      answer += bytes.toString()
    })
    socket.once('end', () => socket.end())
    socket.end(`GET ${ITEM} HTTP/1.1\r\n${HEAD_LINES}\r\n`)
    await closed
    expect(await app.idle({ deadlineMs: 2_000 })).toBe(true)
    expect([answer, gate.rows.map((row) => [row.status, row.creditsCharged])]).toEqual(['', [[499, 0]]])
  })

  test('closeIdle() closes connections that were answered, not those that wait for an answer', async () => {
    const { app, happenings } = createFixture()
    served = serveBun(app, { port: 0, host: '127.0.0.1' })
    const idle = connect(served.port, '127.0.0.1')
    idle.write('GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n')
    await new Promise((resolve) => idle.once('data', resolve))
    const { promise, resolve } = Promise.withResolvers<void>()
    happenings.held = promise
    const waiting = sendRaw(served.port, `GET ${ITEM} HTTP/1.1\r\n${HEAD_LINES}\r\n`)
    while (app.inFlight() === 0) await settle()
    const closed = new Promise((done) => idle.once('close', done))
    served.closeIdle()
    await closed
    resolve()
    expect((await waiting).status).toBe(200)
  })

  // Bun's own doing: https://github.com/oven-sh/bun/pull/38128 would hold such requests, as Node does.
  test('a request that comes before the answer to the last one closes the connection, and neither is charged', async () => {
    const { app, gate, happenings } = createFixture()
    served = serveBun(app, { port: 0, host: '127.0.0.1' })
    const { promise, resolve } = Promise.withResolvers<void>()
    happenings.held = promise
    const { status } = await sendRaw(served.port, `GET ${ITEM} HTTP/1.1\r\n${HEAD_LINES}\r\n`.repeat(2))
    resolve()
    expect(await app.idle({ deadlineMs: 2_000 })).toBe(true)
    expect(status).toBe(0)
    expect(gate.rows.map((row) => [row.status, row.creditsCharged])).toEqual([[499, 0]])
    // One after the other they are answered on one connection.
    const after = await sendRaw(served.port, `GET ${ITEM} HTTP/1.1\r\n${HEAD_LINES}\r\n`)
    expect(after.status).toBe(200)
  })

  test('stop() answers accepted requests and refuses new ones', async () => {
    const { app, happenings } = createFixture()
    const server = serveBun(app, { port: 0, host: '127.0.0.1' })
    const { promise, resolve } = Promise.withResolvers<void>()
    happenings.held = promise
    const accepted = sendRaw(server.port, `GET ${ITEM} HTTP/1.1\r\n${HEAD_LINES}\r\n`)
    while (app.inFlight() === 0) await settle()
    const stopped = server.stop()
    const refused = await sendRaw(server.port, `GET ${ITEM} HTTP/1.1\r\n${HEAD_LINES}\r\n`)
    expect(refused.status).toBe(0)
    resolve()
    expect((await accepted).status).toBe(200)
    await stopped
  })

  test('a body without end is refused before much of it is read', async () => {
    const { app } = createFixture()
    served = serveBun(app, { port: 0, host: '127.0.0.1' })
    const socket = connect(served.port, '127.0.0.1')
    let answer = ''
    let closed = false
    let sent = 0
    socket.on('data', (bytes) => {
      answer += bytes.toString()
    })
    socket.on('close', () => {
      closed = true
    })
    // The server resets a connection whose sender does not stop.
    socket.on('error', () => {})
    socket.write(`POST /v1/lending/aave-v3/batch HTTP/1.1\r\n${HEAD_LINES}Transfer-Encoding: chunked\r\n\r\n`)
    const chunk = Buffer.from(`10000\r\n${'a'.repeat(1 << 16)}\r\n`)
    while (!closed && sent < 100e6) {
      sent += chunk.length
      if (!socket.write(chunk)) await Bun.sleep(1)
    }
    expect(answer).toStartWith('HTTP/1.1 413 ')
    expect(answer).toContain('"code":"INVALID_REQUEST"')
    expect(closed).toBe(true)
    expect(sent).toBeLessThan(50e6)
  })
})
