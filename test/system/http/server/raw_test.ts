import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import fc from 'fast-check'
import { serveBun } from '../../../../src/http/server/bun.ts'
import type { ListeningServer } from '../../../../src/http/server/listening.ts'
import { caseCount } from '../../../support/cases.ts'
import { sendRaw } from '../../../support/client.ts'
import { createFixture, WALLET } from '../../../support/http/fixture.ts'
import { waitFor } from '../../../support/wait_for.ts'
import { RAW_REQUESTS } from './raw_requests.ts'

let served: ListeningServer
let directory: string
/** Node's server: on Node, and on Bun, which has it, too. */
const NODE_SERVERS = [
  { name: 'Node', program: 'node', port: 0, process: undefined as Bun.Subprocess | undefined },
  {
    name: "Bun by Node's server",
    program: process.execPath,
    port: 0,
    process: undefined as Bun.Subprocess | undefined,
  },
]

beforeAll(async () => {
  served = serveBun(createFixture().app, { port: 0, host: '127.0.0.1' })
  directory = await mkdtemp(join(tmpdir(), 'walletscope-raw-'))
  const built = await Bun.build({
    entrypoints: [join(import.meta.dir, 'node_entry.ts')],
    outdir: directory,
    target: 'node',
    naming: 'entry.mjs',
  })
  expect(built.success).toBe(true)
  for (const each of NODE_SERVERS) {
    const words = [each.program, join(directory, 'entry.mjs')]
    const started = Bun.spawn(words, { stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' })
    each.process = started
    const { value } = await started.stdout.getReader().read()
    each.port = Number(new TextDecoder().decode(value).trim())
    expect(each.port).toBeGreaterThan(0)
  }
}, 120_000)

afterAll(async () => {
  await served.stop()
  for (const { process: started } of NODE_SERVERS) {
    if (started?.exitCode === null) started.kill('SIGTERM')
    await started?.exited
  }
  await rm(directory, { recursive: true, force: true })
}, 120_000)

describe('the same bytes', () => {
  for (const { name, bytes, status, code, node: differs } of RAW_REQUESTS) {
    test(`${name}: Bun answers ${status} ${code}`, async () => {
      const answer = await sendRaw(served.port, bytes)
      expect([answer.status, answer.code]).toEqual([status, code])
      if (code !== '') expect(answer.headers['x-request-id']).toBeString()
    })

    test(`${name}: Bun by Node's server answers the same, and may refuse what is refused as 400`, async () => {
      const answer = await sendRaw(NODE_SERVERS[1]?.port ?? 0, bytes)
      if (status >= 400) expect([status, differs?.status, 400]).toContain(answer.status)
      else expect([answer.status, answer.code]).toEqual([differs?.status ?? status, differs?.code ?? code])
    })

    test(`${name}: Node answers ${differs?.status ?? status} ${differs?.code ?? code}`, async () => {
      const answer = await sendRaw(NODE_SERVERS[0]?.port ?? 0, bytes)
      if (differs !== undefined) expect([answer.status, answer.code]).toEqual([differs.status, differs.code])
      // Bun answers by itself without an envelope: on Node the app's answer is as good.
      else if (status >= 400 && code === '') expect(answer.status).toBe(status)
      else expect([answer.status, answer.code]).toEqual([status, code])
    })
  }
})

test('only its own target reaches an operator page, in any spelling of a path', async () => {
  const pieces = ['/', '/', '/', '\\', '.', '..', '%2e', '%2E', '%5c', '%2f', ';', '#', '%zz', '\xe9', 'v1', 'metrics']
  const target = fc.array(fc.constantFrom(...pieces, 'metrics', '/../metrics'), { minLength: 1, maxLength: 9 })
  await fc.assert(
    fc.asyncProperty(target, fc.constantFrom('', 'http://h'), async (parts, authority) => {
      const path = `/${parts.join('')}`
      const bytes = `GET ${authority}${path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`
      for (const port of [served.port, ...NODE_SERVERS.map((each) => each.port)]) {
        const { status } = await sendRaw(port, bytes)
        expect([path, status === 200]).toEqual([path, path === '/metrics'])
      }
    }),
    {
      numRuns: caseCount(500),
      examples: [
        [['metrics'], ''],
        [['metrics'], 'http://h'],
      ],
    },
  )
}, 120_000)

test('links follow Host: forwarding headers are not trusted', async () => {
  const forwarded =
    'X-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Port: 1\r\nX-Forwarded-For: 6.6.6.6\r\n' +
    'X-Forwarded-Prefix: /evil\r\nX-Original-URL: /metrics\r\nForwarded: host=evil.example;proto=https\r\n'
  for (const port of [served.port, ...NODE_SERVERS.map((each) => each.port)]) {
    const head = 'Host: api.test:8080\r\nAuthorization: Bearer good\r\nConnection: close\r\n'
    const { text } = await sendRaw(
      port,
      `GET /v1/positions/uniswap-v3?wallet=${WALLET}&page=2&limit=4 HTTP/1.1\r\n${head}${forwarded}\r\n`,
    )
    const { next_page, prev_page } = JSON.parse(text).pagination
    const base = `http://api.test:8080/v1/positions/uniswap-v3?wallet=${WALLET}`
    expect([next_page, prev_page]).toEqual([`${base}&page=3&limit=4`, `${base}&page=1&limit=4`])
  }
})

describe('bodies above 1 kB', () => {
  const ask = (port: number, path: string, encodings: string, method = 'GET') =>
    fetch(`http://127.0.0.1:${port}${path}`, { method, headers: { 'accept-encoding': encodings }, decompress: false })

  test.each([
    ['zstd, gzip', 'zstd', 'gzip'],
    ['GZIP;q=0.5, deflate, br', 'gzip', 'gzip'],
    ['zstd', 'zstd', null],
    ['br', null, null],
    ['identity', null, null],
    ['gzip;q=0, zstd;q=0.000', null, null],
    ['*', null, null],
  ])('are sent to a client that accepts %p as %p by Bun and as %p by Node', async (encodings, byBun, byNode) => {
    const ports = [served.port, NODE_SERVERS[0]?.port ?? 0]
    const answers = await Promise.all(ports.map((port) => ask(port, '/metrics', encodings)))
    for (const [index, answer] of answers.entries()) {
      const encoding = index === 0 ? byBun : byNode
      expect([answer.status, answer.headers.get('content-encoding')]).toEqual([200, encoding])
      expect(answer.headers.get('vary')).toBe('accept-encoding')
      const bytes = new Uint8Array(await answer.arrayBuffer())
      expect(answer.headers.get('content-length')).toBe(String(bytes.length))
      const text = encoding === 'zstd' ? zstdDecompressSync(bytes) : encoding === 'gzip' ? gunzipSync(bytes) : bytes
      expect(Buffer.from(text).toString()).toEndWith('\n')
      expect(Buffer.from(text).toString()).toStartWith('# HELP')
      if (encoding !== null) expect(bytes.length).toBeLessThan(text.length / 2)
    }
  })

  test('shorter ones are sent as they are', async () => {
    for (const port of [served.port, ...NODE_SERVERS.map((each) => each.port)]) {
      const answer = await ask(port, '/healthz', 'zstd, gzip')
      expect([answer.headers.get('content-encoding'), answer.headers.get('vary')]).toEqual([null, null])
      expect(await answer.json()).toHaveProperty('request_id')
    }
  })

  test('HEAD has the length of the encoded one', async () => {
    for (const port of [served.port, ...NODE_SERVERS.map((each) => each.port)]) {
      const got = await ask(port, '/openapi.json', 'gzip')
      const head = await ask(port, '/openapi.json', 'gzip', 'HEAD')
      expect(head.headers.get('content-encoding')).toBe('gzip')
      expect(head.headers.get('content-length')).toBe(String((await got.arrayBuffer()).byteLength))
    }
  })
})

describe.each(NODE_SERVERS)('serveNode() on $name', (server) => {
  test('a caller who hangs up ends the read, and is counted as 499', async () => {
    const socket = connect(server.port, '127.0.0.1')
    socket.write('GET /v1/positions/uniswap-v3/999 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer good\r\n\r\n')
    await metric(server.port, 'walletscope_http_requests_in_flight 2')
    socket.destroy()
    await metric(server.port, '{route="GET /v1/positions/uniswap-v3/{id}",status="499"} 1')
  })

  test('fifty requests that are sent at once are answered in their order', async () => {
    const requests = Array.from(
      { length: 50 },
      (_, index) =>
        `GET /v1/positions/uniswap-v3/${index} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer good\r\n` +
        `${index === 49 ? 'Connection: close\r\n' : ''}\r\n`,
    )
    const socket = connect(server.port, '127.0.0.1')
    let text = ''
    socket.on('data', (bytes) => {
      text += bytes.toString()
    })
    socket.write(requests.join(''))
    await new Promise((resolve) => socket.once('close', resolve))
    const ids = [...text.matchAll(/"token_id":"(\d+)"/g)].map(([, id]) => Number(id))
    expect(ids).toEqual(requests.map((_, index) => index))
  })

  test('HEAD has the length of GET and no body', async () => {
    const lines = 'Host: h\r\nAuthorization: Bearer good\r\nX-Request-Id: the-same-id\r\nConnection: close\r\n\r\n'
    const got = await sendRaw(server.port, `GET /v1/positions/uniswap-v3/5 HTTP/1.1\r\n${lines}`)
    const head = await sendRaw(server.port, `HEAD /v1/positions/uniswap-v3/5 HTTP/1.1\r\n${lines}`)
    expect([head.status, head.text]).toEqual([200, ''])
    expect(head.headers['content-length']).toBe(String(Buffer.byteLength(got.text)))
  })

  test('stop() lets the process end, kept-alive connections or not', async () => {
    const idle = connect(server.port, '127.0.0.1')
    idle.write('GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n')
    await new Promise((resolve) => idle.once('data', resolve))
    server.process?.kill('SIGTERM')
    expect(await server.process?.exited).toBe(0)
    idle.destroy()
  })
})

/** Waits until the metrics of a server hold this text. */
async function metric(port: number, text: string): Promise<void> {
  await waitFor(`the metric ${text}`, async () => {
    const { text: shown } = await sendRaw(port, 'GET /metrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')
    return shown.includes(text)
  })
}
