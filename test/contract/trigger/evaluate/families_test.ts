import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import type { Database } from '../../../../src/db/database.ts'
import { createWatcher as createAaveWatcher } from '../../../../src/family/aave_v3/watch.ts'
import { createWatcher as createUniswapWatcher } from '../../../../src/family/liquidity/enumerable/watch/watcher.ts'
import { EXCHANGE, PROTOCOL } from '../../../../src/family/uniswap_v3/protocol.ts'
import type { ConfirmedFigures, Watcher, WatchSubject } from '../../../../src/family/watch.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { type RunningJob, startJob } from '../../../../src/lib/job.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { formatRational, multiplyRational, type Rational, rational } from '../../../../src/lib/number/rational.ts'
import { blockLoopJob } from '../../../../src/trigger/evaluate/block_loop.ts'
import { type AssetName, MARKETS, type MarketName } from '../../../devnet/aave_v3/addresses.ts'
import { repayCall, setPriceCall, supplyCall, withdrawCall } from '../../../devnet/aave_v3/calls.ts'
import type { AaveDevnet } from '../../../devnet/aave_v3/mod.ts'
import { rawUsd } from '../../../devnet/aave_v3/scenario.ts'
import { exclusiveAave } from '../../../devnet/aave_v3/shared.ts'
import { UNISWAP_V3 } from '../../../devnet/addresses.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import type { Devnet } from '../../../devnet/mod.ts'
import { createRandom, type Random, type RandomPosition } from '../../../devnet/random.ts'
import { amounts, tokenAt, usdToRaw } from '../../../devnet/scenario.ts'
import type { Transaction } from '../../../devnet/transaction.ts'
import { decreaseLiquidityCall, increaseLiquidityCall, swapCall } from '../../../devnet/uniswap_v3_calls.ts'
import { type Account, createAccount } from '../../../support/account/scene.ts'
import { caseCount } from '../../../support/cases.ts'
import { testDatabase } from '../../../support/database.ts'
import { DEPLOYMENT } from '../../../support/family/uniswap_v3/support.ts'
import { createTestServices } from '../../../support/family.ts'
import { readNewestBlock } from '../../../support/forecast_watcher.ts'
import { type FaultyRpc, type SeenRequest, startFaultyRpc } from '../../../support/rpc.ts'
import { createTrigger } from '../../../support/trigger/scene.ts'
import { waitFor } from '../../../support/wait_for.ts'
import { createClient, DEPLOYMENTS, patient } from '../../family/aave_v3/support.ts'

/*
 * The loop over real contracts of two families: what it tells of each trigger is what a reading of every block, without
 * any screen, makes of it.
 */

const BLOCKS = caseCount(600, 20)
const QUIET_BLOCKS = BigInt(caseCount(60, 12))
const NAMES = Object.keys(MARKETS) as MarketName[]
const MOVED = ['weth', 'wbtc', 'wsteth', 'weeth'] as const satisfies readonly AssetName[]

let db: Database
let devnet: Devnet
let aave: AaveDevnet
let positions: readonly RandomPosition[]
let rpc: FaultyRpc
/** Subjects that were confirmed at each block. */
/** Subjects that were read whole, by block. */
const confirmedAt = new Map<bigint, number>()
const running: RunningJob[] = []

beforeAll(async () => {
  db = (await testDatabase()).db
  const shared = await exclusiveAave()
  devnet = shared.devnet
  aave = shared.aave
  positions = (await devnet.randomScenario(24, 30)).positions
  rpc = await startFaultyRpc(devnet.rpcUrl)
}, 240_000)

afterEach(async () => {
  for (const job of running.splice(0)) job.stop()
  for (const table of ['watch', 'watch_cursor', 'watch_block', 'watch_sight']) await db.run(`delete from ${table}`, [])
})
afterAll(() => rpc?.stop())

/** Over the node itself, or over the endpoint whose faults are scripted. */
const clientAt = (url = devnet.rpcUrl) => createClient(createDevnetChain(devnet, { rpcUrls: [url] }))

function watchersOver(client: ReturnType<typeof clientAt>): ReadonlyMap<string, Watcher> {
  const services = createTestServices({ clients: [client] })
  return new Map([
    ['aave-v3', createAaveWatcher({ ...services, deployments: new Map([[1, DEPLOYMENTS]]) })],
    [
      'uniswap-v3',
      createUniswapWatcher(
        { exchange: EXCHANGE, protocol: PROTOCOL },
        { ...services, deployments: new Map([[1, [DEPLOYMENT]]]) },
      ),
    ],
  ])
}

function start(): void {
  const client = clientAt(rpc.url)
  const line = {
    chainId: 1,
    chainName: 'Devnet',
    finality: 'latest' as const,
    shard: 0,
    blindAfterSec: 600,
    leaseSec: 15,
  }
  const job = blockLoopJob({
    partition: line,
    client,
    watchers: watchersOver(client),
    db,
    holder: crypto.randomUUID(),
    messageContext: { partition: line, publicUrl: '', answerPath: () => '/' },
    recorder: {
      recordBlock: (_, { block, confirmed }) => confirmedAt.set(block, confirmed),
      recordFailure: () => {},
      recordEnd: () => {},
    },
    onMessagesQueued: () => {},
    clock: systemClock,
    log: silentLog,
  })
  const round = async (signal: AbortSignal) => Math.min(10, (await job.round(signal)) ?? 10)
  running.push(startJob({ ...job, retryMs: { least: 10, most: 50 }, round }, { clock: systemClock }))
}

async function evaluated(number: bigint): Promise<void> {
  const done = async () => {
    const [row] = await db.run<{ block: string | null }>('select block from watch_cursor', [])
    return BigInt(row?.block ?? -1) >= number
  }
  await waitFor(`block ${number} evaluated`, done, 60_000)
}

interface Watching {
  readonly id: string
  readonly family: string
  readonly subject: WatchSubject
  readonly figure: string
  readonly below: Rational | undefined
  readonly clear: Rational | undefined
}

/** Triggers of both families whose figures are a few percent from where they fire. */
async function watchAll({ organizationId, apiKeyId }: Account, random: Random): Promise<Watching[]> {
  const lent = Object.values(aave.wallets).flatMap((wallet) => NAMES.map((market_id) => ({ wallet, market_id })))
  const held = positions.map(({ tokenId }) => ({ token_id: String(tokenId), manager_address: UNISWAP_V3.manager }))
  const asked = [
    ['aave-v3', lent, ['health_factor', 'net_worth_usd', 'total_collateral_usd']],
    ['uniswap-v3', held, ['in_range', 'value_usd', 'distance_to_edge_percentage']],
  ] as const
  const watchers = watchersOver(clientAt())
  const place = { client: clientAt(), block: await readNewestBlock(devnet.rpc, 1) }
  const all: Watching[] = []
  for (const [family, subjects, figures] of asked) {
    const read = (await watchers.get(family)?.confirm(subjects, place, patient)) ?? []
    for (const [index, subject] of subjects.entries()) {
      for (const figure of figures) {
        const found = read[index]
        const value = found === undefined || found === 'gone' ? undefined : found.value(figure)
        if (value === undefined || value === 'MAX') continue
        const isNumber = typeof value === 'object'
        if (isNumber && value.numerator <= 0n) continue
        const level = isNumber ? multiplyRational(value, rational(BigInt(92 + random.below(16)), 100n)) : undefined
        const digits = (level?: Rational) => level && formatRational(level, { digits: 8 })
        const [below, clear] = [digits(level), digits(level && multiplyRational(level, rational(51n, 50n)))]
        const clause = below === undefined ? { figure, is: true } : { figure, below }
        const of = { organizationId, apiKeyId, chainId: 1, family, subject, clause, clear: clear ?? null }
        const { id } = await createTrigger(db, { ...of, createdAt: new Date(0) })
        all.push({ id, family, subject, figure, below: fixed(below), clear: fixed(clear) })
      }
    }
  }
  return all
}

function fixed(text: string | undefined): Rational | undefined {
  return text === undefined ? undefined : rational(BigInt(text.replace('.', '')), 10n ** 8n)
}

/** A trigger as each block's own figure moves it, and the changes that it has told: `fired 12`. */
function naive({ figure, below, clear }: Watching) {
  const told: string[] = []
  let fired = false
  return {
    told,
    step(block: bigint, found: ConfirmedFigures | 'gone' | undefined) {
      const value = found === undefined || found === 'gone' ? undefined : found.value(figure)
      if (value === undefined) return
      const isBelow = (level: Rational | undefined) =>
        typeof value === 'object' &&
        level !== undefined &&
        value.numerator * level.denominator < level.numerator * value.denominator
      const [holds, clears] =
        typeof value === 'boolean' ? [value, !value] : [isBelow(below), value === 'MAX' || !isAtMost(value, clear)]
      if (!fired && holds) told.push(`trigger.fired ${block}`)
      if (fired && clears) told.push(`trigger.cleared ${block}`)
      fired = fired ? !clears : holds
    },
  }
}

function isAtMost(value: Rational, level: Rational | undefined): boolean {
  return level !== undefined && value.numerator * level.denominator <= level.numerator * value.denominator
}

function actsOf(random: Random, prices: ReadonlyMap<AssetName, bigint>): Transaction[] {
  const { pool, tokenId, owner } = random.pick(positions)
  const [wallet, market] = [random.pick(Object.values(aave.wallets)), random.pick(NAMES)]
  const movement = { market, wallet, asset: random.pick(['weth', 'usdc', 'dai'] as const), amount: 0n }
  const amount = rawUsd(movement.asset, 1 + random.below(3_000))
  const tokenIn = random.below(2) === 0 ? pool.token0 : pool.token1
  const moved = random.pick(MOVED)
  const price = ((prices.get(moved) ?? 0n) * BigInt(88 + random.below(25))) / 100n
  const choices: readonly Transaction[] = [
    setPriceCall(moved, price),
    supplyCall({ ...movement, amount }),
    repayCall({ ...movement, amount }),
    withdrawCall({ ...movement, amount }),
    swapCall({ pool, tokenIn, amountIn: usdToRaw(tokenAt(tokenIn), 10 + random.below(40_000)) }),
    increaseLiquidityCall({ tokenId, ...amounts(pool, 400) }),
    decreaseLiquidityCall({ tokenId, owner, liquidity: 10n ** 6n }),
  ]
  return [random.pick(choices), random.pick(choices)]
}

test('reads the block, the shared state with the subjects of the sweep, and the logs of a quiet block in one request each', async () => {
  const { organizationId, apiKeyId } = await createAccount(db)
  const of = { organizationId, apiKeyId, chainId: 1, createdAt: new Date(0) }
  await createTrigger(db, {
    ...of,
    family: 'aave-v3',
    subject: { wallet: aave.wallets.borrower, market_id: 'main' },
    clause: { figure: 'health_factor', below: '0.0001' },
    clear: '0.0002',
  })
  for (const { tokenId } of positions) {
    await createTrigger(db, {
      ...of,
      family: 'uniswap-v3',
      subject: { token_id: String(tokenId), manager_address: UNISWAP_V3.manager },
      clause: { figure: 'distance_to_edge_percentage', above: '1000000' },
      clear: '999999',
    })
  }
  start()
  const { number } = await readNewestBlock(devnet.rpc, 1)
  await evaluated(number)
  rpc.reset()
  for (let block = 1n; block <= QUIET_BLOCKS; block++) {
    await devnet.rpc.call('evm_mine')
    await evaluated(number + block)
  }
  // The newest block is looked for until it has come, and histories may still be read.
  const isOfBlock = ({ params: [at] }: SeenRequest) => typeof at === 'object' && !Object.hasOwn(at ?? {}, 'fromBlock')
  expect(
    rpc.seen
      .filter(isOfBlock)
      .map(({ method }) => method)
      .sort(),
  ).toEqual(['eth_call', 'eth_getLogs'].flatMap((method) => Array(Number(QUIET_BLOCKS)).fill(method)))
  // A fifth of all.
  const quiet = [...confirmedAt].filter(([block]) => block > number)
  const swept = quiet.reduce((sum, [, confirmed]) => sum + confirmed, 0)
  expect(swept).toBeGreaterThan(0)
  expect(swept).toBeLessThan(positions.length / 2)
}, 120_000)

test(`tells of Aave and Uniswap what ${BLOCKS} blocks come to, read one by one without a screen`, async () => {
  const random = createRandom(2_414)
  // Each message costs two: without any left, triggers pause, and no block is evaluated any more.
  const account = await createAccount(db, { credits: 1_000_000 })
  const prices = await aave.getPrices('main')
  const all = await watchAll(account, random)
  const models = all.map(naive)
  const watchers = watchersOver(clientAt())
  const first = (await readNewestBlock(devnet.rpc, 1)).number
  start()
  await evaluated(first)
  let seen = first - 1n

  /** Every block since, as it stands. */
  async function follow(): Promise<void> {
    const last = await readNewestBlock(devnet.rpc, 1)
    for (let number = seen + 1n; number <= last.number; number++) {
      const place = { client: clientAt(), block: await blockAt(number) }
      for (const family of ['aave-v3', 'uniswap-v3']) {
        const own = all.flatMap((each, index) => (each.family === family ? [{ each, model: models[index] }] : []))
        const read = await watchers.get(family)?.confirm(
          own.map(({ each }) => each.subject),
          place,
          patient,
        )
        for (const [index, { model }] of own.entries()) model?.step(number, read?.[index])
      }
    }
    seen = last.number
  }

  while (seen - first < BLOCKS) {
    // Anvil may answer for its newest block from one that it is just making, so the loop rests meanwhile: it is done, or
    // its endpoint is away for some blocks, which it then evaluates one by one.
    const isAway = random.below(2) === 0
    if (isAway) rpc.rule(() => ({ kind: 'http', status: 503, body: '' }))
    for (let left = isAway ? 1 + random.below(8) : 1; left > 0; left--) {
      // In half of those only time passes, and with it interest.
      if (isAway && random.below(2) === 0) await devnet.rpc.call('evm_mine')
      else await devnet.send(actsOf(random, prices), { mayRevert: true })
    }
    await follow()
    rpc.rule(() => undefined)
    await evaluated(seen)
  }
  const rows = await db.run<{ body: string }>('select body from message where organization_id = $1 order by no', [
    account.organizationId,
  ])
  const told = new Map<string, string[]>(all.map(({ id }) => [id, []]))
  for (const { body } of rows) {
    const { type, data } = JSON.parse(body) as { type: string; data: { trigger_id: string; block: { number: number } } }
    told.get(data.trigger_id)?.push(`${type} ${data.block.number}`)
  }
  expect(all.map(({ id, ...of }) => [of, told.get(id)])).toEqual(
    all.map(({ id: _, ...of }, index) => [of, models[index]?.told]),
  )
  expect(rows.length).toBeGreaterThan(BLOCKS / 2)
  for (const [asset, price] of prices) await devnet.send([setPriceCall(asset, price)])
}, 900_000)

async function blockAt(number: bigint) {
  const { hash, parentHash, timestamp } = await devnet.rpc.call<Readonly<Record<string, `0x${string}`>>>(
    'eth_getBlockByNumber',
    `0x${number.toString(16)}`,
    false,
  )
  if (hash === undefined || parentHash === undefined || timestamp === undefined) throw new Error('Cannot find a block')
  return { chainId: 1, number, hash, parentHash, timestampSec: BigInt(timestamp) }
}
