import { afterEach, describe, expect, test } from 'bun:test'
import { docsPage } from '../../src/http/openapi/docs/page.ts'
import { serveBun } from '../../src/http/server/bun.ts'
import type { ListeningServer } from '../../src/http/server/listening.ts'
import { createClient, sendRaw } from '../support/client.ts'
import { createFixture } from './fixture.ts'

let served: ListeningServer | undefined

afterEach(async () => {
  await served?.stop()
  served = undefined
})

describe('GET /docs', () => {
  test('shows the document of /openapi.json without a key, and is free', async () => {
    const { app, gate } = createFixture()
    const call = createClient(app.handler)
    const document = (await call('/openapi.json')).body
    for (const request of [{}, { key: 'good' }, { key: 'unknown' }]) {
      const answer = await call('/docs', request)
      expect([answer.status, answer.text]).toEqual([200, docsPage(document).body])
    }
    expect(gate.rows).toEqual([])
  })

  test('has the headers of a page that loads nothing', async () => {
    const call = createClient(createFixture().app.handler)
    const { headers } = await call('/docs', { headers: { 'x-request-id': 'chosen-by-caller' } })
    expect(Object.fromEntries(headers)).toEqual({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': docsPage({}).headers['content-security-policy'] ?? '',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-request-id': 'chosen-by-caller',
    })
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
