import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { createHistory, type HistoryService } from '../../src/history/history.ts'
import { readLendingEvents } from '../../src/history/rows/lending_event.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLog } from '../../src/lib/log.ts'
import { type Anvil, startAnvil } from '../devnet/anvil.ts'
import { createRpc, type Rpc } from '../devnet/rpc.ts'
import { type TestDatabase, testDatabase } from '../support/database.ts'
import { type FaultyRpc, startFaultyRpc } from '../support/rpc.ts'
import { act, createTestClient, deployEmitter, EMITTED, placeOf, readTruth, walletOf, wordsOf } from './scene.ts'

const never = new AbortController().signal
const CHAIN_ID = 31_337
const BLOCKS = 80

let anvil: Anvil
let rpc: Rpc
let proxies: readonly FaultyRpc[]
let database: TestDatabase
const closers: (() => unknown)[] = []

beforeAll(async () => {
  anvil = await startAnvil({ chainId: CHAIN_ID })
  rpc = createRpc(anvil.rpcUrl)
  await deployEmitter(rpc)
  for (let block = 1; block <= BLOCKS; block++) {
    const acts = Array.from({ length: 1 + (block % 3) }, (_, index) => ({
      wallet: walletOf((block + index) % 4),
      amount: BigInt(block * 10 + index),
    }))
    await act(rpc, acts)
  }
  proxies = await Promise.all([0, 1].map(() => startFaultyRpc(anvil.rpcUrl)))
}, 60_000)
beforeEach(async () => {
  database = await testDatabase()
  for (const proxy of proxies) {
    proxy.rule(() => undefined)
    proxy.reset()
  }
})
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
  await database.close()
})
afterAll(async () => {
  await Promise.all((proxies ?? []).map((proxy) => proxy.stop()))
  await anvil?.stop()
}, 60_000)

function open(endpoints = 1): HistoryService {
  const client = createTestClient(
    proxies.slice(0, endpoints).map(({ url }) => url),
    { chainId: CHAIN_ID },
  )
  const history = createHistory({
    ...{ clients: new Map([[CHAIN_ID, client]]), db: database.db, clock: systemClock, log: silentLog },
    holder: `test ${closers.length}`,
  })
  closers.push(async () => {
    await history.close()
    client.close()
  })
  return history
}

/** A wallet's whole history as a route would read it. */
async function read(history: HistoryService, wallet = walletOf(1)): Promise<readonly string[]> {
  const place = placeOf(CHAIN_ID)
  const { storedTo, tail } = await history.ensure({ stream: EMITTED, place, subject: wallet }, never)
  const options = {
    place,
    stream: EMITTED.name,
    wallet,
    toBlock: storedTo,
    kinds: ['supply'] as const,
    skip: 0,
    max: 1_000,
  }
  const stored = await readLendingEvents(database.db, options)
  if (stored === undefined) throw new Error('The history has a gap')
  return wordsOf([...stored.events, ...tail])
}

async function truth(wallet = walletOf(1)): Promise<readonly string[]> {
  return await readTruth(rpc, wallet, Number(await rpc.call<string>('eth_blockNumber')))
}

function logRequests(): number {
  return proxies.flatMap(({ seen }) => seen).filter(({ method }) => method === 'eth_getLogs').length
}

test('stored rows and the end equal the receipts, for every wallet, and nothing is fetched twice', async () => {
  const history = open()
  for (const number of [0, 1, 2, 3, 4])
    expect(await read(history, walletOf(number))).toEqual(await truth(walletOf(number)))
  const before = logRequests()
  await read(history)
  // The end only: the last blocks by their hash, the others twice.
  expect(logRequests() - before).toBeLessThanOrEqual(8)
})
