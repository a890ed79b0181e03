import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Address, Hex } from 'viem'
import { createChainClient } from '../../../../../src/chain/evm/evm_client.ts'
import { createFilters } from '../../../../../src/family/aave_v3/event/decode.ts'
import type { LendingTarget } from '../../../../../src/family/aave_v3/event/log.ts'
import { createLendingStream } from '../../../../../src/family/aave_v3/read/stream.ts'
import { LENDING_EVENT_TYPES, readLendingEvents } from '../../../../../src/family/lending/lending_event.ts'
import { createHistory } from '../../../../../src/history/mod.ts'
import type { HistoryLog } from '../../../../../src/history/stream.ts'
import { createWork } from '../../../../../src/lib/async/work.ts'
import { UnavailableError } from '../../../../../src/lib/error.ts'
import { silentLog } from '../../../../../src/lib/log.ts'
import { supplyCall, withdrawCall } from '../../../../devnet/aave_v3/calls.ts'
import type { AaveHistory } from '../../../../devnet/aave_v3/history.ts'
import type { AaveDevnet } from '../../../../devnet/aave_v3/mod.ts'
import { rawUsd, SCENARIO_SEC } from '../../../../devnet/aave_v3/scenario.ts'
import { toWalletAddress } from '../../../../devnet/addresses.ts'
import { createDevnetChain } from '../../../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../../../devnet/mod.ts'
import { caseCount, IS_FULL } from '../../../../support/cases.ts'
import { type TestDatabase, testDatabase } from '../../../../support/database.ts'
import { type LogProxy, startLogProxy } from '../../../../support/family/aave_v3/event/log_proxy.ts'
import { formatEvent, readLogs, readTruth, toTarget } from '../../../../support/family/aave_v3/event/support.ts'
import { createHurriedClock, createPatientClock, slowClock } from '../../../../support/test_clock.ts'

const BUILD_LIMIT_MS = 120_000
const DEPTH = 3

let devnet: Devnet
let aave: AaveDevnet
let past: AaveHistory
let target: LendingTarget
let truth: string[]
let database: TestDatabase
let liar: LogProxy
let honest: LogProxy
/** A wallet that supplied and withdrew in a reserve without interest. */
const passer = toWalletAddress('aave passer-by')
let passing: Hex[]

beforeAll(async () => {
  devnet = await startDevnet({ ageSec: 10 * SCENARIO_SEC })
  aave = await devnet.aave()
  past = await aave.history(33, caseCount(90, 50))
  const movement = { market: 'main', wallet: passer, asset: 'modal', amount: rawUsd('modal', 100) } as const
  await devnet.send([supplyCall({ ...movement, amount: rawUsd('modal', 7) })])
  await aave.warp(3_600)
  const receipts = [...(await devnet.send([supplyCall(movement)])), ...(await devnet.send([withdrawCall(movement)]))]
  passing = receipts.map(({ transactionHash }) => transactionHash)
  await devnet.rpc.call('anvil_mine', '0x8')
  target = toTarget(aave, 'main')
  truth = await readTruth(devnet, target.contract, past)
  database = await testDatabase()
  liar = startLogProxy(devnet.rpcUrl)
  honest = startLogProxy(devnet.rpcUrl)
}, BUILD_LIMIT_MS)
afterAll(async () => {
  await liar?.stop()
  await honest?.stop()
  await database?.close()
  await devnet?.stop()
}, BUILD_LIMIT_MS)

/** Verdict of a new process on a wallet's stored events: right, wrong, or the check that refuses them. */
async function outcome(wallet: Address, proxies: readonly LogProxy[]): Promise<string> {
  await database.db.run('truncate history_chain, history_coverage, lending_event', [])
  const rpcUrls = proxies.map(({ url }) => url)
  const client = createChainClient({
    chain: createDevnetChain(devnet, { rpcUrls, finality: { depth: DEPTH } }),
    clock: createHurriedClock(),
    log: silentLog,
  })
  const clients = new Map([[1, client]])
  const history = createHistory({
    clients,
    db: database.db,
    clock: createPatientClock(),
    log: silentLog,
    holder: 'test',
  })
  try {
    const subject = wallet.toLowerCase() as Hex
    const stream = createLendingStream({ clock: slowClock })
    const { storedTo } = await history.ensure({ stream, target, subject }, createWork(AbortSignal.timeout(20_000)))
    const asked = { target, stream: 'aave_v3_lending', wallet: subject, toBlock: storedTo, kinds: LENDING_EVENT_TYPES }
    const page = await readLendingEvents(database.db, { ...asked, skip: 0, max: 1_000 })
    const wanted = truth.filter((text) => text.split(' ')[4] === subject).sort()
    return Bun.deepEquals(page?.events.map(formatEvent).sort(), wanted) ? 'right' : 'wrong'
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error
    return /check "(\w+)"/.exec(error.message)?.[1] ?? error.message
  } finally {
    await history.close()
    client.close()
  }
}

/** A wallet's logs, and its transactions in order. */
async function readWalletHistory(wallet: Address): Promise<{ logs: HistoryLog[]; transactions: Hex[] }> {
  const logs = await readLogs(devnet, createFilters(target, [wallet.toLowerCase() as Hex]))
  return { logs, transactions: [...new Set(logs.map(({ transactionHash }) => transactionHash))] }
}

/** One loss of three, and each with `SEEDS=full`. */
function takeShare<T>(losses: readonly T[]): readonly T[] {
  return losses.filter((_, index) => IS_FULL || index % 3 === 0)
}

/** How often each outcome came, when each of these losses happened alone. */
async function tally(
  wallet: Address,
  losses: readonly ((log: HistoryLog) => boolean)[],
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const lost of losses) {
    liar.drop(lost)
    const found = await outcome(wallet, [liar])
    counts[found] = (counts[found] ?? 0) + 1
  }
  liar.drop(() => false)
  return counts
}

test('one log that the only endpoint never gives is healed by the receipt of its transaction, or found by the state', async () => {
  const [wallet] = past.wallets as [Address]
  expect(await outcome(wallet, [liar])).toBe('right')
  const logs = takeShare((await readWalletHistory(wallet)).logs)
  const counts = await tally(
    wallet,
    logs.map((lost) => (log: HistoryLog) => log.blockNumber === lost.blockNumber && log.logIndex === lost.logIndex),
  )
  expect(counts['wrong'] ?? 0).toBe(0)
  expect(counts['right'] ?? 0).toBeGreaterThan(logs.length / 2)
  expect(Object.keys(counts).filter((each) => each !== 'right')).toEqual(['state'].filter((each) => each in counts))
})

test('a whole transaction that the only endpoint never gives is found by the state', async () => {
  const [, wallet] = past.wallets as [Address, Address]
  const transactions = takeShare((await readWalletHistory(wallet)).transactions)
  const counts = await tally(
    wallet,
    transactions.map((hash) => (log: HistoryLog) => log.transactionHash === hash),
  )
  expect(counts['wrong'] ?? 0).toBe(0)
  expect(counts['state'] ?? 0).toBeGreaterThan(transactions.length / 2)
})

test('with an honest endpoint beside it, every loss is healed', async () => {
  const [, , wallet] = past.wallets as [Address, Address, Address]
  const transactions = takeShare((await readWalletHistory(wallet)).transactions)
  for (const hash of transactions) {
    liar.drop((log) => log.transactionHash === hash)
    expect(await outcome(wallet, [liar, honest])).toBe('right')
  }
  liar.drop(() => false)
})

test('a round trip without a trace in the state is found by the second witness, and by nothing else', async () => {
  liar.drop((log) => passing.includes(log.transactionHash))
  expect(await outcome(passer, [liar])).toBe('wrong')
  expect(await outcome(passer, [liar, honest])).toBe('right')
  expect(await outcome(passer, [honest, liar])).toBe('right')
  liar.drop(() => false)
})
