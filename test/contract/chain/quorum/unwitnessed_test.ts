import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Address } from 'viem'
import { createChainClient, type EvmClient } from '../../../../src/chain/evm/evm_client.ts'
import { createWitnessedClient } from '../../../../src/chain/quorum/witnessed_client.ts'
import { AAVE_V3 } from '../../../../src/family/aave_v3/mod.ts'
import type { FinanceChain } from '../../../../src/finance/chain.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { MARKETS } from '../../../devnet/aave_v3/addresses.ts'
import { sharedAave } from '../../../devnet/aave_v3/shared.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import type { Devnet } from '../../../devnet/mod.ts'
import { callRoute } from '../../../support/call_route.ts'
import { createFamilyRoutes } from '../../../support/family.ts'
import { createFixedClock } from '../../../support/test_clock.ts'
import { createPortfolio } from '../../portfolio/support.ts'

const ABSENT: Address = '0x00000000000000000000000000000000000Ab5E7'
const DAY_SEC = 86_400

let devnet: Devnet
let wallet: Address
let block: bigint
let nowSec = 0
/** No time passes: a day later than the block, so that it is no young one. */
const clock = createFixedClock(
  () => nowSec * 1_000,
  () => 0,
)
const clients: EvmClient<FinanceChain>[] = []

beforeAll(async () => {
  const shared = await sharedAave()
  devnet = shared.devnet
  wallet = shared.aave.wallets.borrower
  block = await shared.aave.blockNumber()
  await devnet.rpc.call('anvil_mine', '0x3')
  nowSec = Number((await devnet.client.getBlock()).timestamp) + DAY_SEC
}, 180_000)
afterAll(() => {
  for (const client of clients) client.close()
})

function createClient(endpoints: number) {
  const chain = createDevnetChain(devnet, {
    rpcUrls: Array.from({ length: endpoints }, (_, index) => `${devnet.rpcUrl}?${index}`),
    maxBlockAgeSec: 10 * DAY_SEC,
    blockTimeMs: 1_000,
  })
  const client = createChainClient({ chain, clock, log: silentLog })
  clients.push(client)
  return createWitnessedClient(client)
}

const MAIN = { market: 'main', poolAddressesProvider: MARKETS.main.provider, startBlock: 0 } as const
/** It does not stand at any block, which nothing but endpoints says. */
const GONE = { market: 'lido', poolAddressesProvider: ABSENT, startBlock: 0 } as const

type Deployments = readonly (typeof MAIN | typeof GONE)[]
type Reader = (endpoints: number, deployments: Deployments, moment: string) => Promise<readonly number[] | undefined>

const READERS: readonly [string, Reader][] = [
  [
    'a list',
    async (endpoints, aaveV3, moment) => {
      const [route] = createFamilyRoutes(AAVE_V3, {
        rows: [[1, { aaveV3: [...aaveV3] }]],
        clients: [createClient(endpoints)],
      })
      if (route === undefined) throw new Error('There is no list')
      return (await callRoute(route, { query: `wallet=${wallet}&chain_id=1${moment}` })).reply.unwitnessed
    },
  ],
  [
    'a balance',
    async (endpoints, aaveV3, moment) => {
      const portfolio = createPortfolio([createClient(endpoints)], { deployments: { aaveV3: [...aaveV3] } })
      return (await portfolio.balance(`wallet=${wallet}&chain_id=1${moment}`)).reply.unwitnessed
    },
  ],
]

test.each(READERS)('%s of the past says if one endpoint alone leaves a deployment out', async (_, ask) => {
  const time = Number((await devnet.client.getBlock({ blockNumber: block })).timestamp)
  for (const moment of [`&at_block=${block}`, `&at_time=${time}`]) {
    expect(await ask(1, [MAIN, GONE], moment)).toEqual([1])
    expect(await ask(2, [MAIN, GONE], moment)).toBeUndefined()
    // The state is proven to be that of the block, and nothing is left out.
    expect(await ask(1, [MAIN], moment)).toBeUndefined()
  }
  expect(await ask(1, [MAIN], '')).toBeUndefined()
})
