import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Hex } from 'viem'
import { checkContinuity } from '../../../../../src/family/aave_v3/event/continuity.ts'
import { createFilters, decodeLogs } from '../../../../../src/family/aave_v3/event/decode.ts'
import { type LendingTarget, TOPICS } from '../../../../../src/family/aave_v3/event/log.ts'
import type { HistoryLog } from '../../../../../src/history/stream.ts'
import { ASSETS, MARKETS } from '../../../../devnet/aave_v3/addresses.ts'
import type { AaveHistory } from '../../../../devnet/aave_v3/history.ts'
import type { AaveDevnet } from '../../../../devnet/aave_v3/mod.ts'
import { rawUsd, SCENARIO_SEC } from '../../../../devnet/aave_v3/scenario.ts'
import { type Devnet, startDevnet } from '../../../../devnet/mod.ts'
import { caseCount, IS_FULL } from '../../../../support/cases.ts'
import {
  formatEvent,
  readLogs,
  readPoolLogs,
  readReceipts,
  readTruth,
  shown,
  toTarget,
} from '../../../../support/family/aave_v3/event/support.ts'

const BUILD_LIMIT_MS = 120_000
let devnet: Devnet
let aave: AaveDevnet
let history: AaveHistory
let target: LendingTarget
let everything: HistoryLog[]

beforeAll(async () => {
  devnet = await startDevnet({ ageSec: 10 * SCENARIO_SEC })
  aave = await devnet.aave()
  history = await aave.history(7, caseCount(220, 180))
  for (const amount of [rawUsd('usdc', 10), rawUsd('usdc', 20), rawUsd('usdc', 30)]) {
    await aave.supply({ market: 'v3_0', wallet: aave.wallets.oldSupplier, asset: 'usdc', amount })
    await aave.warp(100_000)
  }
  target = toTarget(aave, 'main')
  everything = await readLogs(devnet, createFilters(target, null))
}, BUILD_LIMIT_MS)
afterAll(() => devnet.stop())

/** Rows of logs, with the receipts that decoding needs; also their number. */
async function settled(of: LendingTarget, logs: readonly HistoryLog[], subjects: readonly Hex[] | null) {
  const first = decodeLogs(of, logs, { subjects, receipts: new Map() })
  const receipts = await readReceipts(devnet, first.unsettled)
  const { rows, unsettled } = decodeLogs(of, logs, { subjects, receipts })
  expect(unsettled).toEqual([])
  return { rows, receipts: receipts.size }
}

test('all wallets have exactly the events of the receipts, through gateways and contracts too, with few receipts read', async () => {
  const { rows, receipts } = await settled(target, everything, null)
  const truth = await readTruth(devnet, target.contract, history)
  expect(shown(rows).map(formatEvent).sort()).toEqual(truth.sort())
  expect(receipts).toBe(0)

  for (const kind of ['supply', 'borrow', 'withdraw', 'repay', 'liquidation', 'send', 'receive'] as const) {
    expect([kind, rows.filter((row) => row.kind === kind).length > 5]).toEqual([kind, true])
  }
  expect(history.owners.size).toBeGreaterThan(10)
})

test('the events include every way in which an event is made or hidden', async () => {
  const logs = await readPoolLogs(devnet, target.contract)
  const count = (name: string, holds: (args: Record<string, unknown>) => boolean = () => true) =>
    logs.filter(({ eventName, args }) => eventName === name && holds(args)).length
  const ways = {
    'supply for another': count('Supply', ({ user, onBehalfOf }) => user !== onBehalfOf),
    'gateway withdraws': count('Withdraw', ({ user }) => user === history.gateway),
    'contract withdraws for two': count('Withdraw', ({ user }) => user === history.actor),
    'gateway borrows': count('Borrow', ({ user }) => user === history.gateway),
    'credit delegation': count('Borrow', ({ user, onBehalfOf }) => user !== onBehalfOf && user !== history.gateway),
    'repaid from supply': count('Repay', ({ useATokens }) => useATokens === true),
    'repaid by another': count('Repay', ({ user, repayer }) => user !== repayer),
    'flash loan paid back': count('FlashLoan', ({ interestRateMode }) => interestRateMode === 0),
    'flash loan kept as debt': count('FlashLoan', ({ interestRateMode }) => interestRateMode === 2),
    'liquidation for aTokens': count('LiquidationCall', ({ receiveAToken }) => receiveAToken === true),
    'liquidation for the asset': count('LiquidationCall', ({ receiveAToken }) => receiveAToken === false),
    'liquidation of one asset': count(
      'LiquidationCall',
      ({ collateralAsset, debtAsset }) => collateralAsset === debtAsset,
    ),
    'debt written off': count('DeficitCreated'),
    'eMode entered': count('UserEModeSet'),
    'interest for the treasury': count('MintedToTreasury'),
  }
  expect(Object.entries(ways).filter(([, times]) => times === 0)).toEqual([])
})

test('each wallet alone has exactly its own events', async () => {
  const { rows } = await settled(target, everything, null)
  const wallets = [...new Set(rows.map(({ wallet }) => wallet))]
  expect(wallets.length).toBeGreaterThan(20)
  // One of three, and each with `SEEDS=full`: the route's test asks others.
  for (const wallet of wallets.filter((_, no) => IS_FULL || no % 3 === 0)) {
    const logs = await readLogs(devnet, createFilters(target, [wallet]))
    const own = await settled(target, logs, [wallet])
    expect(own.rows.map(formatEvent)).toEqual(rows.filter((row) => row.wallet === wallet).map(formatEvent))
  }
})

test('many wallets decoded together have the same rows as all wallets', async () => {
  const { rows } = await settled(target, everything, null)
  const wallets = [...new Set(rows.map(({ wallet }) => wallet))]
  const logs = await readLogs(devnet, createFilters(target, wallets))
  const own = await settled(target, logs, wallets)
  expect(own.rows.map(formatEvent)).toEqual(rows.map(formatEvent))
})

test('a market of 3.0 with stable debt has exactly the events of the receipts', async () => {
  const old = toTarget(aave, 'v3_0')
  const { rows } = await settled(old, await readLogs(devnet, createFilters(old, null)), null)
  const truth = await readTruth(devnet, MARKETS.v3_0.pool)
  expect(truth.length).toBeGreaterThan(5)
  expect(shown(rows).map(formatEvent).sort()).toEqual(truth.sort())
})

test('the index chain holds on both versions, also over ranges that come newest first', async () => {
  for (const market of ['main', 'v3_0'] as const) {
    const of = toTarget(aave, market)
    const logs = await readLogs(devnet, createFilters(of, null))
    expect(checkContinuity(of, logs, undefined).size).toBeGreaterThan(2)
    let later: unknown
    for (let end = logs.length; end > 0; end -= 40)
      later = checkContinuity(of, logs.slice(Math.max(0, end - 40), end), later)
  }
})

test('a lost update of a reserve that has debt breaks its index chain', async () => {
  for (const market of ['main', 'v3_0'] as const) {
    const of = toTarget(aave, market)
    const logs = await readLogs(devnet, createFilters(of, null))
    const usdc = ASSETS.usdc.address.slice(2).toLowerCase()
    const updates = logs.filter(({ topics }) => topics[0] === TOPICS.update && topics[1]?.endsWith(usdc))
    const time = (index: number) => updates[index]?.timestampSec ?? 0
    const at = updates.findLastIndex(
      (_, index) => time(index + 1) > time(index) && time(index) > time(index - 1) + 1_000,
    )
    const lost = updates[at]
    const check = () =>
      checkContinuity(
        of,
        logs.filter((log) => log !== lost),
        undefined,
      )
    expect(check).toThrow(`The check "index" found that logs are missing in blocks ${updates[at - 1]?.blockNumber} to`)
    const later = checkContinuity(
      of,
      logs.filter(({ blockNumber }) => blockNumber > (lost?.blockNumber ?? 0)),
      undefined,
    )
    const before = logs.filter(({ blockNumber }) => blockNumber < (lost?.blockNumber ?? 0))
    expect(() => checkContinuity(of, before, later)).toThrow('The check "index"')
  }
})
