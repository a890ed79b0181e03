import { afterEach, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import https from 'node:https'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { createHttpClient } from '../../../../src/chain/rpc/http_client.ts'
import { createTransport } from '../../../../src/chain/rpc/transport.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { CERTIFICATES } from '../../../support/receiver.ts'
import { createTestClock } from '../../../support/test_clock.ts'
import { waitFor } from '../../../support/wait_for.ts'

const never = new AbortController().signal

/** Answers one request, whose id is given, by writing to its connection. */
type Answer = (socket: Socket, id: number) => void

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

function writeResult(socket: Socket, id: number): void {
  const body = JSON.stringify({ jsonrpc: '2.0', id, result: id })
  socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
}

/** Starts an endpoint that writes its answers byte by byte as it is told. */
async function startEndpoint(answer: Answer = writeResult) {
  const sockets: Socket[] = []
  const endpoint = { answer, url: '', sockets, requests: 0 }
  const server = createServer((socket) => {
    sockets.push(socket)
    let text = ''
    socket.on('error', () => {})
    socket.on('data', (data) => {
      text += data.toString('latin1')
      for (;;) {
        const head = text.indexOf('\r\n\r\n')
        const length = Number(/content-length: (\d+)/i.exec(text.slice(0, head))?.[1] ?? 0)
        if (head < 0 || text.length < head + 4 + length) return
        const { id } = JSON.parse(text.slice(head + 4, head + 4 + length)) as { readonly id: number }
        text = text.slice(head + 4 + length)
        endpoint.requests++
        endpoint.answer(socket, id)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  endpoint.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  stops.push(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return endpoint
}

const REQUEST = { method: 'x', params: [], parse: (result: unknown) => result }

test('as many connections are kept as requests were under way', async () => {
  const endpoint = await startEndpoint()
  const transport = createTransport({ url: endpoint.url, timeoutMs: 10_000, clock: systemClock })
  const sendAll = () => Promise.all(Array.from({ length: 150 }, () => transport.send(REQUEST, never)))
  // The first round needs them all at once.
  const held: (() => void)[] = []
  endpoint.answer = (socket, id) => held.push(() => writeResult(socket, id))
  const first = sendAll()
  await waitFor('all requests', () => held.length === 150)
  endpoint.answer = writeResult
  for (const write of held) write()
  await first
  expect(endpoint.sockets).toHaveLength(150)
  for (let round = 0; round < 3; round++) await sendAll()
  expect(endpoint.sockets).toHaveLength(150)
})

test('after silence on a kept connection, the next request opens a new one', async () => {
  const endpoint = await startEndpoint()
  const clock = createTestClock()
  const transport = createTransport({ url: endpoint.url, timeoutMs: 1_000, clock })
  const held: (() => void)[] = []
  endpoint.answer = (socket, id) => held.push(() => writeResult(socket, id))
  const first = Array.from({ length: 24 }, () => transport.send(REQUEST, never))
  await waitFor('all requests', () => held.length === 24)
  for (const write of held) write()
  await Promise.all(first)
  await clock.advance(60_000)

  // A balancer has forgotten every connection so far; new ones are answered.
  const dead = new Set(endpoint.sockets)
  endpoint.requests = 0
  endpoint.answer = (socket, id) => {
    if (!dead.has(socket)) writeResult(socket, id)
  }
  const late = transport.send(REQUEST, never).catch((error: Error) => error.message)
  await waitFor('the request', () => endpoint.requests === 1)
  await clock.advance(1_000)
  expect(await late).toBe('No answer within 1000 ms')
  for (let call = 0; call < 24; call++) expect(await transport.send(REQUEST, never)).toBeNumber()
  // The others of that age were closed, and one new connection served all.
  expect(endpoint.sockets).toHaveLength(25)
})

test('a late answer closes no connection that has answered since', async () => {
  const endpoint = await startEndpoint()
  const clock = createTestClock()
  const transport = createTransport({ url: endpoint.url, timeoutMs: 1_000, clock })
  let isSlow = true
  endpoint.answer = (socket, id) => {
    if (!isSlow) writeResult(socket, id)
    isSlow = false
  }
  const late = transport.send(REQUEST, never).catch((error: Error) => error.message)
  await waitFor('the request', () => endpoint.requests === 1)
  await clock.advance(500)
  await transport.send(REQUEST, never)
  await clock.advance(500)
  expect(await late).toBe('No answer within 1000 ms')
  await transport.send(REQUEST, never)
  expect(endpoint.sockets).toHaveLength(2)
})

test('a request on a kept connection that the endpoint closes is sent again on a new one', async () => {
  const endpoint = await startEndpoint()
  const transport = createTransport({ url: endpoint.url, timeoutMs: 10_000, clock: systemClock })
  await transport.send(REQUEST, never)
  const [kept] = endpoint.sockets
  endpoint.answer = (socket, id) => (socket === kept ? socket.resetAndDestroy() : writeResult(socket, id))
  expect(await transport.send(REQUEST, never)).toBe(2)
  // A new connection that is closed at once is a failure.
  endpoint.answer = (socket) => socket.resetAndDestroy()
  const { requests } = endpoint
  const outcome = await transport.send(REQUEST, never).catch((error: Error) => error.message)
  expect(outcome).toStartWith('Cannot reach the endpoint')
  expect(endpoint.requests - requests).toBeLessThanOrEqual(2)
})

test('an idle connection that the endpoint resets is no error', async () => {
  const endpoint = await startEndpoint()
  const transport = createTransport({ url: endpoint.url, timeoutMs: 10_000, clock: systemClock })
  await transport.send(REQUEST, never)
  const [kept] = endpoint.sockets
  kept?.resetAndDestroy()
  expect(await transport.send(REQUEST, never)).toBe(2)
})

test.each([
  ['early hints', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
  ['continue', 'HTTP/1.1 100 Continue\r\n\r\n'],
])('a few interim answers are passed over, and endless ones refused (%s)', async (_, interim) => {
  const endpoint = await startEndpoint()
  const transport = createTransport({ url: endpoint.url, timeoutMs: 10_000, clock: systemClock })
  endpoint.answer = (socket, id) => {
    socket.write(interim.repeat(10))
    writeResult(socket, id)
  }
  expect(await transport.send(REQUEST, never)).toBe(1)
  endpoint.answer = (socket) => socket.write(interim.repeat(11))
  const outcome = await transport.send(REQUEST, never).catch((error: Error) => error.message)
  expect(outcome).toBe('The endpoint sends no final answer')
})

test.each([
  ['an upgrade', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'],
  ['a longer body than is read', 'HTTP/1.1 200 OK\r\nContent-Length: 8388609\r\n\r\n'],
  ['a head without end', `HTTP/1.1 200 OK\r\nX-A: ${'b'.repeat(200_000)}`],
  ['a body that is cut off', 'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{'],
  [
    'an answer that is cut off behind its JSON',
    'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"jsonrpc":"2.0","id":1,"result":1}',
  ],
])('%s is refused without waiting', async (name, head) => {
  const endpoint = await startEndpoint()
  const transport = createTransport({ url: endpoint.url, timeoutMs: 10_000, clock: createTestClock() })
  endpoint.answer = (socket) => {
    socket.write(head)
    if (name.includes('cut off')) socket.end()
  }
  const outcome = await transport.send(REQUEST, never).catch((error: Error) => error)
  expect(outcome).toMatchObject({ name: 'UpstreamError' })
})

test('300 header fields, and a proxy in the environment, change nothing', async () => {
  const endpoint = await startEndpoint()
  const transport = createTransport({ url: endpoint.url, timeoutMs: 10_000, clock: systemClock })
  endpoint.answer = (socket, id) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id, result: id })
    const fields = Array.from({ length: 300 }, (_, index) => `X-${index}: v\r\n`).join('')
    socket.write(`HTTP/1.1 200 OK\r\n${fields}Content-Length: ${body.length}\r\n\r\n${body}`)
  }
  process.env['HTTP_PROXY'] = 'http://127.0.0.1:9'
  try {
    expect(await transport.send(REQUEST, never)).toBe(1)
  } finally {
    delete process.env['HTTP_PROXY']
  }
})

test.each([
  [
    'chunks',
    1,
    (body: string) => `Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  ],
  ['a word that it closes', 2, (body: string) => `Connection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`],
  [
    'an idle time that is over',
    2,
    (body: string) => `Keep-Alive: timeout=1\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  ],
  [
    'another answer behind it',
    2,
    (body: string) => `Content-Length: ${body.length}\r\n\r\n${body}HTTP/1.1 200 OK\r\n\r\n`,
  ],
])('a connection is kept after an answer that leaves it in order: %s', async (_, connections, write) => {
  const endpoint = await startEndpoint()
  const transport = createTransport({ url: endpoint.url, timeoutMs: 10_000, clock: systemClock })
  endpoint.answer = (socket, id) => {
    socket.write(`HTTP/1.1 200 OK\r\n${write(JSON.stringify({ jsonrpc: '2.0', id, result: id }))}`)
  }
  for (const id of [1, 2]) expect(await transport.send(REQUEST, never)).toBe(id)
  expect(endpoint.sockets).toHaveLength(connections)
})

test('bytes on an idle connection close it, and are no answer', async () => {
  const endpoint = await startEndpoint()
  const transport = createTransport({ url: endpoint.url, timeoutMs: 10_000, clock: systemClock })
  await transport.send(REQUEST, never)
  const [kept] = endpoint.sockets
  const closed = new Promise((resolve) => kept?.once('close', resolve))
  if (kept !== undefined) writeResult(kept, 2)
  await closed
  expect(await transport.send(REQUEST, never)).toBe(2)
  expect(endpoint.sockets).toHaveLength(2)
})

test('an endpoint over TLS is asked only with a trusted certificate of its name', async () => {
  let requests = 0
  const server = https.createServer(
    { key: readFileSync(join(CERTIFICATES, 'hook.key')), cert: readFileSync(join(CERTIFICATES, 'hook.pem')) },
    (request, response) => {
      requests++
      request.resume().on('end', () => response.end('{"jsonrpc":"2.0","id":1,"result":7}'))
    },
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stops.push(async () => void server.close())
  const { port } = server.address() as AddressInfo
  const ask = async (url: string, env: Readonly<Record<string, string>> = {}) => {
    const child = Bun.spawn([process.execPath, join(import.meta.dir, 'ask.ts'), url], {
      env: { ...process.env, ...env },
    })
    return (await child.stdout.text()).trim()
  }
  const trusting = { NODE_EXTRA_CA_CERTS: join(CERTIFICATES, 'ca.pem') }
  expect(await ask(`https://127.0.0.1:${port}/`)).toBe('Cannot reach the endpoint (UNABLE_TO_VERIFY_LEAF_SIGNATURE)')
  expect(await ask(`https://localhost:${port}/`, trusting)).toBe(
    'Cannot reach the endpoint (ERR_TLS_CERT_ALTNAME_INVALID)',
  )
  expect(requests).toBe(0)
  // The process ends although its connection is kept.
  expect(await ask(`https://127.0.0.1:${port}/`, trusting)).toBe('7')
})

test('a request of a caller that has left is not sent', async () => {
  const endpoint = await startEndpoint()
  const client = createHttpClient(endpoint.url, systemClock)
  const request = { method: 'POST', headers: {}, body: '{}', signal: AbortSignal.abort() } as const
  await expect(client.send(request)).rejects.toThrow()
  expect(endpoint.requests).toBe(0)
})

test('of large bodies four are read at a time, and one that waits for its turn stands still', async () => {
  const endpoint = await startEndpoint()
  const client = createHttpClient(endpoint.url, systemClock)
  const over = new AbortController()
  const ask = () =>
    client.send({ method: 'POST', headers: {}, body: '{"id":1}', signal: over.signal }).then(
      () => 'an answer',
      () => 'none',
    )
  const outcomes: string[] = []
  endpoint.answer = (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n')
  for (let body = 0; body < 4; body++) void ask().then((outcome) => outcomes.push(outcome))
  await waitFor('all requests', () => endpoint.requests === 4)
  endpoint.answer = writeResult
  for (let call = 0; call < 10; call++) expect(await ask()).toBe('an answer')

  // More than the system keeps between two sockets.
  const bytesMax = 64 * 1024 * 1024
  const chunk = Buffer.alloc(64 * 1024, ' ')
  let written = 0
  endpoint.answer = (socket) => {
    const write = () => {
      while (written < bytesMax) {
        written += chunk.length
        if (!socket.write(chunk)) return void socket.once('drain', write)
      }
    }
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    write()
  }
  void ask().then((outcome) => outcomes.push(outcome))
  await waitFor('the endless body', () => written > 0)
  endpoint.answer = writeResult
  for (let call = 0; call < 2_000; call++) expect(await ask()).toBe('an answer')
  expect(written).toBeLessThan(bytesMax)
  expect(outcomes).toEqual([])
  over.abort()
  await waitFor('all ends', () => outcomes.length === 5)
})
