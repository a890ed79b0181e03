import { afterEach, expect, test } from 'bun:test'
import { join } from 'node:path'

interface Api {
  isolateSymbol(name: string, value: unknown): unknown
  requestUnlessGone(path: string, options: { readonly key: string; readonly signal: AbortSignal }): Promise<unknown>
}

const PATH: string = join(import.meta.dir, '../../../src/dashboard/lib/api.ts')
const { isolateSymbol, requestUnlessGone } = (await import(PATH)) as Api
const { fetch } = globalThis
afterEach(() => {
  globalThis.fetch = fetch
})

test('a symbol that is written from right to left cannot turn the words around it', () => {
  expect(isolateSymbol('symbol', 'עברית')).toBe('\u2068עברית\u2069')
  expect(isolateSymbol('collateralSymbol', 'مال')).toBe('\u2068مال\u2069')
  for (const [name, value] of [
    ['symbol', 'WETH'],
    ['reason', 'עברית'],
    ['symbol', null],
  ] as const)
    expect(isolateSymbol(name, value)).toBe(value)
})

test('an answer to a part of the page that has left is not handed over, so that nothing is saved', async () => {
  const controller = new AbortController()
  globalThis.fetch = Object.assign(
    async () => {
      controller.abort()
      return new Response('{"data":[]}', { headers: { 'content-type': 'application/json' } })
    },
    { preconnect: fetch.preconnect },
  )
  const options = { key: 'k', signal: controller.signal }
  expect(await requestUnlessGone('http://test.local/v1/x', options)).toBeUndefined()
  expect(await requestUnlessGone('http://test.local/v1/x', options)).toBeUndefined()
})
