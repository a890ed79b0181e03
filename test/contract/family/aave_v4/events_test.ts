import { afterAll, beforeAll, expect, test } from 'bun:test'
import { ISpokeV4_ABI } from '@aave-dao/aave-address-book/abis'
import {
  type Abi,
  type Address,
  decodeEventLog,
  encodeFunctionData,
  encodeFunctionResult,
  formatUnits,
  getAddress,
  type Hex,
  zeroAddress,
} from 'viem'
import { AAVE_V4 } from '../../../../src/family/aave_v4/mod.ts'
import { createWatcher } from '../../../../src/family/aave_v4/watch.ts'
import { LENDING_EVENT_TYPES } from '../../../../src/family/lending/lending_event.ts'
import { readWatchedLogs } from '../../../../src/family/watch.ts'
import { createHistory, type HistoryService } from '../../../../src/history/mod.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { UnavailableError } from '../../../../src/lib/error.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { type LoggedSpoke, listLogs, readLogVectors } from '../../../devnet/aave_v4/logs.ts'
import { ACCESS_MANAGER } from '../../../devnet/aave_v4/record.ts'
import { encodeLog, placeReplay, type RecordedCall } from '../../../devnet/aave_v4/replay.ts'
import { BANK } from '../../../devnet/addresses.ts'
import { createSend } from '../../../devnet/transaction.ts'
import { callRoute } from '../../../support/call_route.ts'
import { IS_FULL } from '../../../support/cases.ts'
import { type TestDatabase, testDatabase } from '../../../support/database.ts'
import { createFamilyRoutes } from '../../../support/family.ts'
import { readNewestBlock } from '../../../support/forecast_watcher.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { type ReplayedChain, startReplayedChain } from './support.ts'

const LIMIT_MS = 120_000
const vectors = readLogVectors()
const spoke = vectors.spokes.find(({ name }) => name === 'FOREX_SPOKE') as LoggedSpoke
const spokeIndex = vectors.spokes.indexOf(spoke)
const logs = listLogs(vectors, spoke)
const last = vectors.states.at(-1) as (typeof vectors.states)[number]
const wallets = [...new Set(last.stored.flatMap(([index, wallet]) => (index === spokeIndex ? [wallet] : [])))]
const ORACLE: Address = '0x000000000000000000000000000000000000A4e1'
const SPOKE = { address: spoke.address, name: 'forex', startBlock: 1 }
/** Logs of one block. */
const BLOCK_LOGS = 10
const ERC20_NAMES = [
  ['symbol', 'string'],
  ['name', 'string'],
  ['decimals', 'uint8'],
] as const

let chain: ReplayedChain
let database: TestDatabase
let history: HistoryService
/** Blocks on the chain, by those of the vectors and their log index. */
const places = new Map<string, number>()

function record(to: Address, abi: Abi, functionName: string, args: readonly unknown[], result: unknown): RecordedCall {
  return {
    to,
    data: encodeFunctionData({ abi, functionName, args }),
    answer: encodeFunctionResult({ abi, functionName, result }),
  }
}

const recordSpoke = (functionName: string, args: readonly unknown[], result: unknown) =>
  record(spoke.address, ISpokeV4_ABI, functionName, args, result)

function recordPosition(wallet: Address, reserveId: number, more = 0n): RecordedCall {
  const row = last.stored.find(([index, each, id]) => index === spokeIndex && each === wallet && id === reserveId)
  const [suppliedShares = 0n, drawnShares = 0n, premiumShares = 0n, premiumOffsetRay = 0n] = (row ?? [])
    .slice(3)
    .map(BigInt)
  const position = { drawnShares, premiumShares, premiumOffsetRay, suppliedShares: suppliedShares + more }
  return recordSpoke('getUserPosition', [BigInt(reserveId), wallet], { ...position, dynamicConfigKey: 0 })
}

/** What the spoke and its oracle answer, and what the spoke stored of each wallet after the last log. */
function recordAll(): RecordedCall[] {
  const { reserves } = spoke
  const oracleAbi = [
    { type: 'function', name: 'getReservePrice', inputs: [{ type: 'uint256' }], outputs: [{ type: 'uint256' }] },
  ] as unknown as Abi
  return [
    recordSpoke('getReserveCount', [], BigInt(reserves.length)),
    recordSpoke('ORACLE', [], ORACLE),
    ...reserves.flatMap(({ underlying, decimals, symbol, price }, id) => [
      recordSpoke('getReserve', [BigInt(id)], {
        underlying,
        hub: zeroAddress,
        assetId: 0,
        decimals,
        collateralRisk: 0,
        flags: 0,
        dynamicConfigKey: 0,
      }),
      record(ORACLE, oracleAbi, 'getReservePrice', [BigInt(id)], BigInt(price)),
      ...ERC20_NAMES.map(([name, type]) => {
        const abi = [{ type: 'function', name, inputs: [], outputs: [{ type }] }] as unknown as Abi
        return record(underlying, abi, name, [], { symbol, name: `The token ${symbol}`, decimals }[name])
      }),
      ...wallets.map((wallet) => recordPosition(wallet, id)),
    ]),
  ]
}

beforeAll(async () => {
  database = await testDatabase()
  chain = await startReplayedChain()
  await placeReplay(chain.rpc, recordAll(), { others: 'log' })
  const send = createSend(chain.rpc)
  for (let start = 0; start < logs.length; start += BLOCK_LOGS) {
    const part = logs.slice(start, start + BLOCK_LOGS)
    const receipts = await send(
      part.map(({ topics, data }) => ({ from: BANK, to: spoke.address, data: encodeLog(topics, data) })),
    )
    for (const [index, { blockNumber }] of receipts.entries()) {
      places.set(`${part[index]?.blockNumber}:${part[index]?.logIndex}`, Number(blockNumber))
    }
  }
  // The last of them must be final.
  await chain.rpc.call('anvil_mine', '0x40')
  history = createHistory({
    clients: new Map([[1, chain.client]]),
    db: database.db,
    clock: slowClock,
    log: silentLog,
    holder: 'test',
  })
}, LIMIT_MS)
afterAll(async () => {
  await history?.close()
  await chain?.anvil.stop()
  await database?.close()
}, LIMIT_MS)

/** One page of events; asks again while the history is read. */
async function ask(wallet: Address, query = '', market = 'forex'): ReturnType<typeof callRoute> {
  const aaveV4 = { accessManager: ACCESS_MANAGER, spokes: [SPOKE] }
  const routes = createFamilyRoutes(AAVE_V4, {
    rows: [[1, { aaveV4 }]],
    clients: [chain.client],
    db: database.db,
    history,
  })
  const route = routes.find(({ path }) => path.endsWith('/events'))
  if (route === undefined) throw new Error('Cannot find the route')
  const parameters = { params: { chain_id: '1' }, query: `wallet=${wallet}&market_id=${market}&limit=25${query}` }
  for (;;) {
    try {
      return await callRoute(route, parameters)
    } catch (error) {
      if (!(error instanceof UnavailableError) || !error.message.includes('is being read')) throw error
    }
  }
}

async function readAll(wallet: Address, query = '') {
  const events: Record<string, unknown>[] = []
  for (let page = 1; ; page++) {
    const { reply, credits } = await ask(wallet, `${query}&page=${page}`)
    events.push(...(reply.data as Record<string, unknown>[]))
    if (events.length >= (reply.pagination?.total ?? 0)) return { events, credits }
  }
}

/** What the logs say, by the ABI of the address book. */
function listTruth(wallet: Address) {
  const toEvent = (
    [block, log]: readonly [number, (typeof logs)[number]],
    { id, type, amount, who }: { id: bigint; type: string; amount: bigint; who: Address },
  ) => {
    const { underlying, decimals, price } = spoke.reserves[Number(id)] as LoggedSpoke['reserves'][number]
    return {
      place: [block, log.logIndex],
      type,
      asset: getAddress(underlying),
      amount: formatUnits(amount, decimals),
      price: BigInt(price),
      raw: amount,
      decimals,
      counterparty: getAddress(who),
    }
  }
  return logs
    .flatMap((log) => {
      const { eventName, args } = decodeEventLog({
        abi: ISpokeV4_ABI,
        topics: [...log.topics] as [Hex, ...Hex[]],
        data: log.data,
      }) as unknown as { eventName: string; args: Record<string, bigint & Address> }
      const at = [places.get(`${log.blockNumber}:${log.logIndex}`) ?? 0, log] as const
      if (args['user'] !== getAddress(wallet)) return []
      const { reserveId: id = 0n, caller: who = zeroAddress } = args
      const amount = args['suppliedAmount'] ?? args['withdrawnAmount'] ?? args['drawnAmount'] ?? 0n
      switch (eventName) {
        case 'Supply':
        case 'Withdraw':
        case 'Borrow':
          return [toEvent(at, { id, type: eventName.toLowerCase(), amount, who })]
        case 'Repay':
          return [toEvent(at, { id, type: 'repay', amount: args['totalAmountRepaid'] ?? 0n, who })]
        case 'LiquidationCall': {
          const [debt, collateral] = [args['debtReserveId'] ?? 0n, args['collateralReserveId'] ?? 0n]
          const shown = { type: 'liquidation', who: args['liquidator'] ?? zeroAddress }
          return [
            toEvent(at, { ...shown, id: collateral, amount: args['collateralAmountRemoved'] ?? 0n }),
            toEvent(at, { ...shown, id: debt, amount: args['debtAmountRestored'] ?? 0n }),
          ]
        }
        default:
          return []
      }
    })
    .toReversed()
}

test(
  'every wallet has what its logs say, newest first, with the prices of the reserves at their blocks',
  async () => {
    const seen = new Set<string>()
    for (const wallet of wallets.filter((_, index) => IS_FULL || index % 2 === 0)) {
      const truth = listTruth(wallet)
      const { events, credits } = await readAll(wallet)
      expect(credits).toBe(1)
      expect(
        events.map(({ type, blockNumber, asset, amount, counterparty }) => [
          type,
          blockNumber,
          (asset as { address: Address }).address,
          amount,
          counterparty,
        ]),
      ).toEqual(
        truth.map(({ type, place, asset, amount, counterparty }) => [
          type,
          place[0],
          asset,
          amount,
          counterparty,
        ]) as never,
      )
      for (const [index, { type, price, raw, decimals }] of truth.entries()) {
        seen.add(type)
        const event = events[index]
        const toUsd = (units: bigint, scale: number) => Number(formatUnits(units, scale)).toFixed(6)
        expect(Number(event?.['priceUSD'])).toBe(Number(toUsd(price, 8)))
        // Half a unit of the sixth digit, and what a double cannot hold.
        const value = Number(formatUnits(raw * price, decimals + 8))
        expect(Math.abs(Number(event?.['amountUSD']) - value)).toBeLessThan(5e-7 + value * 1e-12)
      }
    }
    expect([...seen].sort()).toEqual([...LENDING_EVENT_TYPES].sort())
  },
  LIMIT_MS,
)

test(
  'triggers are told what the logs say, once for a liquidation, and nothing of other contracts',
  async () => {
    const watcher = createWatcher({
      clients: new Map([[1, chain.client]]),
      deployments: new Map([[1, { accessManager: ACCESS_MANAGER, spokes: [SPOKE] }]]),
      clock: slowClock,
    })
    const work = createWork(new AbortController().signal)
    const block = await readNewestBlock(chain.rpc, 1)
    const range = { fromBlock: 1, toBlock: Number(block.number) }
    const read = await readWatchedLogs(chain.client, { filters: watcher.events?.filters(1) ?? [], range }, work)
    const forged = read.map((log) => ({ ...log, address: ORACLE.toLowerCase() as Hex }))
    const subjects = wallets.map((wallet) => ({ wallet: getAddress(wallet), market_id: SPOKE.name }))
    const target = { client: chain.client, block }
    const found = (await watcher.events?.read([...forged, ...read], subjects, target, work)) ?? []
    let told = 0
    for (const subject of subjects) {
      const own = found.flatMap((event) => (event.subject === subject ? [[event.blockNumber, event.type]] : []))
      let legs = 0
      const truth = listTruth(subject.wallet)
        // A liquidation has two, one for each token.
        .filter(({ type }) => type !== 'liquidation' || legs++ % 2 === 0)
        .map(({ type, place }) => [place[0], type])
      expect(own).toEqual(truth.toReversed() as never)
      told += own.length
    }
    expect(told).toBe(found.length)
    expect(new Set(found.map(({ type }) => type)).size).toBe(LENDING_EVENT_TYPES.length)
  },
  LIMIT_MS,
)

test(
  'one type alone is listed and counted, and another spoke of the chain is refused',
  async () => {
    const wallet = wallets.find((each) => listTruth(each).some(({ type }) => type === 'borrow')) as Address
    const { events } = await readAll(wallet, '&type=borrow')
    expect(events).toHaveLength(listTruth(wallet).filter(({ type }) => type === 'borrow').length)
    await expect(ask(wallet, '', 'gold')).rejects.toThrow('expected one of "forex"')
  },
  LIMIT_MS,
)

test(
  'logs that do not add up to what the spoke stored are no history',
  async () => {
    const [wallet] = wallets as [Address]
    await placeReplay(chain.rpc, [recordPosition(wallet, 0, 1n)], { others: 'log' })
    await chain.rpc.call('anvil_mine', '0x40')
    await expect(ask(wallet)).rejects.toThrow('The check "fold" found that logs are missing')
  },
  LIMIT_MS,
)
