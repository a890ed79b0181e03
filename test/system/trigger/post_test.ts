import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../../src/lib/clock.ts'
import { createNameResolver } from '../../../src/trigger/deliver/address.ts'
import { createPost, type PostResult } from '../../../src/trigger/deliver/post.ts'
import { startNameServer } from '../../support/name_server.ts'
import { parseNetworks } from '../../support/networks.ts'
import { RECEIVER_BODY, RECEIVER_CA, type ReceivedPost, startReceiver } from '../../support/receiver.ts'
import { createTestClock } from '../../support/test_clock.ts'
import { POST_CASES, postAll } from './deliver/post_cases.ts'

const outcomes: Record<
  string,
  { posted: readonly PostResult[]; received: readonly ReceivedPost[]; connections: number }
> = {}

async function onNode(port: number): Promise<PostResult[]> {
  const directory = await mkdtemp(join(tmpdir(), 'walletscope-post-'))
  try {
    const entrypoints = [join(import.meta.dir, 'deliver/node_entry.ts')]
    await Bun.build({ entrypoints, outdir: directory, target: 'node', naming: 'entry.mjs' })
    await writeFile(join(directory, 'ca.pem'), RECEIVER_CA)
    const words = ['node', join(directory, 'entry.mjs'), String(port), join(directory, 'ca.pem')]
    const ran = Bun.spawn(words, { stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' })
    return JSON.parse(await new Response(ran.stdout).text())
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

beforeAll(async () => {
  const runs = { Bun: (port: number) => postAll({ port, ca: RECEIVER_CA }), Node: onNode }
  for (const [name, run] of Object.entries(runs)) {
    const receiver = await startReceiver()
    const posted = await run(receiver.port)
    outcomes[name] = { posted, received: receiver.received, connections: receiver.connections() }
    await receiver.stop()
  }
}, 120_000)

describe.each(['Bun', 'Node'])('a post on %s', (runtime) => {
  for (const [index, { title, outcome }] of POST_CASES.entries()) {
    test(title, () => expect(outcomes[runtime]?.posted[index]).toMatchObject(outcome))
  }

  test('is what was to be posted, under the name of the URL, over connections that are kept', () => {
    const { received = [], connections = 0 } = outcomes[runtime] ?? {}
    const [first] = received
    expect(first).toMatchObject({ path: '/ok', body: '{"é":1}' })
    expect(first?.headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': 'x',
      'content-length': '8',
    })
    expect(first?.headers['host']).toMatch(/^hook\.test:\d+$/)
    expect(received.filter(({ path }) => path.startsWith('/ok')).length).toBe(3)
    expect(connections).toBeLessThan(POST_CASES.length)
  })

  test('keeps no byte of an answer', () => {
    expect(JSON.stringify(outcomes[runtime]?.posted)).not.toContain(RECEIVER_BODY)
  })
})

describe('a name that changes its address', () => {
  let names: Awaited<ReturnType<typeof startNameServer>>
  let asked = 0
  let answers: readonly string[] = []
  beforeAll(async () => {
    names = await startNameServer(() => {
      asked++
      return answers
    })
  })
  afterAll(() => names.stop())

  test('is asked once a try, and posted to at the address that was looked at', async () => {
    const receiver = await startReceiver()
    // By these rules 127.0.0.1 is allowed; later the name resolves to 127.0.0.2, where no server listens.
    const allowed = parseNetworks('127.0.0.1/32')
    const resolve = createNameResolver([], names.resolver)
    const post = createPost({ rules: { allowed, resolve }, clock: systemClock, ca: RECEIVER_CA })
    const url = `https://hook.test:${receiver.port}/ok`
    const message = { headers: {}, body: '{}', no: 0, nowMs: 0 }
    answers = ['127.0.0.1']
    asked = 0
    expect(await post(url, message)).toMatchObject({ statusCode: 200 })
    expect(asked).toBe(1)
    for (const changed of [['127.0.0.2'], ['127.0.0.1', '127.0.0.2'], ['169.254.169.254']]) {
      answers = changed
      expect(await post(url, message)).toMatchObject({ statusCode: null, failure: 'address' })
    }
    answers = ['127.0.0.1']
    expect(await post(url, message)).toMatchObject({ statusCode: 200 })
    expect(receiver.received.length).toBe(2)
    post.close()
    await receiver.stop()
  })
})

/** Much more than the buffers of both ends of a connection hold. */
const FLOOD_BYTES = 64_000_000

/** A receiver over plain TCP that answers each post with `answers` of these, without end if undefined, then with 200. */
async function startRawReceiver(interim: string, answers?: number) {
  let bytes = 0
  let connections = 0
  const server = createServer((socket) => {
    connections++
    const many = Buffer.from(interim.repeat(answers ?? 200))
    const write = () => {
      while (!socket.destroyed && bytes < FLOOD_BYTES) {
        bytes += many.length
        if (answers !== undefined) return void socket.end(`${many}HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n`)
        if (!socket.write(many)) return void socket.once('drain', write)
      }
      socket.destroy()
    }
    socket.on('error', () => undefined)
    socket.once('data', write)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { port, bytes: () => bytes, connections: () => connections, stop: () => void server.close() }
}

describe.each([
  ['100', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ['103', `HTTP/1.1 103 Early Hints\r\nlink: </${'x'.repeat(900)}>\r\n\r\n`],
])('interim answers %s', (_, interim) => {
  // No time passes, so that no deadline ends what a flood holds.
  const post = createPost({
    rules: { allowed: parseNetworks('127.0.0.0/8'), resolve: async () => [] },
    clock: createTestClock(),
  })
  const message = { headers: {}, body: '{}', no: 0, nowMs: 0 }

  test('without end are no answer: the connection is cut', async () => {
    const receiver = await startRawReceiver(interim)
    expect(await post(`http://127.0.0.1:${receiver.port}/`, message)).toMatchObject({
      statusCode: null,
      failure: 'protocol',
    })
    expect(receiver.bytes()).toBeLessThan(FLOOD_BYTES)
    expect(receiver.connections()).toBe(1)
    receiver.stop()
  })

  test('ten of them are read over', async () => {
    const receiver = await startRawReceiver(interim, 10)
    expect(await post(`http://127.0.0.1:${receiver.port}/`, message)).toMatchObject({ statusCode: 200, failure: null })
    receiver.stop()
  })
})
