import { describe, expect, test } from 'bun:test'
import * as v from 'valibot'
import { PLANE_CALLER_CONCURRENCY_MAX, PLANE_UNAUTHENTICATED_MAX } from '../../../src/http/limits.ts'
import type { Authenticate } from '../../../src/http/plane/credential.ts'
import { createUnmeteredPlane } from '../../../src/http/plane/plane.ts'
import { limitSessionLookups } from '../../../src/http/plane/session_lookups.ts'
import { defineRoute, type Identity } from '../../../src/http/route/route.ts'
import { systemClock } from '../../../src/lib/clock.ts'

const TOKEN: Identity = { by: 'token', sessionId: null, organizationId: null }
const CROWDED = 'Cannot answer: too many requests are under way'

/** A session is looked up when `release` is called; one whose cookie is `mine` exists. */
function scene() {
  const waiting: (() => void)[] = []
  const authenticate: Authenticate = async ({ bearer, session }) => {
    if (bearer !== undefined) return bearer === 'right' ? TOKEN : undefined
    if (session === undefined) return undefined
    await new Promise<void>((resolve) => waiting.push(resolve))
    return session.cookie === 'mine' ? { by: 'session', sessionId: 's', organizationId: 'o' } : undefined
  }
  const release = () => {
    for (const resolve of waiting.splice(0)) resolve()
  }
  const bounded = limitSessionLookups(authenticate)
  const bySession = (cookie: string) => bounded({ bearer: undefined, session: { cookie, page: 'p' } })
  return { bounded, bySession, release, waiting }
}

describe('look-ups of invented sessions', () => {
  test('block neither the token nor a recognized session, and are bounded themselves', async () => {
    const { bounded, bySession, release, waiting } = scene()
    const first = bySession('mine')
    release()
    expect(await first).toMatchObject({ organizationId: 'o' })

    const flood = Array.from({ length: 200 }, (_, index) => bySession(`invented-${index}`).catch(String))
    expect(waiting).toHaveLength(PLANE_UNAUTHENTICATED_MAX)
    expect(await bounded({ bearer: 'right', session: undefined })).toBe(TOKEN)
    expect(await bounded({ bearer: 'wrong', session: undefined })).toBeUndefined()
    expect(await bounded({ bearer: undefined, session: undefined })).toBeUndefined()
    const again = bySession('mine')
    release()
    expect(await again).toMatchObject({ organizationId: 'o' })
    const outcomes = await Promise.all(flood)
    expect(outcomes.filter((each) => each === undefined)).toHaveLength(PLANE_UNAUTHENTICATED_MAX)
    expect(outcomes.filter((each) => String(each).includes(CROWDED))).toHaveLength(200 - PLANE_UNAUTHENTICATED_MAX)

    // Places are given back.
    const later = bySession('unknown')
    release()
    expect(await later).toBeUndefined()
  })

  test('of a forgotten session count as unknown, and never return its old answer', async () => {
    let exists = true
    const bounded = limitSessionLookups(async () => (exists ? TOKEN : undefined))
    const ask = () => bounded({ bearer: undefined, session: { cookie: 'c', page: 'p' } })
    expect(await ask()).toBe(TOKEN)
    exists = false
    expect(await ask()).toBeUndefined()
  })
})

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
    openapi: '{}',
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
