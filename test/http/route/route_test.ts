import { describe, expect, test } from 'bun:test'
import * as v from 'valibot'
import { type Asked, route } from '../../../src/http/route/route.ts'

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
    plain: route({ ...work, method: 'GET', path: '/plain', input }),
    withBody: route({ ...work, method: 'POST', path: '/body', input, body }),
    checks: () => checks,
  }
}

function asked(text: string | undefined, wallet: string, body?: { text?: string; wallets: readonly string[] }): Asked {
  return {
    ...(text === undefined ? {} : { text }),
    parameters: () => ({ values: { wallet } }),
    body: async () => ({ ...(body?.text === undefined ? {} : { bytes: Buffer.from(body.text) }), value: () => body }),
  }
}

describe('accept()', () => {
  test('checks the same text once, and gives the same input', async () => {
    const { plain, checks } = counting()
    const first = await plain.accept(asked('/plain?wallet=a', 'a'))
    const second = await plain.accept(asked('/plain?wallet=a', 'never looked at'))
    expect(second.input).toBe(first.input)
    expect(first.input).toEqual({ wallet: 'a' })
    const other = await plain.accept(asked('/plain?wallet=b', 'b'))
    expect(other.input).toEqual({ wallet: 'b' })
    expect(checks()).toBe(2)
  })

  test('checks each time without text, and after a refusal', async () => {
    const { plain, checks } = counting()
    await plain.accept(asked(undefined, 'a'))
    await plain.accept(asked(undefined, 'a'))
    expect(checks()).toBe(2)
    const broken: Asked = { ...asked('/plain', 'a'), parameters: () => ({ values: {} }) }
    for (let turn = 0; turn < 2; turn++) await expect(plain.accept(broken)).rejects.toThrow('it is required')
    expect((await plain.accept(asked('/plain', 'a'))).input).toEqual({ wallet: 'a' })
  })

  test('tells bodies of the same address apart, and addresses of the same body', async () => {
    const { withBody, checks } = counting()
    const body = { text: '{"wallets":["x"]}', wallets: ['x'] }
    const first = await withBody.accept(asked('/body?wallet=a', 'a', body))
    expect(first.input).toEqual({ wallet: 'a', wallets: ['x'] })
    expect((await withBody.accept(asked('/body?wallet=a', 'a', body))).input).toBe(first.input)
    expect(checks()).toBe(2)
    const other = await withBody.accept(asked('/body?wallet=a', 'a', { text: '{"wallets":[]}', wallets: [] }))
    expect(other.input).toEqual({ wallet: 'a', wallets: [] })
    const elsewhere = await withBody.accept(asked('/body?wallet=b', 'b', body))
    expect(elsewhere.input).toEqual({ wallet: 'b', wallets: ['x'] })
  })

  test('tells bodies of one length and ending apart', async () => {
    const { withBody } = counting()
    const ending = 'x'.repeat(100)
    for (const first of ['a', 'b', 'a']) {
      const body = { text: `${first}${ending}`, wallets: [first] }
      expect((await withBody.accept(asked('/body', 'a', body))).input).toEqual({ wallet: 'a', wallets: [first] })
    }
  })

  test('refuses parameters before it reads a body', async () => {
    const { withBody } = counting()
    const broken: Asked = {
      parameters: () => ({ values: {} }),
      async body() {
        throw new Error('The body was read')
      },
    }
    await expect(withBody.accept(broken)).rejects.toThrow('it is required')
  })

  test('forgets what is older than the last two million bytes', async () => {
    const { withBody, checks } = counting()
    const long = (turn: number) => ({ text: `${turn}`.padStart(250_000), wallets: [] })
    for (const turn of [0, 1, 2, 3, 4, 5, 6, 7, 8]) await withBody.accept(asked('/body', 'a', long(turn)))
    expect(checks()).toBe(1 + 9)
    await withBody.accept(asked('/body', 'a', long(8)))
    expect(checks()).toBe(1 + 9)
    await withBody.accept(asked('/body', 'a', long(0)))
    expect(checks()).toBe(1 + 10)
  })
})
