import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Address } from 'viem'
import { createChainClient, type EvmClient } from '../../../../src/chain/rpc/evm.ts'
import { AAVE_V3 } from '../../../../src/family/aave_v3/mod.ts'
import type { FinanceChain } from '../../../../src/finance/chain.ts'
import { createHistory, type HistoryService } from '../../../../src/history/history.ts'
import { createDeadlines } from '../../../../src/http/exchange/deadline.ts'
import { readParameters } from '../../../../src/http/request/parameters.ts'
import type { Answer, Route } from '../../../../src/http/route/route.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { PendingError } from '../../../../src/lib/error.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { rawUsd, SCENARIO_SEC } from '../../../devnet/aave_v3/scenario.ts'
import { chainOf, DEVNET_ROW } from '../../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../../devnet/mod.ts'
import { askRoute } from '../../../support/ask_route.ts'
import { type TestDatabase, testDatabase } from '../../../support/database.ts'
import { familyRoutes } from '../../../support/family.ts'
import { type FaultyRpc, startFaultyRpc } from '../../../support/rpc.ts'

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

async function mine(blocks: number): Promise<void> {
  await devnet.rpc.call('anvil_mine', `0x${blocks.toString(16)}`)
}

/** The endpoint of a new process over the same database, and how many of its requests wait for one another. */
function start(finality: { readonly depth: number }, { db }: TestDatabase = database) {
  const chain = chainOf(devnet, { rpcUrls: [far.url], finality })
  const client: EvmClient<FinanceChain> = createChainClient({ chain, clock: systemClock, log: silentLog })
  closers.push(client.close)
  const clients = new Map([[1, client]])
  const made = { clients, db, clock: systemClock, log: silentLog, holder: 'test' }
  const history: HistoryService = createHistory(made)
  closers.push(history.close)
  const routes = familyRoutes(AAVE_V3, { rows: [[1, DEVNET_ROW]], clients: [client], db, history })
  const route = routes.find(({ path }) => path === PATH) as Route
  const ask = () => askRoute(route, { params: { chain_id: '1' }, query: `wallet=${wallet}` })
  return {
    async rounds() {
      far.reset()
      far.rule(() => ({ kind: 'delay', ms: DELAY_MS }))
      try {
        const { reply } = await ask()
        return { rounds: far.depth(), events: reply.pagination?.total ?? 0 }
      } finally {
        far.rule(() => undefined)
      }
    },
    ask,
    /** Asks under the deadline of a request. */
    async budgeted() {
      const parameters = () => readParameters(route.input, { params: { chain_id: '1' }, query: `wallet=${wallet}` })
      const call = await route.accept({ parameters, body: () => Promise.reject(new Error('It has no body')) })
      const reader = { callerSignal: new AbortController().signal, organizationId: 'organization', requestedAtMs: 0 }
      return await createDeadlines({ budgetMs: BUDGET_MS, clock: systemClock }).read(call, reader)
    },
  }
}

async function freshDatabase(): Promise<TestDatabase> {
  const fresh = await testDatabase()
  closers.push(fresh.close)
  return fresh
}

test('events of a new block take five requests in a row, its final block stored and checked among them', async () => {
  const service = start({ depth: 12 })
  await service.ask()
  await mine(1)
  const seen = await service.rounds()
  // The market and the head; the final block; its logs beside the end; the balances that they are checked against.
  expect(seen).toEqual({ events: TOTAL, rounds: 5 })
}, 60_000)

test.each([400, 700])(
  'over an endpoint at %d ms it says what it waits for, and then answers',
  async (delayMs) => {
    const { ask, budgeted } = start({ depth: 12 }, await freshDatabase())
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
