import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Address } from 'viem'
import type { Holding } from '../../../../../src/family/holding.ts'
import { createPositionReader } from '../../../../../src/family/liquidity/enumerable/read/read.ts'
import { createHoldingsReader } from '../../../../../src/family/liquidity/holdings.ts'
import { createWithdrawnReader } from '../../../../../src/family/liquidity/withdrawn.ts'
import { EXCHANGE, PROTOCOL } from '../../../../../src/family/uniswap_v3/protocol.ts'
import type { History } from '../../../../../src/history/stream.ts'
import { untilAborted } from '../../../../../src/lib/async/abort.ts'
import { createWork, type Work } from '../../../../../src/lib/async/work.ts'
import { AbortedError, PendingError, UnavailableError } from '../../../../../src/lib/error.ts'
import { groupBy } from '../../../../../src/lib/group_by.ts'
import { callRoute } from '../../../../support/call_route.ts'
import { type TestDatabase, testDatabase } from '../../../../support/database.ts'
import { DEPLOYMENT } from '../../../../support/family/uniswap_v3/support.ts'
import { readHoldings } from '../../../../support/holdings.ts'
import { createTestClock, settle, type TestClock } from '../../../../support/test_clock.ts'
import { waitFor } from '../../../../support/wait_for.ts'
import { askAbout, type PnlRoutes, type PnlScene, startPnlScene } from './scene.ts'
import { sumUncollected } from './truth.ts'

/** Checked fields of a position with `full=true`. */
interface Full {
  readonly token_id: string
  readonly uncollected_fees: BothAmounts | null
  readonly withdrawn_principal: BothAmounts | null
  readonly usd: Readonly<Record<string, string | null>>
  readonly pnl: object | null
  readonly pnl_status: string
}

interface BothAmounts {
  readonly token0: { readonly raw: string }
  readonly token1: { readonly raw: string }
}

let scene: PnlScene
/** The wallet with the most active positions that have withdrawn principal, and all of its active ones. */
let wallet: string
let count: number
const databases: TestDatabase[] = []

beforeAll(async () => {
  scene = await startPnlScene({ seed: 9, count: 72 })
  const held = scene.lives.positions.filter(({ isBurned }) => !isBurned).map(({ tokenId }) => tokenId)
  const active = (await scene.devnet.v3.readPositions(held)).filter(({ liquidity }) => liquidity > 0n)
  const owners = [...groupBy(active, ({ owner }) => owner).values()]
  const waiting = (each: readonly { readonly tokenId: bigint }[]) =>
    each.filter(({ tokenId }) => waitsForPrincipal(tokenId)).length
  const [most] = owners.sort((a, b) => waiting(b) - waiting(a))
  if (most?.[0] === undefined) throw new Error('Cannot test without positions')
  wallet = most[0].owner
  count = most.length
}, 60_000)
afterAll(async () => {
  await Promise.all(databases.map((database) => database.close()))
  await scene.close()
})

async function freshDatabase(): Promise<TestDatabase> {
  const database = await testDatabase()
  databases.push(database)
  return database
}

async function list(
  { list }: PnlRoutes,
  { limit = 25, untilMs = DEADLINE_MS, signal = patient.signal } = {},
): Promise<Full[]> {
  const query = `wallet=${wallet}&full=true&limit=${limit}`
  return (await callRoute(list, { query }, signal, untilMs)).reply.data as unknown as Full[]
}

const patient = createWork(new AbortController().signal)
/** Of a request, by a test's clock or the machine's: far later than what an answer waits for. */
const DEADLINE_MS = Number.MAX_SAFE_INTEGER
const never = <T>() => new Promise<T>(() => undefined)
const getStatuses = (items: readonly Full[]) => new Set(items.map(({ pnl_status }) => pnl_status))

/** A clock that a test moves, from now on. */
function startClock(): TestClock {
  return createTestClock({ nowMs: Date.now() })
}

function waitsForPrincipal(tokenId: bigint): boolean {
  return sumUncollected(scene.flows.get(tokenId) ?? []).some((amount) => amount > 0n)
}

function toRawAmounts(amounts: BothAmounts | null): [bigint, bigint] {
  return [BigInt(amounts?.token0.raw ?? -1), BigInt(amounts?.token1.raw ?? -1)]
}

describe('amounts owed to a position', () => {
  test('are fees and withdrawn principal, split as in its receipts, and together what collecting pays', async () => {
    const { devnet, flows, lives } = scene
    const held = lives.positions.filter(({ isBurned }) => !isBurned).map(({ tokenId }) => tokenId)
    const block = BigInt(await devnet.rpc.call<string>('eth_blockNumber'))
    const collectable = await devnet.v3.staticCollectMany(held, block)
    const { one } = scene.routes()
    const seen = { both: 0, principal: 0, fees: 0 }
    for (const [index, tokenId] of held.entries()) {
      const full = (await askAbout(one, tokenId, 'full=true')).reply.data as unknown as Full
      const [fees, principal] = [toRawAmounts(full.uncollected_fees), toRawAmounts(full.withdrawn_principal)]
      const { amount0, amount1 } = collectable[index] ?? { amount0: -1n, amount1: -1n }
      expect([fees[0] + principal[0], fees[1] + principal[1]]).toEqual([amount0, amount1])
      expect(principal).toEqual([...sumUncollected(flows.get(tokenId) ?? [])])
      expect(full.pnl_status).toBe('ready')
      const has = { principal: principal[0] + principal[1] > 0n, fees: fees[0] + fees[1] > 0n }
      if (has.principal) seen.principal++
      if (has.fees) seen.fees++
      if (has.principal && has.fees) seen.both++
    }
    expect(seen.both).toBeGreaterThan(2)
    expect(seen.fees).toBeGreaterThan(seen.both)
  }, 60_000)

  test('are the same on the list, and count in the total', async () => {
    const routes = scene.routes()
    await waitFor('profit and loss of the whole page', async () => getStatuses(await list(routes)).size === 1, 30_000)
    const listed = await list(routes)
    expect(listed).toHaveLength(count)
    let withdrawn = 0
    for (const item of listed) {
      const full = (await askAbout(routes.one, BigInt(item.token_id), 'full=true')).reply.data as unknown as Full
      expect(item).toMatchObject({
        uncollected_fees: full.uncollected_fees,
        withdrawn_principal: full.withdrawn_principal,
        usd: full.usd,
        pnl: full.pnl,
        pnl_status: 'ready',
      })
      if (waitsForPrincipal(BigInt(item.token_id))) withdrawn++
      const { amounts, uncollected_fees, withdrawn_principal, total } = item.usd
      if (amounts === null) continue
      const sum = Number(amounts) + Number(uncollected_fees) + Number(withdrawn_principal)
      expect(Math.abs(sum - Number(total))).toBeLessThan(0.000_003)
    }
    expect(withdrawn).toBeGreaterThan(0)
  }, 60_000)
})

describe('rows of a portfolio', () => {
  test('tell fees and withdrawn principal apart once they are itemized, each as in the receipts', async () => {
    const { services } = scene.routes()
    const [client] = services.clients.values()
    if (client === undefined) throw new Error('Cannot test without a client')
    const reader = createPositionReader(EXCHANGE, {
      ...services,
      deployments: new Map([[client.chain.id, [DEPLOYMENT]]]),
    })
    const readWithdrawn = createWithdrawnReader(PROTOCOL, services)
    const holdings = createHoldingsReader(PROTOCOL, { reader, readWithdrawn })
    const held = await readHoldings(holdings, client, { wallet: wallet as Address })
    const itemized = (await held?.itemize?.(patient)) ?? []
    const ids = new Set(itemized.map(({ position }) => position['token_id'] ?? ''))
    const sumRows = (rows: readonly Holding[], id: string, parts: readonly string[]) =>
      rows
        .filter(({ position }) => position['token_id'] === id && parts.includes(position['part'] ?? ''))
        .reduce((sum, { amount }) => sum + amount, 0n)
    let withdrawn = 0
    for (const id of ids) {
      const [principal0, principal1] = sumUncollected(scene.flows.get(BigInt(id)) ?? [])
      expect(sumRows(itemized, id, ['withdrawn'])).toBe(principal0 + principal1)
      expect(sumRows(itemized, id, ['fees', 'withdrawn'])).toBe(sumRows(held?.rows ?? [], id, ['fees', 'owed']))
      expect(sumRows(held?.rows ?? [], id, ['withdrawn'])).toBe(0n)
      if (principal0 + principal1 > 0n) withdrawn++
    }
    expect(itemized.map(({ position }) => position['part'])).not.toContain('owed')
    expect(withdrawn).toBeGreaterThan(1)
  })
})

describe('a wallet’s list with full=true', () => {
  test('has profit and loss on the first request', async () => {
    // The two seconds do not pass.
    const routes = scene.routes({ database: await freshDatabase(), clock: startClock() })
    expect(getStatuses(await list(routes, { limit: 2 }))).toEqual(new Set(['ready']))
  })

  test('waits for slow histories on every request', async () => {
    let read = Promise.withResolvers<void>()
    let asked = 0
    const around = (history: History): History => ({
      async ensure(...query) {
        asked++
        await read.promise
        return history.ensure(...query)
      },
    })
    const clock = startClock()
    const routes = scene.routes({ around, clock })
    for (let times = 0; times < 4; times++) {
      asked = 0
      read = Promise.withResolvers()
      const answer = list(routes, { limit: 2 })
      await waitFor('the reading of histories', () => asked > 0)
      await clock.advance(400)
      read.resolve()
      expect(getStatuses(await answer)).toEqual(new Set(['ready']))
    }
  })

  test('is pending while history never answers, reads a few at a time, and has null fees that may be principal', async () => {
    let [asked, most] = [0, 0]
    const around = (): History => ({
      async ensure<Ensured>(_: unknown, work: Work) {
        most = Math.max(most, ++asked)
        return untilAborted(never<Ensured>(), work.signal).finally(() => asked--)
      },
    })
    const clock = startClock()
    const answer = list(scene.routes({ around, clock }))
    await waitFor('the reading of histories', () => asked > 1)
    await clock.advance(2_000)
    const listed = await answer
    expect(getStatuses(listed)).toEqual(new Set(['pending']))
    expect(most).toBeGreaterThan(1)
    expect(most).toBeLessThanOrEqual(8)
    const known = await scene.devnet.v3.readPositions(listed.map(({ token_id }) => BigInt(token_id)))
    const hidden = listed.filter(({ uncollected_fees, withdrawn_principal, usd }, index) => {
      expect(uncollected_fees === null).toBe(withdrawn_principal === null)
      expect(uncollected_fees === null || usd['total'] === null).toBe(usd['uncollected_fees'] === null)
      const waiting = sumUncollected(scene.flows.get(known[index]?.tokenId ?? 0n) ?? [])
      if (uncollected_fees !== null) expect(waiting).toEqual([0n, 0n])
      return uncollected_fees === null
    })
    expect(hidden.length).toBeGreaterThan(0)
    expect(hidden.length).toBeLessThan(listed.length)
  })

  test('waits at most until the deadline of the request, and not at all if no history can arrive', async () => {
    const told = scene.routes({
      around: () => ({ ensure: () => Promise.reject(new PendingError('It is being read')) }),
      clock: startClock(),
    })
    expect(getStatuses(await list(told))).toEqual(new Set(['pending']))
    // Presenting the answer takes a quarter of a second of what is left.
    for (const [untilMs, waitMs] of [
      [DEADLINE_MS, 2_000],
      [300, 50],
    ] as const) {
      const clock = startClock()
      let [asked, isOver] = [0, false]
      const ensure = <Ensured>() => {
        asked++
        return never<Ensured>()
      }
      const answer = list(scene.routes({ around: () => ({ ensure }), clock }), { untilMs })
      const over = answer.finally(() => {
        isOver = true
      })
      await waitFor('the reading of histories', () => asked > 0)
      await clock.advance(waitMs - 1)
      expect(isOver).toBe(false)
      await clock.advance(1)
      expect(getStatuses(await over)).toEqual(new Set(['pending']))
    }
  })

  test('stops reading once the caller aborts', async () => {
    const signals: AbortSignal[] = []
    const caller = new AbortController()
    const around = (): History => ({
      ensure(_, work) {
        signals.push(work.signal)
        return never()
      },
    })
    const routes = scene.routes({ around })
    const answer = list(routes, { signal: caller.signal })
    await waitFor('the reading of histories', () => signals.length > 0)
    caller.abort()
    await expect(answer).rejects.toThrow(AbortedError)
    const begun = signals.length
    expect(signals.filter(({ aborted }) => !aborted)).toEqual([])
    await settle()
    expect(signals).toHaveLength(begun)
  })

  test('is failed if history cannot be read', async () => {
    for (const error of [new UnavailableError('Cannot read the history'), new RangeError('Something else')]) {
      const routes = scene.routes({ around: () => ({ ensure: () => Promise.reject(error) }) })
      expect(getStatuses(await list(routes))).toEqual(new Set(['failed']))
    }
  })

  test('continues pending histories in the background, and is ready later', async () => {
    let letGo = () => {}
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    let asked = 0
    const around = (history: History): History => ({
      async ensure(...request) {
        asked++
        await untilAborted(held, request[1].signal)
        return await history.ensure(...request)
      },
    })
    const clock = startClock()
    const routes = scene.routes({ around, clock })
    const limit = 4
    const listLate = async () => {
      let isAnswered = false
      const answer = list(routes, { limit }).finally(() => {
        isAnswered = true
      })
      await waitFor('all histories to be asked', () => asked >= limit)
      await waitFor('an answer', async () => {
        await clock.advance(500)
        return isAnswered
      })
      return await answer
    }
    const positions = await listLate()
    expect(getStatuses(positions)).toEqual(new Set(['pending']))
    await waitFor('reading in the background', () => asked > limit)
    letGo()
    await waitFor('profit and loss', async () => getStatuses(await listLate()).has('ready'), 30_000)
  }, 60_000)

  test('is unpriced if a price is missing, and still separates principal', async () => {
    const priced = await list(scene.routes())
    const unpriced = await list(scene.routes({ chain: { prices: { usdFeeds: {}, stablecoins: [] } } }))
    expect(getStatuses(unpriced)).toEqual(new Set(['unpriced']))
    for (const [index, { pnl, uncollected_fees, withdrawn_principal, usd }] of unpriced.entries()) {
      expect({ pnl, uncollected_fees, withdrawn_principal }).toEqual({
        pnl: null,
        uncollected_fees: priced[index]?.uncollected_fees ?? null,
        withdrawn_principal: priced[index]?.withdrawn_principal ?? null,
      })
      expect(usd['total']).toBeNull()
    }
  }, 20_000)

  test('is failed for a position with a missing flow, and not for the others', async () => {
    const database = await freshDatabase()
    const routes = scene.routes({ database })
    await waitFor('profit and loss', async () => getStatuses(await list(routes)).size === 1, 30_000)
    const [stored] = await list(routes)
    await database.db.run("delete from position_flow where token_id = $1 and kind = 'increase'", [
      stored?.token_id ?? '',
    ])
    // Another process, which has not read the history before.
    const others = scene.routes({ database })
    await waitFor('profit and loss', async () => !getStatuses(await list(others)).has('pending'), 30_000)
    const [first, ...rest] = await list(others)
    expect(first).toMatchObject({ pnl: null, pnl_status: 'failed' })
    expect(getStatuses(rest)).toEqual(new Set(['ready']))
  }, 60_000)
})
