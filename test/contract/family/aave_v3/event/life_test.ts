import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Hex } from 'viem'
import { createChainClient } from '../../../../../src/chain/evm/evm_client.ts'
import { checkContinuity } from '../../../../../src/family/aave_v3/event/continuity.ts'
import { type LendingTarget, type Liquidation, readLog, TOPICS } from '../../../../../src/family/aave_v3/event/log.ts'
import { createMarketReader } from '../../../../../src/family/aave_v3/read/read_market.ts'
import { createLendingStream } from '../../../../../src/family/aave_v3/read/stream.ts'
import { LENDING_EVENT_TYPES, readLendingEvents } from '../../../../../src/family/lending/lending_event.ts'
import { RAY } from '../../../../../src/finance/math/rate.ts'
import { createHistory, type HistoryService } from '../../../../../src/history/mod.ts'
import type { HistoryLog } from '../../../../../src/history/stream.ts'
import { createWork } from '../../../../../src/lib/async/work.ts'
import { silentLog } from '../../../../../src/lib/log.ts'
import { MARKETS } from '../../../../devnet/aave_v3/addresses.ts'
import type { AaveDevnet } from '../../../../devnet/aave_v3/mod.ts'
import type { AaveActivity } from '../../../../devnet/aave_v3/random_activity/mod.ts'
import type { RandomMarket } from '../../../../devnet/aave_v3/random_activity/scene.ts'
import { SCENARIO_SEC } from '../../../../devnet/aave_v3/scenario.ts'
import { createDevnetChain } from '../../../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../../../devnet/mod.ts'
import { IS_FULL } from '../../../../support/cases.ts'
import { type TestDatabase, testDatabase } from '../../../../support/database.ts'
import { formatEvent, readLogs, readTruth, shown } from '../../../../support/family/aave_v3/event/support.ts'
import { capped } from '../../../../support/history/simulation/capped.ts'
import { CAP_DIALECTS } from '../../../../support/history/simulation/endpoint.ts'
import { type FaultyRpc, startFaultyRpc } from '../../../../support/rpc.ts'
import { createHurriedClock, createPatientClock, slowClock } from '../../../../support/test_clock.ts'

/** `LIFE_SEED=7 LIFE_STEPS=2000 bun test …` for a longer life. */
const { LIFE_SEED = '1', LIFE_STEPS = '80' } = process.env
const BUILD_LIMIT_MS = 120_000 + 300 * Number(LIFE_STEPS)
/** The newer version, too, with `SEEDS=full`. */
const MARKETS_ALIVE = (IS_FULL ? ['etherfi', 'v3_0'] : ['v3_0']) satisfies readonly RandomMarket[]
/** Blocks that the endpoint gives the logs of: the scan then has many parts. */
const CAP = 25
const [dialect] = CAP_DIALECTS as [(typeof CAP_DIALECTS)[number]]
const stream = createLendingStream({ clock: slowClock })

let devnet: Devnet
let aave: AaveDevnet
let upstream: FaultyRpc
let database: TestDatabase
let history: HistoryService
const lives = new Map<RandomMarket, AaveActivity>()
const places = new Map<RandomMarket, LendingTarget>()
const closers: (() => unknown)[] = []

beforeAll(async () => {
  devnet = await startDevnet({ ageSec: 40 * SCENARIO_SEC })
  closers.push(devnet.stop)
  aave = await devnet.aave()
  const options = { seed: Number(LIFE_SEED), steps: Number(LIFE_STEPS) }
  for (const market of MARKETS_ALIVE) lives.set(market, await aave.life(market, options))
  upstream = await startFaultyRpc(devnet.rpcUrl)
  closers.push(upstream.stop)
  upstream.rule(capped(dialect, CAP))
  database = await testDatabase()
  closers.push(database.close)
  const chain = createDevnetChain(devnet, { rpcUrls: [upstream.url], finality: { depth: 0 } })
  const client = createChainClient({ chain, clock: createHurriedClock(), log: silentLog })
  closers.push(client.close)
  const reader = createMarketReader(slowClock)
  for (const market of MARKETS_ALIVE) {
    const deployment = { market, poolAddressesProvider: MARKETS[market].provider, startBlock: 0 }
    places.set(market, (await reader.read(client, deployment, createWork(AbortSignal.timeout(10_000)))).target)
  }
  const clients = new Map([[1, client]])
  history = createHistory({ clients, db: database.db, clock: createPatientClock(), log: silentLog, holder: 'test' })
  closers.push(history.close)
}, BUILD_LIMIT_MS)
afterAll(async () => {
  for (const close of closers.reverse()) await close()
}, BUILD_LIMIT_MS)

function toTarget(market: RandomMarket): LendingTarget {
  const place = places.get(market)
  if (place === undefined) throw new Error(`There is no ${market}`)
  return place
}

describe.each([...MARKETS_ALIVE])('%s', (market) => {
  test('the random market has every operation that moves an index or a balance', () => {
    expect([...(lives.get(market) ?? [])].filter(([, times]) => times === 0)).toEqual([])
  })

  test('its whole history is stored without any check failing, and every wallet has the events of the receipts', async () => {
    const target = toTarget(market)
    const work = createWork(AbortSignal.timeout(BUILD_LIMIT_MS))
    await history.complete({ stream, target }, work)
    const truth = await readTruth(devnet, target.contract)
    const wallets = [...new Set(truth.map((text) => text.split(' ')[4] as Hex))]
    expect(wallets.length).toBeGreaterThan(20)
    for (const wallet of wallets) {
      // The rows are also compared with what the tokens say of the wallet.
      const { storedTo, tail } = await history.ensure({ stream, target, subject: wallet }, work)
      const asked = { target, stream: 'aave_v3_lending', wallet, toBlock: storedTo, kinds: LENDING_EVENT_TYPES }
      const page = await readLendingEvents(database.db, { ...asked, skip: 0, max: 5_000 })
      const wanted = truth.filter((text) => text.split(' ')[4] === wallet)
      expect([...(page?.events ?? []), ...shown(tail)].map(formatEvent).sort()).toEqual(wanted.sort())
    }
  })

  test('its indexes follow from each other wherever its logs are divided', async () => {
    const place = toTarget(market)
    const logs = await readIndexLogs(place)
    for (const length of [1, 2, 7, logs.length]) {
      let later: unknown = null
      for (let end = logs.length; end > 0; end -= length) {
        later = checkContinuity(place, logs.slice(Math.max(0, end - length), end), later)
      }
    }
  })

  test('every lost update that had set a new rate is found, also beside liquidations for aTokens', async () => {
    const place = toTarget(market)
    const logs = await readIndexLogs(place)
    let found = 0
    let besideSilent = 0
    for (const lost of losses(place, logs)) {
      const rest = logs.filter((log) => log !== lost.update.log)
      expect(() => checkContinuity(place, rest, null)).toThrow('The check "index"')
      found++
      if (lost.isBesideSilent) besideSilent++
    }
    expect(found).toBeGreaterThan(20)
    expect(besideSilent).toBeGreaterThan(0)
  })
})

test('a liquidation for aTokens that is lost is found where it accrued the collateral: since 3.5', async () => {
  for (const market of MARKETS_ALIVE) {
    const place = toTarget(market)
    const logs = await readIndexLogs(place)
    const silent = logs.filter((log) => isSilent(readLog(place, log)))
    const isFound = (lost: HistoryLog): boolean => {
      try {
        checkContinuity(
          place,
          logs.filter((log) => log !== lost),
          null,
        )
        return false
      } catch {
        return true
      }
    }
    expect(silent.length).toBeGreaterThan(3)
    expect([market, silent.some(isFound)]).toEqual([market, market === 'etherfi'])
  }
})

/** Logs of a market that tell of its indexes. */
function readIndexLogs({ contract }: LendingTarget): Promise<HistoryLog[]> {
  return readLogs(devnet, [{ addresses: [contract], topics: [[TOPICS.update, TOPICS.liquidation]] }])
}

function isSilent(log: ReturnType<typeof readLog>): log is Liquidation {
  return log?.kind === 'liquidation' && log.isPaidInATokens && log.collateral.asset !== log.debt.asset
}

/** Updates whose loss shows: the rate was another before, and the reserve's index grows until the update after. */
function losses(place: LendingTarget, logs: readonly HistoryLog[]) {
  const read = logs.flatMap((log) => readLog(place, log) ?? [])
  const updates = read.filter((log) => log.kind === 'update')
  return updates.flatMap((update) => {
    const same = updates.filter(({ asset }) => asset === update.asset)
    const at = same.indexOf(update)
    const [before, after] = [same[at - 1], same[at + 1]]
    if (before === undefined || after === undefined) return []
    const isSeen =
      update.borrowRateRay !== before.borrowRateRay &&
      before.borrowIndexRay < update.borrowIndexRay &&
      after.borrowIndexRay > update.borrowIndexRay &&
      after.borrowIndexRay !== RAY
    const between = read.slice(read.indexOf(before), read.indexOf(after)).filter(isSilent)
    return isSeen
      ? [{ update, isBesideSilent: between.some(({ collateral }) => collateral.asset === update.asset) }]
      : []
  })
}
