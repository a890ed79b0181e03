import { expect, test } from 'bun:test'
import { concatHex, type Hex, numberToHex, padHex, size } from 'viem'
import { callByOverride } from '../../../../src/chain/call/bundle/bundle.ts'
import { callDeployless } from '../../../../src/chain/call/deployless.ts'
import { type LensMode, type LensReading, readByLens } from '../../../../src/chain/call/lens.ts'
import { RevertError, RpcRefusedError } from '../../../../src/chain/rpc/client.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import type { Clock } from '../../../../src/lib/clock.ts'
import { AbortedError, UpstreamError } from '../../../../src/lib/error.ts'
import { createRpc } from '../../../devnet/rpc.ts'
import { useFaultyChain } from '../../../support/endpoint.ts'
import { createFixedClock, slowClock } from '../../../support/test_clock.ts'
import { waitFor } from '../../../support/wait_for.ts'

/** EIP-3860. */
const INIT_CODE_BYTES_MAX = 49_152
const never = createWork(new AbortController().signal)

/** Code that answers its call data, or reverts with it, or runs out of gas, or answers its first word times zeros. */
const ECHO: Hex = '0x366000600037366000f3'
const REVERT: Hex = '0x366000600037366000fd'
const BURN: Hex = '0x5b600056'
const ECHO_AT: Hex = '0x00000000000000000000000000000000000ec402'
const ZEROS: Hex = '0x6000356000f3'

const chain = useFaultyChain()

async function failure(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => new Error('It answered'),
    (error: Error) => error,
  )
}

const BOTH = [
  ['callByOverride', callByOverride],
  ['callDeployless', callDeployless],
] as const

for (const [name, callLens] of BOTH) {
  test(`${name}() answers what the code answers to its data, in one request`, async () => {
    const data: Hex = '0x11223344556677'
    expect(await callLens(chain.endpoint, { runtime: ECHO, data, block: 'latest' }, never)).toBe(data)
    expect(await callLens(chain.endpoint, { runtime: ECHO, data, block: 0n }, never)).toBe(data)
    const { hash } = await createRpc(chain.anvil.rpcUrl).call<{ readonly hash: Hex }>(
      'eth_getBlockByNumber',
      '0x0',
      false,
    )
    expect(await callLens(chain.endpoint, { runtime: ECHO, data, block: { hash } }, never)).toBe(data)
    expect(chain.rpc.seen.map(({ method, params }) => [method, params[1]])).toEqual([
      ['eth_call', 'latest'],
      ['eth_call', '0x0'],
      ['eth_call', { blockHash: hash }],
    ])
  })

  test(`${name}() takes 24,576 bytes of code with 16 KB of data and answers 300,000 bytes`, async () => {
    const padded = padHex(ECHO, { size: 24_576, dir: 'right' })
    const data = `0x${'c0ffee'.repeat(5_461)}` as const
    expect(await callLens(chain.endpoint, { runtime: padded, data, block: 'latest' }, never)).toBe(data)
    const zeros = { runtime: ZEROS, data: numberToHex(300_000, { size: 32 }), block: 'latest' } as const
    expect(size(await callLens(chain.endpoint, zeros, never))).toBe(300_000)
  })

  test(`${name}() throws RevertError with what the code reverted with`, async () => {
    for (const data of ['0x08c379a0deadbeef', '0x00', `0x${'ab'.repeat(30_000)}`] as const) {
      const error = await failure(callLens(chain.endpoint, { runtime: REVERT, data, block: 'latest' }, never))
      expect(error).toBeInstanceOf(RevertError)
      expect((error as RevertError).data).toBe(data)
    }
  })
}

test('callDeployless() gives an empty answer and one that begins with 0xEF as they are', async () => {
  for (const data of ['0x', '0xef00'] as const) {
    expect(await callDeployless(chain.endpoint, { runtime: ECHO, data, block: 'latest' }, never)).toBe(data)
  }
})

test('callDeployless() fills init code to the last byte that nodes accept, and refuses one more unsent', async () => {
  await callDeployless(chain.endpoint, { runtime: ECHO, data: '0x', block: 'latest' }, never)
  const [sent] = chain.rpc.seen.map(({ params }) => params[0] as { readonly data: Hex })
  const overhead = size(sent?.data ?? '0x')
  const most = `0x${'ab'.repeat(INIT_CODE_BYTES_MAX - overhead)}` as const
  expect(await callDeployless(chain.endpoint, { runtime: ECHO, data: most, block: 'latest' }, never)).toBe(most)
  chain.rpc.reset()
  const error = await failure(
    callDeployless(chain.endpoint, { runtime: ECHO, data: `${most}ab`, block: 'latest' }, never),
  )
  expect(error).toBeInstanceOf(RpcRefusedError)
  expect((error as RpcRefusedError).reason).toBe('size')
  expect(chain.rpc.seen).toEqual([])
})

test('callDeployless() refuses code that cannot be deployed', async () => {
  const tooLong = padHex(ECHO, { size: 24_577, dir: 'right' })
  expect(
    await failure(callDeployless(chain.endpoint, { runtime: tooLong, data: '0x', block: 'latest' }, never)),
  ).toBeInstanceOf(RpcRefusedError)
  const reserved = concatHex(['0xef', ECHO])
  expect(
    await failure(callDeployless(chain.endpoint, { runtime: reserved, data: '0x', block: 'latest' }, never)),
  ).toBeInstanceOf(RpcRefusedError)
  expect(chain.rpc.seen.length).toBe(1)
})

test('callDeployless() does not treat other reverts as answers', async () => {
  for (const data of ['0x', '0x08c379a0', `0x${'00'.repeat(64)}`] as const) {
    chain.rpc.rule(() => ({ kind: 'error', error: { code: 3, message: 'execution reverted', data } }))
    const error = await failure(callDeployless(chain.endpoint, { runtime: ECHO, data: '0x', block: 'latest' }, never))
    expect(error).toBeInstanceOf(RpcRefusedError)
  }
})

/** A read of one call, and the modes in which it ran. */
function createReading(options: { readonly data?: Hex; readonly runtime?: Hex; readonly clock?: Clock } = {}) {
  const { data = '0x1234', runtime = ECHO, clock = slowClock } = options
  const ran: LensMode[] = []
  const reading: LensReading<Hex> = {
    topic: 'echo',
    runtime,
    chainId: 1,
    clock,
    read({ mode: way, call }) {
      ran.push(way)
      return call({ data, block: 'latest' })
    },
  }
  return { ran, reading }
}

test('readByLens() uses the best mode if it works and remembers nothing', async () => {
  const { ran, reading } = createReading()
  expect(await readByLens(chain.endpoint, reading, never)).toBe('0x1234')
  expect(ran).toEqual(['override'])
  expect(chain.endpoint.learned.size).toBe(0)
})

for (const how of ['ignore', 'refuse'] as const) {
  test(`readByLens() goes down once if overrides are met with "${how}" and tries again after ten minutes`, async () => {
    chain.rpc.rule(() => ({ kind: 'no_overrides', how }))
    let nowMs = 1_000
    const clock = createFixedClock(() => nowMs)
    const { ran, reading } = createReading({ clock })
    const read = () => readByLens(chain.endpoint, reading, never)
    expect(await read()).toBe('0x1234')
    expect(await read()).toBe('0x1234')
    expect(ran).toEqual(['override', 'deployless', 'deployless'])
    chain.rpc.rule(() => undefined)
    nowMs += 10 * 60_000
    expect(await read()).toBe('0x1234')
    expect(ran.at(-1)).toBe('override')
    expect(chain.endpoint.learned.size).toBe(0)
  })
}

test('readByLens() remembers nothing if only this request was too large', async () => {
  chain.rpc.rule(({ params }) => (params.length > 2 ? { kind: 'answer_max', bytes: 10 } : undefined))
  const { ran, reading } = createReading()
  expect(await readByLens(chain.endpoint, reading, never)).toBe('0x1234')
  expect(ran).toEqual(['override', 'deployless'])
  expect(chain.endpoint.learned.size).toBe(0)
})

test('readByLens() tries the next mode if an endpoint hides revert data, then refuses lenses', async () => {
  chain.rpc.rule(({ params }) =>
    params.length > 2 ? { kind: 'no_overrides', how: 'refuse' } : { kind: 'no_revert_data' },
  )
  const { ran, reading } = createReading()
  const error = await failure(readByLens(chain.endpoint, reading, never))
  expect(error).toMatchObject({ reason: 'lens' })
  expect(ran).toEqual(['override', 'deployless'])
})

test('readByLens() does not report an endpoint as unsupported if only this request was too large', async () => {
  const tooMuch = { kind: 'error', error: { code: -32000, message: 'out of gas' } } as const
  chain.rpc.rule(({ params }) => (params.length > 2 ? { kind: 'no_overrides', how: 'refuse' } : tooMuch))
  const { reading } = createReading()
  const error = await failure(readByLens(chain.endpoint, reading, never))
  expect(error).toBeInstanceOf(RpcRefusedError)
  expect(error).not.toMatchObject({ reason: 'lens' })
})

test('readByLens() counts a revert with a reason, and one without in every mode, as a failure of the endpoint', async () => {
  const told = createReading({ data: '0x08c379a0', runtime: REVERT })
  const error = await failure(readByLens(chain.endpoint, told.reading, never))
  expect(error).toBeInstanceOf(UpstreamError)
  expect(told.ran).toEqual(['override'])
  const silent = createReading({ data: '0x', runtime: REVERT })
  const quiet = await failure(readByLens(chain.endpoint, silent.reading, never))
  expect(quiet).toBeInstanceOf(UpstreamError)
  expect(silent.ran).toEqual(['override', 'deployless'])
})

test('readByLens() passes failures of the endpoint through to the client', async () => {
  chain.rpc.rule(() => ({ kind: 'http', status: 500, body: '' }))
  const { ran, reading } = createReading()
  expect(await failure(readByLens(chain.endpoint, reading, never))).toBeInstanceOf(UpstreamError)
  expect(ran).toEqual(['override'])
})

test('call() retries only for a missing block', async () => {
  const call = { to: ECHO_AT, code: ECHO, data: '0x12' } as const
  const missing = { kind: 'error', error: { code: -32000, message: 'header not found' } } as const
  chain.rpc.rule(() => (chain.rpc.seen.length <= 3 ? missing : undefined))
  expect(await chain.endpoint.call({ ...call, block: 0n }, never)).toBe('0x12')
  expect(chain.rpc.seen.length).toBe(4)
  for (const [block, error, times] of [
    [0n, missing.error, 6],
    ['latest', missing.error, 1],
    [0n, { code: -32000, message: 'missing trie node' }, 1],
  ] as const) {
    chain.rpc.reset()
    chain.rpc.rule(() => ({ kind: 'error', error }))
    expect(await failure(chain.endpoint.call({ ...call, block }, never))).toBeInstanceOf(UpstreamError)
    expect(chain.rpc.seen.length).toBe(times)
  }
})

test('call() stops retrying for a missing block once the caller has left', async () => {
  chain.rpc.rule(() => ({ kind: 'error', error: { code: -32000, message: 'header not found' } }))
  const leaving = new AbortController()
  const calling = failure(chain.endpoint.call({ to: ECHO_AT, data: '0x', block: 0n }, createWork(leaving.signal)))
  await waitFor('a request', () => chain.rpc.seen.length === 1)
  leaving.abort()
  expect(await calling).toBeInstanceOf(AbortedError)
  await Bun.sleep(100)
  expect(chain.rpc.seen.length).toBe(1)
})

test('a lens that burns all gas counts as a request that is too large', async () => {
  const error = await failure(callByOverride(chain.endpoint, { runtime: BURN, data: '0x', block: 'latest' }, never))
  expect(error).toBeInstanceOf(RpcRefusedError)
  expect((error as RpcRefusedError).reason).toBe('size')
})
