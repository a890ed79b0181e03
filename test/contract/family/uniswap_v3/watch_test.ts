import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as v from 'valibot'
import type { Hex } from 'viem'
import type { WatchableFamily } from '../../../../src/family/contract.ts'
import { createWatcher } from '../../../../src/family/liquidity/enumerable/watch/watcher.ts'
import { distanceToEdge } from '../../../../src/family/liquidity/watched.ts'
import { UNISWAP_V3 as FAMILY } from '../../../../src/family/uniswap_v3/mod.ts'
import { EXCHANGE, PROTOCOL } from '../../../../src/family/uniswap_v3/protocol.ts'
import type { Watcher, WatchSubject } from '../../../../src/family/watch.ts'
import { sqrtPriceAtTickX96 } from '../../../../src/finance/math/liquidity.ts'
import type { History } from '../../../../src/history/stream.ts'
import { Q96 } from '../../../../src/lib/number/fixed_point.ts'
import { formatRational, multiplyRational, rational } from '../../../../src/lib/number/rational.ts'
import { TOKENS, toWalletAddress, UNISWAP_V3 } from '../../../devnet/addresses.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import { setFeedCall } from '../../../devnet/contracts.ts'
import { type Devnet, startDevnet } from '../../../devnet/mod.ts'
import { createRandom, type Random, type RandomPosition } from '../../../devnet/random.ts'
import { amounts, tokenAt, usdToRaw } from '../../../devnet/scenario.ts'
import type { Transaction } from '../../../devnet/transaction.ts'
import {
  burnCall,
  collectCall,
  decreaseLiquidityCall,
  increaseLiquidityCall,
  type Pool,
  swapCall,
} from '../../../devnet/uniswap_v3_calls.ts'
import { callRoute } from '../../../support/call_route.ts'
import { caseCount } from '../../../support/cases.ts'
import { countedClient, DEPLOYMENT, patient } from '../../../support/family/uniswap_v3/support.ts'
import { createFamilyRoutes, createTestServices } from '../../../support/family.ts'
import {
  createForecastWatcher,
  readBlockLogs,
  readNewestBlock,
  type WatchedClause,
} from '../../../support/forecast_watcher.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { waitFor } from '../../../support/wait_for.ts'
import { type PnlRoutes, type PnlScene, startPnlScene, toFeeds } from './pnl/scene.ts'

const SERVED = { exchange: EXCHANGE, protocol: PROTOCOL }

const FIGURES = ['in_range', 'is_active', 'fees_usd', 'value_usd', 'distance_to_edge_percentage']
const MANAGER = UNISWAP_V3.manager
const BLOCKS = caseCount(600, 12)

const toSubject = (tokenId: bigint | string): WatchSubject => ({ token_id: String(tokenId), manager_address: MANAGER })

function watched(): WatchableFamily {
  const setup = { chainIds: [1], servesSolana: false, connect: () => ({}) as never }
  const found = FAMILY.configure(new Map([[1, { uniswapV3: [DEPLOYMENT] }]])).watch(setup)
  if (found === undefined) throw new Error('Cannot watch Uniswap V3')
  return found
}

describe('confirm()', () => {
  let scene: PnlScene
  let routes: PnlRoutes
  let watcher: Watcher
  const client = () =>
    countedClient(
      createDevnetChain(scene.devnet, {
        finality: { depth: 12 },
        prices: { usdFeeds: toFeeds(scene.lives.tokens), stablecoins: [] },
      }),
    ).client

  beforeAll(async () => {
    scene = await startPnlScene({ seed: 24, count: caseCount(40, 20) })
    let history: History | undefined
    routes = scene.routes({
      around(each) {
        history = each
        return each
      },
    })
    if (history === undefined) throw new Error('Cannot test without a history')
    const { db } = scene.database
    const clients = new Map([[1, client()]])
    watcher = createWatcher(SERVED, {
      clients,
      deployments: new Map([[1, [DEPLOYMENT]]]),
      clock: slowClock,
      db,
      history,
    })
  }, 180_000)
  afterAll(() => scene.close())

  test('returns the figures of the route at the same block, digit by digit, and which positions are burned', async () => {
    const { positions } = scene.lives
    const block = await readNewestBlock(scene.devnet.rpc, 1)
    const subjects = positions.map(({ tokenId }) => toSubject(tokenId))
    const shown = await Promise.all(
      positions.map(async ({ tokenId, isBurned }) => {
        if (isBurned) return undefined
        const [, query = ''] = watched().answerPath(toSubject(tokenId), 1, block.number).split('?')
        const { reply } = await callRoute(routes.one, { params: { id: String(tokenId) }, query })
        return reply.data as unknown as Shown
      }),
    )
    const confirm = () => watcher.confirm(subjects, { client: client(), block }, patient)
    // The histories that tell fees from principal are read in the background, in turn.
    const isTold = async () =>
      (await confirm()).every((each, index) => each === 'gone' || each.text('fees_usd') === getFees(shown[index]))
    await waitFor('all fees', isTold, 30_000)
    const confirmed = await confirm()
    for (const [index, answer] of shown.entries()) {
      const found = confirmed[index]
      expect(found === 'gone').toBe(answer === undefined)
      if (found === undefined || found === 'gone' || answer === undefined) continue
      const { is_active, in_range, usd, prices } = answer
      expect(Object.fromEntries(FIGURES.slice(0, 4).map((figure) => [figure, found.text(figure)]))).toEqual({
        in_range,
        is_active,
        fees_usd: usd.uncollected_fees,
        value_usd: usd.total,
      })
      const [current, lower, upper] = [prices.current, prices.lower, prices.upper].map(Number) as Numbers
      const distance = (Math.min(current - lower, upper - current) / current) * 100
      expect(Number(found.text('distance_to_edge_percentage')) / distance).toBeCloseTo(1, 3)
    }
    const told = shown.filter((answer) => getFees(answer) !== null)
    expect(told.length).toBeGreaterThan(10)
    expect(shown.filter((answer) => answer === undefined).length).toBeGreaterThan(0)
  }, 120_000)

  test('returns gone for a token that never existed, or whose manager is not configured', async () => {
    const place = { client: client(), block: await readNewestBlock(scene.devnet.rpc, 1) }
    const never = [toSubject(10n ** 20n), { token_id: '1', manager_address: toWalletAddress('no manager') }]
    expect(await watcher.confirm(never, place, patient)).toEqual(['gone', 'gone'])
    expect(await watcher.confirm([], place, patient)).toEqual([])
  }, 30_000)
})

interface Shown {
  readonly is_active: boolean
  readonly in_range: boolean
  readonly usd: { readonly uncollected_fees: string | null; readonly total: string | null }
  readonly prices: { readonly current: string; readonly lower: string; readonly upper: string }
}

const getFees = (answer: Shown | undefined) => answer?.usd.uncollected_fees ?? null

type Numbers = [number, number, number]

describe('over a busy chain', () => {
  let devnet: Devnet
  let positions: RandomPosition[]
  let burned: readonly bigint[]
  const client = () => countedClient(createDevnetChain(devnet)).client
  const watcherOver = (served = client()) =>
    createWatcher(SERVED, { ...createTestServices({ clients: [served] }), ...over })
  const over = { deployments: new Map([[1, [DEPLOYMENT]]]) }

  beforeAll(async () => {
    devnet = await startDevnet()
    const random = await devnet.randomScenario(24, caseCount(80, 40))
    positions = [...random.positions]
    burned = random.burned
  }, 180_000)
  afterAll(() => devnet.stop())

  test('spam and tokens that burn gas stop no other position', async () => {
    const hostile = await devnet.hostile()
    const block = await readNewestBlock(devnet.rpc, 1)
    const ids = [...Object.values(hostile.positions).map(({ tokenId }) => tokenId), ...burned, ...held()]
    const place = { client: client(), block }
    const confirmed = await watcherOver().confirm(ids.map(toSubject), place, patient)
    const [one] = [createFamilyRoutes(FAMILY, { clients: [client()], rows: [[1, { uniswapV3: [DEPLOYMENT] }]] })[1]]
    if (one === undefined) throw new Error('Cannot find the route')
    const kinds = { gone: 0, unknown: 0, told: 0 }
    for (const [index, id] of ids.entries()) {
      const found = confirmed[index]
      const query = `chain_id=1&at_block=${block.number}`
      const asked = callRoute(one, { params: { id: String(id) }, query }).catch((error: Error) => error.name)
      const answer = await asked
      if (found === 'gone') kinds.gone++
      else if (found?.text('is_active') === null) kinds.unknown++
      else kinds.told++
      expect(typeof answer === 'string').toBe(found === 'gone' || found?.text('is_active') === null)
    }
    expect(kinds.gone).toBe(burned.length)
    expect(kinds.unknown).toBeGreaterThan(0)
    expect(kinds.told).toBeGreaterThan(held().length)
  }, 120_000)

  const held = () => positions.map(({ tokenId }) => tokenId)

  test(`the forecaster finds every crossing in ${BLOCKS} blocks of swaps, deposits, withdrawals and burns`, async () => {
    const random = createRandom(2_412)
    const watcher = watcherOver()
    const subjects = held().map(toSubject)
    const begun = await watcher.confirm(
      subjects,
      { client: client(), block: await readNewestBlock(devnet.rpc, 1) },
      patient,
    )
    const clauses = subjects.flatMap((subject, index): WatchedClause[] => {
      const found = begun[index]
      if (found === undefined || found === 'gone') return []
      return FIGURES.flatMap((figure): WatchedClause[] => {
        const value = found.value(figure)
        if (value === undefined || value === 'MAX') return []
        if (typeof value === 'boolean') return [{ subject, figure }]
        const around = rational(BigInt(90 + random.below(20)), 100n)
        return [{ subject, figure, below: multiplyRational(value, around) }]
      })
    })
    const screened = createForecastWatcher({ watcher, client: client(), rpc: devnet.rpc, clauses })
    let [confirmed, crossings] = [0, 0]
    let before: readonly (boolean | undefined)[] = []
    for (let at = 0; at < BLOCKS; at++) {
      await devnet.send(await createActs(random), { mayRevert: true })
      const block = await readNewestBlock(devnet.rpc, 1)
      const step = await screened.step(block)
      // A figure that cannot be computed any more changes nothing.
      const told = step.exact.map((truth, index) => truth ?? step.screened[index])
      expect({ block: block.number, truths: step.screened }).toEqual({ block: block.number, truths: told })
      if (at > 0) {
        confirmed += step.confirmed
        crossings += told.filter((truth, index) => truth !== before[index]).length
      }
      before = told
    }
    expect(crossings).toBeGreaterThan(BLOCKS / 4)
    expect(confirmed / (BLOCKS - 1) / clauses.length).toBeLessThan(0.4)
  }, 900_000)

  /** Creates the transactions of one block: swaps, prices, and acts of owners, which may revert. */
  async function createActs(random: Random): Promise<Transaction[]> {
    const pools = positions.map(({ pool }) => pool)
    // One in a pool: what a range earns while the price goes through it and back in one block, no screen can see.
    const traded = new Set(Array.from({ length: random.below(4) }, () => random.pick(pools)))
    const swaps = [...traded].map((pool) => createSwap(random, pool))
    const token = random.pick(Object.values(TOKENS))
    const answer = BigInt(Math.round(token.usd * (9 + random.below(3)) * 1e7))
    const feeds = random.below(6) === 0 ? [setFeedCall(token.feed, { answer })] : []
    const { tokenId, owner, pool } = random.pick(positions)
    const [stored] = await devnet.v3.readPositions([tokenId]).catch(() => [])
    const liquidity = stored?.liquidity ?? 0n
    const choices: readonly (readonly Transaction[])[] = [
      [increaseLiquidityCall({ tokenId, ...amounts(pool, 40) })],
      [decreaseLiquidityCall({ tokenId, owner, liquidity: liquidity / 3n + 1n })],
      [collectCall({ tokenId, owner })],
      [decreaseLiquidityCall({ tokenId, owner, liquidity }), collectCall({ tokenId, owner })],
      random.below(8) === 0 ? [burnCall({ tokenId, owner })] : [],
      [],
      [],
    ]
    const acts = [...swaps, ...feeds, ...random.pick(choices)]
    return acts.length > 0 ? acts : [createSwap(random, pool)]
  }

  test('returns flows of positions, and ignores other contracts', async () => {
    const watcher = watcherOver()
    const [first, second] = positions
    if (first === undefined || second === undefined) throw new Error('Cannot test without positions')
    const { tokenId, owner, pool } = first
    await devnet.send([
      increaseLiquidityCall({ tokenId, ...amounts(pool, 400) }),
      increaseLiquidityCall({ tokenId: second.tokenId, ...amounts(second.pool, 400) }),
      decreaseLiquidityCall({ tokenId, owner, liquidity: 1_000n }),
      collectCall({ tokenId, owner }),
    ])
    const block = await readNewestBlock(devnet.rpc, 1)
    const subject = toSubject(tokenId)
    const filters = watcher.events?.filters(1) ?? []
    const logs = await readBlockLogs(devnet.rpc, { filters, block })
    const forged = logs.map((log): typeof log => ({ ...log, address: toWalletAddress('forger').toLowerCase() as Hex }))
    const place = { client: client(), block }
    const found = await watcher.events?.read([...logs, ...forged], [subject], place, patient)
    expect(found?.map(({ type }) => type)).toEqual(['increase', 'decrease', 'collect'])
    expect(found?.every((each) => each.subject === subject && each.blockHash === block.hash)).toBe(true)
    const isTouched = (some: typeof logs) =>
      [subject, toSubject(second.tokenId), toSubject(7n)].map((each) =>
        watcher.forecaster?.toTouchedCheck(some, 1)(each),
      )
    expect(isTouched(logs)).toEqual([true, true, false])
    expect(isTouched(forged)).toEqual([false, false, false])
  }, 30_000)
})

function createSwap(random: Random, pool: Pool): Transaction {
  const tokenIn = random.below(2) === 0 ? pool.token0 : pool.token1
  const usd = random.pick([20, 4_000, 60_000]) * (1 + random.below(1000) / 1000)
  return swapCall({ pool, tokenIn, amountIn: usdToRaw(tokenAt(tokenIn), usd) + 1n })
}

describe('createWatchable()', () => {
  test('accepts the input of the routes, in one normal form', () => {
    const parse = (value: unknown) => {
      const result = v.safeParse(watched().subject(1), value)
      return result.success ? result.output : undefined
    }
    expect(parse({ token_id: '7' })).toEqual({ token_id: '7', manager_address: MANAGER })
    expect(parse({ token_id: '7', manager_address: MANAGER.toLowerCase() })).toEqual(toSubject(7n))
    expect(parse({ token_id: '7', manager_address: toWalletAddress('other') })).toBeUndefined()
    expect(parse({ token_id: '-7' })).toBeUndefined()
    expect(parse({ wallet: MANAGER })).toBeUndefined()
  })

  test('watches the figures and events of the routes', () => {
    const { figures, events } = watched()
    expect(Object.keys(figures)).toEqual(FIGURES)
    expect(events).toEqual(['increase', 'decrease', 'collect'])
  })
})

describe('distanceToEdge()', () => {
  test('is 0 at an edge, below 0 outside the range, and at most 100', () => {
    const [lower, upper] = [sqrtPriceAtTickX96(-6_932), sqrtPriceAtTickX96(6_932)]
    const at = (current: bigint) => formatRational(distanceToEdge({ current, lower, upper }), { digits: 2 })
    // From half the price to twice the price.
    expect([at(lower), at(upper), at(Q96)]).toEqual(['0.00', '0.00', '50.00'])
    expect([at(lower / 2n), at(upper * 2n)]).toEqual(['-300.00', '-75.00'])
  })
})
