import { afterAll, beforeAll, expect, test } from 'bun:test'
import { encodeFunctionData, type Hex, toFunctionSelector } from 'viem'
import { createChainClient, type EvmClient } from '../../../src/chain/evm/evm_client.ts'
import { AAVE_V3 } from '../../../src/family/aave_v3/mod.ts'
import type { Family } from '../../../src/family/contract.ts'
import { MORPHO_BLUE } from '../../../src/family/morpho_blue/mod.ts'
import { UNISWAP_V3 } from '../../../src/family/uniswap_v3/mod.ts'
import type { FinanceChain } from '../../../src/finance/chain.ts'
import type { History } from '../../../src/history/stream.ts'
import type { Route } from '../../../src/http/route/route.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { PROVIDER_ABI } from '../../devnet/aave_v3/abi.ts'
import { MARKETS } from '../../devnet/aave_v3/addresses.ts'
import { sharedAave } from '../../devnet/aave_v3/shared.ts'
import { BANK, UNISWAP_V3 as CONTRACTS, toWalletAddress } from '../../devnet/addresses.ts'
import { createDevnetChain, DEVNET_ROW } from '../../devnet/chain.ts'
import type { Devnet } from '../../devnet/mod.ts'
import { callRoute, toRouteFailure } from '../../support/call_route.ts'
import { createFamilyRoutes } from '../../support/family.ts'
import { createHurriedClock } from '../../support/test_clock.ts'

const BUILD_LIMIT_MS = 120_000
/** So many failures in a row and an endpoint would be left alone. */
const TIMES = 8
/** One address without code, one whose code reverts. */
const EMPTY = toWalletAddress('no contract')
const REVERTING = toWalletAddress('reverting contract')

let devnet: Devnet
let client: EvmClient<FinanceChain>
let wallet: Hex

beforeAll(async () => {
  const shared = await sharedAave()
  devnet = shared.devnet
  wallet = shared.aave.wallets.borrower
  await devnet.rpc.call('anvil_setCode', REVERTING, '0x60006000fd')
  client = createChainClient({ chain: createDevnetChain(devnet), clock: createHurriedClock(), log: silentLog })
}, BUILD_LIMIT_MS)
afterAll(() => client?.close())

/** Reads the market first, as the real one does; no question of this file gets further. */
const history: History = {
  async ensure({ target: place }) {
    if ('read' in place) await place.read()
    throw new Error('The market has answered')
  },
}

function findRoute(family: Family, row: object, path: string): Route {
  const routes = createFamilyRoutes(family, { rows: [[1, row]], clients: [client], history })
  const route = routes.find((each) => each.path === path)
  if (route === undefined) throw new Error(`There is no ${path}`)
  return route
}

/** What a question that one contract keeps from being answered is told, time and again; no endpoint is blamed. */
async function refusal(route: Route, question: Parameters<typeof callRoute>[1]): Promise<string> {
  const told = new Set<string>()
  for (let times = 0; times < TIMES; times++) {
    const error = await callRoute(route, question).catch((thrown: unknown) => thrown)
    const { status, message } = toRouteFailure(error, route)
    expect(status).toBe(503)
    told.add(message)
  }
  expect(client.report().map(({ state }) => state)).toEqual(['ready'])
  expect(told.size).toBe(1)
  return [...told].join()
}

test.each([
  ['has no code', EMPTY],
  ['reverts', REVERTING],
])(
  'a market of Aave whose contract %s is named with what leaves it out, and the others answer',
  async (_, provider) => {
    const row = { aaveV3: [...DEVNET_ROW.aaveV3, { market: 'ghost', poolAddressesProvider: provider }] }
    const list = findRoute(AAVE_V3, row, '/v1/lending/aave-v3')
    const because = 'Cannot read chain 1 (Devnet) because market "ghost" does not answer in US dollars'
    expect(await refusal(list, { query: `wallet=${wallet}` })).toBe(
      `${because}: leave it out with the "market_id" parameter`,
    )
    expect(await refusal(list, { query: `wallet=${wallet}&market_id=ghost` })).toBe(because)
    expect((await callRoute(list, { query: `wallet=${wallet}&market_id=main` })).reply.data).toHaveLength(1)

    const events = findRoute(AAVE_V3, row, '/v1/lending/aave-v3/position/:chain_id/events')
    const question = { params: { chain_id: '1' }, query: `wallet=${wallet}&market_id=ghost` }
    expect(await refusal(events, question)).toBe(
      'Cannot read chain 1 (Devnet) because market "ghost" does not return its reserves',
    )
  },
)

test('a market that is not counted in dollars is not valued as if it were', async () => {
  const { provider, oracle } = MARKETS.lido
  const notInDollars = toWalletAddress('oracle in another currency')
  // Says 1 for BASE_CURRENCY(), and for everything else what the market's own oracle says.
  const ask = `3660006000376000600036600073${oracle.slice(2)}5afa503d600060003e3d6000f3`
  const start = `60003560e01c63${toFunctionSelector('BASE_CURRENCY()').slice(2)}1460`
  const target = (start.length / 2 + 2 + ask.length / 2).toString(16).padStart(2, '0')
  await devnet.rpc.call('anvil_setCode', notInDollars, `0x${start}${target}57${ask}5b600160005260206000f3`)
  const list = findRoute(AAVE_V3, DEVNET_ROW, '/v1/lending/aave-v3')
  const setOracle = async (address: Hex) => {
    const data = encodeFunctionData({ abi: PROVIDER_ABI, functionName: 'setPriceOracle', args: [address] })
    await devnet.send([{ from: BANK, to: provider, data }])
  }
  await setOracle(notInDollars)
  try {
    expect(await refusal(list, { query: `wallet=${wallet}&market_id=lido` })).toBe(
      'Cannot read chain 1 (Devnet) because market "lido" does not answer in US dollars',
    )
  } finally {
    await setOracle(oracle)
  }
  expect((await callRoute(list, { query: `wallet=${wallet}&market_id=lido` })).reply.data).toBeDefined()
})

test('a position manager that does not answer is named, and so is the parameter that leaves it out', async () => {
  const row = { uniswapV3: [...DEVNET_ROW.uniswapV3, { manager: EMPTY, factory: CONTRACTS.factory }] }
  const because = `Cannot read chain 1 (Devnet) because position manager ${EMPTY} does not answer`
  const list = findRoute(UNISWAP_V3, row, '/v1/positions/uniswap-v3')
  expect(await refusal(list, { query: `wallet=${wallet}` })).toBe(because)
  const position = findRoute(UNISWAP_V3, row, '/v1/positions/uniswap-v3/:id')
  expect(await refusal(position, { params: { id: '1' } })).toBe(
    `${because}: leave it out with the "manager_address" parameter`,
  )
  const query = `manager_address=${CONTRACTS.manager}`
  expect((await callRoute(position, { params: { id: '1' }, query })).reply.data).toBeDefined()
})

test('a Morpho that does not answer is named', async () => {
  const route = createFamilyRoutes(MORPHO_BLUE, {
    rows: [[1, { morphoBlue: { morpho: EMPTY } }]],
    clients: [client],
  })[0]
  if (route === undefined) throw new Error('There is no route')
  const query = `wallet=${wallet}&market_id=0x${'ab'.repeat(32)}`
  const question = { params: { chain_id: '1' }, query }
  expect(await refusal(route, question)).toBe(
    'Cannot read chain 1 (Devnet) because its Morpho contract does not answer',
  )
})
