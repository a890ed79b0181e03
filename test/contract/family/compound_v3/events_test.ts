import { afterAll, beforeAll, expect, test } from 'bun:test'
import { decodeEventLog, formatUnits, getAddress, type Hex, isAddressEqual, parseAbi, toEventSelector } from 'viem'
import { createChainClient } from '../../../../src/chain/evm/evm_client.ts'
import { checkCollaterals, listStillRanges } from '../../../../src/family/compound_v3/event/proof.ts'
import { COMPOUND_V3 } from '../../../../src/family/compound_v3/mod.ts'
import { proveStanding } from '../../../../src/family/compound_v3/read/principal.ts'
import { createCometStream } from '../../../../src/family/compound_v3/read/stream.ts'
import { createWatcher } from '../../../../src/family/compound_v3/watch.ts'
import { type LendingEvent, readAllLendingEvents } from '../../../../src/family/lending/lending_event.ts'
import { readWatchedLogs } from '../../../../src/family/watch.ts'
import { createHistory, type HistoryService } from '../../../../src/history/mod.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { PendingError, UnavailableError } from '../../../../src/lib/error.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { encodeLog, placeReplay } from '../../../devnet/aave_v4/replay.ts'
import { BANK } from '../../../devnet/addresses.ts'
import { FLOW_LOGS, FLOW_WALLETS, type FlowLog, SILENT_CHANGES } from '../../../devnet/compound_v3/flows.ts'
import { recordCall, recordMarket, recordTokens } from '../../../devnet/compound_v3/record.ts'
import { WORLDS, type World } from '../../../devnet/compound_v3/vectors.ts'
import { createSend } from '../../../devnet/transaction.ts'
import { callRoute } from '../../../support/call_route.ts'
import { type TestDatabase, testDatabase } from '../../../support/database.ts'
import { createFamilyRoutes } from '../../../support/family.ts'
import { readNewestBlock } from '../../../support/forecast_watcher.ts'
import { startFaultyRpc } from '../../../support/rpc.ts'
import { createHurriedClock, slowClock } from '../../../support/test_clock.ts'
import { type ReplayedChain, startReplayedChain, toDeployment, toUsdPrices } from './support.ts'

const LIMIT_MS = 120_000
const [world] = WORLDS as [World]
const ABI = parseAbi([
  'event Supply(address indexed from, address indexed dst, uint256 amount)',
  'event Withdraw(address indexed src, address indexed to, uint256 amount)',
  'event Transfer(address indexed from, address indexed to, uint256 amount)',
  'event SupplyCollateral(address indexed from, address indexed dst, address indexed asset, uint256 amount)',
  'event WithdrawCollateral(address indexed src, address indexed to, address indexed asset, uint256 amount)',
  'event TransferCollateral(address indexed from, address indexed to, address indexed asset, uint256 amount)',
  'event AbsorbDebt(address indexed absorber, address indexed borrower, uint256 basePaidOut, uint256 usdValue)',
  'event AbsorbCollateral(address indexed absorber, address indexed borrower, address indexed asset, uint256 collateralAbsorbed, uint256 usdValue)',
])
const TARGET = {
  chainId: 1,
  contract: world.comet.toLowerCase() as Hex,
  startBlock: 1,
  base: world.base.toLowerCase() as Hex,
  collaterals: world.collaterals.map(({ asset }) => asset.toLowerCase() as Hex),
}
const SUPPLY = toEventSelector(ABI[0])

let chain: ReplayedChain
let database: TestDatabase
let history: HistoryService
/** Blocks on the chain by those of the vectors. */
const places = new Map<number, number>()

const toNamed = ({ topics }: FlowLog) => topics.slice(1, 3).map((topic): Hex => `0x${topic.slice(26)}`)
/** True if a log names the wallet, and no collateral. */
const isBase = (log: FlowLog, wallet: Hex) =>
  log.topics.length === 3 && (log.topics[0] === SUPPLY ? toNamed(log)[1] === wallet : toNamed(log).includes(wallet))
const toFinal = (wallet: Hex) => {
  const account = world.accounts.find((each) => isAddressEqual(each.wallet, wallet))
  return BigInt(account?.principal ?? 0)
}

/**
 * The principal of a wallet after a block with a log of it: what it is before its next change without a log, or at the
 * end; the vectors do not tell it before the last log until then, so that it is another number there.
 */
function getPrincipal(wallet: Hex, block: number): bigint {
  const next = SILENT_CHANGES.find((each) => each.wallet === wallet && each.block > block)
  const later = FLOW_LOGS.filter(
    (log) => log.block > block && log.block < (next?.block ?? Number.POSITIVE_INFINITY) && isBase(log, wallet),
  )
  return (next?.before ?? toFinal(wallet)) + BigInt(new Set(later.map((log) => log.block)).size)
}

const recordPrincipal = (wallet: Hex, principal: bigint) =>
  recordCall(world.comet, 'userBasic', [wallet], [principal, 0n, 0n, 0, 0])

beforeAll(async () => {
  database = await testDatabase()
  chain = await startReplayedChain()
  const { timestamp } = await chain.rpc.call<{ timestamp: Hex }>('eth_getBlockByNumber', 'latest', false)
  const today = { ...world, block: { ...world.block, timestamp: String(Number(timestamp)) } }
  await placeReplay(chain.rpc, recordTokens(today, toUsdPrices(world)))
  await placeReplay(
    chain.rpc,
    [...recordMarket({ ...world, accounts: world.accounts.map((each) => ({ ...each, principal: '0' })) })],
    { others: 'log' },
  )
  const send = createSend(chain.rpc)
  const blocks = new Set([...FLOW_LOGS, ...SILENT_CHANGES].map(({ block }) => block))
  for (const block of [...blocks].sort((a, b) => a - b)) {
    const logs = FLOW_LOGS.filter((each) => each.block === block)
    if (logs.length === 0) await chain.rpc.call('evm_mine')
    await send(logs.map(({ topics, data }) => ({ from: BANK, to: world.comet, data: encodeLog(topics, data) })))
    places.set(block, Number(await chain.rpc.call<Hex>('eth_blockNumber')))
    // What is placed is in the newest block already.
    await placeReplay(
      chain.rpc,
      FLOW_WALLETS.flatMap((wallet) => {
        const silent = SILENT_CHANGES.find((each) => each.block === block && each.wallet === wallet)
        if (silent !== undefined) return [recordPrincipal(wallet, silent.after)]
        return logs.some((log) => isBase(log, wallet)) ? [recordPrincipal(wallet, getPrincipal(wallet, block))] : []
      }),
      { others: 'log' },
    )
  }
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
async function ask(wallet: Hex, query = ''): ReturnType<typeof callRoute> {
  const routes = createFamilyRoutes(COMPOUND_V3, {
    rows: [[1, { compoundV3: [{ ...toDeployment(world), startBlock: 1 }] }]],
    clients: [chain.client],
    db: database.db,
    history,
  })
  const route = routes.find(({ path }) => path.endsWith('/events'))
  if (route === undefined) throw new Error('Cannot find the route')
  const parameters = { params: { chain_id: '1' }, query: `wallet=${wallet}&market_id=usdc&limit=25${query}` }
  for (;;) {
    try {
      return await callRoute(route, parameters)
    } catch (error) {
      if (!(error instanceof UnavailableError) || !error.message.includes('is being read')) throw error
    }
  }
}

interface WireEvent {
  readonly type: string
  readonly blockNumber: number
  readonly logIndex: number
  readonly asset: { readonly address: Hex; readonly decimals: number }
  readonly amount: string
  readonly amountUSD: string
  readonly priceUSD: string
  readonly counterparty: Hex
}

async function readAll(wallet: Hex, query = ''): Promise<readonly WireEvent[]> {
  const events: WireEvent[] = []
  for (let page = 1; ; page++) {
    const { reply, credits } = await ask(wallet, `${query}&page=${page}`)
    expect(credits).toBe(1)
    events.push(...(reply.data as WireEvent[]))
    if (events.length >= (reply.pagination?.total ?? 0)) return events
  }
}

/** What an absorption left supplied beyond the debt. */
function getCredited(block: number): bigint {
  const log = FLOW_LOGS.find((each) => each.block === block && each.topics[0] === toEventSelector(ABI[2]))
  return log === undefined ? 0n : BigInt(log.data)
}

/** What moved into and out of a market by its logs: block, asset, amount, counterparty, and which types that may be. */
function listTruth(wallet: Hex) {
  return FLOW_LOGS.flatMap(({ block, topics, data }) => {
    const { eventName, args } = decodeEventLog({ abi: ABI, topics: [...topics] as [Hex, ...Hex[]], data })
    const row = (who: Hex, counterparty: Hex, [asset, amount]: readonly [Hex, bigint], types: readonly string[]) =>
      isAddressEqual(who, wallet)
        ? [
            {
              block: places.get(block),
              asset: getAddress(asset),
              amount,
              counterparty: getAddress(counterparty),
              types,
            },
          ]
        : []
    switch (eventName) {
      case 'Supply':
        return row(args.dst, args.from, [world.base, args.amount], ['supply', 'repay'])
      case 'Withdraw':
        return row(args.src, args.to, [world.base, args.amount], ['withdraw', 'borrow'])
      case 'SupplyCollateral':
        return row(args.dst, args.from, [args.asset, args.amount], ['supply'])
      case 'WithdrawCollateral':
        return row(args.src, args.to, [args.asset, args.amount], ['withdraw'])
      case 'AbsorbDebt':
        return row(args.borrower, args.absorber, [world.base, args.basePaidOut - getCredited(block)], ['liquidation'])
      case 'AbsorbCollateral':
        return row(args.borrower, args.absorber, [args.asset, args.collateralAbsorbed], ['liquidation'])
      default:
        return []
    }
  })
}

const toRaw = ({ amount, asset: { decimals } }: WireEvent) => {
  const [whole = '', fraction = ''] = amount.split('.')
  return BigInt(whole + fraction.padEnd(decimals, '0'))
}

test(
  'what moved by each wallet’s logs is listed, each act in one or two events, though debts moved without a log',
  async () => {
    const seen = new Map<string, number>()
    for (const wallet of FLOW_WALLETS) {
      const events = [...(await readAll(wallet))].reverse()
      const summed = new Map<string, { amount: bigint; types: string[] }>()
      for (const event of events) {
        const key = `${event.blockNumber} ${event.asset.address} ${event.counterparty}`
        const before = summed.get(key) ?? { amount: 0n, types: [] }
        summed.set(key, { amount: before.amount + toRaw(event), types: [...before.types, event.type] })
        seen.set(event.type, (seen.get(event.type) ?? 0) + 1)
        const price = toUsdPrices(world).get(getAddress(event.asset.address)) ?? 0n
        expect(Number(event.priceUSD)).toBe(Number(formatUnits(price, 8)))
        const value = Number(formatUnits(toRaw(event) * price, 8 + event.asset.decimals))
        // Half a unit of the sixth digit, and what a double cannot hold.
        expect(Math.abs(Number(event.amountUSD) - value)).toBeLessThan(5e-7 + value * 1e-12)
      }
      const truth = new Map(
        listTruth(wallet).map(({ block, asset, counterparty, amount, types }) => [
          `${block} ${asset} ${counterparty}`,
          { amount, types },
        ]),
      )
      expect([...summed].map(([key, { amount }]) => [key, amount])).toEqual(
        [...truth].map(([key, { amount }]) => [key, amount]) as never,
      )
      for (const [key, { types }] of summed) expect(truth.get(key)?.types).toEqual(expect.arrayContaining(types))
    }
    expect(Object.fromEntries(seen)).toEqual({ supply: 36, borrow: 26, repay: 5, withdraw: 5, liquidation: 4 })
  },
  LIMIT_MS,
)

test(
  'triggers are told the events of the list, of an absorption that of the debt, and nothing of other contracts',
  async () => {
    const events = await watchEvents(FLOW_WALLETS)
    let told = 0
    for (const wallet of FLOW_WALLETS) {
      const listed = (await readAll(wallet)).filter(
        ({ type, asset }) => type !== 'liquidation' || isAddressEqual(asset.address, world.base),
      )
      expect(events.get(wallet)).toEqual(
        listed.map(({ type, blockNumber, logIndex }) => [type, blockNumber, logIndex] as const).toReversed(),
      )
      told += listed.length
    }
    expect(told).toBeGreaterThan(60)
  },
  LIMIT_MS,
)

/** What triggers are told of wallets, from all logs of the chain: type, block and log index, by wallet. */
async function watchEvents(wallets: readonly Hex[]) {
  const deployment = { ...toDeployment(world), startBlock: 1 }
  const watcher = createWatcher({
    clients: new Map([[1, chain.client]]),
    deployments: new Map([[1, [deployment]]]),
    clock: slowClock,
  })
  const work = createWork(new AbortController().signal)
  const block = await readNewestBlock(chain.rpc, 1)
  const range = { fromBlock: 1, toBlock: Number(block.number) }
  const logs = await readWatchedLogs(chain.client, { filters: watcher.events?.filters(1) ?? [], range }, work)
  // Another contract that logs the same.
  const forged = logs.map((log) => ({ ...log, address: TARGET.base }))
  const subjects = wallets.map((wallet) => ({ wallet: getAddress(wallet), market_id: deployment.market }))
  const target = { client: chain.client, block }
  const found = (await watcher.events?.read([...forged, ...logs], subjects, target, work)) ?? []
  return new Map(
    wallets.map((wallet, index) => [
      wallet,
      found.flatMap(({ subject, type, blockNumber, logIndex }) =>
        subject === subjects[index] ? [[type, blockNumber, logIndex] as const] : [],
      ),
    ]),
  )
}

/** Proves a life by these rows of it. */
function prove(wallet: Hex, rows: readonly LendingEvent[], toBlock: number): ReturnType<typeof proveStanding> {
  const query = { client: chain.client, target: TARGET, wallet, clock: slowClock }
  return proveStanding(query, listStillRanges(TARGET, rows, toBlock), createWork(new AbortController().signal))
}

test(
  'transfers of a debt are found at their blocks, and a block whose logs are missing is told from them',
  async () => {
    const toBlock = Math.max(...places.values()) + 8
    let missing = 0
    for (const wallet of FLOW_WALLETS) {
      await ask(wallet)
      const name = { target: TARGET, stream: 'compound_v3_lending', wallet, toBlock }
      const rows = (await readAllLendingEvents(database.db, name)) ?? []
      const silent = SILENT_CHANGES.filter((each) => each.wallet === wallet).map(({ block }) => places.get(block))
      expect(await prove(wallet, rows, toBlock)).toEqual({ silent: silent as number[], isAgreed: true })
      const blocks = [...new Set(rows.flatMap(({ asset, block }) => (asset === TARGET.base ? [block] : [])))]
      for (const lost of blocks) {
        const fewer = rows.filter(({ block }) => block !== lost)
        await expect(prove(wallet, fewer, toBlock)).rejects.toMatchObject({ check: 'principal', fromBlock: lost })
        missing++
      }
      const account = world.accounts.find((each) => isAddressEqual(each.wallet, wallet))
      const balances = new Map(
        (account?.collateral ?? []).map(({ asset, balance }) => [asset.toLowerCase() as Hex, BigInt(balance)]),
      )
      expect(() => checkCollaterals(TARGET, rows, { balances, toBlock })).not.toThrow()
      for (const lost of rows.filter(({ asset }) => asset !== TARGET.base)) {
        const fewer = rows.filter((row) => row !== lost)
        expect(() => checkCollaterals(TARGET, fewer, { balances, toBlock })).toThrow('The check "collateral"')
        missing++
      }
    }
    expect(missing).toBe(83)
  },
  LIMIT_MS,
)

test(
  'many transfers of a debt without a log are located a few at a time, and each try goes on',
  async () => {
    const toBlock = Math.max(...places.values()) + 8
    const [wallet, count] = FLOW_WALLETS.map(
      (each) => [each, SILENT_CHANGES.filter((change) => change.wallet === each).length] as const,
    ).reduce((most, each) => (each[1] > most[1] ? each : most))
    expect(count).toBeGreaterThan(2)
    await ask(wallet)
    const stream = createCometStream({ clock: slowClock, limits: { ranges: 3, silent: 1 } })
    const work = createWork(new AbortController().signal)
    const verify = async () =>
      stream.verify?.(
        TARGET,
        { subject: wallet, client: chain.client, db: database.db, fromBlock: TARGET.startBlock, toBlock },
        work,
      )
    let [tries, last] = [0, -1]
    for (;;) {
      const error = await verify().then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
      if (error === undefined) break
      if (!(error instanceof PendingError)) throw error
      expect(error.progress.percent).toBeGreaterThanOrEqual(last)
      last = error.progress.percent ?? 0
      tries++
      expect(tries).toBeLessThan(100)
    }
    expect(tries).toBeGreaterThanOrEqual(count - 1)
    await verify()
  },
  LIMIT_MS,
)

test(
  'a life without past state cannot be told and says so; one endpoint of two proves it alone',
  async () => {
    const [wallet] = FLOW_WALLETS as [Hex]
    const query = { client: chain.client, target: TARGET, wallet, clock: slowClock }
    const work = createWork(new AbortController().signal)
    const faulty = await startFaultyRpc(chain.anvil.rpcUrl)
    const pruned = createChainClient({
      chain: { ...chain.client.chain, rpcUrls: [faulty.url] },
      clock: createHurriedClock(),
      log: silentLog,
    })
    try {
      faulty.rule(({ method }) =>
        method === 'eth_call' ? { kind: 'error', error: { code: -32_000, message: 'missing trie node' } } : undefined,
      )
      const asked = proveStanding({ ...query, client: pruned }, [{ after: 1, until: 2 }], work)
      await expect(asked).rejects.toThrow('no endpoint keeps the state of its blocks')
      const alone = createChainClient({
        chain: { ...chain.client.chain, rpcUrls: [chain.anvil.rpcUrl, faulty.url] },
        clock: createHurriedClock(),
        log: silentLog,
      })
      const proof = proveStanding({ ...query, client: alone }, [{ after: 1, until: 2 }], work)
      expect(await proof.finally(() => alone.close())).toEqual({ silent: [], isAgreed: false })
    } finally {
      pruned.close()
      await faulty.stop()
    }
  },
  LIMIT_MS,
)
