import { describe, expect, test } from 'bun:test'
import * as v from 'valibot'
import { defineRoute, type RouteRequest } from '../../../../src/http/route/route.ts'

/** A route that counts how often its input is checked. */
function counting() {
  let checks = 0
  const count = <Input>(input: Input): Input => {
    checks++
    return input
  }
  const work = {
    summary: '',
    output: v.object({ data: v.any() }),
    charge: { credits: 0 },
    read: async () => null,
    present: () => ({ data: null }),
  }
  const input = v.pipe(v.object({ wallet: v.string() }), v.transform(count))
  const body = v.pipe(v.object({ wallets: v.array(v.string()) }), v.transform(count))
  return {
    plain: defineRoute({ ...work, method: 'GET', path: '/plain', input }),
    withBody: defineRoute({ ...work, method: 'POST', path: '/body', input, body }),
    checks: () => checks,
  }
}

function asked(wallet: string, body?: { text: string; wallets: readonly string[] }): RouteRequest {
  return {
    parameters: () => ({ values: { wallet } }),
    body: async () => ({ ...(body === undefined ? {} : { bytes: Buffer.from(body.text) }), value: () => body }),
  }
}

describe('accept()', () => {
  test('checks parameters when the call is created, so that cached answers skip the check', async () => {
    const { plain, checks } = counting()
    const { bytes, call } = await plain.accept(asked('a'))
    expect([bytes, checks()]).toEqual([undefined, 0])
    expect(call().creditsMin).toBe(0)
    expect(checks()).toBe(1)
    const broken = await plain.accept({ ...asked('a'), parameters: () => ({ values: {} }) })
    expect(() => broken.call()).toThrow('is missing')
  })

  test('checks a body when the call is created, and returns its bytes before', async () => {
    const { withBody, checks } = counting()
    const { bytes, call } = await withBody.accept(asked('a', { text: '{"wallets":["x"]}', wallets: ['x'] }))
    expect([bytes?.toString(), checks()]).toEqual(['{"wallets":["x"]}', 1])
    call()
    expect(checks()).toBe(2)
    const broken = await withBody.accept({ ...asked('a'), body: async () => ({ value: () => ({ wallets: 1 }) }) })
    expect(() => broken.call()).toThrow('wallets')
  })

  test('refuses parameters before it reads a body', async () => {
    const { withBody } = counting()
    const broken: RouteRequest = {
      parameters: () => ({ values: {} }),
      async body() {
        throw new Error('The body was read')
      },
    }
    await expect(withBody.accept(broken)).rejects.toThrow('is missing')
  })
})
