import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import type { Address, Hex } from 'viem'
import { type LensReading, readByLens } from '../../../src/chain/call/lens.ts'
import { createChainClient, type EvmClient } from '../../../src/chain/evm/evm_client.ts'
import { readBlock } from '../../../src/chain/evm/read_block.ts'
import { createLendingReader } from '../../../src/family/aave_v3/read/read.ts'
import { createPositionReader } from '../../../src/family/liquidity/enumerable/read/read.ts'
import { type FamilyTarget, toReadOptions } from '../../../src/family/moment.ts'
import { createPositionReader as createMorphoReader } from '../../../src/family/morpho_blue/read/read.ts'
import { EXCHANGE } from '../../../src/family/uniswap_v3/protocol.ts'
import type { FinanceChain, FinanceClient } from '../../../src/finance/chain.ts'
import { readBalances } from '../../../src/finance/token/balance/read_balances.ts'
import { createSpamFilter } from '../../../src/finance/token/spam.ts'
import { createWork } from '../../../src/lib/async/work.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { sharedAave } from '../../devnet/aave_v3/shared.ts'
import { TOKENS } from '../../devnet/addresses.ts'
import { createDevnetChain } from '../../devnet/chain.ts'
import type { Devnet } from '../../devnet/mod.ts'
import { DEPLOYMENT as MANAGER } from '../../support/family/uniswap_v3/support.ts'
import { type FaultyRpc, type SeenRequest, startFaultyRpc } from '../../support/rpc.ts'
import { createHurriedClock, slowClock } from '../../support/test_clock.ts'
import { DEPLOYMENTS as MARKETS } from './aave_v3/support.ts'
import { DEPLOYMENT as MORPHO } from './morpho_blue/support.ts'

const never = createWork(new AbortController().signal)

let devnet: Devnet
let borrower: Address
let held: { readonly marketIds: readonly Hex[]; readonly wallet: Address }
let proxy: FaultyRpc
let client: EvmClient<FinanceChain>

beforeAll(async () => {
  const shared = await sharedAave()
  devnet = shared.devnet
  borrower = shared.aave.wallets.borrower
  const { markets, wallets } = await devnet.morpho()
  held = { marketIds: [markets.wethUsdc.id], wallet: wallets.borrower }
  proxy = await startFaultyRpc(devnet.rpcUrl)
}, 180_000)
afterAll(() => proxy?.stop())

/** A client that knows nothing yet but that its endpoint serves the chain. */
beforeEach(async () => {
  proxy.rule(() => undefined)
  client = createChainClient({
    chain: createDevnetChain(devnet, { rpcUrls: [proxy.url] }),
    clock: createHurriedClock(),
    log: silentLog,
  })
  await client.ready(never)
  proxy.reset()
})

/** How all of them read. */
interface Manner extends Pick<FamilyTarget<never>, 'block' | 'priority'> {
  readonly isBundled?: boolean
}

/** A position of a list is decoded when it is shown: what is compared is what that gives. */
function decodeTexts(position: object): object {
  return 'whole' in position && typeof position.whole === 'function'
    ? { ...position, whole: position.whole() }
    : position
}

/** What each family says of a wallet, all asked in the same turn. */
async function readAll({ isBundled = false, ...manner }: Manner): Promise<readonly object[]> {
  const one: FinanceClient = {
    ...client,
    read: (attempt, options) => client.read(attempt, { ...options, isBundled: isBundled }),
  }
  const clients = new Map([[one.chain.id, one]])
  const positions = createPositionReader(EXCHANGE, {
    clients,
    deployments: new Map([[1, [MANAGER]]]),
    clock: slowClock,
  })
  const lending = createLendingReader({ clients, deployments: new Map([[1, MARKETS]]), clock: slowClock })
  const blue = createMorphoReader({ clients, deployments: new Map([[1, MORPHO]]), clock: slowClock })
  const places = { client: one, deployments: [], ...manner }
  const question = {
    chain: one.chain,
    wallet: devnet.wallets.provider,
    additional: Object.values(TOKENS).map(({ address }) => address),
    classifyToken: createSpamFilter().classify,
  }
  const [listed, [lent], borrowed, balances] = await Promise.all([
    positions.readWallet(devnet.wallets.provider, {
      targets: [{ ...places, deployments: [MANAGER] }],
      work: never,
    }),
    lending.read([borrower], { targets: [{ ...places, deployments: MARKETS }], work: never }),
    blue.read({ ...places, deployments: [MORPHO] }, held, never),
    one.read(
      (endpoint, within) => readBalances({ endpoint, block: manner.block }, { ...question, clock: slowClock }, within),
      {
        work: never,
        ...toReadOptions(places),
      },
    ),
  ])
  const decoded = listed.map((read) => ({ ...read, positions: read.positions.map(decodeTexts) }))
  // Until when each may be used again differs.
  return [...decoded, lent, borrowed, balances].map((read) => ({ ...read, untilMs: 0 }))
}

/** What is sent to run lenses. */
function calls(): readonly SeenRequest[] {
  return proxy.seen.filter(({ method }) => method === 'eth_call')
}

/** A reading by another lens in the same turn. */
function readOther(runtime: Hex): Promise<Hex> {
  const reading: LensReading<Hex> = {
    topic: 'other',
    runtime,
    chainId: 1,
    clock: slowClock,
    read: ({ call }) => call({ data: '0x1234', block: 'latest', isLight: true }),
  }
  return client.read((endpoint, within) => readByLens(endpoint, reading, within), { work: never, isBundled: true })
}

test('the lenses of all families and of balances stand side by side in one call, at the newest block and at a past one', async () => {
  const newest = await client.read(
    (endpoint, within) => readBlock(endpoint, { chainId: 1, number: 'latest' }, within),
    { work: never },
  )
  for (const at of [{}, { block: newest }, { block: newest, priority: 'background' } as const]) {
    proxy.reset()
    const apart = await readAll(at)
    expect(calls()).toHaveLength(4)
    for (const read of apart) expect(read).toMatchObject({ block: { number: newest.number } })
    proxy.reset()
    expect(await readAll({ ...at, isBundled: true })).toEqual(apart)
    expect(proxy.seen).toHaveLength(1)
  }
})

test('an endpoint that ignores or refuses overrides gives the same figures, and is asked so no more', async () => {
  const apart = await readAll({})
  for (const how of ['ignore', 'refuse'] as const) {
    proxy.rule(() => ({ kind: 'no_overrides', how }))
    client = createChainClient({ chain: client.chain, clock: createHurriedClock(), log: silentLog })
    await client.ready(never)
    proxy.reset()
    expect(await readAll({ isBundled: true })).toEqual(apart)
    // Together, then each alone in either way.
    expect(calls()).toHaveLength(1 + 4 + 4)
    proxy.reset()
    expect(await readAll({ isBundled: true })).toEqual(apart)
    expect(calls()).toHaveLength(4)
  }
})

test.each([
  // With a reason: the endpoint answers wrongly, and is asked again.
  ['reverts', '0x366000600037366000fd', 1],
  // Without: twice each, it is asked alone, and then deployed.
  ['reverts without a reason', '0x60006000fd', 4],
  ['burns all gas', '0x5b600056', 4],
  // There is no room for others after it, so that each of them is asked alone.
  ['answers a megabyte', '0x62100000600052620fffff6000f3', 4],
] as const)('answers of the others stand if a lens %s', async (_, runtime, again) => {
  const apart = await readAll({})
  proxy.reset()
  const [, ...reads] = await Promise.all([readOther(runtime).catch(() => {}), readAll({ isBundled: true })])
  expect(reads).toEqual([apart])
  expect(calls()).toHaveLength(1 + again)
})
