import { expect, test } from 'bun:test'
import { createClient } from '../../support/client.ts'
import { createFixture, WALLET } from '../../support/http/fixture.ts'

const LIST = '/v1/positions/uniswap-v3'

test.each([
  [`${LIST}?wallet=0x12`, 'wallet'],
  [LIST, 'wallet'],
  [`${LIST}?wallet=${WALLET}&limit=0`, 'limit'],
  [`${LIST}?wallet=${WALLET}&adress=1`, 'adress'],
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
