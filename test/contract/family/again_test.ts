import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Address } from 'viem'
import { createChainClient, type EvmClient } from '../../../src/chain/evm/evm_client.ts'
import { createSolanaClient, SOLANA_CHAIN_ID } from '../../../src/chain/solana/client.ts'
import { AAVE_V3 } from '../../../src/family/aave_v3/mod.ts'
import { KAMINO } from '../../../src/family/kamino/mod.ts'
import { MORPHO_BLUE } from '../../../src/family/morpho_blue/mod.ts'
import { UNISWAP_V3 } from '../../../src/family/uniswap_v3/mod.ts'
import type { FinanceChain } from '../../../src/finance/chain.ts'
import { readParameters } from '../../../src/http/request/parameters.ts'
import type { Answer, Route } from '../../../src/http/route/route.ts'
import { createWork } from '../../../src/lib/async/work.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import type { AaveDevnet } from '../../devnet/aave_v3/mod.ts'
import { SCENARIO_SEC } from '../../devnet/aave_v3/scenario.ts'
import { WALLETS } from '../../devnet/addresses.ts'
import { createDevnetChain, DEVNET_ROW } from '../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import type { MorphoDevnet } from '../../devnet/morpho_blue/mod.ts'
import { createFamilyRoutes } from '../../support/family.ts'
import { MARKET, OBLIGATION, SLOT, scene, WALLET } from '../../support/kamino_scene.ts'
import { startSolanaDouble } from '../../support/solana.ts'
import { slowClock } from '../../support/test_clock.ts'
import { DEPLOYMENT as MORPHO_DEPLOYMENT } from './morpho_blue/support.ts'

/** Longer than the test takes. */
const BLOCK_MS = 600_000
const SLOT_MS = 10_000
const READING = {
  work: createWork(new AbortController().signal),
  untilMs: Number.POSITIVE_INFINITY,
  organizationId: 'organization',
  apiKeyId: 'key',
  requestedAtMs: 0,
}

let devnet: Devnet
let aave: AaveDevnet
let morpho: MorphoDevnet
let client: EvmClient<FinanceChain>
let routes: ReadonlyMap<string, Route>
let passedMs = 0
const clock: Clock = {
  ...slowClock,
  monotonicMs: () => slowClock.monotonicMs() + passedMs,
}
const solanaDouble = startSolanaDouble({ accounts: scene(), slot: SLOT })

beforeAll(async () => {
  devnet = await startDevnet({ ageSec: SCENARIO_SEC })
  morpho = await devnet.morpho()
  aave = await devnet.aave()
  await devnet.rpc.call('evm_mine')
  client = createChainClient({
    chain: createDevnetChain(devnet, { blockTimeMs: BLOCK_MS, reuseMs: BLOCK_MS }),
    clock,
    log: silentLog,
  })
  const { uniswapV3, aaveV3 } = DEVNET_ROW
  const solana = createSolanaClient({
    rpcUrls: [solanaDouble.url],
    maxSlotAgeSec: 60,
    slotMs: SLOT_MS,
    clock,
    log: silentLog,
    random: () => 0,
  })
  const evm = { clients: [client], clock }
  const made = [
    ...createFamilyRoutes(UNISWAP_V3, { ...evm, rows: [[1, { uniswapV3 }]] }),
    ...createFamilyRoutes(AAVE_V3, { ...evm, rows: [[1, { aaveV3 }]] }),
    ...createFamilyRoutes(MORPHO_BLUE, { ...evm, rows: [[1, { morphoBlue: MORPHO_DEPLOYMENT }]] }),
    ...createFamilyRoutes(KAMINO, { solana, clock, rows: [[SOLANA_CHAIN_ID, {}]] }),
  ]
  routes = new Map(made.map((route) => [route.path, route]))
}, 180_000)

afterAll(async () => {
  client?.close()
  await solanaDouble.stop()
  await devnet?.stop()
})

interface Question {
  readonly path: string
  readonly params?: Readonly<Record<string, string>>
  readonly query?: string
  readonly body?: object
}

const LIST = '/v1/positions/uniswap-v3'
const LENDING = '/v1/lending/aave-v3'
const YIELD = '/v1/lending/morpho-blue/position/:chain_id/yield'

/** Every route that reads the newest state. */
function questions(): readonly Question[] {
  const { everywhere, lidoOnly } = aave.wallets
  const obligation = { params: { obligation_address: OBLIGATION }, query: `wallet=${WALLET}&market_address=${MARKET}` }
  return [
    { path: LIST, query: `wallet=${WALLETS.provider}` },
    { path: `${LIST}/:id`, params: { id: '1' } },
    { path: LENDING, query: `wallet=${everywhere}` },
    { path: `${LENDING}/batch`, body: { wallets: [lidoOnly, everywhere] satisfies Address[] } },
    { path: YIELD, params: { chain_id: '1' }, query: `wallet=${morpho.wallets.borrower}&market_id=${marketId()}` },
    { path: '/v1/lending/kamino/position/:obligation_address/yield', ...obligation },
    { path: '/v1/lending/kamino/position/:obligation_address/risk', ...obligation },
  ]
}

function marketId(): string {
  return morpho.markets.wethUsdc.id
}

async function answerTo({ path, params = {}, query = '', body }: Question): Promise<Answer> {
  const route = routes.get(path)
  if (route === undefined) throw new Error(`There is no route ${path}`)
  const accepted = await route.accept({
    parameters: () => readParameters(route.input, { params, query }),
    body: async () => ({ value: () => body }),
  })
  return await accepted.call().read(READING)
}

test('an answer is reused until the next block, for every caller', async () => {
  const ends: number[] = []
  for (const question of questions()) {
    const longest = question.path.includes('kamino') ? SLOT_MS : BLOCK_MS
    const first = await answerTo(question)
    const life = first.untilMs - clock.monotonicMs()
    expect(life).toBeGreaterThan(0)
    expect(life).toBeLessThanOrEqual(longest)
    // The reading is shared, and ends when it would have ended.
    passedMs += 1
    expect((await answerTo(question)).untilMs).toBe(first.untilMs)
    ends.push(first.untilMs)
  }
  passedMs += BLOCK_MS
  for (const [index, question] of questions().entries()) {
    expect((await answerTo(question)).untilMs).toBeGreaterThan(ends[index] ?? 0)
  }
})

test('profits and past answers are computed for each request', async () => {
  const { lidoOnly, everywhere } = aave.wallets
  const { number } = await devnet.client.getBlock()
  const borrower = `wallet=${morpho.wallets.borrower}&market_id=${marketId()}`
  const others: readonly Question[] = [
    { path: LIST, query: `wallet=${WALLETS.provider}&full=true` },
    { path: LIST, query: `wallet=${WALLETS.provider}&chain_id=1&at_block=${number}` },
    { path: `${LIST}/:id`, params: { id: '1' }, query: `chain_id=1&at_block=${number}` },
    { path: LENDING, query: `wallet=${everywhere}&chain_id=1&at_block=${number}` },
    { path: `${LENDING}/batch`, body: { wallets: [lidoOnly, everywhere], chain_id: 1, at_block: Number(number) } },
    { path: YIELD, params: { chain_id: '1' }, query: `${borrower}&at_block=${number}` },
  ]
  for (const question of others) expect([question, (await answerTo(question)).untilMs]).toEqual([question, 0])
})
