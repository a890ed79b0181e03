import { expect, test } from 'bun:test'
import { createLoginPlane } from '../../../src/http/plane/login.ts'
import { createFixedClock } from '../../support/test_clock.ts'

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
