import { afterEach, describe, expect, test } from 'bun:test'
import { gunzipSync } from 'node:zlib'
import { openapiDocument } from '../../../src/http/openapi/document.ts'
import { createOpenapiPage } from '../../../src/http/page/openapi.ts'
import { serveBun } from '../../../src/http/server/bun.ts'
import type { ListeningServer } from '../../../src/http/server/listening.ts'
import { createClient, sendRaw } from '../../support/client.ts'
import { createFixture } from '../fixture.ts'

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

  test('HEAD has its length and no body', async () => {
    served = serveBun(createFixture().app, { port: 0, host: '127.0.0.1' })
    const rest = '/docs HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n'
    const got = await sendRaw(served.port, `GET ${rest}`)
    const head = await sendRaw(served.port, `HEAD ${rest}`, { quietMs: 200 })
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

describe('GET /openapi.json', () => {
  const firstCall = (text: string): string => JSON.parse(text).info.description

  test('its first call has the host of the request for the document, for each host', async () => {
    const call = createClient(createFixture().app.handler)
    const hosts = ['h', '127.0.0.1:9000', '[::1]:8081', 'localhost:1', 'api.test:2', 'me.example', 'h']
    for (const host of hosts) {
      for (const _ of ['made', 'kept']) {
        const { text, headers } = await call('/openapi.json', { headers: { host } })
        expect(firstCall(text)).toContain(`"http://${host}/v1/usage/logs"`)
        expect(text).not.toContain('address.invalid')
        expect(headers.get('cache-control')).toBe('no-cache')
      }
    }
    expect((await call('/openapi.json', { headers: { host: 'evil.example' } })).status).toBe(400)
  })

  test('its first call has the configured public address', async () => {
    const publicUrl = 'https://api.example/base/'
    const document = createOpenapiPage(openapiDocument({ routes: [], publicUrl }))
    const { body } = await document('', new Request('http://h/openapi.json', { headers: { host: 'h' } }))
    expect(firstCall(body ?? '')).toContain('"https://api.example/base/v1/usage/logs"')
  })
})
