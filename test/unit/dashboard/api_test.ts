import { afterEach, expect, test } from 'bun:test'
import { join } from 'node:path'

interface Api {
  isolateSymbol(name: string, value: unknown): unknown
  requestApi(path: string, options: { readonly key: string }): Promise<{ readonly ok: boolean; readonly body: unknown }>
  requestUnlessGone(path: string, options: { readonly key: string; readonly signal: AbortSignal }): Promise<unknown>
}

const PATH: string = join(import.meta.dir, '../../../src/dashboard/lib/api.ts')
const SESSION_PATH: string = join(import.meta.dir, '../../../src/dashboard/lib/session.ts')
const { isolateSymbol, requestApi, requestUnlessGone } = (await import(PATH)) as Api
const { storeKey }: { storeKey(key: string | undefined): void } = await import(SESSION_PATH)
const { fetch, sessionStorage } = globalThis
afterEach(() => {
  Object.assign(globalThis, { fetch, sessionStorage })
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

test('an answer that comes once its key is forgotten is not kept, and no other key is shown it', async () => {
  const texts = new Map<string, string>()
  const store = {
    getItem: (name: string) => texts.get(name) ?? null,
    setItem: (name: string, text: string) => void texts.set(name, text),
    removeItem: (name: string) => void texts.delete(name),
  }
  const tagsSent: (string | null)[] = []
  let onSend = () => {}
  const answer = async (_: string, { headers }: RequestInit) => {
    const sent = new Headers(headers).get('if-none-match')
    tagsSent.push(sent)
    onSend()
    if (sent !== null) return new Response(null, { status: 304 })
    return new Response('{"data":[1]}', { headers: { 'content-type': 'application/json', etag: '"t"' } })
  }
  Object.assign(globalThis, { sessionStorage: store, fetch: answer })

  storeKey('first')
  onSend = () => storeKey(undefined)
  expect((await requestApi('v1/x', { key: 'first' })).ok).toBe(true)
  expect([...texts.keys()]).toEqual([])

  storeKey('second')
  onSend = () => {}
  for (let look = 0; look < 2; look++) expect((await requestApi('v1/x', { key: 'second' })).body).toEqual({ data: [1] })
  expect(tagsSent).toEqual([null, null, '"t"'])
  storeKey(undefined)
  expect([...texts.keys()]).toEqual([])
})
