import { expect, test } from 'bun:test'
import { ERROR_CODES } from '../../../src/lib/error.ts'
import { createClient } from '../../support/client.ts'
import { createFixture, WALLET } from '../../support/http/fixture.ts'

const LIST = '/v1/positions/uniswap-v3'

test.each([
  [`${LIST}?wallet=0x12`, 'wallet'],
  [LIST, 'wallet'],
  [`${LIST}?wallet=${WALLET}&limit=0`, 'limit'],
  [`${LIST}?wallet=${WALLET}&adress=1`, 'adress'],
  [LIST, 'wallet'],
  [`${LIST}?wallet=${WALLET}&limit=1&limit=2`, 'limit'],
])('a 400 names the parameter that it is about in a header, and its body has three fields: %s', async (path, name) => {
  const answer = await createClient(createFixture().app.handler)(path, { key: 'good' })
  expect([answer.status, answer.headers.get('x-error-param')]).toEqual([400, name])
  expect(Object.keys(answer.body.error)).toEqual(['code', 'message', 'request_id'])
})

test('other failures name none', async () => {
  const call = createClient(createFixture().app.handler)
  for (const answer of [await call(`${LIST}?wallet=${WALLET}`), await call('/v1/nowhere', { key: 'good' })]) {
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.headers.get('x-error-param')).toBeNull()
  }
})

test('an error leads to the place of its code on a page of all codes', async () => {
  const call = createClient(createFixture({ publicUrl: 'https://api.test/wallets/' }).app.handler)
  const page = await call('/docs/errors')
  expect([...page.text.matchAll(/<h2 id="(\w+)">/g)].map(([, id]) => id)).toEqual([...ERROR_CODES])
  const asked: readonly [string, { readonly key?: string; readonly method?: string }][] = [
    [`${LIST}?wallet=0x12`, { key: 'good' }],
    [LIST, { key: 'good' }],
    [`${LIST}?wallet=${WALLET}`, {}],
    ['/v1/nowhere', { key: 'good' }],
    [LIST, { key: 'good', method: 'DELETE' }],
  ]
  for (const [path, options] of asked) {
    const { headers, body } = await call(path, options)
    expect(headers.get('link')).toBe(`<https://api.test/wallets/docs/errors#${body.error.code}>; rel="help"`)
  }
})

test('no error leads to a host that is not the service, and no success anywhere', async () => {
  const { app } = createFixture({})
  const call = createClient(app.handler)
  expect((await call('/healthz')).headers.get('link')).toBeNull()
  const stranger = await call(LIST, { headers: { host: 'stranger.example' } })
  expect([stranger.status >= 400, stranger.headers.get('link')]).toEqual([true, null])
})
