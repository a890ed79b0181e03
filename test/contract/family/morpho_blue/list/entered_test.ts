import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import type { Address, Hex } from 'viem'
import { createFilters, MORPHO_EVENTS } from '../../../../../src/family/morpho_blue/event.ts'
import type { HistoryLog } from '../../../../../src/history/stream.ts'
import { toWalletAddress } from '../../../../devnet/addresses.ts'
import { type Devnet, startDevnet } from '../../../../devnet/mod.ts'
import { CALLS, MORPHO } from '../../../../devnet/morpho_blue/calls.ts'
import type { MorphoDevnet } from '../../../../devnet/morpho_blue/mod.ts'
import { IS_FULL } from '../../../../support/cases.ts'
import { type TestDatabase, testDatabase } from '../../../../support/database.ts'
import { type LogProxy, startLogProxy } from '../../../../support/family/aave_v3/event/log_proxy.ts'
import { readLogs } from '../../../../support/family/aave_v3/event/support.ts'
import { capped } from '../../../../support/history/simulation/capped.ts'
import { CAP_DIALECTS } from '../../../../support/history/simulation/endpoint.ts'
import { type FaultyRpc, startFaultyRpc } from '../../../../support/rpc.ts'
import { DEPTH, type Listed, type Lister, readTruth, startLister } from './world.ts'

const BUILD_LIMIT_MS = 120_000
/** That each test of caps reads. */
const BLOCKS = 1_200
const USDC = 10n ** 6n
const ETHER = 10n ** 18n
const [dialect] = CAP_DIALECTS as [(typeof CAP_DIALECTS)[number]]

let devnet: Devnet
let morpho: MorphoDevnet
let database: TestDatabase
let faulty: FaultyRpc
let lister: Lister

beforeAll(async () => {
  devnet = await startDevnet({ ageSec: 365 * 86_400, hardfork: 'cancun' })
  morpho = await devnet.morpho()
  await mine(DEPTH)
  faulty = await startFaultyRpc(devnet.rpcUrl)
  database = await testDatabase()
  lister = startLister(devnet, { database, rpcUrls: [faulty.url] })
}, BUILD_LIMIT_MS)
beforeEach(() => {
  faulty.rule(() => undefined)
  faulty.reset()
})
afterAll(async () => {
  await lister?.close()
  await faulty?.stop()
  await database?.close()
  await devnet?.stop()
}, BUILD_LIMIT_MS)

async function mine(blocks: number): Promise<void> {
  await devnet.rpc.call('anvil_mine', `0x${blocks.toString(16)}`)
}

function listIds({ data, message }: Listed): readonly string[] {
  expect(message).toBeUndefined()
  return (data[0]?.positions ?? []).map(({ marketId }) => marketId)
}

/** What the contract says that a wallet has, now. */
async function truth(wallet: Address): Promise<readonly string[]> {
  const block = Number(await devnet.client.getBlockNumber())
  const markets = Object.values(morpho.markets)
  return [...(await readTruth(devnet, { markets, wallet, block })).keys()].sort()
}

test("a market entered on the wallet's behalf, left and entered again is listed only while it has a position", async () => {
  const wallet = toWalletAddress('morpho guest')
  const { wethUsdc, idle } = morpho.markets
  const seen: (readonly string[])[] = []
  for (const step of [
    // The bank pays: the wallet itself does nothing.
    CALLS.supply({ market: wethUsdc, wallet, assets: 100n * USDC }),
    CALLS.supply({ market: idle, wallet, assets: 7n * USDC }),
    CALLS.withdraw({ market: idle, wallet, assets: 7n * USDC }),
    CALLS.supply({ market: idle, wallet, assets: 8n * USDC }),
  ]) {
    await devnet.send([step])
    const ids = listIds(await lister.ask({ wallet }))
    expect(ids).toEqual(await truth(wallet))
    seen.push(ids)
    // The next step finds part of it stored.
    await mine(DEPTH)
  }
  expect(seen.map(({ length }) => length)).toEqual([1, 2, 1, 2])
})

test('a list has the 2,000 markets that a wallet entered first, and counts those that others added', async () => {
  const wallet = toWalletAddress('morpho crowded')
  const { idle } = morpho.markets
  await devnet.send([CALLS.supply({ market: idle, wallet, assets: 7n * USDC })])
  await mine(DEPTH)
  const before = await lister.ask({ wallet })
  expect(before.data).toMatchObject([{ incomplete: [] }])
  // Ids below any other: the age of an entry counts, not its id.
  await database.db.run(
    `insert into wallet_entry (place, wallet, entry, block)
     select place, wallet, decode(lpad(to_hex(n), 64, '0'), 'hex'), block + 1
     from wallet_entry, generate_series(1, 2004) n where wallet = decode($1, 'hex')`,
    [wallet.slice(2)],
  )
  await mine(1)
  const crowded = await lister.ask({ wallet })
  expect(listIds(crowded)).toEqual([idle.id])
  expect(crowded.data).toMatchObject([{ incomplete: [{ what: '5 more markets', amount: null }] }])
})

test('a borrow that is not final is in the answer, is not stored, and a reorganization takes it back', async () => {
  const wallet = toWalletAddress('morpho young')
  const { wethUsdc } = morpho.markets
  await devnet.send([CALLS.supply({ market: morpho.markets.idle, wallet, assets: USDC })])
  await mine(DEPTH)
  const snapshot = await devnet.rpc.call('evm_snapshot')
  await devnet.send([CALLS.supplyCollateral({ market: wethUsdc, wallet, assets: ETHER })])
  await devnet.send([CALLS.borrow({ market: wethUsdc, wallet, assets: 1_000n * USDC })])
  const young = await lister.ask({ wallet })
  expect(listIds(young)).toEqual(await truth(wallet))
  expect(listIds(young)).toHaveLength(2)
  const position = young.data[0]?.positions.find(({ marketId }) => marketId === wethUsdc.id)
  expect(position?.borrowedAssets).toMatchObject([{ symbol: 'USDC', amount: expect.stringMatching(/^1000/) }])
  const stored = await database.db.run<{ count: string }>(
    "select count(*)::text as count from wallet_entry where wallet = decode($1, 'hex')",
    [wallet.slice(2)],
  )
  expect(stored[0]?.count).toBe('1')
  await devnet.rpc.call('evm_revert', snapshot)
  await mine(5)
  expect(listIds(await lister.ask({ wallet }))).toEqual([morpho.markets.idle.id])
})

test('the recipient of fees has every market that ever paid them, though no event names it; a past one too', async () => {
  const { feeRecipient } = morpho.wallets
  const heir = toWalletAddress('morpho heir')
  await morpho.accrue(morpho.markets.linear)
  const before = listIds(await lister.ask({ wallet: feeRecipient }))
  expect(before).toEqual(await truth(feeRecipient))
  expect(before.length).toBeGreaterThan(1)
  await devnet.send([CALLS.setFeeRecipient(heir)])
  await morpho.warp(86_400)
  await morpho.accrue(morpho.markets.linear)
  expect(listIds(await lister.ask({ wallet: feeRecipient }))).toEqual(before)
  expect(listIds(await lister.ask({ wallet: heir }))).toEqual(await truth(heir))
  expect(await truth(heir)).toContain(morpho.markets.linear.id)
})

test('one request for the state of a known wallet, beside the history’s end, and at most three in a row', async () => {
  const { borrower, none } = morpho.wallets
  const count = () => {
    // Finality asks for the hash of a block by a call too.
    const calls = faulty.seen.filter(({ method }) => method === 'eth_call')
    const state = calls.filter(({ params }) => JSON.stringify(params).includes(borrower.slice(2).toLowerCase())).length
    return { state, depth: faulty.depth() }
  }
  for (const wallet of [borrower, none]) await lister.ask({ wallet })
  await mine(1)
  // Long enough for all that go together to arrive before the first is answered.
  faulty.rule(() => ({ kind: 'delay', ms: 800 }))
  faulty.reset()
  const { data } = await lister.ask({ wallet: borrower })
  expect(data[0]?.positions.length).toBeGreaterThan(5)
  expect(count()).toEqual({ state: 1, depth: 3 })
  faulty.reset()
  await lister.ask({ wallet: none })
  expect(count().state).toBe(0)
  expect(count().depth).toBeLessThanOrEqual(3)
})

/** What a new process with a new database lists over these endpoints: all of it, less, or why not. */
async function outcome(wallet: Address, wanted: readonly string[], rpcUrls: readonly string[]): Promise<string> {
  await database.db.run('truncate history_chain, history_coverage, wallet_entry', [])
  const fresh = startLister(devnet, { database, rpcUrls })
  try {
    let answer = await fresh.ask({ wallet })
    // A busy machine may need more than one answer's time; its progress is not a verdict.
    for (let asked = 1; asked < 10 && / blocks left$/.test(answer.message ?? ''); asked++) {
      answer = await fresh.ask({ wallet })
    }
    if (answer.status !== 200)
      return `${answer.status} ${/check "([^"]+)"/.exec(answer.message ?? '')?.[1] ?? answer.message}`
    return Bun.deepEquals(listIds(answer), wanted) ? 'whole' : 'short'
  } finally {
    await fresh.close()
  }
}

test('the list is complete if one of two endpoints omits any log', async () => {
  const { borrower } = morpho.wallets
  const wanted = await truth(borrower)
  const place = { chainId: 1, contract: MORPHO.toLowerCase() as Hex, startBlock: 0 }
  const logs = await readLogs(devnet, createFilters(place, [borrower.toLowerCase() as Hex]))
  expect(logs.length).toBeGreaterThan(10)
  const isBorrow = ({ topics }: HistoryLog) => topics[0] === MORPHO_EVENTS.topics.borrow
  expect(logs.filter(isBorrow).length).toBeGreaterThan(5)
  const liar: LogProxy = startLogProxy(devnet.rpcUrl)
  const seen: Record<string, number> = {}
  for (const [index, lost] of logs.entries()) {
    // One of three, and each with `SEEDS=full`.
    if (!IS_FULL && index % 3 > 0) continue
    // A wallet that borrows has pledged before: what is lost of both is found by the other endpoint alone.
    liar.drop((log) => log.transactionHash === lost.transactionHash || log.topics[1] === lost.topics[1])
    const urls = [liar.url, devnet.rpcUrl]
    const found = await outcome(borrower, wanted, index % 2 === 0 ? urls : urls.reverse())
    seen[found] = (seen[found] ?? 0) + 1
  }
  await liar.stop()
  expect(Object.keys(seen)).toEqual(['whole'])
}, 60_000)

test('an undecidable contradiction of two endpoints is 503 naming the check, not a short list', async () => {
  const { borrower } = morpho.wallets
  const wanted = await truth(borrower)
  const { topics } = MORPHO_EVENTS
  const hiding = await startFaultyRpc(devnet.rpcUrl)
  const mute = await startFaultyRpc(devnet.rpcUrl)
  const isEntry = (log: unknown) => (log as HistoryLog).topics[0] === topics.supplyCollateral
  hiding.rule(({ method }) => {
    if (method === 'eth_getLogs') {
      return { kind: 'change', change: (logs) => (Array.isArray(logs) ? logs.filter((log) => !isEntry(log)) : logs) }
    }
    return isProof(method) ? { kind: 'http', status: 500, body: '' } : undefined
  })
  mute.rule(({ method }) => (isProof(method) ? { kind: 'http', status: 500, body: '' } : undefined))
  const found = await outcome(borrower, wanted, [hiding.url, mute.url])
  await hiding.stop()
  await mute.stop()
  expect(['whole', '503 second witness']).toContain(found)
}, 60_000)

/** Ways to show that a log is what the chain has. */
function isProof(method: string): boolean {
  return /Receipt/.test(method)
}

test.each([20, 200, undefined])(
  'with at most %p blocks a request, first contact takes few requests',
  async (cap) => {
    const { borrower } = morpho.wallets
    const wanted = await truth(borrower)
    const newest = Number(await devnet.client.getBlockNumber())
    if (newest < BLOCKS) await mine(BLOCKS - newest)
    faulty.rule(cap === undefined ? () => undefined : capped(dialect, cap))
    faulty.reset()
    expect(await outcome(borrower, wanted, [faulty.url])).toBe('whole')
    const asked = faulty.seen.filter(({ method }) => method === 'eth_getLogs').length
    const windows = cap === undefined ? 1 : Math.ceil(BLOCKS / cap)
    console.info(`${BLOCKS} blocks, at most ${cap ?? 'any number'} a request: ${asked} requests for logs`)
    // Three filters, read twice and divided elsewhere the second time; and the end, whose newest blocks are asked for alone.
    expect(asked).toBeLessThanOrEqual(2 * 3 * (windows + 4) + 20)
  },
  60_000,
)
