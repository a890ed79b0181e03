import { afterEach, describe, expect, test } from 'bun:test'
import { brotliCompressSync, gunzipSync } from 'node:zlib'
import { openapiDocument } from '../../../../src/http/openapi/document.ts'
import { createReference } from '../../../../src/http/page/docs.ts'
import { createOpenapiPage } from '../../../../src/http/page/openapi.ts'
import { createOperatorPages, createPublicPages } from '../../../../src/http/page/public.ts'
import type { PreparedAnswer } from '../../../../src/http/respond.ts'
import { serveBun } from '../../../../src/http/server/bun.ts'
import type { ListeningServer } from '../../../../src/http/server/listening.ts'
import { UnavailableError } from '../../../../src/lib/error.ts'
import { createMetrics } from '../../../../src/lib/metrics.ts'
import { createClient, sendRaw } from '../../../support/client.ts'
import { createFixture, REFERENCE } from '../../../support/http/fixture.ts'
import { askPage } from '../../../support/page.ts'
import { createFixedClock, createTestClock } from '../../../support/test_clock.ts'

let served: ListeningServer | undefined

afterEach(async () => {
  await served?.stop()
  served = undefined
})

describe('GET /docs', () => {
  test('is free, with a key or without', async () => {
    const { app, gate } = createFixture()
    const call = createClient(app.handler)
    for (const request of [{}, { key: 'good' }, { key: 'unknown' }]) {
      const answer = await call('/docs', request)
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    }
    expect(gate.rows).toEqual([])
  })

  test('may run scripts of this service only, and connect to no other host', async () => {
    const call = createClient(createFixture().app.handler)
    const { headers } = await call('/docs/reference')
    const policy = Object.fromEntries(
      (headers.get('content-security-policy') ?? '').split('; ').map((each) => {
        const [name = '', ...sources] = each.split(' ')
        return [name, sources.join(' ')]
      }),
    )
    expect(policy).toMatchObject({ 'default-src': "'none'", 'script-src': "'self'", 'connect-src': "'self'" })
    expect(Object.values(policy).join(' ')).not.toMatch(/https?:|\*/)
    expect(headers.get('referrer-policy')).toBe('no-referrer')
  })

  test('names its scripts by addresses that work behind any path, compressed if the client accepts gzip', async () => {
    const call = createClient(createFixture().app.handler)
    const { text } = await call('/docs/reference')
    expect(text).toMatch(/<div id="app">[^<]*reload/)
    const scripts = [...text.matchAll(/<script src="\.\.\/([^"]+)"/g)].map(([, address]) => address ?? '')
    expect(scripts).toEqual([
      expect.stringMatching(/^assets\/[0-9a-f]{16}\/reference\.js$/),
      expect.stringMatching(/^assets\/[0-9a-f]{16}\/docs\.js$/),
    ])
    const plain = await call(`/${scripts[0]}`)
    expect([plain.text, plain.headers.get('content-encoding')]).toEqual(['const é = 1', null])
    expect(plain.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    const { app } = createFixture()
    const packed = await app.handler({
      request: new Request(`http://h/${scripts[0]}`, { headers: { host: 'h', 'accept-encoding': 'gzip, br' } }),
      ip: '',
      platform: undefined,
      env: () => undefined,
      passThrough: () => {},
      waitUntil: () => {},
    })
    expect(packed.headers.get('content-encoding')).toBe('gzip')
    expect(gunzipSync(await packed.arrayBuffer()).toString()).toBe('const é = 1')
    expect((await call(`/${scripts[1]}`)).text).toBe('draw()')
  })

  test('100 readers of its script are given one copy, which a server reads piece by piece', async () => {
    const pages = createReference({ ...REFERENCE, script: async () => brotliCompressSync('draw()').toString('base64') })
    const path = [...pages.keys()].find((each) => each.endsWith('/reference.js')) ?? ''
    const answers = await Promise.all(Array.from({ length: 100 }, () => askPage(pages.get(path))))
    const copies = new Set(answers.map((answer) => ('shared' in answer ? answer.shared : undefined)))
    expect(copies.size).toBe(1)
    expect([...copies][0]?.blob).toBeInstanceOf(Blob)
  })

  test('HEAD has its length and no body', async () => {
    served = serveBun(createFixture().app, { port: 0, host: '127.0.0.1' })
    const rest = '/docs HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n'
    const got = await sendRaw(served.port, `GET ${rest}`)
    const head = await sendRaw(served.port, `HEAD ${rest}`)
    expect([head.status, head.text]).toEqual([200, ''])
    expect(got.text).toEndWith('</html>\n')
    expect(head.headers['content-length']).toBe(String(Buffer.byteLength(got.text)))
    expect(head.headers['content-security-policy']).toBe(String(got.headers['content-security-policy']))
  })

  test('other methods are 405 with the methods of the page', async () => {
    const call = createClient(createFixture().app.handler)
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const answer = await call('/docs', { method })
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
      expect(answer.body.error.code).toBe('INVALID_REQUEST')
    }
    const { status, headers } = await call('/docs', { method: 'OPTIONS' })
    expect([status, headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS'])
    expect((await call('/docs/')).status).toBe(404)
  })
})

test('the page of public keys is read once a second, however often it is asked, and a failure too', async () => {
  const clock = createTestClock()
  let reads = 0
  const keys = async () => {
    reads += 1
    if (reads === 2) throw new UnavailableError('Cannot reach the database')
    return JSON.stringify({ keys: [reads] })
  }
  const page = createPublicPages({ openapi: () => '', keys, clock }).get('/.well-known/walletscope-keys.json')
  const ask = () => Promise.all(Array.from({ length: 100 }, () => askPage(page)))
  expect(new Set((await ask()).map(({ text }) => text))).toEqual(new Set(['{"keys":[1]}']))
  await clock.advance(1_001)
  await expect(ask()).rejects.toThrow('Cannot reach the database')
  await expect(ask()).rejects.toThrow('Cannot reach the database')
  expect(reads).toBe(2)
  await clock.advance(1_001)
  expect((await ask())[0]?.text).toBe('{"keys":[3]}')
})

test('the metrics are rendered once in a quarter of a second, however often they are asked', async () => {
  const clock = createTestClock()
  const metrics = createMetrics()
  let reads = 0
  metrics.gauge({ name: 'walletscope_reads', help: 'Reads.', read: () => ++reads })
  const probes = { database: async () => true, chains: new Map() }
  const page = createOperatorPages({ probes, clock, metrics, isDraining: () => false }).get('/metrics')
  const ask = () => Promise.all(Array.from({ length: 100 }, () => askPage(page)))
  expect(new Set((await ask()).map(({ text }) => text.split('\n').at(-2)))).toEqual(new Set(['walletscope_reads 1']))
  await clock.advance(251)
  expect((await ask())[99]?.text).toContain('walletscope_reads 2')
  expect(reads).toBe(2)
})

describe('GET /openapi.json', () => {
  const firstCall = (text: string): string => JSON.parse(text).info.description

  test('its first call has the host of the request for the document', async () => {
    const call = createClient(createFixture().app.handler)
    for (const host of ['h', '127.0.0.1:9000', '[::1]:8081', 'localhost:1', 'h']) {
      for (const _ of ['made', 'kept']) {
        const { text, headers } = await call('/openapi.json', { headers: { host } })
        expect(firstCall(text)).toContain(`"http://${host}/v1/usage/logs"`)
        expect(text).not.toContain('address.invalid')
        expect(headers.get('cache-control')).toBe('no-cache')
      }
    }
    expect((await call('/openapi.json', { headers: { host: 'evil.example' } })).status).toBe(400)
  })

  test('invented hosts share one page, and lose their places to others once they are not asked for a minute', async () => {
    const clock = createTestClock()
    const page = createOpenapiPage(openapiDocument({ routes: [] }), { clock })
    const ask = async (host: string) => {
      const { shared, text } = await askPage(page, { host })
      return { shared, url: /"(http:[^"]*)\/v1\//.exec(firstCall(text))?.[1] }
    }
    const invented = Array.from({ length: 100 }, (_, index) => `10.0.0.${index}`)
    const copies = new Set<PreparedAnswer['shared']>()
    for (const host of invented) copies.add((await ask(host)).shared)
    expect(copies.size).toBe(5)
    expect((await ask('ours')).url).toBe('http://HOST')
    await clock.advance(60_001)
    expect((await ask('ours')).url).toBe('http://ours')
    await clock.advance(60_000)
    for (const host of invented) await ask(host)
    expect((await ask('ours')).url).toBe('http://ours')
  })

  test('its first call has the configured public address', async () => {
    const publicUrl = 'https://api.example/base/'
    const document = createOpenapiPage(openapiDocument({ routes: [], publicUrl }), { clock: createFixedClock() })
    expect(firstCall((await askPage(document, { host: 'h' })).text)).toContain(
      '"https://api.example/base/v1/usage/logs"',
    )
  })
})
