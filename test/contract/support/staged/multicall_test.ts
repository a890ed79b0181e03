import { beforeAll, expect, test } from 'bun:test'
import { encodeFunctionData, type Hex, multicall3Abi, numberToHex, padHex } from 'viem'
import { useFaultyChain } from '../../../support/endpoint.ts'
import { type Call, multicall } from '../../../support/staged/multicall.ts'

const never = new AbortController().signal
const ECHO = '0x00000000000000000000000000000000000ec401'
const REVERT = '0x00000000000000000000000000000000000ec402'
const NOBODY = '0x00000000000000000000000000000000000ec403'

const chain = useFaultyChain()
let multicall3: Hex

beforeAll(async () => {
  await ask('anvil_setCode', [ECHO, '0x366000600037366000f3'])
  await ask('anvil_setCode', [REVERT, '0x366000600037366000fd'])
  multicall3 = await deployMulticall3()
})

async function ask(method: string, params: unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const headers = { 'content-type': 'application/json' }
  const answer = await (await fetch(chain.anvil.rpcUrl, { method: 'POST', headers, body })).json()
  return (answer as { result: unknown }).result
}

/** The real contract, from the bytecode that viem carries. */
async function deployMulticall3(): Promise<Hex> {
  const contracts = '../../../../node_modules/viem/_esm/constants/contracts.js'
  const { multicall3Bytecode } = (await import(contracts)) as { multicall3Bytecode: Hex }
  const at = '0xcA11bde05977b3631167028862bE2a173976CA11'
  await ask('anvil_setCode', [at, await ask('eth_call', [{ data: multicall3Bytecode }, 'latest'])])
  return at
}

function echoes(count: number, bytes = 4): Call[] {
  return Array.from({ length: count }, (_, index) => ({ to: ECHO, data: padHex(numberToHex(index), { size: bytes }) }))
}

test('multicall() answers in order, and a failing call spoils no other', async () => {
  const calls: Call[] = [
    { to: ECHO, data: '0x' },
    { to: REVERT, data: '0x08c379a0' },
    { to: ECHO, data: `0x${'ab'.repeat(33)}` },
    { to: NOBODY, data: '0x1234' },
    { to: REVERT, data: '0x' },
    { to: ECHO, data: `0x${'cd'.repeat(5_000)}` },
  ]
  const answers = await multicall(chain.endpoint, { calls, block: 'latest', multicall3 }, never)
  expect(answers).toEqual([
    { ok: true, data: '0x' },
    { ok: false, data: '0x08c379a0' },
    { ok: true, data: `0x${'ab'.repeat(33)}` },
    { ok: true, data: '0x' },
    { ok: false, data: '0x' },
    { ok: true, data: `0x${'cd'.repeat(5_000)}` },
  ])
  expect(chain.rpc.seen.length).toBe(1)
})

test('multicall() makes 500 calls in one request and more in several at once', async () => {
  expect(await multicall(chain.endpoint, { calls: [], block: 'latest', multicall3 }, never)).toEqual([])
  expect(chain.rpc.seen.length).toBe(0)
  // Long enough for all to arrive before the first is answered.
  chain.rpc.rule(() => ({ kind: 'delay', ms: 100 }))
  const calls = echoes(1_201)
  const answers = await multicall(chain.endpoint, { calls, block: 'latest', multicall3 }, never)
  expect(answers).toEqual(calls.map(({ data }) => ({ ok: true, data })))
  expect(chain.rpc.seen.length).toBe(3)
  expect(chain.rpc.depth()).toBe(1)
})

test('multicall() halves what the endpoint finds too much', async () => {
  chain.rpc.rule(() => ({ kind: 'answer_max', bytes: 20_000 }))
  const calls = echoes(100, 500)
  const answers = await multicall(chain.endpoint, { calls, block: 'latest', multicall3 }, never)
  expect(answers.map(({ data }) => data)).toEqual(calls.map(({ data }) => data))
  expect(chain.rpc.seen.length).toBeGreaterThan(4)
})

test('multicall() sends what the ABI encodes', async () => {
  const calls = [...echoes(3, 7), ...echoes(2, 64), { to: NOBODY, data: '0x' } as const]
  await multicall(chain.endpoint, { calls, block: 'latest', multicall3 }, never)
  const tuples = calls.map(({ to, data }) => ({ target: to, allowFailure: true, callData: data }))
  const expected = encodeFunctionData({ abi: multicall3Abi, functionName: 'aggregate3', args: [tuples] })
  expect(chain.rpc.seen[0]?.params[0]).toMatchObject({ data: expected })
})

test('multicall() believes no answer of another shape', async () => {
  for (const result of [
    '0x1234',
    `0x${'ff'.repeat(96)}`,
    `0x${numberToHex(32, { size: 32 }).slice(2)}${'0'.repeat(64)}`,
  ]) {
    chain.rpc.rule(() => ({ kind: 'result', result }))
    const answer = multicall(chain.endpoint, { calls: echoes(2), block: 'latest', multicall3 }, never)
    expect(await answer.catch((error: Error) => error.name)).toBe('UpstreamError')
  }
})
