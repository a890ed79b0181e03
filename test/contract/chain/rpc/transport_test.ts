import { expect, spyOn, test } from 'bun:test'
import { gzipSync } from 'node:zlib'
import { RevertError, RpcRefusedError } from '../../../../src/chain/rpc/client.ts'
import type { EndpointError } from '../../../../src/chain/rpc/error.ts'
import { createTransport } from '../../../../src/chain/rpc/transport.ts'
import { parseBytes, parseQuantity } from '../../../../src/chain/rpc/value.ts'
import { type Clock, systemClock } from '../../../../src/lib/clock.ts'
import { AbortedError, UpstreamError } from '../../../../src/lib/error.ts'
import { useFaultyChain } from '../../../support/endpoint.ts'
import { type Fault, startTrap } from '../../../support/rpc.ts'
import { createTestClock } from '../../../support/test_clock.ts'
import { waitFor } from '../../../support/wait_for.ts'

/** Far longer than a busy machine takes; what hangs is given up by a clock of the test, or soon. */
const TIMEOUT_MS = 30_000
const SOON_MS = 250
const SECRET = 'hunter2secret'
const never = new AbortController().signal

const chain = useFaultyChain()

function transport(url = `${chain.rpc.url}v2/${SECRET}`, timeoutMs = TIMEOUT_MS, clock: Clock = systemClock) {
  return createTransport({ url, timeoutMs, clock })
}

function readBlockNumber(): Promise<bigint> {
  return transport().send({ method: 'eth_blockNumber', params: [], parse: parseQuantity }, never)
}

async function failure(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    (value) => new Error(`It answered ${String(value)}`),
    (error: Error) => error,
  )
}

function faulty(fault: Fault, timeoutMs = TIMEOUT_MS): Promise<Error> {
  chain.rpc.rule(() => fault)
  const request = { method: 'eth_blockNumber', params: [], parse: parseQuantity }
  return failure(transport(undefined, timeoutMs).send(request, never))
}

test("send() returns the endpoint's result", async () => {
  expect(await readBlockNumber()).toBe(0n)
  expect(chain.rpc.seen.map(({ method }) => method)).toEqual(['eth_blockNumber'])
})

test.each([
  ['short', 1_000, 0],
  ['long', 100_000, 3],
])('a %s answer is read in turns, if at all', async (_, digits, turns) => {
  chain.rpc.rule(() => ({ kind: 'result', result: `0x${'ab'.repeat(digits / 2)}` }))
  const given = spyOn(globalThis, 'setImmediate')
  try {
    const bytes = await transport().send({ method: 'eth_call', params: [], parse: parseBytes }, never)
    expect(bytes).toHaveLength(2 + digits)
    expect(given).toHaveBeenCalledTimes(turns)
  } finally {
    given.mockRestore()
  }
})

const DIGITS_400 = `0x${'f'.repeat(400)}`

test.each([
  ['null', { kind: 'result', result: null }],
  ['an object', { kind: 'result', result: {} }],
  ['a list', { kind: 'result', result: [] }],
  ['a number', { kind: 'result', result: 16 }],
  ['a word', { kind: 'result', result: 'banana' }],
  ['a negative quantity', { kind: 'result', result: '-0x10' }],
  ['a signed quantity', { kind: 'result', result: '0x-10' }],
  ['an empty quantity', { kind: 'result', result: '0x' }],
  ['400 digits', { kind: 'result', result: DIGITS_400 }],
  ['no result', { kind: 'envelope', change: { result: undefined } }],
  ['result and error', { kind: 'envelope', change: { error: { code: 3, message: 'execution reverted', data: '0x' } } }],
  ['another id', { kind: 'envelope', change: { id: 999 } }],
  ['the id as text', { kind: 'envelope', change: { id: '1' } }],
  ['no id', { kind: 'envelope', change: { id: undefined } }],
  [
    'a revert without an id',
    {
      kind: 'http',
      status: 200,
      body: '{"jsonrpc":"2.0","id":null,"error":{"code":3,"message":"execution reverted"}}',
    },
  ],
  ['another version', { kind: 'envelope', change: { jsonrpc: '1.0' } }],
  ['an error that is a text', { kind: 'error', error: 'no' }],
  ['an empty body', { kind: 'http', status: 200, body: '' }],
  ['half of a body', { kind: 'http', status: 200, body: '{"jsonrpc":"2.0","id":1,"resu' }],
  ['a batch', { kind: 'http', status: 200, body: '[{"jsonrpc":"2.0","id":1,"result":"0x1"}]' }],
  ['HTML', { kind: 'http', status: 200, body: '<html><body>Welcome</body></html>' }],
  ['a 500 page', { kind: 'http', status: 500, body: '<h1>Internal error</h1>' }],
  ['a 502 page', { kind: 'http', status: 502, body: '' }],
  ['a 403', { kind: 'http', status: 403, body: '{"message":"forbidden"}' }],
  ['a 404 with a result', { kind: 'http', status: 404, body: '{"jsonrpc":"2.0","id":1,"result":"0x1"}' }],
  ['a cut connection', { kind: 'cut' }],
  ['an internal error', { kind: 'error', error: { code: -32603, message: 'Internal error' } }],
  ['a missing block', { kind: 'error', error: { code: -32000, message: 'header not found' } }],
] as [string, Fault][])('send() throws UpstreamError for %s', async (_, fault) => {
  const error = await faulty(fault)
  expect(error).toBeInstanceOf(UpstreamError)
  expect(error).not.toMatchObject({ fault: 'busy' })
})

const deep = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`)

test.each([
  ['of 32 levels', deep(31), true],
  ['of 33 levels', deep(32), false],
  ['with a million brackets in a text', '[{'.repeat(500_000), true],
  ['of 200,000 values', Array(199_996).fill(0), true],
  ['of more values', Array(200_001).fill(0), false],
] as const)('send() reads an answer %s only if no honest node needs more', async (_, result, isRead) => {
  chain.rpc.rule(() => ({ kind: 'result', result }))
  const request = { method: 'eth_blockNumber', params: [], parse: (answer: unknown) => answer }
  const outcome = await transport()
    .send(request, never)
    .catch((error: unknown) => error)
  if (isRead) expect(outcome).toEqual(result)
  else expect(outcome).toBeInstanceOf(UpstreamError)
})

test('send() gives up on an endpoint that hangs, and on one that drips, when its time is over', async () => {
  for (const fault of [{ kind: 'hang' }, { kind: 'drip', ms: 50 }] as const) {
    chain.rpc.reset()
    chain.rpc.rule(() => fault)
    const clock = createTestClock()
    const request = { method: 'eth_blockNumber', params: [], parse: parseQuantity }
    const sending = failure(transport(undefined, undefined, clock).send(request, never))
    await waitFor('the request', () => chain.rpc.seen.length === 1)
    await clock.advance(TIMEOUT_MS - 1)
    expect(clock.pending).toBe(1)
    await clock.advance(1)
    const error = await sending
    expect(error).toBeInstanceOf(UpstreamError)
    expect(error.message).toBe(`No answer within ${TIMEOUT_MS} ms`)
    expect(clock.pending).toBe(0)
  }
})

test('send() leaves at once when the caller leaves', async () => {
  chain.rpc.rule(() => ({ kind: 'hang' }))
  const caller = new AbortController()
  const request = { method: 'eth_blockNumber', params: [], parse: parseQuantity, timeoutMs: 10_000 }
  // Its time does not pass, so that only the caller ends it.
  const call = failure(transport(undefined, undefined, createTestClock()).send(request, caller.signal))
  await waitFor('the request', () => chain.rpc.seen.length === 1)
  caller.abort()
  expect(await call).toBeInstanceOf(AbortedError)
})

test('send() stops reading a body of 50 MB, or one that unpacks to it', async () => {
  const error = await faulty({ kind: 'flood', bytes: 50 * 1024 * 1024 })
  expect(error).toBeInstanceOf(UpstreamError)
  const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024, 0x20))
  const server = Bun.serve({
    port: 0,
    fetch: () => new Response(bomb, { headers: { 'content-encoding': 'gzip', 'content-type': 'application/json' } }),
  })
  const request = { method: 'eth_blockNumber', params: [], parse: parseQuantity }
  const unpacked = await failure(transport(server.url.href).send(request, never))
  expect(unpacked.message).toBe('The answer is longer than 8388608 bytes')
  await server.stop(true)
})

test.each([
  ['of a known length', () => new Response(Buffer.from('{"x":"\xff"}', 'latin1'))],
  [
    'in pieces',
    () =>
      new Response(
        new ReadableStream({
          start(controller) {
            controller.enqueue(Buffer.from('{"x":"\xff"}', 'latin1'))
            controller.close()
          },
        }),
      ),
  ],
])('send() refuses an answer %s that is not UTF-8', async (_, answer) => {
  const server = Bun.serve({ port: 0, fetch: answer })
  const request = { method: 'eth_blockNumber', params: [], parse: parseQuantity }
  const refused = await failure(transport(server.url.href).send(request, never))
  expect(refused.message).toBe('The answer is not UTF-8 or was cut off')
  await server.stop(true)
})

test('send() reads an honest answer of 4 MB', async () => {
  chain.rpc.rule(() => ({ kind: 'result', result: `0x${'ab'.repeat(2 * 1024 * 1024)}` }))
  const bytes = await transport(chain.rpc.url).send({ method: 'eth_call', params: [], parse: parseBytes }, never)
  expect(bytes.length).toBe(2 + 4 * 1024 * 1024)
})

test('send() follows no redirect', async () => {
  const trap = await startTrap()
  for (const status of [301, 302, 307, 308]) {
    const error = await faulty({ kind: 'http', status, body: '', headers: { location: trap.url } })
    expect(error).toBeInstanceOf(UpstreamError)
  }
  expect(trap.hits()).toBe(0)
  await trap.stop()
})

test('send() reads Retry-After of a 429, in seconds only', async () => {
  const limited = async (value?: string) => {
    const headers = value === undefined ? undefined : { 'retry-after': value }
    const error = await faulty({ kind: 'http', status: 429, body: 'slow down', ...(headers && { headers }) })
    expect(error).toMatchObject({ fault: 'busy' })
    return (error as EndpointError).retryAfterMs
  }
  expect(await limited('2')).toBe(2_000)
  expect(await limited('86400')).toBe(60_000)
  expect(await limited('Wed, 21 Oct 2099 07:28:00 GMT')).toBeUndefined()
  expect(await limited()).toBeUndefined()
})

test('send() reads an error in a body with any status', async () => {
  const error = { code: 3, message: 'execution reverted', data: '0x1234' }
  const revert = await faulty({ kind: 'error', error, status: 400 })
  expect(revert).toBeInstanceOf(RevertError)
  expect((revert as RevertError).data).toBe('0x1234')
  const refused = await faulty({ kind: 'http', status: 413, body: 'Payload Too Large' })
  expect(refused).toBeInstanceOf(RpcRefusedError)
  expect((refused as RpcRefusedError).reason).toBe('size')
})

test('send() shows no address in any error or cause', async () => {
  const dead = Bun.serve({ port: 0, fetch: () => new Response() })
  const deadUrl = `${dead.url.href}v2/${SECRET}`
  await dead.stop(true)
  const request = { method: 'eth_blockNumber', params: [], parse: parseQuantity }
  const quoted = { code: -32000, message: `no such project: ${chain.rpc.url}v2/${SECRET}` }
  const errors = [
    await failure(transport(deadUrl).send(request, never)),
    await failure(transport(`http://nobody.invalid/v2/${SECRET}`).send(request, never)),
    await failure(transport(`https://127.0.0.1:${new URL(chain.rpc.url).port}/${SECRET}`).send(request, never)),
    await faulty({ kind: 'error', error: quoted }),
    await faulty({ kind: 'error', error: { ...quoted, code: -32602 } }),
    await faulty({ kind: 'http', status: 308, body: '', headers: { location: `${chain.rpc.url}${SECRET}` } }),
    await faulty({ kind: 'cut' }),
    await faulty({ kind: 'hang' }, SOON_MS),
  ]
  for (const error of errors) {
    expect(error).not.toBeInstanceOf(AbortedError)
    const shown =
      Bun.inspect(error, { depth: 10 }).replaceAll(/at .*\n?/g, '') + JSON.stringify(error) + String(error.cause)
    expect(shown).not.toContain(SECRET)
    expect(shown).not.toContain('127.0.0.1')
    expect(shown).not.toContain('nobody.invalid')
  }
})

test('send() puts user and password of a URL into a header', async () => {
  let seen: string | null = null
  const server = Bun.serve({
    port: 0,
    fetch(request) {
      seen = request.headers.get('authorization')
      return Response.json({ jsonrpc: '2.0', id: 1, result: '0x7' })
    },
  })
  for (const [written, meant] of [
    ['user:p%40ss', 'user:p@ss'],
    ['us%E2%82%ACer:pä', 'us€er:pä'],
  ] as const) {
    const url = server.url.href.replace('http://', `http://${written}@`)
    const request = { method: 'eth_blockNumber', params: [], parse: parseQuantity }
    // Its id is the first of its transport.
    expect(await transport(url).send(request, never)).toBe(7n)
    expect(seen as string | null).toBe(`Basic ${Buffer.from(meant).toString('base64')}`)
  }
  await server.stop(true)
})
