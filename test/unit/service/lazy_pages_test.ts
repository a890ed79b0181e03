import { expect, test } from 'bun:test'
import { createServicePages } from '../../../src/service/mod.ts'
import { createFixedClock } from '../../support/test_clock.ts'

test('the document of the API is made by the first request for a page of it, once', async () => {
  let made = 0
  const { callers } = createServicePages(() => {
    made++
    return JSON.stringify({ openapi: '3.1.0', info: { description: '' }, paths: {} })
  }, createFixedClock())
  const request = new Request('http://test.local/docs', { headers: { host: 'test.local' } })
  expect(made).toBe(0)
  for (let times = 0; times < 2; times++) {
    expect((await callers.get('/docs')?.('req_a', request))?.status).toBe(200)
    expect(made).toBe(1)
  }
  for (let times = 0; times < 2; times++) {
    expect((await callers.get('/formulas')?.('req_a', request))?.status).toBe(200)
    expect(made).toBe(2)
  }
})
