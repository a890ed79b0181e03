import { expect, test } from 'bun:test'
import { createLoginPlane } from '../../../../src/http/plane/login.ts'
import { createFixedClock, createTestClock, settle } from '../../../support/test_clock.ts'

test.each([
  ['POST', 'POST /login'],
  ['OPTIONS', 'OPTIONS /login'],
  ['PUT', 'unknown'],
  // Parts of method names are no methods. The servers refuse them before the plane is reached.
  ['OST', 'unknown'],
  ['EAD', 'unknown'],
])('metrics name the login page, asked by %p, as %p', (method, route) => {
  const plane = createLoginPlane({ open: async () => undefined, publicUrl: undefined, clock: createFixedClock() })
  const request = new Request('http://test.local/login')
  const asked = { request, requestId: 'r', method, path: '/login', query: '', base: '', fault: undefined }
  expect(plane.find(asked).route).toBe(route)
})

test('any number of strangers whose forms come slowly keep no one from signing in', async () => {
  const opened = { secrets: { cookie: 'c', page: 'p' }, cookie: { name: 'n', path: '/' }, lifetimeSec: 1, page: './' }
  const plane = createLoginPlane({ open: async () => opened, publicUrl: undefined, clock: createTestClock() })
  const post = (body: ReadableStream | string) => {
    const headers = { host: 'h', origin: 'http://h', 'content-type': 'application/x-www-form-urlencoded' }
    const request = new Request('http://h/login', { method: 'POST', body, headers, duplex: 'half' })
    const asked = { request, requestId: 'r', method: 'POST', path: '/login', query: '', base: '', fault: undefined }
    return plane.find(asked).answer()
  }
  for (let count = 0; count < 1_000; count++) void post(new ReadableStream())
  await settle()
  expect((await post('link=ws_login_a')).status).toBe(200)
  await expect(post(`link=${'a'.repeat(2_000)}`)).rejects.toThrow('expected at most 1024 bytes')
})
