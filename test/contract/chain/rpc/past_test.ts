import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import type { Chain } from '../../../../src/chain/chain.ts'
import { createChainClient, type EvmClient } from '../../../../src/chain/evm/evm_client.ts'
import type { Endpoint } from '../../../../src/chain/rpc/client.ts'
import { parseQuantity } from '../../../../src/chain/rpc/value.ts'
import { createWork, type Work } from '../../../../src/lib/async/work.ts'
import { UnavailableError } from '../../../../src/lib/error.ts'
import { createLog } from '../../../../src/lib/log.ts'
import { type Anvil, startAnvil } from '../../../devnet/anvil.ts'
import { createRpc } from '../../../devnet/rpc.ts'
import { type Fault, type FaultyRpc, startFaultyRpc } from '../../../support/rpc.ts'
import { createFixedClock, createPatientClock } from '../../../support/test_clock.ts'

const never = createWork(new AbortController().signal)
const BLOCKS = 40
/** Errors of the three endpoints for pruned state, and the first block whose state they keep. */
const NODES = [
  { keepsFrom: 35, error: { code: -32000, message: 'missing trie node 9f (path ) state 0x9f is not available' } },
  { keepsFrom: 20, error: { code: -32603, message: 'State at block #3 is pruned' } },
  { keepsFrom: 5, error: { code: -32000, message: 'World state unavailable' } },
] as const

let anvil: Anvil
let rpcs: readonly FaultyRpc[] = []
let client: EvmClient
let lines: string[] = []

beforeAll(async () => {
  anvil = await startAnvil()
  await createRpc(anvil.rpcUrl).call('anvil_mine', `0x${BLOCKS.toString(16)}`)
  rpcs = await Promise.all(NODES.map(() => startFaultyRpc(anvil.rpcUrl)))
}, 60_000)
beforeEach(() => {
  lines = []
  for (const [index, { keepsFrom, error }] of NODES.entries()) {
    rpcs[index]?.rule(({ method, params }) =>
      dropped({ method, params }, keepsFrom) ? { kind: 'error', error } : undefined,
    )
    rpcs[index]?.reset()
  }
  client = createClient(3)
})
afterEach(() => client.close())
afterAll(async () => {
  await Promise.all(rpcs.map((rpc) => rpc.stop()))
  await anvil?.stop()
}, 60_000)

function dropped({ method, params }: { method: string; params: readonly unknown[] }, keepsFrom: number): boolean {
  const at = params[1]
  return method === 'eth_call' && typeof at === 'string' && at !== 'latest' && Number(at) < keepsFrom
}

function createClient(endpoints: number): EvmClient {
  const chain: Chain = {
    id: 1,
    name: 'Ethereum',
    rpcUrls: rpcs.slice(0, endpoints).map(({ url }) => url),
    blockTimeMs: 12_000,
    reuseMs: 0,
    finality: { depth: 0 },
  }
  return createChainClient({
    chain,
    clock: createPatientClock(),
    log: createLog({ level: 'debug', write: (line) => lines.push(line), clock: createFixedClock() }),
  })
}

/** The block's own number, from its state. */
async function readAt(block: bigint): Promise<bigint> {
  const number = (endpoint: Endpoint, work: Work) =>
    endpoint.call(
      { to: '0x00000000000000000000000000000000000ec402', code: '0x435f5260205ff3', data: '0x', block },
      work,
    )
  const timestampSec = BigInt(Math.floor(Date.now() / 1_000)) - 86_400n
  return BigInt(await client.read(number, { work: never, past: { number: block, timestampSec } }))
}

function calls(): number[] {
  return rpcs.map(({ seen }) => seen.filter(({ method }) => method === 'eth_call').length)
}

test('a past read tries every endpoint until one has the block, and later starts with that one', async () => {
  expect(await readAt(10n)).toBe(10n)
  expect(calls()).toEqual([1, 1, 1])
  expect(await readAt(11n)).toBe(11n)
  expect(await readAt(39n)).toBe(39n)
  // A block that one endpoint is known to have is not tried at the others, even if they would have it.
  expect(calls()).toEqual([1, 1, 3])
  expect(await readAt(6n)).toBe(6n)
  expect(calls()).toEqual([1, 1, 4])
})

test("pruned state does not affect the endpoints' health, however often it is requested", async () => {
  for (let read = 0; read < 10; read++) await readAt(BigInt(5 + read))
  const latest = (endpoint: Endpoint, work: Work) =>
    endpoint.request({ method: 'eth_blockNumber', params: [], parse: parseQuantity }, work)
  rpcs[0]?.reset()
  for (let read = 0; read < 5; read++) await client.read(latest, { work: never })
  expect(rpcs[0]?.seen.filter(({ method }) => method === 'eth_blockNumber').length).toBe(5)
  expect(lines.filter((line) => line.includes('An RPC endpoint failed'))).toEqual([])
})

test('beyond all depths, the error says how far each endpoint reaches and what to set, and no endpoint is asked again', async () => {
  await readAt(36n)
  await readAt(25n)
  await readAt(7n)
  const error = await readAt(2n).then(String, (reason: Error) => reason)
  expect(error).toBeInstanceOf(UnavailableError)
  expect((error as UnavailableError).message).toBe(
    'Cannot read chain 1 (Ethereum) at block 2: endpoint 1 of chain 1 answered for blocks from 36 on, endpoint 2 of ' +
      'chain 1 answered for blocks from 25 on, endpoint 3 of chain 1 answered for blocks from 7 on; set RPC_URL_1 to ' +
      'an archive endpoint to read older blocks',
  )
  expect((error as UnavailableError).retryAfterSec).toBe(60)
  const asked = calls()
  await expect(readAt(2n)).rejects.toThrow('at block 2')
  expect(calls()).toEqual(asked)
})

test('a block too young to have been pruned is requested again, and its absence sets no depth', async () => {
  client.close()
  client = createClient(1)
  let left = 2
  const behind: Fault = { kind: 'error', error: { code: -32000, message: 'header not found' } }
  rpcs[0]?.rule(({ method }) => (method === 'eth_call' && left-- > 0 ? behind : undefined))
  const timestampSec = BigInt(Math.floor(Date.now() / 1_000))
  const read = (endpoint: Endpoint, work: Work) =>
    endpoint.call({ to: '0x00000000000000000000000000000000000ec402', data: '0x', block: 39n }, work)
  const options = { work: never, past: { number: 39n, timestampSec } }
  expect(await client.read(read, options)).toBe('0x')
  expect(calls()[0]).toBe(3)
})

test('a call that must not wait for its block is not sent again', async () => {
  client.close()
  client = createClient(1)
  const behind: Fault = { kind: 'error', error: { code: -32000, message: 'header not found' } }
  rpcs[0]?.rule(({ method }) => (method === 'eth_call' ? behind : undefined))
  const timestampSec = BigInt(Math.floor(Date.now() / 1_000))
  const read = (endpoint: Endpoint, work: Work) => endpoint.call({ data: '0x', block: 39n, mustWait: false }, work)
  await expect(client.read(read, { work: never, past: { number: 39n, timestampSec } })).rejects.toThrow()
  // Once by each of two attempts.
  expect(calls()[0]).toBe(2)
})

test('missing state of a block too young to have been pruned is requested again by the next read', async () => {
  client.close()
  client = createClient(1)
  const timestampSec = BigInt(Math.floor(Date.now() / 1_000))
  const read = (endpoint: Endpoint, work: Work) =>
    endpoint.call({ to: '0x00000000000000000000000000000000000ec402', data: '0x', block: 39n }, work)
  const options = { work: never, past: { number: 39n, timestampSec } }
  rpcs[0]?.rule(({ method }) => (method === 'eth_call' ? { kind: 'error', error: NODES[0].error } : undefined))
  await expect(client.read(read, options)).rejects.toBeInstanceOf(UnavailableError)
  rpcs[0]?.rule(() => undefined)
  expect(await client.read(read, options)).toBe('0x')
  expect(lines.filter((line) => line.includes('An RPC endpoint failed'))).toEqual([])
})

test('a young block that stays missing sets no depth', async () => {
  client.close()
  client = createClient(1)
  rpcs[0]?.rule(({ method }) =>
    method === 'eth_call' ? { kind: 'error', error: { code: -32000, message: 'header not found' } } : undefined,
  )
  const timestampSec = BigInt(Math.floor(Date.now() / 1_000))
  const read = (endpoint: Endpoint, work: Work) => endpoint.call({ data: '0x', block: 39n }, work)
  const error = await client
    .read(read, { work: never, past: { number: 39n, timestampSec } })
    .then(String, (reason: Error) => reason)
  expect(error).toBeInstanceOf(UnavailableError)
  expect((error as Error).message).not.toContain('archive')
})

test('missing state at the newest block counts as a failure', async () => {
  client.close()
  client = createClient(1)
  rpcs[0]?.rule(() => ({ kind: 'error', error: NODES[0].error }))
  const read = (endpoint: Endpoint, work: Work) => endpoint.call({ data: '0x', block: 'latest' }, work)
  for (let time = 0; time < 2; time++) {
    expect(await client.read(read, { work: never }).catch((reason: Error) => reason)).toBeInstanceOf(UnavailableError)
  }
  expect(lines.filter((line) => line.includes('An RPC endpoint failed')).length).toBe(1)
})
