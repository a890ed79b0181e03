import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { type Hex, keccak256 } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { PinnedBlock } from '../../../../src/chain/block.ts'
import type { Chain } from '../../../../src/chain/chain.ts'
import { createChainClient, type EvmClient } from '../../../../src/chain/evm/evm_client.ts'
import { readBlock } from '../../../../src/chain/evm/read_block.ts'
import { examineState } from '../../../../src/chain/past/state_canary.ts'
import { createWitnessedClient } from '../../../../src/chain/quorum/witnessed_client.ts'
import type { Endpoint } from '../../../../src/chain/rpc/client.ts'
import { createWork, type Work } from '../../../../src/lib/async/work.ts'
import { UnavailableError } from '../../../../src/lib/error.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { type Anvil, startAnvil } from '../../../devnet/anvil.ts'
import { createRpc } from '../../../devnet/rpc.ts'
import { type LyingRpc, type StateLie, startLyingRpc } from '../../../support/lying_rpc.ts'
import { createFixedClock } from '../../../support/test_clock.ts'

const never = createWork(new AbortController().signal)
/** Blocks with a transaction of the sender; all others have none. */
const SENT = [10, 20, 200]
const HEAD = 300
const LIES_BELOW = 250
const HOLDER: Hex = '0x00000000000000000000000000000000000a11ce'

let anvil: Anvil
let rpcs: readonly LyingRpc[] = []
let blocks: ReadonlyMap<number, PinnedBlock>
let clients: EvmClient[] = []
let nowMs = 0
let nowMonotonicMs = 0

beforeAll(async () => {
  anvil = await startAnvil()
  const rpc = createRpc(anvil.rpcUrl)
  const account = privateKeyToAccount(keccak256('0x5e2de2'))
  await rpc.call('anvil_setBalance', account.address, '0xffff')
  await rpc.call('evm_setAutomine', false)
  for (const [index, block] of SENT.entries()) {
    const blank = block - (SENT[index - 1] ?? 0) - 1
    await rpc.call('anvil_mine', `0x${blank.toString(16)}`)
    const transfer = { chainId: 1, nonce: index, gas: 21_000n, gasPrice: 0n, to: HOLDER, value: 100n } as const
    await rpc.call('eth_sendRawTransaction', await account.signTransaction(transfer))
    await rpc.call('evm_mine')
  }
  await rpc.call('anvil_mine', `0x${(HEAD - 200).toString(16)}`)
  rpcs = await Promise.all([0, 1, 2].map(() => startLyingRpc(anvil.rpcUrl, [account.address, HOLDER])))
  const client = createChainClient({ chain: createChain([anvil.rpcUrl]), clock: createFixedClock(), log: silentLog })
  const read = async (number: number) => {
    const asked = (endpoint: Endpoint) => readBlock(endpoint, { chainId: 1, number: BigInt(number) }, never)
    return [number, await client.read(asked, { work: never })] as const
  }
  blocks = new Map(await Promise.all([1, 5, 10, 12, 20, 100, 200, 240, HEAD].map(read)))
  nowMs = (Number(blocks.get(HEAD)?.timestampSec) + 100_000) * 1_000
  client.close()
}, 60_000)
beforeEach(() => {
  for (const rpc of rpcs) {
    rpc.lie([], 0)
    rpc.counts.clear()
  }
})
afterAll(async () => {
  for (const client of clients) client.close()
  await Promise.all(rpcs.map((rpc) => rpc.stop()))
  await anvil?.stop()
}, 60_000)

function createChain(rpcUrls: readonly string[]): Chain {
  return { id: 1, name: 'Ethereum', rpcUrls, blockTimeMs: 1_000, reuseMs: 0, finality: { depth: 0 } }
}

function createClient(count: number): EvmClient {
  const clock = { ...createFixedClock(), now: () => nowMs, monotonicMs: () => nowMonotonicMs }
  const chain = createChain(rpcs.slice(0, count).map(({ url }) => url))
  const client = createWitnessedClient(createChainClient({ chain, clock, log: silentLog }))
  clients = [...clients, client]
  return client
}

function getBlock(number: number): PinnedBlock {
  const block = blocks.get(number)
  if (block === undefined) throw new Error(`Block ${number} was not read`)
  return block
}

/** What the first endpoint shows of the states of some blocks, one after the other. */
async function examine(numbers: readonly number[]): Promise<string[]> {
  const memory = {}
  const shown: string[] = []
  for (const number of numbers) {
    const attempt = (endpoint: Endpoint) => examineState(endpoint, { block: getBlock(number), memory }, never)
    const client = createChainClient({
      chain: createChain([rpcs[0]?.url ?? '']),
      clock: createFixedClock(),
      log: silentLog,
    })
    clients = [...clients, client]
    shown.push(await client.read(attempt, { work: never }))
  }
  return shown
}

/** The balance of the holder at a block, inside a call. */
function readHeld(client: EvmClient, number: number, work = never): Promise<bigint> {
  const block = getBlock(number)
  const held = async (endpoint: Endpoint, within: Work) => {
    const code: Hex = `0x73${HOLDER.slice(2)}315f5260205ff3`
    const to: Hex = '0x00000000000000000000000000000000000ec402'
    return BigInt(await endpoint.call({ to, code, data: '0x', block: { hash: block.hash } }, within))
  }
  return client.read(held, { work, past: block })
}

type Noted = [held: bigint, ...chainIds: number[]]

/** The same as a work of its own, and the chains of which it rests on the word of one endpoint. */
async function readNoted(client: EvmClient, number: number): Promise<Noted> {
  const work = createWork(new AbortController().signal)
  return [await readHeld(client, number, work), ...work.unwitnessed]
}

test('an honest endpoint proves every state by the ring of block hashes', async () => {
  expect(await examine([1, 5, 10, 12, 240])).toEqual(['proven', 'proven', 'proven', 'proven', 'proven'])
  expect(Object.fromEntries(rpcs[0]?.counts ?? [])).toEqual({ eth_chainId: 5, eth_call: 5 })
})

test('an endpoint without state overrides proves it by reading the slots', async () => {
  const client = createClient(1)
  const refusing = async (endpoint: Endpoint, work: Work) => {
    const call: Endpoint['call'] = (request, within) => endpoint.call({ ...request, gas: 1 }, within)
    return await examineState({ ...endpoint, call }, { block: getBlock(12), memory: {} }, work)
  }
  expect(await client.read(refusing, { work: never })).toBe('proven')
  expect(rpcs[0]?.counts.get('eth_getStorageAt')).toBe(2)
})

test('a later state is refuted by the ring', async () => {
  rpcs[0]?.lie(['later'], LIES_BELOW)
  expect(await examine([12, 20, 240])).toEqual(['refuted', 'refuted', 'refuted'])
})

test('an empty state is refuted by the ring above a proven one, and by any transaction at or below it', async () => {
  rpcs[0]?.lie(['empty'], LIES_BELOW)
  expect(await examine([20, 240])).toEqual(['refuted', 'refuted'])
  // Nothing stands below the first transaction.
  expect(await examine([5])).toEqual(['untold'])
  rpcs[0]?.lie(['empty'], 100)
  expect(await examine([5, 100, 12])).toEqual(['untold', 'proven', 'refuted'])
})

test('without a ring a transaction of the block proves its state, and one below it shows that it is not empty', async () => {
  rpcs[0]?.lie(['ringless'], 0)
  expect(await examine([5, 10, 20, 200, 240])).toEqual(['untold', 'proven', 'proven', 'proven', 'present'])
  rpcs[0]?.lie(['ringless', 'empty'], LIES_BELOW)
  expect(await examine([10, 20, 240])).toEqual(['refuted', 'refuted', 'refuted'])
  rpcs[0]?.lie(['ringless', 'later'], LIES_BELOW)
  expect(await examine([10, 20, 240])).toEqual(['refuted', 'refuted', 'present'])
})

test.each(['empty', 'later'] as const)(
  'beside an honest endpoint a past read is right where another has an %s state',
  async (lie) => {
    rpcs[0]?.lie([lie], LIES_BELOW)
    expect(await readHeld(createClient(2), 12)).toBe(100n)
    expect(await readHeld(createClient(2), 240)).toBe(300n)
  },
)

test.each(['empty', 'later'] as const)(
  'alone, an endpoint with an %s state counts as one that does not keep the block',
  async (lie) => {
    const client = createClient(1)
    rpcs[0]?.lie([lie], LIES_BELOW)
    const error = await readHeld(client, 12).then(String, (reason: Error) => reason)
    expect(error).toMatchObject({ reason: 'pruned' })
    expect((error as Error).message).toBe(
      'Cannot read chain 1 (Ethereum) at block 12: endpoint 1 of chain 1 does not keep it; set RPC_URL_1 to an archive ' +
        'endpoint to read older blocks',
    )
  },
)

/** Block 12 has no transaction, but block 10 has one: without a ring its state is not empty, and may be a later one. */
const PRESENT = 12
/** Nothing tells whether the state of this block is empty. */
const UNTOLD = 100

function makeRingless(...lies: (readonly StateLie[])[]): void {
  for (const [index, rpc] of rpcs.entries()) rpc.lie(['ringless', ...(lies[index] ?? [])], LIES_BELOW)
}

test('where nothing tells an old state from a later one, two endpoints decide, and none alone', async () => {
  makeRingless(['later'])
  const error = await readHeld(createClient(2), PRESENT).then(String, (reason: Error) => reason)
  expect(error).toBeInstanceOf(UnavailableError)
  expect((error as Error).message).toContain('endpoints 1 and 2 contradict each other')
  const client = createClient(3)
  expect(await readNoted(client, PRESENT)).toEqual([100n])
})

test.each([
  [PRESENT, 100n],
  [UNTOLD, 200n],
])('endpoints that agree about block %d are believed, each asked once', async (number, held) => {
  makeRingless()
  const client = createClient(2)
  expect(await readNoted(client, number)).toEqual([held])
  const counts = () => rpcs.slice(0, 2).map(({ counts }) => counts.get('eth_call') ?? 0)
  const before = counts()
  expect(await readHeld(client, number)).toBe(held)
  // One round trip to two endpoints: what they showed is remembered.
  expect(counts().map((count, index) => count - (before[index] ?? 0))).toEqual([1, 1])
})

test.each([
  ['of a single endpoint', 1],
  ['of the only endpoint that has the block', 2],
] as const)('the word %s counts where nothing proves it, and is told', async (_, count) => {
  makeRingless([], ['empty'])
  const client = createClient(count)
  expect(await readNoted(client, PRESENT)).toEqual([100n, 1])
})

/** How long what an endpoint showed of a state is believed. */
const MEMORY_MS = 600_000

test.each([[['alone', 'agreed']], [['agreed', 'alone']]] as const)(
  'of two reads of one block, %j, each tells its own evidence, whichever ends first',
  async (order) => {
    const client = createClient(2)
    const read = async (kind: 'alone' | 'agreed') => {
      makeRingless([], kind === 'alone' ? ['empty'] : [])
      nowMonotonicMs += MEMORY_MS
      return await readNoted(client, PRESENT)
    }
    const told: Readonly<Record<'alone' | 'agreed', Noted>> = { alone: [100n, 1], agreed: [100n] }
    for (const kind of order) expect(await read(kind)).toEqual(told[kind])
  },
)

test('a proven state rests on no word, even of a single endpoint', async () => {
  const client = createClient(1)
  expect(await readNoted(client, PRESENT)).toEqual([100n])
})

test.each(['empty', 'later'] as const)(
  'an endpoint with an %s state is believed 20 seconds after it is mended',
  async (lie) => {
    const client = createClient(1)
    rpcs[0]?.lie([lie], LIES_BELOW)
    const read = () => readHeld(client, 20).catch(() => undefined)
    for (let passedSec = 0; passedSec < 3_600; passedSec += 60) {
      expect(await read()).toBeUndefined()
      nowMonotonicMs += 60_000
    }
    expect(await read()).toBeUndefined()
    rpcs[0]?.lie([], 0)
    nowMonotonicMs += 20_000
    expect(await read()).toBe(200n)
  },
)

test('a past read costs one more small call for each block, and a young block none', async () => {
  const client = createClient(1)
  for (const number of [12, 12, 240]) await readHeld(client, number)
  expect(rpcs[0]?.counts.get('eth_call')).toBe(5)
  nowMs = Number(getBlock(HEAD).timestampSec) * 1_000
  await readHeld(client, HEAD)
  expect(rpcs[0]?.counts.get('eth_call')).toBe(6)
})
