import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Address } from 'viem'
import type { Chain } from '../../../../../src/chain/chain.ts'
import { createChainClient, type EvmClient } from '../../../../../src/chain/evm/evm_client.ts'
import { AAVE_V3 } from '../../../../../src/family/aave_v3/mod.ts'
import type { FinanceChain } from '../../../../../src/finance/chain.ts'
import { createHistory, type HistoryService } from '../../../../../src/history/mod.ts'
import { createDeadlines } from '../../../../../src/http/exchange/deadline.ts'
import { readParameters } from '../../../../../src/http/request/parameters.ts'
import type { Answer, Route } from '../../../../../src/http/route/route.ts'
import { type Clock, systemClock } from '../../../../../src/lib/clock.ts'
import { PendingError } from '../../../../../src/lib/error.ts'
import { silentLog } from '../../../../../src/lib/log.ts'
import { rawUsd, SCENARIO_SEC } from '../../../../devnet/aave_v3/scenario.ts'
import { createDevnetChain, DEVNET_ROW } from '../../../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../../../devnet/mod.ts'
import { callRoute } from '../../../../support/call_route.ts'
import { IS_FULL } from '../../../../support/cases.ts'
import { type TestDatabase, testDatabase } from '../../../../support/database.ts'
import { createFamilyRoutes } from '../../../../support/family.ts'
import { type Fault, type FaultyRpc, type SeenRequest, startFaultyRpc } from '../../../../support/rpc.ts'
import { slowClock } from '../../../../support/test_clock.ts'

const BUILD_LIMIT_MS = 120_000
/** Long enough that requests which do not wait for one another are all sent before the first is answered. */
const DELAY_MS = 400
/** The time of a request. */
const BUDGET_MS = 5_000
const TRIES_MAX = 8
/** Events of the wallet. */
const TOTAL = 10
const PATH = '/v1/lending/aave-v3/position/:chain_id/events'

let devnet: Devnet
let wallet: Address
let far: FaultyRpc
let database: TestDatabase
const closers: (() => unknown)[] = []

beforeAll(async () => {
  devnet = await startDevnet({ ageSec: 10 * SCENARIO_SEC })
  closers.push(devnet.stop)
  const aave = await devnet.aave()
  const past = await aave.history(21, 40)
  ;[wallet] = past.wallets as [Address]
  await aave.supply({ market: 'main', wallet, asset: 'usdc', amount: rawUsd('usdc', 1) })
  await mine(40)
  far = await startFaultyRpc(devnet.rpcUrl)
  closers.push(far.stop)
  database = await testDatabase()
  closers.push(database.close)
}, BUILD_LIMIT_MS)
afterAll(async () => {
  for (const close of closers.reverse()) await close()
}, BUILD_LIMIT_MS)

/** One more event of the wallet. */
async function aaveEvent(): Promise<void> {
  const aave = await devnet.aave()
  await aave.supply({ market: 'main', wallet, asset: 'usdc', amount: rawUsd('usdc', 1) })
}

async function mine(blocks: number): Promise<void> {
  await devnet.rpc.call('anvil_mine', `0x${blocks.toString(16)}`)
}

/** The endpoints of a new process over the same database, and how many of its requests wait for one another. */
function start(
  options: { readonly finality: Chain['finality']; readonly rpcUrls?: readonly string[]; readonly clock?: Clock },
  { db }: TestDatabase = database,
) {
  const { finality, rpcUrls = [far.url], clock = slowClock } = options
  const chain = createDevnetChain(devnet, { rpcUrls, finality })
  const client: EvmClient<FinanceChain> = createChainClient({ chain, clock, log: silentLog })
  closers.push(client.close)
  const clients = new Map([[1, client]])
  const made = { clients, db, clock, log: silentLog, holder: 'test' }
  const history: HistoryService = createHistory(made)
  closers.push(history.close)
  const routes = createFamilyRoutes(AAVE_V3, { rows: [[1, DEVNET_ROW]], clients: [client], db, history })
  const route = routes.find(({ path }) => path === PATH) as Route
  const ask = () => callRoute(route, { params: { chain_id: '1' }, query: `wallet=${wallet}` })
  return {
    async rounds(wrong: (request: SeenRequest) => Fault | undefined = () => undefined) {
      far.reset()
      far.rule((request) => wrong(request) ?? { kind: 'delay', ms: DELAY_MS })
      try {
        const { reply } = await ask()
        const requests = far.seen.length
        return {
          rounds: far.depth(),
          requests,
          events: reply.pagination?.total ?? 0,
          end: reply.asOf?.[0]?.blockNumber,
        }
      } finally {
        far.rule(() => undefined)
      }
    },
    ask,
    /** Asks under the deadline of a request. */
    async budgeted() {
      const parameters = () => readParameters(route.input, { params: { chain_id: '1' }, query: `wallet=${wallet}` })
      const accepted = await route.accept({ parameters, body: () => Promise.reject(new Error('It has no body')) })
      const reader = {
        callerSignal: new AbortController().signal,
        organizationId: 'organization',
        apiKeyId: '',
        requestedAtMs: 0,
      }
      return await createDeadlines({ budgetMs: BUDGET_MS, clock: systemClock }).read(accepted.call(), reader)
    },
  }
}

async function freshDatabase(): Promise<TestDatabase> {
  const fresh = await testDatabase()
  closers.push(fresh.close)
  return fresh
}

async function newest(): Promise<bigint> {
  return BigInt(await devnet.rpc.call<string>('eth_blockNumber'))
}

/** Two endpoints, the same number of requests behind each other. */
const two = () => [far.url, `${far.url}second`]

const ENDS = [
  { blocks: 1, finality: { depth: 12 }, endpoints: 1, requests: 18 },
  { blocks: 1, finality: { depth: 12 }, endpoints: 2, requests: 23 },
  { blocks: 30, finality: { depth: 12 }, endpoints: 2, requests: 23 },
  { blocks: 5, finality: { tag: 'finalized' }, endpoints: 2, requests: 24 },
] as const

// The first and the last of them, and each with `SEEDS=full`.
test.each(ENDS.filter((_, no) => IS_FULL || no % 3 === 0))(
  'after $blocks blocks, final by $finality, events take three requests in a row over $endpoints endpoints',
  async ({ blocks, finality, endpoints, requests }) => {
    // All events are final.
    await mine(100)
    const fresh = await freshDatabase()
    const service = start({ finality, rpcUrls: two().slice(0, endpoints) }, fresh)
    await service.ask()
    // A busy machine is late: what one endpoint did not say is asked again, and so is what took too long.
    await fresh.db.run('update price_at set witnesses = $1', [endpoints])
    const measured = async () => {
      await mine(blocks)
      return await service.rounds()
    }
    let seen = await measured()
    for (let tries = 1; tries < TRIES_MAX && seen.requests > requests; tries++) seen = await measured()
    // The market, the heads and the anchor; what is final; its logs and balances, and the end.
    expect(seen).toEqual({ events: TOTAL, rounds: 3, requests, end: await newest() })
  },
  60_000,
)

test('without the header of the newest block’s parent the end takes one more request and gives the same rows', async () => {
  const service = start({ finality: { depth: 12 }, rpcUrls: two() })
  await service.ask()
  await mine(3)
  let asked = 0
  const isFirst = ({ method }: SeenRequest) => method === 'eth_getBlockByHash' && asked++ === 0
  const refused = { kind: 'error', error: { code: -32000, message: 'busy' } } as const
  const seen = await service.rounds((request) => (isFirst(request) ? refused : undefined))
  expect(seen).toMatchObject({ events: TOTAL, end: await newest() })
  expect([asked > 1, seen.rounds >= 4]).toEqual([true, true])
  await mine(3)
  const lie = (header: unknown) => ({ ...(header as object), parentHash: `0x${'ab'.repeat(32)}` })
  asked = 0
  const misled = await service.rounds((request) => (isFirst(request) ? { kind: 'change', change: lie } : undefined))
  expect(misled).toMatchObject({ events: TOTAL, end: await newest() })
}, 60_000)

test('the end begins at the block that was final before, while other endpoints lack the next one', async () => {
  const silent = await startFaultyRpc(devnet.rpcUrl)
  closers.push(silent.stop)
  const created = await freshDatabase()
  const service = start({ finality: { depth: 12 }, rpcUrls: [far.url, silent.url] }, created)
  await service.ask()
  await aaveEvent()
  await mine(20)
  const head = await newest()
  const final = `0x${(head - 12n).toString(16)}`
  silent.rule(({ method, params }) =>
    method === 'eth_getBlockByNumber' && params[0] === final ? { kind: 'result', result: null } : undefined,
  )
  const stored = () => created.db.run('select max(anchor_number) as last from history_chain', [])
  const before = await stored()
  // The end begins at the block that was final before.
  expect(await service.rounds()).toMatchObject({ events: TOTAL + 1, end: head })
  expect(await stored()).toEqual(before)
  silent.rule(() => undefined)
  await mine(1)
  expect(await service.rounds()).toMatchObject({ events: TOTAL + 1, end: head + 1n })
  expect(await stored()).not.toEqual(before)
}, 60_000)

test.each(IS_FULL ? [400, 700] : [400])(
  'over an endpoint at %d ms it says what it waits for, and then answers',
  async (delayMs) => {
    const { ask, budgeted } = start({ finality: { depth: 12 }, clock: systemClock }, await freshDatabase())
    far.rule(() => ({ kind: 'delay', ms: delayMs }))
    const { answer, said } = await answered(budgeted)
    expect(answer).toBeDefined()
    expect(said.filter((text) => !text.startsWith('The history of chain 1 (Devnet) is'))).toEqual([])
    // What is stored is answered at once, for a block that is new.
    far.rule(() => undefined)
    await ask()
    await mine(1)
    far.rule(() => ({ kind: 'delay', ms: delayMs }))
    expect((await answered(budgeted)).answer?.credits).toBe(1)
  },
  60_000,
)

/** The first answer, and what callers were told before: the machine may be busy. */
async function answered(ask: () => Promise<Answer>) {
  const said: string[] = []
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    try {
      return { answer: await ask(), said }
    } catch (error) {
      if (!(error instanceof PendingError)) throw error
      said.push(error.message)
      expect(error.retryAfterSec).toBeGreaterThan(0)
    }
  }
  return { answer: undefined, said }
}
