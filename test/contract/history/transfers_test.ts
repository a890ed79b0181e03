import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { type Hex, numberToHex, toEventSelector } from 'viem'
import { LENDING_EVENTS, type LendingEvent, readLendingEvents } from '../../../src/family/lending/lending_event.ts'
import { createHistory, type HistoryService } from '../../../src/history/mod.ts'
import type { HistoryLog, Stream } from '../../../src/history/stream.ts'
import { createWork } from '../../../src/lib/async/work.ts'
import { UnavailableError } from '../../../src/lib/error.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createHistoryReports } from '../../../src/operator/report.ts'
import { type Anvil, startAnvil } from '../../devnet/anvil.ts'
import { createRpc, type Rpc } from '../../devnet/rpc.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { createTestClient, toTopic, toWallet } from '../../support/history/scene.ts'
import { type FaultyRpc, startFaultyRpc } from '../../support/rpc.ts'
import { slowClock } from '../../support/test_clock.ts'
import { waitFor } from '../../support/wait_for.ts'

const never = createWork(new AbortController().signal)
const CHAIN_ID = 31_340
const BLOCKS = 60
const FINAL_DEPTH = 10
const TRANSFER = toEventSelector('event Transfer(address indexed from, address indexed to, uint256 amount)')
/** Tokens that log a Transfer of what their input says: from, to, amount. */
const TOKENS = [1, 2, 3].map((number) => numberToHex(0x70c_0000 + number, { size: 20 }))
const TOKEN_CODE = `0x602060406000376020356000357f${TRANSFER.slice(2)}60206000a300`
const SENDER = `0x${'5e'.repeat(20)}` as Hex

/** All Transfers of a wallet, of whichever token: no contract is named anywhere. */
const TRANSFERS: Stream<LendingEvent> = {
  name: 'transfers',
  table: LENDING_EVENTS,
  subjectsOnly: true,
  filters(_, subjects) {
    if (subjects === null) throw new Error('Transfers have no global scan')
    const wallets = subjects.map(toTopic)
    return [
      { addresses: null, topics: [[TRANSFER], wallets] },
      { addresses: null, topics: [[TRANSFER], null, wallets] },
    ]
  },
  decode: (_, logs, { subjects }) => {
    const wanted = new Set(subjects)
    const rows = logs.flatMap((log): LendingEvent[] => {
      const [from, to] = [walletIn(log, 1), walletIn(log, 2)]
      const sent = toRow(log, { wallet: from, kind: 'send', leg: 0, counterparty: to })
      const received = toRow(log, { wallet: to, kind: 'receive', leg: 1, counterparty: from })
      return [sent, received].filter(({ wallet }) => wanted.has(wallet))
    })
    return { rows, unsettled: [] }
  },
}
const PLACE = { chainId: CHAIN_ID, contract: '0x', startBlock: 1 } as const

function walletIn({ topics }: HistoryLog, index: number): Hex {
  return `0x${topics[index]?.slice(26) ?? ''}`
}

function toRow(log: HistoryLog, rest: Pick<LendingEvent, 'wallet' | 'kind' | 'leg' | 'counterparty'>): LendingEvent {
  const { blockNumber: block, logIndex, address: asset, data, transactionHash, timestampSec } = log
  return {
    ...rest,
    market: null,
    block,
    logIndex,
    asset,
    amount: BigInt(data),
    transactionHash,
    timestampSec,
    indexRay: null,
  }
}

let anvil: Anvil
let rpc: Rpc
let proxies: readonly FaultyRpc[]
let database: TestDatabase

beforeAll(async () => {
  anvil = await startAnvil({ chainId: CHAIN_ID })
  rpc = createRpc(anvil.rpcUrl)
  for (const token of TOKENS) await rpc.call('anvil_setCode', token, TOKEN_CODE)
  for (let block = 1; block <= BLOCKS; block++) {
    // Now and then a wallet sends to itself.
    const [from, to] = [block % 4, block % 7 === 0 ? block % 4 : (block + 1) % 4].map((number) => toWallet(number))
    await transfer({ token: TOKENS[block % 3] ?? '0x', from: from ?? '0x', to: to ?? '0x', amount: BigInt(block) })
  }
  proxies = await Promise.all([0, 1].map(() => startFaultyRpc(anvil.rpcUrl)))
  database = await testDatabase()
}, 60_000)
beforeEach(() => {
  for (const proxy of proxies) {
    proxy.rule(() => undefined)
    proxy.reset()
  }
})
afterAll(async () => {
  await Promise.all((proxies ?? []).map((proxy) => proxy.stop()))
  await anvil?.stop()
  await database?.close()
}, 60_000)

async function transfer(of: { readonly token: Hex; readonly from: Hex; readonly to: Hex; readonly amount: bigint }) {
  const words = [toTopic(of.from), toTopic(of.to), numberToHex(of.amount, { size: 32 })]
  const data = `0x${words.map((word) => word.slice(2)).join('')}`
  const hash = await rpc.call('eth_sendTransaction', {
    from: SENDER,
    to: of.token,
    data,
    gas: '0xf4240',
    gasPrice: '0x0',
  })
  await waitFor('a mined transaction', async () => (await rpc.call('eth_getTransactionReceipt', hash)) !== null)
}

async function withHistory<T>(run: (history: HistoryService) => Promise<T>): Promise<T> {
  const client = createTestClient(
    proxies.map(({ url }) => url),
    { chainId: CHAIN_ID, finality: { depth: FINAL_DEPTH } },
  )
  const history = createHistory({
    clients: new Map([[CHAIN_ID, client]]),
    db: database.db,
    clock: slowClock,
    log: silentLog,
    holder: 'test',
  })
  try {
    return await run(history)
  } finally {
    await history.close()
    client.close()
  }
}

/** A wallet's transfers as a route would read them, oldest first, and how many are stored. */
async function read(history: HistoryService, wallet: Hex) {
  const { storedTo, tail } = await history.ensure({ stream: TRANSFERS, target: PLACE, subject: wallet }, never)
  const kinds = ['send', 'receive'] as const
  const options = { target: PLACE, stream: TRANSFERS.name, wallet, toBlock: storedTo, kinds, skip: 0, max: 1_000 }
  const stored = await readLendingEvents(database.db, options)
  if (stored === undefined) throw new Error('The history has a gap')
  return { words: [...stored.events, ...tail].map(describeRow).sort(), stored: stored.total, tail: tail.length }
}

function describeRow({ block, kind, asset, amount, counterparty }: LendingEvent): string {
  return `${String(block).padStart(4, '0')} ${kind} ${amount} ${asset} ${counterparty}`
}

/** The same from the receipts of every block. */
async function truth(wallet: Hex): Promise<readonly string[]> {
  const last = Number(await rpc.call<string>('eth_blockNumber'))
  const blocks = await rpc.batch<{ readonly logs: readonly (HistoryLog & { readonly blockNumber: unknown })[] }[]>(
    Array.from({ length: last }, (_, index) => ({ method: 'eth_getBlockReceipts', params: [numberToHex(index + 1)] })),
  )
  const logs = blocks.flat().flatMap((receipt) => receipt.logs)
  return logs
    .flatMap((log) => {
      const [from, to] = [walletIn(log, 1), walletIn(log, 2)]
      const block = String(Number(log.blockNumber)).padStart(4, '0')
      const said = (kind: string, other: Hex) => `${block} ${kind} ${BigInt(log.data)} ${log.address} ${other}`
      return [...(from === wallet ? [said('send', to)] : []), ...(to === wallet ? [said('receive', from)] : [])]
    })
    .sort()
}

/** Bodies of all requests for logs. */
function filtersSeen() {
  return proxies
    .flatMap(({ seen }) => seen)
    .filter(({ method }) => method === 'eth_getLogs')
    .map(({ params }) => params[0] as { readonly address?: unknown; readonly topics: readonly unknown[] })
}

test('all Transfers of a wallet over several tokens are stored and read, without naming a contract', async () => {
  await withHistory(async (history) => {
    for (const number of [0, 1, 2, 3]) {
      const wallet = toWallet(number)
      const { words, stored, tail } = await read(history, wallet)
      expect(words).toEqual([...(await truth(wallet))])
      expect(stored).toBeGreaterThan(15)
      expect(tail).toBeGreaterThan(0)
      expect(new Set(words.map((each) => each.split(' ')[3])).size).toBe(TOKENS.length)
    }
    expect(filtersSeen().length).toBeGreaterThan(0)
    for (const { address, topics } of filtersSeen()) {
      expect(address).toBeUndefined()
      // Each request names a wallet: there are no global scans.
      expect(topics.slice(1).flat().filter(Boolean).length).toBeGreaterThan(0)
    }
    // A wallet without transfers has no rows.
    expect(await read(history, toWallet(9))).toEqual({ words: [], stored: 0, tail: 0 })
  })
}, 60_000)

test('a log that one of two endpoints leaves out is found again, and logs of other wallets are refused', async () => {
  await database.db.run('truncate lending_event, history_coverage, history_place cascade', [])
  const [first, second] = proxies
  const wallet = toWallet(2)
  first?.rule(({ method }) =>
    method === 'eth_getLogs' ? { kind: 'change', change: (result) => (result as unknown[]).slice(1) } : undefined,
  )
  expect((await withHistory((history) => read(history, wallet))).words).toEqual([...(await truth(wallet))])
  await database.db.run('truncate lending_event, history_coverage, history_place cascade', [])
  const foreign = (result: unknown) =>
    (result as { topics: Hex[] }[]).map((log) => ({
      ...log,
      topics: [TRANSFER, toTopic(toWallet(7)), toTopic(toWallet(8))],
    }))
  for (const proxy of [first, second]) {
    proxy?.rule(({ method }) => (method === 'eth_getLogs' ? { kind: 'change', change: foreign } : undefined))
  }
  expect(await withHistory((history) => read(history, wallet)).catch((error) => error)).toBeInstanceOf(UnavailableError)
}, 60_000)

test('a place without a contract is listed, and places beyond the numbers of a smallint are kept', async () => {
  await database.db.run('truncate lending_event, history_coverage, history_place cascade', [])
  await database.db.run("select setval(pg_get_serial_sequence('history_place', 'id'), 70000)", [])
  const wallet = toWallet(3)
  const { words } = await withHistory((history) => read(history, wallet))
  expect(words).toEqual([...(await truth(wallet))])
  const [listed] = await createHistoryReports(database.db)()
  expect(listed).toMatchObject({ chain_id: CHAIN_ID, contract: '0x', stream: 'transfers', subjects: 1, everybody: [] })
  const [place] = await database.db.run<{ id: number }>('select id from history_place', [])
  expect(place?.id).toBeGreaterThan(70_000)
}, 60_000)

test('a stream without global scans refuses to read a global history', async () => {
  await withHistory(async (history) => {
    expect(() => history.complete({ stream: TRANSFERS, target: PLACE }, never)).toThrow('global history')
  })
})
