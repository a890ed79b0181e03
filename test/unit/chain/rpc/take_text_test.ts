import { expect, test } from 'bun:test'
import { createTransport, parseTakenText } from '../../../../src/chain/rpc/transport.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { UpstreamError } from '../../../../src/lib/error.ts'

const never = new AbortController().signal

/** What a request takes of an answer, and what it is parsed to; answers have the id 1. */
async function ask(body: string, { status = 200, takes = true } = {}) {
  const taken: string[] = []
  const transport = createTransport({
    url: 'http://127.0.0.1/',
    timeoutMs: 1_000,
    clock: systemClock,
    fetch: async () => new Response(body, { status }),
  })
  const takeText = (text: string) => {
    taken.push(text)
    return takes ? 'taken' : undefined
  }
  const parse = (result: unknown) => JSON.stringify(result)
  const outcome = await transport
    .send<string>({ method: 'eth_getLogs', params: [], parse, takeText }, never)
    .catch((error: Error) => error)
  return { taken, outcome }
}

test.each([
  '{"jsonrpc":"2.0","id":1,"result":[1]}',
  '{"jsonrpc":"2.0","result":[1],"id":1}',
  '{"jsonrpc":"2.0","id":1,"result":[1]}\n',
])('the result of %j is taken as it is written, and parsed if it is left', async (body) => {
  expect(await ask(body)).toEqual({ taken: ['[1]'], outcome: 'taken' })
  expect(await ask(body, { takes: false })).toEqual({ taken: ['[1]'], outcome: '[1]' })
})

test.each([
  ['another id', '{"jsonrpc":"2.0","id":2,"result":[1]}', 200],
  ['another status', '{"jsonrpc":"2.0","id":1,"result":[1]}', 500],
  ['an error', '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}', 200],
  ['half an answer', '{"jsonrpc":"2.0","id":1,"result":[1', 200],
])('nothing is taken of %s', async (_, body, status) => {
  expect((await ask(body, { status })).taken).toEqual([])
})

test('parseTakenText() keeps the limits of answers', async () => {
  const parse = (result: unknown) => result
  expect(await parseTakenText('[1,2]', parse)).toEqual([1, 2])
  for (const text of ['[1', '[1],"result":[2]', '['.repeat(40), `[${'0,'.repeat(200_000)}0]`])
    await expect(parseTakenText(text, parse)).rejects.toBeInstanceOf(UpstreamError)
})
