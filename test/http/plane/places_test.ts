import { describe, expect, test } from 'bun:test'
import { PLANE_CALLER_CONCURRENCY_MAX, PLANE_STRANGERS_MAX } from '../../../src/http/limits.ts'
import type { Authenticate } from '../../../src/http/plane/credential.ts'
import { createCallerPlaces, withoutCrowds } from '../../../src/http/plane/places.ts'
import type { Identity } from '../../../src/http/route/route.ts'

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
  const bounded = withoutCrowds(authenticate)
  const bySession = (cookie: string) => bounded({ bearer: undefined, session: { cookie, page: 'p' } })
  return { bounded, bySession, release, waiting }
}

describe('look-ups of invented sessions', () => {
  test('keep out neither the token nor a session that was recognised, and are bounded themselves', async () => {
    const { bounded, bySession, release, waiting } = scene()
    const first = bySession('mine')
    release()
    expect(await first).toMatchObject({ organizationId: 'o' })

    const flood = Array.from({ length: 200 }, (_, index) => bySession(`invented-${index}`).catch(String))
    expect(waiting).toHaveLength(PLANE_STRANGERS_MAX)
    expect(await bounded({ bearer: 'right', session: undefined })).toBe(TOKEN)
    expect(await bounded({ bearer: 'wrong', session: undefined })).toBeUndefined()
    expect(await bounded({ bearer: undefined, session: undefined })).toBeUndefined()
    const again = bySession('mine')
    release()
    expect(await again).toMatchObject({ organizationId: 'o' })
    const outcomes = await Promise.all(flood)
    expect(outcomes.filter((each) => each === undefined)).toHaveLength(PLANE_STRANGERS_MAX)
    expect(outcomes.filter((each) => String(each).includes(CROWDED))).toHaveLength(200 - PLANE_STRANGERS_MAX)

    // Places are given back.
    const later = bySession('unknown')
    release()
    expect(await later).toBeUndefined()
  })

  test('of a session that is no longer recognised are those of a stranger’s when it is forgotten, never its old answer', async () => {
    let exists = true
    const bounded = withoutCrowds(async () => (exists ? TOKEN : undefined))
    const ask = () => bounded({ bearer: undefined, session: { cookie: 'c', page: 'p' } })
    expect(await ask()).toBe(TOKEN)
    exists = false
    expect(await ask()).toBeUndefined()
  })
})

test('a caller can take its own places only', async () => {
  const asCaller = createCallerPlaces()
  const session = (organizationId: string | null): Identity => ({ by: 'session', sessionId: 's', organizationId })
  const held = Promise.withResolvers<string>()
  const many = Array.from({ length: PLANE_CALLER_CONCURRENCY_MAX }, () => asCaller(session('a'), () => held.promise))
  await expect(asCaller(session('a'), async () => 'in')).rejects.toThrow(CROWDED)
  for (const other of [session('b'), session(null), TOKEN]) expect(await asCaller(other, async () => 'in')).toBe('in')
  held.resolve('done')
  await Promise.all(many)
  expect(await asCaller(session('a'), async () => 'in')).toBe('in')
  await expect(asCaller(TOKEN, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
})
