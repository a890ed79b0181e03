import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Address } from 'viem'
import { createChainClient } from '../../../src/chain/evm/evm_client.ts'
import { createHistory } from '../../../src/history/mod.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { toWalletAddress } from '../../devnet/addresses.ts'
import { createDevnetChain } from '../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { CALLS } from '../../devnet/morpho_blue/calls.ts'
import type { MorphoDevnet } from '../../devnet/morpho_blue/mod.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { type FaultyRpc, startFaultyRpc } from '../../support/rpc.ts'
import { allRows, createPortfolio, listing } from './support.ts'

const BUILD_LIMIT_MS = 120_000
/** Long enough that requests which do not wait for one another are all sent before the first is answered. */
const DELAY_MS = 400
const DEPTH = 12
/** Longer than the tests take. */
const SAME_BLOCK_MS = 1e12
/** The newest block, its parent, the last final block that was built on, and the final one. */
const TIP_REQUESTS = 4
/** The logs of the wallet in blocks that are newly final, by each of three filters, twice. */
const FINAL_REQUESTS = 6
/** Global logs in blocks that are not final: older ones twice, and four newer ones by their hash. */
const END_REQUESTS = 6

let devnet: Devnet
let morpho: MorphoDevnet
let far: FaultyRpc
let database: TestDatabase
const closers: (() => unknown)[] = []

beforeAll(async () => {
  devnet = await startDevnet({ chainId: 10, ageSec: 365 * 86_400 })
  closers.push(devnet.stop)
  morpho = await devnet.morpho()
  await mine(2 * DEPTH)
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

/** Reads over a distant endpoint; `reuseMs` is how long answers about a block are cached. */
function start(reuseMs: number) {
  const inMarkets = Object.values(morpho.markets).flatMap(({ params }) => [params.loanToken, params.collateralToken])
  const row = createDevnetChain(devnet, { rpcUrls: [far.url], finality: { depth: DEPTH }, reuseMs })
  const chain = listing(row, inMarkets)
  const client = createChainClient({ chain, clock: systemClock, log: silentLog })
  const { db } = database
  const clients = new Map([[chain.id, client]])
  const history = createHistory({ clients, db, clock: systemClock, log: silentLog, holder: crypto.randomUUID() })
  closers.push(client.close, history.close)
  const portfolio = createPortfolio([client], { db, history })
  const ask = async (wallet: Address) =>
    (await allRows(portfolio, `wallet=${wallet}&chain_id=10`)).map(formatName).sort()
  return {
    ask,
    async rounds(wallet: Address) {
      far.reset()
      far.rule(() => ({ kind: 'delay', ms: DELAY_MS }))
      try {
        const rows = await ask(wallet)
        return { rounds: far.depth(), requests: far.seen.length, rows }
      } finally {
        far.rule(() => undefined)
      }
    },
  }
}

function formatName({ kind, position }: Awaited<ReturnType<typeof allRows>>[number]): string {
  return `${kind} ${position?.['market_id']?.slice(0, 8) ?? ''}`
}

test('without a cache, markets are read together with the tip, and the history’s tail once for each newest block', async () => {
  const { supplier, borrower } = morpho.wallets
  const { ask, rounds } = start(0)
  const before = { supplier: await ask(supplier), borrower: await ask(borrower) }
  expect([before.supplier.length > 0, before.borrower.length > 0]).toEqual([true, true])
  await mine(3)
  const anew = TIP_REQUESTS + FINAL_REQUESTS + END_REQUESTS + 1
  expect(await rounds(supplier)).toEqual({ rounds: 3, requests: anew, rows: before.supplier })
  expect(await rounds(borrower)).toEqual({ rounds: 3, requests: anew - END_REQUESTS, rows: before.borrower })
  expect(await rounds(supplier)).toEqual({ rounds: 2, requests: TIP_REQUESTS + 1, rows: before.supplier })
}, 60_000)

test('with answers cached for a block, a known wallet takes one request', async () => {
  const { supplier, borrower, none } = morpho.wallets
  const before = start(0)
  const rows = { supplier: await before.ask(supplier), borrower: await before.ask(borrower) }
  expect(await before.ask(none)).toEqual([])
  const { ask, rounds } = start(SAME_BLOCK_MS)
  await ask(supplier)
  expect(await rounds(borrower)).toEqual({ rounds: 1, requests: 1, rows: rows.borrower })
  expect(await rounds(none)).toEqual({ rounds: 1, requests: 1, rows: [] })
  expect(await rounds(supplier)).toEqual({ rounds: 0, requests: 0, rows: rows.supplier })
}, 60_000)

test('a market entered in a block that is not final is included at once', async () => {
  const { ask } = start(0)
  const wallet = toWalletAddress('enters late')
  const market = morpho.markets.linear
  expect(await ask(wallet)).toEqual([])
  await mine(1)
  await devnet.send([CALLS.supply({ market, wallet, assets: 1_000_000n })])
  expect(await ask(wallet)).toEqual([`supplied ${market.id.slice(0, 8)}`])
}, 60_000)
