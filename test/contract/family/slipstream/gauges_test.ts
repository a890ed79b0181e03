import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Address, numberToHex, zeroAddress } from 'viem'
import { createPositionReader } from '../../../../src/family/liquidity/enumerable/read/read.ts'
import { EXCHANGE } from '../../../../src/family/slipstream/protocol.ts'
import { type SlipstreamManager, toDeployments } from '../../../../src/family/slipstream/table.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { type Anvil, startAnvil } from '../../../devnet/anvil.ts'
import { replayCalls } from '../../../devnet/replay.ts'
import { createRpc, type Rpc } from '../../../devnet/rpc.ts'
import { recordVoter, toOtherGauge as toGauge } from '../../../support/family/slipstream/market.ts'
import { recordWorld, toManager, WORLDS, type World } from '../../../support/family/slipstream/world.ts'
import { countedClient } from '../../../support/family/uniswap_v3/support.ts'
import { slowClock } from '../../../support/test_clock.ts'

const [world] = WORLDS
if (world === undefined) throw new Error('Cannot find the vectors')
const WORLD: World = world
const WALLET = '0xa0Ee7A142d267C1f36714E4a8F75612F20a79720' as Address
const OWN = WORLD.positions.filter(({ wallet, staked, ownerOf }) => wallet === WALLET && (staked || ownerOf === wallet))

let anvil: Anvil
let rpc: Rpc
const work = createWork(new AbortController().signal)

beforeAll(async () => {
  anvil = await startAnvil({ timestampSec: Number(WORLD.block.timestamp) })
  rpc = createRpc(anvil.rpcUrl)
  await replayCalls(rpc, recordWorld(WORLD))
  await rpc.call('evm_mine')
}, 60_000)
afterAll(() => anvil.stop())

/** A reader that knows no gauge yet, and what it asked. `custodiansMax`: gauges that one call asks. */
function createReader(
  managers: readonly SlipstreamManager[] = [toManager(WORLD)],
  { custodiansMax }: { readonly custodiansMax?: number } = {},
) {
  const { client, requests } = countedClient({
    id: 1,
    name: 'Devnet',
    rpcUrls: [anvil.rpcUrl],
    reuseMs: 0,
    maxBlockAgeSec: 1e9,
    finality: { depth: 0 },
    prices: { usdFeeds: {}, stablecoins: [] },
    tokens: { addresses: [], names: [], added: [] },
    spamTokens: [],
  })
  const deployments = new Map([[1, toDeployments(managers)]])
  const reader = createPositionReader(EXCHANGE, {
    clients: new Map([[1, client]]),
    deployments,
    clock: slowClock,
    ...(custodiansMax !== undefined && { custodiansMax }),
  })
  return {
    requests,
    /** Ids of the wallet's list, sorted, and how many requests they took. */
    async list(wallet: Address, at?: bigint) {
      requests.length = 0
      const [target] = reader.targets.values()
      if (target === undefined) throw new Error('Cannot find the target')
      const targets = at === undefined ? [target] : await reader.past.resolve([target], { at_block: Number(at) }, work)
      requests.length = 0
      const reads = await reader.readWallet(wallet, { targets, work })
      const ids = reads.flatMap(({ positions }) => positions.map(({ tokenId }) => String(tokenId))).toSorted()
      return { ids, calls: requests.filter((method) => method === 'eth_call').length, reads }
    },
  }
}

const IDS = OWN.map(({ id }) => id).toSorted()

test('the first list finds the gauges, and later ones are one call', async () => {
  const { list } = createReader()
  expect(OWN.filter(({ staked }) => staked).length).toBeGreaterThan(3)
  expect(await list(WALLET)).toMatchObject({ ids: IDS, calls: 2 })
  expect(await list(WALLET)).toMatchObject({ ids: IDS, calls: 1 })
})

test('a new gauge is in the next list, which asks once more', async () => {
  const reader = createReader()
  await reader.list(WALLET)
  const snapshot = await rpc.call<string>('evm_snapshot')
  await replayCalls(rpc, recordVoter(WORLD, { others: 3, foreign: 2 }))
  await rpc.call('evm_mine')
  expect(await reader.list(WALLET)).toMatchObject({ ids: IDS, calls: 2 })
  expect(await reader.list(WALLET)).toMatchObject({ ids: IDS, calls: 1 })
  await rpc.call('evm_revert', snapshot)
})

test('a voter that has grown by more than a list reads is read in pages', async () => {
  const reader = createReader()
  await reader.list(WALLET)
  const snapshot = await rpc.call<string>('evm_snapshot')
  await replayCalls(rpc, recordVoter(WORLD, { others: 300 }))
  await rpc.call('evm_mine')
  expect(await reader.list(WALLET)).toMatchObject({ ids: IDS, calls: 3 })
  expect(await reader.list(WALLET)).toMatchObject({ ids: IDS, calls: 1 })
  await rpc.call('evm_revert', snapshot)
})

test('a pool that is listed before it has a gauge is asked again', async () => {
  const snapshot = await rpc.call<string>('evm_snapshot')
  await replayCalls(rpc, recordVoter(WORLD, { others: 4, vacant: 2 }))
  await rpc.call('evm_mine')
  const reader = createReader()
  const { ids } = await reader.list(WALLET)
  expect(ids.length).toBeLessThan(IDS.length)
  expect(await reader.list(WALLET)).toMatchObject({ ids, calls: 1 })
  await replayCalls(rpc, recordVoter(WORLD, { others: 4 }))
  await rpc.call('evm_mine')
  expect(await reader.list(WALLET)).toMatchObject({ ids: IDS, calls: 2 })
  expect(await reader.list(WALLET)).toMatchObject({ ids: IDS, calls: 1 })
  await rpc.call('evm_revert', snapshot)
})

test('pools of other factories cost no further call', async () => {
  const reader = createReader()
  await reader.list(WALLET)
  const snapshot = await rpc.call<string>('evm_snapshot')
  await replayCalls(rpc, recordVoter(WORLD, { others: 5, foreign: 5 }))
  await rpc.call('evm_mine')
  expect(await reader.list(WALLET)).toMatchObject({ ids: IDS, calls: 1 })
  await rpc.call('evm_revert', snapshot)
})

test('a voter that does not tell its length ends where it does not answer', async () => {
  const snapshot = await rpc.call<string>('evm_snapshot')
  await replayCalls(rpc, recordVoter(WORLD, { others: 4, hasLength: false }))
  await rpc.call('evm_mine')
  const reader = createReader()
  expect(await reader.list(WALLET)).toMatchObject({ ids: IDS, calls: 2 })
  expect(await reader.list(WALLET)).toMatchObject({ ids: IDS, calls: 1 })
  await rpc.call('evm_revert', snapshot)
})

test('gauges that a reorganization took away are forgotten', async () => {
  const snapshot = await rpc.call<string>('evm_snapshot')
  const reader = createReader()
  await replayCalls(rpc, recordVoter(WORLD, { others: 4 }))
  await rpc.call('evm_mine')
  await reader.list(WALLET)
  await rpc.call('evm_revert', snapshot)
  await rpc.call('evm_mine')
  expect(await reader.list(WALLET)).toMatchObject({ ids: IDS })
  expect(await reader.list(WALLET)).toMatchObject({ ids: IDS, calls: 1 })
})

test('a past block has the gauges of then', async () => {
  const snapshot = await rpc.call<string>('evm_snapshot')
  const before = BigInt(await rpc.call<string>('eth_blockNumber'))
  await replayCalls(rpc, recordVoter(WORLD, { others: 4 }))
  await rpc.call('evm_mine')
  await rpc.call('evm_mine')
  const reader = createReader()
  expect(await reader.list(WALLET)).toMatchObject({ ids: IDS })
  expect(await reader.list(WALLET, before)).toMatchObject({ ids: IDS })
  expect((await reader.list(WALLET, before)).calls).toBeLessThan(3)
  await rpc.call('evm_revert', snapshot)
})

test('a voter that does not answer is no short list', async () => {
  const snapshot = await rpc.call<string>('evm_snapshot')
  await rpc.call('anvil_setCode', WORLD.contracts.voter, '0x')
  await rpc.call('evm_mine')
  await expect(createReader().list(WALLET)).rejects.toThrow(`registry ${WORLD.contracts.voter}`)
  await rpc.call('evm_revert', snapshot)
})

test('a gauge owns nothing of what it holds', async () => {
  const gauge = WORLD.positions.find(({ staked }) => staked)?.ownerOf ?? zeroAddress
  expect((await createReader().list(gauge)).ids).toEqual([])
})

test('a gauge owns nothing beside another manager of the same voter', async () => {
  const snapshot = await rpc.call<string>('evm_snapshot')
  const other = '0x00000000000000000000000000000000000b0b0b' as Address
  // Answers 0 to everything.
  await rpc.call('anvil_setCode', other, '0x600060005260206000f3')
  await rpc.call('evm_mine')
  const gauge = WORLD.positions.find(({ staked }) => staked)?.ownerOf ?? zeroAddress
  const second = { ...toManager(WORLD), manager: other, factory: other, code: 'slipstream_other' }
  const { list } = createReader([toManager(WORLD), second])
  expect(await list(WALLET)).toMatchObject({ ids: IDS })
  expect((await list(gauge)).ids).toEqual([])
  await rpc.call('evm_revert', snapshot)
})

const GAUGES = new Set(WORLD.positions.filter(({ staked }) => staked).map(({ ownerOf }) => ownerOf))

test('more gauges than one call asks are asked in pages, and the list those that hold something', async () => {
  const snapshot = await rpc.call<string>('evm_snapshot')
  const before = BigInt(await rpc.call<string>('eth_blockNumber'))
  await replayCalls(rpc, recordVoter(WORLD, { others: 5 }))
  await rpc.call('evm_mine')
  const { list } = createReader(undefined, { custodiansMax: 3 })
  const pages = Math.ceil((GAUGES.size + 5) / 3)
  await list(WALLET)
  expect(await list(WALLET)).toMatchObject({ ids: IDS, calls: pages + 1 })
  expect(await list(WALLET, before)).toMatchObject({ ids: IDS })
  const [gauge = zeroAddress] = GAUGES
  expect((await list(gauge)).ids).toEqual([])
  // What does not answer is not nothing.
  await rpc.call('anvil_setCode', toGauge(4), '0x60006000fd')
  await rpc.call('evm_mine')
  await expect(list(WALLET)).rejects.toThrow(`custodian ${toGauge(4)} does not answer`)
  await rpc.call('evm_revert', snapshot)
})

test('an endpoint that allows too little gas for all gauges at once is asked in pages', async () => {
  const snapshot = await rpc.call<string>('evm_snapshot')
  await replayCalls(rpc, recordVoter(WORLD, { others: 1_500 }))
  await rpc.call('evm_mine')
  const { list } = createReader()
  expect(await list(WALLET)).toMatchObject({ ids: IDS })
  expect(await list(WALLET)).toMatchObject({ ids: IDS, calls: 1 })
  // A gauge takes more than 5,400.
  await rpc.call('evm_setBlockGasLimit', numberToHex(8_000_000))
  await rpc.call('evm_mine')
  const { ids, calls } = await list(WALLET)
  expect([ids, calls > 5]).toEqual([IDS, true])
  await rpc.call('evm_revert', snapshot)
}, 60_000)
