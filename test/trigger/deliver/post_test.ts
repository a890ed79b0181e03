import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../../src/lib/clock.ts'
import { createNameResolver } from '../../../src/trigger/deliver/address.ts'
import { createPost, type PostResult } from '../../../src/trigger/deliver/post.ts'
import { startNameServer } from '../../support/name_server.ts'
import { parseNetworks } from '../../support/networks.ts'
import { RECEIVER_BODY, RECEIVER_CA, type ReceivedPost, startReceiver } from '../../support/receiver.ts'
import { POST_CASES, postAll } from './post_cases.ts'

const outcomes: Record<
  string,
  { posted: readonly PostResult[]; received: readonly ReceivedPost[]; connections: number }
> = {}

async function onNode(port: number): Promise<PostResult[]> {
  const directory = await mkdtemp(join(tmpdir(), 'walletscope-post-'))
  try {
    const entrypoints = [join(import.meta.dir, 'node_entry.ts')]
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
}, 60_000)

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
    const message = { headers: {}, body: '{}', no: 0 }
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
