import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { type Address, numberToHex } from 'viem'
import type { PinnedBlock } from '../../../src/chain/block.ts'
import { createChainClient, type EvmClient } from '../../../src/chain/evm/evm_client.ts'
import { readBlock } from '../../../src/chain/evm/read_block.ts'
import { createWitnessedClient } from '../../../src/chain/quorum/witnessed_client.ts'
import { createHistoricalTargets } from '../../../src/family/moment.ts'
import type { FinanceChain } from '../../../src/finance/chain.ts'
import { createFirstBlocks, type FirstBlocks } from '../../../src/finance/first_blocks.ts'
import { createWork } from '../../../src/lib/async/work.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { type Anvil, startAnvil } from '../../devnet/anvil.ts'
import { createRpc } from '../../devnet/rpc.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { type LyingRpc, startLyingRpc } from '../../support/lying_rpc.ts'
import { startFaultyRpc } from '../../support/rpc.ts'
import { createFixedClock } from '../../support/test_clock.ts'

const never = createWork(new AbortController().signal)
const CONTRACT: Address = '0x00000000000000000000000000000000000c0de5'
const PROBE = { contract: CONTRACT, getters: [] }
const DEPLOYED_AT = 56
const HEAD = 300
const GENESIS_SEC = 1_700_000_000

let anvil: Anvil
let database: TestDatabase
let rpcs: readonly LyingRpc[] = []
let after: PinnedBlock
let clients: EvmClient<FinanceChain>[] = []
let monotonicMs = 0
const clock = {
  ...createFixedClock(),
  now: () => (GENESIS_SEC + 100_000) * 1_000,
  monotonicMs: () => monotonicMs,
}

beforeAll(async () => {
  database = await testDatabase()
  anvil = await startAnvil({ timestampSec: GENESIS_SEC })
  const rpc = createRpc(anvil.rpcUrl)
  await rpc.call('anvil_mine', `0x${DEPLOYED_AT.toString(16)}`)
  // Refuses every function.
  await rpc.call('anvil_setCode', CONTRACT, '0x60006000fd')
  await rpc.call('anvil_mine', `0x${(HEAD - DEPLOYED_AT).toString(16)}`)
  rpcs = await Promise.all([0, 1].map(() => startLyingRpc(anvil.rpcUrl, [CONTRACT])))
  const request = { chainId: 1, number: 100n }
  after = await createClient(2).read((endpoint) => readBlock(endpoint, request, never), { work: never })
}, 60_000)
beforeEach(async () => {
  for (const rpc of rpcs) {
    rpc.lie([], 0)
    rpc.counts.clear()
  }
  await database.db.run('delete from first_block', [])
})
afterAll(async () => {
  for (const client of clients) client.close()
  await Promise.all(rpcs.map((rpc) => rpc.stop()))
  await anvil?.stop()
  await database?.close()
}, 60_000)

function createClient(count: number, rpcUrls = rpcs.slice(0, count).map(({ url }) => url)): EvmClient<FinanceChain> {
  const chain: FinanceChain = {
    id: 1,
    name: 'Ethereum',
    rpcUrls,
    blockTimeMs: 1_000,
    reuseMs: 0,
    finality: { depth: 0 },
    maxBlockAgeSec: 1_000_000_000,
    tokens: { addresses: [], names: [], added: [] },
    spamTokens: [],
    prices: { usdFeeds: {}, stablecoins: [] },
  }
  const client = createWitnessedClient(createChainClient({ chain, clock, log: silentLog }))
  clients = [...clients, client]
  return client
}

const create = () => createFirstBlocks({ db: database.db, clock, serverTime: async () => GENESIS_SEC + 100_000 })

function search(firstBlocks: FirstBlocks, count: number): Promise<bigint | undefined> {
  firstBlocks.want(createClient(count), PROBE)
  return firstBlocks.round(never.signal).then(() => firstBlocks.get(1, PROBE))
}

test('a past read has the first block searched, which later reads take from the database', async () => {
  const firstBlocks = create()
  const ask = async (memory: FirstBlocks, block: PinnedBlock) => {
    const setup = { name: 'Test', clock, firstBlocks: memory, getContract: () => CONTRACT }
    const targets = createHistoricalTargets<{ readonly startBlock: number }>(setup)
    const target = { client: createClient(2), deployments: [{ startBlock: 0 }], block }
    return (await targets.filterDeployed(target, never)).length
  }
  expect(await ask(firstBlocks, after)).toBe(1)
  expect(await firstBlocks.round(never.signal)).toBe(60_000)
  expect(firstBlocks.get(1, PROBE)).toBe(BigInt(DEPLOYED_AT))
  const restarted = create()
  expect(restarted.get(1, PROBE)).toBeUndefined()
  await restarted.round(never.signal)
  for (const rpc of rpcs) rpc.counts.clear()
  const at = (number: number): PinnedBlock => ({ ...after, number: BigInt(number) })
  expect([await ask(restarted, at(DEPLOYED_AT - 1)), await ask(restarted, at(DEPLOYED_AT))]).toEqual([0, 1])
  expect(rpcs.flatMap(({ counts }) => [...counts])).toEqual([])
  // Another question about the contract is not answered.
  expect(restarted.get(1, { ...PROBE, getters: ['0x01'] })).toBeUndefined()
})

test('of more deployments than may wait, the newest are searched, and the others once they are asked for again', async () => {
  const serverTime = async () => GENESIS_SEC + 100_000
  const firstBlocks = createFirstBlocks({ db: database.db, clock, serverTime, wantedMax: 2 })
  const client = createClient(2)
  const others: readonly Address[] = [1, 2].map((number) => numberToHex(0xdead00 + number, { size: 20 }))
  for (const contract of [CONTRACT, ...others]) firstBlocks.want(client, { contract, getters: [] })
  await firstBlocks.round(never.signal)
  expect(firstBlocks.get(1, PROBE)).toBeUndefined()
  expect(await search(firstBlocks, 2)).toBe(BigInt(DEPLOYED_AT))
})

test('one endpoint alone stores nothing, and neither do two of which one hides the contract', async () => {
  expect(await search(create(), 1)).toBeUndefined()
  expect(rpcs.flatMap(({ counts }) => [...counts])).toEqual([])
  const firstBlocks = create()
  rpcs[0]?.lie(['hidden'], 150)
  expect(await search(firstBlocks, 2).then(String, (error: Error) => error)).toMatchObject({ reason: 'disputed' })
  expect(await database.db.run('select * from first_block', [])).toEqual([])
  // It is searched again after an hour.
  rpcs[0]?.lie([], 0)
  monotonicMs += 3_599_999
  expect(await search(firstBlocks, 2)).toBeUndefined()
  monotonicMs += 1
  expect(await search(firstBlocks, 2)).toBe(BigInt(DEPLOYED_AT))
})

test('a deployment that is younger than a day is not stored yet', async () => {
  const request = { chainId: 1, number: BigInt(DEPLOYED_AT) }
  const first = await createClient(2).read((endpoint) => readBlock(endpoint, request, never), { work: never })
  const searchAt = (second: number) => {
    const serverTime = async () => Number(first.timestampSec) + 86_400 + second
    return search(createFirstBlocks({ db: database.db, clock, serverTime }), 2)
  }
  expect(await searchAt(-1)).toBeUndefined()
  expect(await searchAt(1)).toBe(BigInt(DEPLOYED_AT))
})

test('that nothing stood before is believed of two: one that has pruned the block before is not enough', async () => {
  const pruning = await startFaultyRpc(anvil.rpcUrl)
  try {
    const client = createClient(2, [rpcs[0]?.url ?? '', pruning.url])
    const request = { chainId: 1, number: BigInt(DEPLOYED_AT - 1) }
    const { hash } = await client.read((endpoint) => readBlock(endpoint, request, never), { work: never })
    const error = { code: -32000, message: 'missing trie node 9f (path ) state 0x9f is not available' }
    pruning.rule(({ method, params }) =>
      ['eth_call', 'eth_getCode'].includes(method) && JSON.stringify(params).includes(hash)
        ? { kind: 'error', error }
        : undefined,
    )
    const firstBlocks = create()
    firstBlocks.want(client, PROBE)
    await firstBlocks.round(never.signal)
    expect(firstBlocks.get(1, PROBE)).toBeUndefined()
    pruning.rule(() => undefined)
    monotonicMs += 3_600_000
    await firstBlocks.round(never.signal)
    expect(firstBlocks.get(1, PROBE)).toBe(BigInt(DEPLOYED_AT))
  } finally {
    await pruning.stop()
  }
})
