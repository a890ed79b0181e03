import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import type { Address } from 'viem'
import type { PinnedBlock } from '../../../src/chain/block.ts'
import { createChainClient, type EvmClient } from '../../../src/chain/evm/evm_client.ts'
import { readBlock } from '../../../src/chain/evm/read_block.ts'
import { createWitnessedClient } from '../../../src/chain/quorum/witnessed_client.ts'
import { createRecorder } from '../../../src/chain/receipt/recorder.ts'
import { ContractUnresponsiveError } from '../../../src/chain/rpc/client.ts'
import { createHistoricalTargets } from '../../../src/family/moment.ts'
import type { FinanceChain, FinanceClient } from '../../../src/finance/chain.ts'
import { createWork, type Work } from '../../../src/lib/async/work.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { type Anvil, startAnvil } from '../../devnet/anvil.ts'
import { createRpc } from '../../devnet/rpc.ts'
import { type LyingRpc, startLyingRpc } from '../../support/lying_rpc.ts'
import { createFixedClock } from '../../support/test_clock.ts'

const never = createWork(new AbortController().signal)
const ABSENT: Address = '0x00000000000000000000000000000000000ab5e7'
const CONTRACT: Address = '0x00000000000000000000000000000000000c0de5'
/** Refuses every function. */
const CODE = '0x60006000fd'
const DEPLOYED_AT = 50
const HEAD = 300
const LIES_BELOW = 250

let anvil: Anvil
let rpcs: readonly LyingRpc[] = []
let before: PinnedBlock
let after: PinnedBlock
let clients: EvmClient<FinanceChain>[] = []
const GENESIS_SEC = 1_700_000_000
let monotonicMs = 0
const clock = {
  ...createFixedClock(),
  now: () => (GENESIS_SEC + 100_000) * 1_000,
  monotonicMs: () => monotonicMs,
}

beforeAll(async () => {
  anvil = await startAnvil({ timestampSec: GENESIS_SEC })
  const rpc = createRpc(anvil.rpcUrl)
  await rpc.call('anvil_mine', `0x${(DEPLOYED_AT - 1).toString(16)}`)
  await rpc.call('anvil_setCode', CONTRACT, CODE)
  await rpc.call('anvil_mine', `0x${(HEAD - DEPLOYED_AT + 1).toString(16)}`)
  rpcs = await Promise.all([0, 1].map(() => startLyingRpc(anvil.rpcUrl, [CONTRACT])))
  const read = (number: bigint) =>
    createClient(2).read((endpoint) => readBlock(endpoint, { chainId: 1, number }, never), { work: never })
  before = await read(20n)
  after = await read(100n)
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

function createClient(count: number): EvmClient<FinanceChain> {
  const chain: FinanceChain = {
    id: 1,
    name: 'Ethereum',
    rpcUrls: rpcs.slice(0, count).map(({ url }) => url),
    blockTimeMs: 1_000,
    reuseMs: 0,
    finality: { depth: 0 },
    tokens: { addresses: [], names: [], added: [] },
    spamTokens: [],
    prices: { usdFeeds: {}, stablecoins: [] },
  }
  const client = createWitnessedClient(createChainClient({ chain, clock, log: silentLog }))
  clients = [...clients, client]
  return client
}

function createTargets() {
  return createHistoricalTargets<{ readonly startBlock: number }>({ name: 'Test', clock, getContract: () => CONTRACT })
}

/** Work of its own. */
function track(): Work {
  return createWork(new AbortController().signal)
}

/** Asks which deployments exist, each time with the same memory. */
function createAsker() {
  const targets = createTargets()
  return async (client: FinanceClient, block: PinnedBlock) => {
    const deployed = await targets.filterDeployed({ client, deployments: [{ startBlock: 0 }], block }, never)
    return deployed.length
  }
}

test.each([1, 2])('a contract exists from its block on, by %d endpoints', async (count) => {
  const ask = createAsker()
  expect([await ask(createClient(count), before), await ask(createClient(count), after)]).toEqual([0, 1])
})

test.each([1, 2])('an endpoint that denies code takes nothing away, as one of %d', async (count) => {
  rpcs[0]?.lie(['codeless'], LIES_BELOW)
  expect(await createAsker()(createClient(count), after)).toBe(1)
})

test.each([
  ['one of two that has the state', 2, ['later'], true],
  ['the only endpoint', 1, [], true],
  ['two endpoints', 2, [], false],
] as const)('what does not stand by %s is told as one word or not', async (_, count, lies, expected) => {
  rpcs[1]?.lie(lies, LIES_BELOW)
  const client = createClient(count)
  const read = async (block: PinnedBlock) => {
    const work = track()
    const deployed = await createTargets().filterDeployed({ client, deployments: [{ startBlock: 0 }], block }, work)
    return [deployed.length, ...work.unwitnessed]
  }
  // Nothing is left out of what stands.
  expect(await read(after)).toEqual([1])
  expect(await read(before)).toEqual(expected ? [0, 1] : [0])
})

test.each([
  [1, true],
  [2, false],
])('what does not answer and does not stand by %d endpoints is told as one word or not', async (count, expected) => {
  const targets = createHistoricalTargets<{ readonly startBlock: number; readonly contract: Address }>({
    name: 'Test',
    clock,
    getContract: ({ contract }) => contract,
  })
  const deployments = [CONTRACT, ABSENT].map((contract) => ({ startBlock: 1, contract }))
  const work = track()
  const read = await targets.readDeployed(
    { client: createClient(count), deployments, block: after },
    async ({ deployments: asked }) => {
      if (asked.length > 1) throw new ContractUnresponsiveError('a market does not answer')
      return asked.map(({ contract }) => contract)
    },
    work,
  )
  expect([read, [...work.unwitnessed]]).toEqual([[CONTRACT], expected ? [1] : []])
})

test('endpoints that contradict each other about code are not believed, and nothing outlives the lie', async () => {
  const [ask, client] = [createAsker(), createClient(2)]
  rpcs[0]?.lie(['hidden'], LIES_BELOW)
  expect(await ask(client, after).then(String, (error: Error) => error)).toMatchObject({ reason: 'disputed' })
  rpcs[0]?.lie([], 0)
  expect(await ask(client, after)).toBe(1)
})

test('a later state does not place a contract before its block, neither alone nor once it is mended', async () => {
  const [ask, client] = [createAsker(), createClient(2)]
  rpcs[0]?.lie(['later'], LIES_BELOW)
  expect(await ask(client, before)).toBe(0)
  expect(await ask(createClient(1), before).then(String, (error: Error) => error)).toMatchObject({ reason: 'pruned' })
  rpcs[0]?.lie([], 0)
  expect(await ask(createClient(1), before)).toBe(0)
})

test('two endpoints are asked once; an answer with a record asks again, and its record holds the call', async () => {
  const [ask, client] = [createAsker(), createClient(2)]
  const count = () => rpcs.map(({ counts }) => counts.get('eth_call') ?? 0)
  await ask(client, after)
  // One call for both the contract and the state of the endpoint.
  expect(count()).toEqual([1, 1])
  expect(await ask(client, after)).toBe(1)
  expect(count()).toEqual([1, 1])
  const recorder = createRecorder(client)
  expect(await ask(recorder.client, after)).toBe(1)
  expect(recorder.record()?.calls.length).toBe(1)
})

test('the word of a single endpoint is asked again after ten minutes', async () => {
  const [ask, client] = [createAsker(), createClient(1)]
  const counts: (number | undefined)[] = []
  for (const passedMs of [0, 599_999, 1]) {
    monotonicMs += passedMs
    expect(await ask(client, after)).toBe(1)
    counts.push(rpcs[0]?.counts.get('eth_call'))
  }
  expect(counts).toEqual([1, 1, 2])
})
