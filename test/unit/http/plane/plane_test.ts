import { expect, test } from 'bun:test'
import * as v from 'valibot'
import { PLANE_CALLER_CONCURRENCY_MAX } from '../../../../src/http/limits.ts'
import { createUnmeteredPlane } from '../../../../src/http/plane/plane.ts'
import { defineRoute, type Identity } from '../../../../src/http/route/route.ts'
import { systemClock } from '../../../../src/lib/clock.ts'

const TOKEN: Identity = { by: 'token', sessionId: null, organizationId: null }
const CROWDED = 'Cannot answer: too many requests are under way'

test('a caller can take its own slots only', async () => {
  const held = Promise.withResolvers<{ readonly data: string }>()
  const hold = defineRoute({
    method: 'GET',
    path: '/p/v1/hold',
    summary: 'Holds a place until it is released.',
    input: v.object({ now: v.optional(v.string()) }),
    output: v.strictObject({ data: v.string() }),
    act: ({ now }) => (now === undefined ? held.promise : Promise.resolve({ data: now })),
  })
  const callers: Readonly<Record<string, Identity>> = {
    token: TOKEN,
    a: session('a'),
    b: session('b'),
    operator: session(null),
  }
  const plane = createUnmeteredPlane({
    prefix: '/p/v1',
    routes: [hold],
    authenticate: async ({ bearer = '' }) => callers[bearer],
    cookie: { name: 'c', path: '/p/v1' },
    publicUrl: undefined,
    openapi: () => '{}',
    clock: systemClock,
    claims: { claim: async () => ({ kind: 'claimed' }), finish: async () => {}, release: async () => {} },
  })
  const ask = (caller: string, query = '') => {
    const request = new Request('http://h/p/v1/hold', { headers: { authorization: `Bearer ${caller}` } })
    const asked = { request, requestId: 'req_1', method: 'GET', path: '/p/v1/hold', base: 'http://h', fault: undefined }
    return plane.find({ ...asked, query }).answer()
  }
  const many = Array.from({ length: PLANE_CALLER_CONCURRENCY_MAX }, () => ask('a'))
  await expect(ask('a', 'now=in')).rejects.toThrow(CROWDED)
  for (const other of ['b', 'operator', 'token']) expect((await ask(other, 'now=in')).status).toBe(200)
  held.resolve({ data: 'done' })
  await Promise.all(many)
  expect((await ask('a', 'now=in')).status).toBe(200)
  await expect(ask('token', 'wrong=')).rejects.toThrow('"wrong"')
  expect((await ask('token', 'now=in')).status).toBe(200)
})

function session(organizationId: string | null): Identity {
  return { by: 'session', sessionId: 's', organizationId }
}
