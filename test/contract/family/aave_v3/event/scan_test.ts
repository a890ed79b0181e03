import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import type { Hex } from 'viem'
import { createChainClient } from '../../../../../src/chain/evm/evm_client.ts'
import { type LendingTarget, readLog, TOPICS } from '../../../../../src/family/aave_v3/event/log.ts'
import { createLendingStream } from '../../../../../src/family/aave_v3/read/stream.ts'
import { LENDING_EVENT_TYPES, readLendingEvents } from '../../../../../src/family/lending/lending_event.ts'
import { createHistory, type HistoryService } from '../../../../../src/history/mod.ts'
import { createWork } from '../../../../../src/lib/async/work.ts'
import { silentLog } from '../../../../../src/lib/log.ts'
import type { AaveHistory } from '../../../../devnet/aave_v3/history.ts'
import type { AaveDevnet } from '../../../../devnet/aave_v3/mod.ts'
import { SCENARIO_SEC } from '../../../../devnet/aave_v3/scenario.ts'
import { createDevnetChain } from '../../../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../../../devnet/mod.ts'
import { caseCount } from '../../../../support/cases.ts'
import { type TestDatabase, testDatabase } from '../../../../support/database.ts'
import { type LogProxy, startLogProxy } from '../../../../support/family/aave_v3/event/log_proxy.ts'
import { formatEvent, readLogs, readTruth, toTarget } from '../../../../support/family/aave_v3/event/support.ts'
import { capped } from '../../../../support/history/simulation/capped.ts'
import { CAP_DIALECTS } from '../../../../support/history/simulation/endpoint.ts'
import { type FaultyRpc, startFaultyRpc } from '../../../../support/rpc.ts'
import { createHurriedClock, createPatientClock, slowClock } from '../../../../support/test_clock.ts'

const BUILD_LIMIT_MS = 120_000
const DEPTH = 8
/** Blocks that the endpoint gives the logs of, and how many such ranges are stored together. */
const CAP = 10
const WINDOWS_A_PART = 4
const [dialect] = CAP_DIALECTS as [(typeof CAP_DIALECTS)[number]]
const stream = createLendingStream({ clock: slowClock })

let devnet: Devnet
let aave: AaveDevnet
let past: AaveHistory
let target: LendingTarget
let truth: string[]
let database: TestDatabase
let forgetful: LogProxy
let upstream: FaultyRpc
let history: HistoryService
let final = 0
const closers: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  devnet = await startDevnet({ ageSec: 10 * SCENARIO_SEC })
  aave = await devnet.aave()
  past = await aave.history(55, caseCount(80, 50))
  target = toTarget(aave, 'main')
  truth = await readTruth(devnet, target.contract, past)
  final = Number(await aave.blockNumber()) - DEPTH
  forgetful = startLogProxy(devnet.rpcUrl)
  upstream = await startFaultyRpc(forgetful.url)
}, BUILD_LIMIT_MS)
beforeEach(async () => {
  forgetful.drop(() => false)
  upstream.rule(capped(dialect, CAP))
  database = await testDatabase()
  const client = createChainClient({
    chain: createDevnetChain(devnet, { rpcUrls: [upstream.url], finality: { depth: DEPTH } }),
    clock: createHurriedClock(),
    log: silentLog,
  })
  const clients = new Map([[1, client]])
  history = createHistory({ clients, db: database.db, clock: createPatientClock(), log: silentLog, holder: 'test' })
  closers.push(async () => {
    await history.close()
    client.close()
    await database.close()
  })
})
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})
afterAll(async () => {
  await upstream?.stop()
  await forgetful?.stop()
  await devnet?.stop()
}, BUILD_LIMIT_MS)

/** Reads the global history in many parts; a wallet's history first shows the endpoint's limits. */
async function scan(): Promise<void> {
  const work = createWork(AbortSignal.timeout(30_000))
  await history.ensure({ stream, target, subject: `0x${'ab'.repeat(20)}` }, work)
  await history.complete({ stream, target }, work)
}

/** Which part of a scan a block is read with, counted from the newest. */
function getPart(block: number): number {
  return Math.floor((final - block) / (WINDOWS_A_PART * CAP))
}

async function readEvents(wallet: string): Promise<readonly string[]> {
  const asked = { target, stream: 'aave_v3_lending', wallet: wallet as Hex, toBlock: final, kinds: LENDING_EVENT_TYPES }
  const page = await readLendingEvents(database.db, { ...asked, skip: 0, max: 1_000 })
  return (page?.events ?? []).map(formatEvent).sort()
}

test('one global scan stores the events of the receipts for every wallet', async () => {
  await scan()
  const wallets = new Set(truth.map((text) => text.split(' ')[4] ?? ''))
  expect(wallets.size).toBeGreaterThan(10)
  for (const wallet of wallets) {
    const wanted = truth.filter((text) => text.split(' ')[4] === wallet && Number(text.split(' ')[0]) <= final)
    expect(await readEvents(wallet)).toEqual(wanted.sort())
  }
  expect((await history.listProgress()).map(({ requested: asked }) => asked?.missing)).toEqual([0])
})

/** Updates that a reserve's index would show if they were lost: by the blocks of those before and after them. */
async function updatesThatCount() {
  const logs = await readLogs(devnet, [{ addresses: [target.contract], topics: [[TOPICS.update]] }], { toBlock: final })
  const updates = logs.flatMap((log) => readLog(target, log) ?? []).filter((log) => log.kind === 'update')
  return updates.flatMap((lost) => {
    const same = updates.filter(({ asset }) => asset === lost.asset)
    const at = same.indexOf(lost)
    const [before, after] = [same[at - 1], same[at + 1]]
    const isSeen =
      before !== undefined &&
      after !== undefined &&
      lost.borrowRateRay !== before.borrowRateRay &&
      before.borrowIndexRay < lost.borrowIndexRay &&
      // Enough time that another rate gives another index.
      after.borrowIndexRay - lost.borrowIndexRay > 10n ** 20n
    return isSeen ? [{ lost, from: before.log.blockNumber, to: after.log.blockNumber }] : []
  })
}

test.each([
  ['between two parts of the scan', (from: number, to: number) => getPart(from) !== getPart(to)],
  ['within one part', (from: number, to: number) => getPart(from) === getPart(to)],
] as const)(
  'an update of a reserve that the only endpoint never gives is found by the index, %s',
  async (_, isWanted) => {
    const found = (await updatesThatCount()).filter(({ from, to }) => isWanted(from, to)).at(-1)
    if (found === undefined) throw new Error('There is no such update')
    const { log } = found.lost
    forgetful.drop(({ blockNumber, logIndex }) => blockNumber === log.blockNumber && logIndex === log.logIndex)
    await expect(scan()).rejects.toThrow(
      `The check "index" found that logs are missing in blocks ${found.from} to ${found.to}`,
    )
  },
)
