import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import type { Address, Hex } from 'viem'
import { createChainClient, type EvmClient } from '../../../src/chain/evm/evm_client.ts'
import { createRecorder } from '../../../src/chain/receipt/recorder.ts'
import { AAVE_V3 } from '../../../src/family/aave_v3/mod.ts'
import { UNISWAP_V3 } from '../../../src/family/uniswap_v3/mod.ts'
import type { FinanceChain, FinanceClient } from '../../../src/finance/chain.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createReplayer } from '../../../src/receipt/replay.ts'
import { MARKETS } from '../../devnet/aave_v3/addresses.ts'
import { sharedAave } from '../../devnet/aave_v3/shared.ts'
import { toWalletAddress, UNISWAP_V3 as UNISWAP } from '../../devnet/addresses.ts'
import { createDevnetChain } from '../../devnet/chain.ts'
import type { Devnet } from '../../devnet/mod.ts'
import { callRoute, toRouteFailure } from '../../support/call_route.ts'
import { createFamilyRoutes } from '../../support/family.ts'
import { type LyingRpc, startLyingRpc } from '../../support/lying_rpc.ts'
import { createPatientClock, slowClock } from '../../support/test_clock.ts'
import { createPortfolio } from '../portfolio/support.ts'

/** A provider whose pool is not registered yet, and a manager whose factory alone stands. */
const HALF = toWalletAddress('half a market')
const ABSENT = toWalletAddress('manager to come')
/** As tables say: both are older than what answers. */
const AAVE = (['main', 'lido'] as const).map((market) => ({
  market,
  poolAddressesProvider: MARKETS[market].provider,
  startBlock: 1,
}))
const HALF_MARKET = { market: 'half', poolAddressesProvider: HALF, startBlock: 1 }
const MANAGER = { manager: UNISWAP.manager, factory: UNISWAP.factory, startBlock: 1 }
const ABSENT_MANAGER = { manager: ABSENT, factory: UNISWAP.factory, startBlock: 1 }

let devnet: Devnet
let wallet: Address
let gap: number
let rpcs: readonly LyingRpc[] = []
let clients: EvmClient<FinanceChain>[] = []

beforeAll(async () => {
  const shared = await sharedAave()
  devnet = shared.devnet
  wallet = shared.aave.wallets.borrower
  const code = await devnet.rpc.call<Hex>('eth_getCode', MARKETS.main.provider, 'latest')
  await devnet.rpc.call('anvil_setCode', HALF, code)
  await devnet.rpc.call('evm_mine')
  gap = Number(await shared.aave.blockNumber())
  await devnet.rpc.call('evm_mine')
  rpcs = await Promise.all([0, 1].map(() => startLyingRpc(devnet.rpcUrl, [MARKETS.lido.provider])))
}, 120_000)
beforeEach(() => {
  for (const rpc of rpcs) rpc.lie([], 0)
})
afterAll(async () => {
  for (const client of clients) client.close()
  await Promise.all(rpcs.map((rpc) => rpc.stop()))
})

function createClient(count: number): EvmClient<FinanceChain> {
  const rpcUrls = rpcs.slice(0, count).map(({ url }) => url)
  const client = createChainClient({
    chain: createDevnetChain(devnet, { rpcUrls }),
    clock: createPatientClock(),
    log: silentLog,
  })
  clients = [...clients, client]
  return client
}

async function readMarkets(client: FinanceClient, aaveV3: readonly object[]) {
  const [list] = createFamilyRoutes(AAVE_V3, { rows: [[1, { aaveV3 }]], clients: [client] })
  if (list === undefined) throw new Error('There is no list')
  const query = `wallet=${wallet}&chain_id=1&at_block=${gap}`
  return await callRoute(list, { query }).then(
    ({ reply }) => reply.data,
    (error: unknown) => toRouteFailure(error, list).status,
  )
}

test.each([1, 2])('a market without its pool takes no other market away, by %d endpoints', async (count) => {
  const whole = await readMarkets(createClient(count), AAVE)
  expect(whole).toHaveLength(1)
  expect(await readMarkets(createClient(count), [...AAVE, HALF_MARKET])).toEqual(whole)
  // Of a market without a first block the same is asked before the read.
  const [first, second] = AAVE
  const unknown = [first, { ...HALF_MARKET, startBlock: 0 }, second].flatMap((each) => each ?? [])
  expect(await readMarkets(createClient(count), unknown)).toEqual(whole)
})

test('one endpoint that hides a market is not believed', async () => {
  rpcs[0]?.lie(['hidden'], gap + 1)
  expect(await readMarkets(createClient(2), AAVE)).toBe(503)
})

test('an answer without half a market is replayed from its record', async () => {
  const client = createClient(1)
  const recorder = createRecorder(client)
  const data = await readMarkets(recorder.client, [...AAVE, HALF_MARKET])
  expect(data).toHaveLength(1)
  const record = recorder.record()
  if (record === undefined) throw new Error('There is no record')
  const replayer = createReplayer(record, { chain: client.chain, clock: slowClock })
  expect(await readMarkets(replayer.client, [...AAVE, HALF_MARKET])).toEqual(data)
  expect([replayer.faults(), replayer.isMissing()]).toEqual([[], false])
})

test.each(['', '/:id'])('a manager without code takes no position away: list%s', async (path) => {
  const read = async (uniswapV3: readonly object[]) => {
    const routes = createFamilyRoutes(UNISWAP_V3, { rows: [[1, { uniswapV3 }]], clients: [createClient(2)] })
    const route = routes.find((each) => each.path === `/v1/positions/uniswap-v3${path}`)
    if (route === undefined) throw new Error('There is no route')
    const query = `at_block=${gap}&chain_id=1`
    const request = path === '' ? { query: `${query}&wallet=${holder}` } : { params: { id: '1' }, query }
    return (await callRoute(route, request)).reply.data
  }
  const holder = await devnet.rpc
    .call<Hex>('eth_call', { to: UNISWAP.manager, data: OWNER_OF_FIRST }, 'latest')
    .then((word): Hex => `0x${word.slice(-40)}`)
  const whole = await read([MANAGER])
  expect(JSON.stringify(whole)).toContain('"token_id":"1"')
  expect(await read([ABSENT_MANAGER, MANAGER])).toEqual(whole)
})

test('the sum of a portfolio lacks nothing but what did not stand', async () => {
  const read = async (aaveV3: readonly object[], uniswapV3: readonly object[]) => {
    const deployments = { aaveV3, uniswapV3 } as object
    const portfolio = createPortfolio([createClient(2)], { deployments })
    const { reply } = await portfolio.balance(`wallet=${wallet}&chain_id=1&at_block=${gap}`)
    return (reply.data as { readonly net_worth_usd: string }).net_worth_usd
  }
  const whole = await read(AAVE, [MANAGER])
  expect(Number(whole)).toBeGreaterThan(0)
  expect(await read([...AAVE, HALF_MARKET], [ABSENT_MANAGER, MANAGER])).toBe(whole)
})

/** `ownerOf(1)`. */
const OWNER_OF_FIRST = `0x6352211e${'1'.padStart(64, '0')}`
