import { beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import * as v from 'valibot'
import type { Address } from 'viem'
import { LENS_MODES, type LensMode } from '../../../../src/chain/call/lens.ts'
import { batchOutput, listOutput } from '../../../../src/family/aave_v3/present/schema.ts'
import { createLendingReader } from '../../../../src/family/aave_v3/read/read.ts'
import { createRoutes } from '../../../../src/family/aave_v3/routes/list.ts'
import type { AaveV3Deployment } from '../../../../src/family/aave_v3/table.ts'
import { FAMILIES, familyAliases } from '../../../../src/family/mod.ts'
import { openapiDocument } from '../../../../src/http/openapi/document.ts'
import { createApp } from '../../../../src/http/server/app.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { createMetrics } from '../../../../src/lib/metrics.ts'
import { createRequestIdGenerator } from '../../../../src/lib/request_id.ts'
import { AAVE_TOKENS } from '../../../devnet/aave_v3/addresses.ts'
import type { AaveDevnet } from '../../../devnet/aave_v3/mod.ts'
import { sharedAave } from '../../../devnet/aave_v3/shared.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'
import type { Devnet } from '../../../devnet/mod.ts'
import { IS_FULL } from '../../../support/cases.ts'
import { type Answer, createClient } from '../../../support/client.ts'
import { createMemoryGate, type MemoryGate } from '../../../support/http/exchange/memory_gate.ts'
import { withLensMode } from '../../../support/lens_mode.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { type CountedChains, countedChains, DEPLOYMENTS } from './support.ts'

const LIST = '/v1/lending/aave-v3'
const BATCH = '/v1/lending/aave-v3/batch'
const SEVEN = [1, 10, 56, 137, 8_453, 42_161, 43_114]
/** The three markets of Ethereum. */
const CURRENT = DEPLOYMENTS.slice(0, 3)

let devnet: Devnet
let aave: AaveDevnet
/** 120 wallets with positions, most of them in the markets of 3.6. */
let crowd: readonly Address[]
/** Ethereum alone. */
let one: Service
/** Seven chains, which are all the same devnet. */
let seven: Service

beforeAll(async () => {
  const shared = await sharedAave()
  devnet = shared.devnet
  aave = shared.aave
  crowd = (await aave.randomWallets(4_404, 120)).wallets
  one = serviceOver([1])
  seven = serviceOver(SEVEN)
}, 180_000)

beforeEach(() => {
  for (const service of [one, seven]) service.chains.recover()
})

interface Service {
  readonly chains: CountedChains
  readonly gate: MemoryGate
  get(path: string): Promise<Answer>
  /** `GET` of the list. */
  list(query: string, key?: string): Promise<Answer>
  /** `POST` of the batch. */
  batch(body: unknown, query?: string, key?: string): Promise<Answer>
}

interface Configuration {
  readonly deployments?: ReadonlyMap<number, readonly AaveV3Deployment[]>
  readonly way?: LensMode
}

/** The whole service without the database: the app over the family's routes. */
function serviceOver(ids: readonly number[], { deployments, way }: Configuration = {}): Service {
  const chains = countedChains(devnet, ids)
  const reader = createLendingReader({
    clients: new Map([...chains.clients].map(([id, client]) => [id, withLensMode(client, way)])),
    deployments: deployments ?? new Map(ids.map((id) => [id, id === 1 ? CURRENT : CURRENT.slice(0, 1)])),
    clock: slowClock,
  })
  const markets = new Set(
    [...reader.targets.values()].flatMap((place) => place.deployments.map(({ market }) => market)),
  )
  const routes = createRoutes({ chainIds: [...chains.clients.keys()], markets, reader: () => reader })
  const rich = { id: 'org_rich', credits: 10n ** 9n, limit: 10_000 }
  const poor = { id: 'org_poor', credits: 14n, limit: 10_000 }
  const gate = createMemoryGate({ now: systemClock.now, keys: { rich, poor } })
  const app = createApp({
    routes,
    aliases: familyAliases(FAMILIES),
    gate,
    clock: slowClock,
    log: silentLog,
    metrics: createMetrics(),
    publicUrl: undefined,
    hostNames: ['test.local'],
    corsOrigins: [],
    openapi: () => openapiDocument({ routes }),
    probes: { database: async () => true, chains: new Map() },
    requestId: createRequestIdGenerator({ clock: systemClock, fill: (bytes) => crypto.getRandomValues(bytes) }),
  })
  const call = createClient(app.handler)
  return {
    chains,
    gate,
    get: (path) => call(path, { key: 'rich' }),
    list: (query, key = 'rich') => call(`${LIST}?${query}`, { key }),
    batch: (body, query = '', key = 'rich') =>
      call(`${BATCH}?${query}`, { method: 'POST', key, body: JSON.stringify(body) }),
  }
}

/** The body of a success, checked against its schema to the last field. */
function ok(answer: Answer, output: v.GenericSchema): Answer['body'] {
  if (answer.status !== 200) throw new Error(`Expected a success, got ${answer.status}: ${answer.text}`)
  const { request_id, ...body } = answer.body
  expect(request_id).toBe(answer.headers.get('x-request-id'))
  v.assert(output, body)
  return answer.body
}

function refusal({ status, body }: Answer): [status: number, code: string, message: string] {
  return [status, body.error.code, body.error.message]
}

function charged({ headers }: Answer): number {
  return Number(headers.get('x-credits-charged'))
}

function places({ data }: Answer['body']): [Address, number][] {
  return data.map(({ wallet, chain_id }: { wallet: Address; chain_id: number }) => [wallet, chain_id])
}

function listMarkets({ data }: Answer['body']): string[][] {
  return data.map(({ positions }: { positions: { marketId: string }[] }) => positions.map(({ marketId }) => marketId))
}

describe('GET /v1/lending/aave-v3', () => {
  test('answers one entry per chain, in it one position and one calculation per market', async () => {
    const { everywhere } = aave.wallets
    const answer = await one.list(`wallet=${everywhere.toLowerCase()}`)
    const body = ok(answer, listOutput)
    expect(places(body)).toEqual([[everywhere, 1]])
    expect(listMarkets(body)).toEqual([['main', 'lido', 'etherfi']])
    const [{ positions, calculations }] = body.data
    expect(calculations.map(({ healthFactor }: { healthFactor: string }) => healthFactor)).toEqual(
      positions.map(({ healthFactor }: { healthFactor: string }) => healthFactor),
    )
    expect(calculations.map(({ targetHealthFactor }: never) => targetHealthFactor)).toEqual([1.5, 1.5, 1.5])
    expect(body.pagination).toEqual({ page: 1, limit: 10, total: 1, next_page: null, prev_page: null })
    expect(answer.headers.get('x-as-of')).toBe(`1:${await devnet.client.getBlockNumber()}`)
    expect(charged(answer)).toBe(15)
  })

  test('answers every chain on which the wallet has something, by chain id, at 15 credits each', async () => {
    const { everywhere, lidoOnly } = aave.wallets
    const answer = await seven.list(`wallet=${everywhere}&limit=25`)
    const body = ok(answer, listOutput)
    expect(places(body)).toEqual([1, 10, 56, 137, 8_453, 42_161, 43_114].map((id) => [everywhere, id]))
    expect(listMarkets(body)).toEqual([['main', 'lido', 'etherfi'], ...SEVEN.slice(1).map(() => ['main'])])
    expect(charged(answer)).toBe(105)
    const block = await devnet.client.getBlockNumber()
    expect(answer.headers.get('x-as-of')).toBe(SEVEN.map((id) => `${id}:${block}`).join(','))
    const little = await seven.list(`wallet=${lidoOnly}`)
    expect([places(ok(little, listOutput)), charged(little)]).toEqual([[[lidoOnly, 1]], 15])
  })

  test('charges what matches, not what is on the page', async () => {
    const { everywhere } = aave.wallets
    const pages = await Promise.all(
      [1, 2, 3, 4, 5].map((page) => seven.list(`wallet=${everywhere}&limit=2&page=${page}`)),
    )
    expect(pages.map(charged)).toEqual([105, 105, 105, 105, 105])
    expect(pages.map((page) => places(ok(page, listOutput)).map(([, id]) => id))).toEqual([
      [1, 10],
      [56, 137],
      [8_453, 42_161],
      [43_114],
      [],
    ])
    const links = pages.map(({ body }) => [body.pagination.prev_page, body.pagination.next_page])
    const link = (page: number) => `http://test.local${LIST}?wallet=${everywhere}&limit=2&page=${page}`
    expect(links).toEqual([
      [null, link(2)],
      [link(1), link(3)],
      [link(2), link(4)],
      [link(3), null],
      [link(4), null],
    ])
  })

  test('is empty and free for a wallet without anything', async () => {
    for (const wallet of [aave.wallets.empty, aave.wallets.left, aave.wallets.badDebt]) {
      const answer = await seven.list(`wallet=${wallet}`)
      expect(ok(answer, listOutput)).toMatchObject({ data: [], pagination: { total: 0, next_page: null } })
      expect(charged(answer)).toBe(0)
    }
  })

  test('is 402 before any chain is read if the balance cannot pay for one entry, whatever the wallet has', async () => {
    for (const wallet of [aave.wallets.everywhere, aave.wallets.empty, toWalletAddress('never seen')]) {
      one.chains.reset()
      const answer = await one.list(`wallet=${wallet}`, 'poor')
      expect(refusal(answer).slice(0, 2)).toEqual([402, 'INSUFFICIENT_CREDITS'])
      const many = await one.batch({ wallets: [wallet] }, '', 'poor')
      expect(refusal(many).slice(0, 2)).toEqual([402, 'INSUFFICIENT_CREDITS'])
      expect(one.chains.count()).toBe(0)
    }
    expect(one.gate.organizations.get('poor')?.credits).toBe(14n)
  })

  test('asks one market by each of its names, and one chain', async () => {
    const { everywhere } = aave.wallets
    const names: Record<string, string> = {
      main: 'main',
      core: 'main',
      lido: 'lido',
      prime: 'lido',
      market_b: 'lido',
      etherfi: 'etherfi',
      market_c: 'etherfi',
    }
    for (const [name, market] of Object.entries(names)) {
      expect(listMarkets(ok(await one.list(`wallet=${everywhere}&market_id=${name}`), listOutput))).toEqual([[market]])
    }
    const lido = ok(await seven.list(`wallet=${everywhere}&market_id=prime`), listOutput)
    expect([places(lido), listMarkets(lido)]).toEqual([[[everywhere, 1]], [['lido']]])
    const polygon = await seven.list(`wallet=${everywhere}&chain_id=137`)
    expect([places(ok(polygon, listOutput)), charged(polygon)]).toEqual([[[everywhere, 137]], 15])
    const nothing = await seven.list(`wallet=${everywhere}&chain_id=137&market_id=etherfi`)
    expect([ok(nothing, listOutput).data, charged(nothing)]).toEqual([[], 0])
    expect(nothing.headers.get('x-as-of') ?? '').toBe('')
  })

  test('takes the names of markets from configuration', async () => {
    const [main, lido] = CURRENT as [AaveV3Deployment, AaveV3Deployment]
    const deployments = new Map([
      [
        1,
        [
          { ...main, market: 'prime' },
          { ...lido, market: 'mine' },
        ],
      ],
    ])
    const service = serviceOver([1], { deployments })
    const { everywhere } = aave.wallets
    expect(listMarkets(ok(await service.list(`wallet=${everywhere}`), listOutput))).toEqual([['prime', 'mine']])
    // A market's own name takes precedence over another market's alias.
    expect(listMarkets(ok(await service.list(`wallet=${everywhere}&market_id=prime`), listOutput))).toEqual([['prime']])
    for (const unknown of ['main', 'lido', 'market_b']) {
      expect(refusal(await service.list(`wallet=${everywhere}&market_id=${unknown}`))).toEqual([
        ...[400, 'INVALID_PARAMETER'],
        `Cannot read parameter "market_id": expected one of "prime", "mine", got "${unknown}"`,
      ] as never)
    }
  })

  test.each([
    ['', 'MISSING_PARAMETER', 'Parameter "wallet" is missing'],
    ['wallet=', 'MISSING_PARAMETER', '"wallet"'],
    ['wallet=0x12', 'INVALID_PARAMETER', '"wallet": expected an EVM address'],
    ['wallet=0xd8dA6BF26964aF9D7eEd9e03E53415D37aA9604A', 'INVALID_PARAMETER', 'checksum'],
    ['WALLET&chain_id=5', 'INVALID_PARAMETER', '"chain_id": expected'],
    ['WALLET&chain_id=0x1', 'INVALID_PARAMETER', '"chain_id": expected'],
    [
      'WALLET&market_id=Main',
      'INVALID_PARAMETER',
      '"market_id": expected one of "main", "lido", "etherfi", got "Main"',
    ],
    ['WALLET&target_health_factor=1', 'INVALID_PARAMETER', '"target_health_factor": expected'],
    ['WALLET&target_health_factor=100.000000000000000001', 'INVALID_PARAMETER', '"target_health_factor": expected'],
    ['WALLET&target_health_factor=1e1', 'INVALID_PARAMETER', '"target_health_factor": expected'],
    ['WALLET&target_health_factor=1.5&target_health_factor=1.5', 'INVALID_PARAMETER', '"target_health_factor"'],
    ['WALLET&limit=26', 'INVALID_PARAMETER', '"limit"'],
    ['WALLET&limit=0', 'INVALID_PARAMETER', '"limit"'],
    ['WALLET&page=0', 'INVALID_PARAMETER', '"page"'],
  ])('refuses %s as %s', async (query, code, message) => {
    const before = one.chains.count()
    const answer = await one.list(query.replace('WALLET', `wallet=${aave.wallets.everywhere}`))
    expect(refusal(answer).slice(0, 2)).toEqual([400, code])
    expect(refusal(answer)[2]).toContain(message)
    expect([charged(answer), one.chains.count() - before]).toEqual([0, 0])
  })

  test('takes any target above 1 up to 100, and shows it as a number', async () => {
    for (const target of ['1.000000000000000001', '1.01', '2', '100', '100.000']) {
      const body = ok(await one.list(`wallet=${aave.wallets.borrower}&target_health_factor=${target}`), listOutput)
      expect(body.data[0].calculations[0].targetHealthFactor).toBe(Number(target))
    }
  })

  test('is 500 API_ENDPOINT_NOT_CONFIGURED if no chain has a market', async () => {
    const service = serviceOver([1], { deployments: new Map() })
    expect(refusal(await service.list(`wallet=${aave.wallets.everywhere}&market_id=main`))).toEqual([
      ...[500, 'API_ENDPOINT_NOT_CONFIGURED', 'No chain with Aave V3 is configured'],
    ] as never)
  })

  test('is 503 that names the chain if one cannot be read, and answers the others when asked for them', async () => {
    const { everywhere } = aave.wallets
    seven.chains.down.add(137)
    const answer = await seven.list(`wallet=${everywhere}`)
    expect(refusal(answer).slice(0, 2)).toEqual([503, 'SERVICE_UNAVAILABLE'])
    expect(refusal(answer)[2]).toMatch(/chain 137 .*: leave it out with the "chain_id" parameter or try again$/)
    // If it is the only chain asked for, it cannot be left out.
    expect(refusal(await seven.list(`wallet=${everywhere}&chain_id=137`))[2]).toMatch(/chain 137 [^:]*$/)
    expect(refusal(answer)[2]).not.toContain('127.0.0.1')
    expect([Number(answer.headers.get('retry-after')) >= 1, charged(answer)]).toEqual([true, 0])
    expect(places(ok(await seven.list(`wallet=${everywhere}&chain_id=10`), listOutput))).toEqual([[everywhere, 10]])
  })
})

describe('a reserve without a price', () => {
  const usual = BigInt(Math.round(AAVE_TOKENS.breakable.usd * 1e8))
  const breaks: readonly (readonly [string, () => Promise<void>, () => Promise<void>])[] = [
    ['a feed that reverts', () => aave.breakFeed('breakable'), () => aave.mendFeed('breakable')],
    ['a price of zero', () => aave.setPrice('breakable', 0n), () => aave.setPrice('breakable', usual)],
  ]
  for (const [name, broken, mended] of breaks) {
    test(`${name} is 503 for its holders except in other markets; other wallets are not affected`, async () => {
      const { breakable, borrower } = aave.wallets
      await broken()
      try {
        for (const rung of LENS_MODES) {
          const service = serviceOver([1], { way: rung })
          for (const query of ['', '&market_id=main', '&chain_id=1']) {
            const answer = await service.list(`wallet=${breakable}${query}`)
            const [status, code, message] = refusal(answer)
            expect([status, code, charged(answer)]).toEqual([503, 'SERVICE_UNAVAILABLE', 0])
            expect(message).toBe(
              `Cannot value market "main" on chain 1 for wallet ${breakable} because reserve BRKN ` +
                `(${AAVE_TOKENS.breakable.address}) has no price: ask for another market with the "market_id" ` +
                'parameter or for another chain with the "chain_id" parameter',
            )
            expect(answer.headers.get('retry-after')).toBe('60')
          }
          const lido = await service.list(`wallet=${breakable}&market_id=lido`)
          expect([listMarkets(ok(lido, listOutput)), charged(lido)]).toEqual([[['lido']], 15])
          expect(listMarkets(ok(await service.list(`wallet=${borrower}`), listOutput))).toEqual([['main']])
        }
      } finally {
        await mended()
      }
      const answer = await one.list(`wallet=${breakable}`)
      expect(listMarkets(ok(answer, listOutput))).toEqual([['main', 'lido']])
    })

    test(`${name} fails a batch with a holder in it, and no other batch`, async () => {
      const { breakable, borrower, everywhere } = aave.wallets
      await broken()
      try {
        const wallets = [borrower, breakable, everywhere]
        const [status, code, message] = refusal(await one.batch({ wallets }))
        expect([status, code]).toEqual([503, 'SERVICE_UNAVAILABLE'])
        expect(message).toContain(`market "main" on chain 1 for wallet ${breakable}`)
        expect(places(ok(await one.batch({ wallets: [borrower, everywhere] }), batchOutput))).toHaveLength(2)
        const lido = ok(await one.batch({ wallets, market_id: 'lido' }), batchOutput)
        expect(places(lido)).toEqual([
          [breakable, 1],
          [everywhere, 1],
        ])
      } finally {
        await mended()
      }
    })
  }
})

describe('POST /v1/lending/aave-v3/batch', () => {
  test('gives of each wallet what the list gives, reduced, in the order of wallets and then of chains', async () => {
    const { everywhere, lidoOnly, empty, supplier } = aave.wallets
    const wallets = [supplier, empty, everywhere, lidoOnly]
    const answer = await seven.batch({ wallets, target_health_factor: 2.25 }, 'limit=25')
    const body = ok(answer, batchOutput)
    expect(places(body)).toEqual([
      ...SEVEN.map((id) => [supplier, id]),
      ...SEVEN.map((id) => [everywhere, id]),
      [lidoOnly, 1],
    ] as [Address, number][])
    expect(charged(answer)).toBe(15 * 15)
    for (const wallet of [supplier, everywhere, lidoOnly]) {
      const full = ok(await seven.list(`wallet=${wallet}&target_health_factor=2.25`), listOutput)
      const reduced = full.data.map(({ positions, calculations, ...place }: Answer['body']) => ({
        ...place,
        positions: positions.map(({ marketId, healthFactor, netWorthUSD }: Answer['body']) => ({
          marketId,
          healthFactor,
          netWorthUSD,
        })),
        calculations: calculations.map(({ healthFactor, netAPY, targetHealthFactor }: Answer['body']) => ({
          healthFactor,
          netAPY,
          targetHealthFactor,
        })),
      }))
      expect(body.data.filter((each: Answer['body']) => each.wallet === wallet)).toEqual(reduced)
    }
  })

  test('counts a wallet once, even if it is repeated or written in another case', async () => {
    const { everywhere, lidoOnly } = aave.wallets
    const wallets = [lidoOnly, everywhere.toLowerCase(), everywhere, lidoOnly.toLowerCase()]
    const answer = await one.batch({ wallets })
    expect([places(ok(answer, batchOutput)), charged(answer)]).toEqual([
      [
        [lidoOnly, 1],
        [everywhere, 1],
      ],
      30,
    ])
  })

  test('narrows to a chain and to a market by any of its names; the target is 1.5 if none is given', async () => {
    const wallets = [aave.wallets.everywhere, aave.wallets.lidoOnly]
    const chain = ok(await seven.batch({ wallets, chain_id: 10 }), batchOutput)
    expect(places(chain)).toEqual([[aave.wallets.everywhere, 10]])
    const market = ok(await seven.batch({ wallets, market_id: 'market_b' }), batchOutput)
    expect([places(market).length, listMarkets(market)]).toEqual([2, [['lido'], ['lido']]])
    expect(market.data[0].calculations[0].targetHealthFactor).toBe(1.5)
  })

  test('costs 15 credits a match below 100 matches, and 12 from 100 on, on every page', async () => {
    const all = ok(await one.batch({ wallets: crowd }), batchOutput)
    const { total } = all.pagination
    expect(total).toBeGreaterThan(100)
    const holders: Address[] = []
    for (let page = 1; holders.length < total; page++) {
      const body = ok(await one.batch({ wallets: crowd }, `limit=25&page=${page}`), batchOutput)
      expect(body.data.length).toBe(Math.min(25, total - holders.length))
      holders.push(...places(body).map(([wallet]) => wallet))
    }
    // Every page of the same answer, in the order asked.
    expect(holders).toEqual(crowd.filter((wallet) => holders.includes(wallet)))
    const cost = async (count: number, query = '') =>
      charged(await one.batch({ wallets: holders.slice(0, count) }, query))
    expect(await Promise.all([cost(1), cost(99), cost(100), cost(101)])).toEqual([15, 99 * 15, 1_200, 1_212])
    expect(await cost(100, 'limit=1&page=7')).toBe(1_200)
    expect(await cost(99, 'limit=25&page=9')).toBe(99 * 15)
    // It is matches that count: these are few wallets.
    const many = await seven.batch({ wallets: holders.slice(0, 60) }, 'limit=25')
    const matches = ok(many, batchOutput).pagination.total
    expect(matches).toBeGreaterThanOrEqual(100)
    expect(charged(many)).toBe(matches * 12)
  })

  test('links its pages', async () => {
    const body = ok(await one.batch({ wallets: crowd }, 'limit=20&page=2'), batchOutput)
    const link = (page: number) => `http://test.local${BATCH}?limit=20&page=${page}`
    expect([body.pagination.prev_page, body.pagination.next_page]).toEqual([link(1), link(3)])
  })

  test('takes 500 wallets, no more, once repetitions are left out', async () => {
    const wallets = Array.from({ length: 501 }, (_, index) => toWalletAddress(`aave nobody ${index}`))
    const [first] = wallets as [Address]
    const answer = await one.batch({ wallets: [...wallets.slice(0, 500), first, first] })
    expect([ok(answer, batchOutput).data, charged(answer)]).toEqual([[], 0])
    const [status, code, message] = refusal(await one.batch({ wallets }))
    expect([status, code]).toEqual([400, 'INVALID_PARAMETER'])
    expect(message).toBe('Cannot read parameter "wallets": expected 1 to 500 EVM addresses, got a list')
  })

  test.each([
    [{}, 'MISSING_PARAMETER', 'Parameter "wallets" is missing'],
    [{ wallets: [] }, 'INVALID_PARAMETER', '"wallets": expected 1 to 500'],
    [{ wallets: 'WALLET' }, 'INVALID_PARAMETER', '"wallets": expected 1 to 500'],
    [{ wallets: null }, 'INVALID_PARAMETER', '"wallets"'],
    [{ wallets: ['WALLET', '0x1'] }, 'INVALID_PARAMETER', '"wallets[1]": expected an EVM address'],
    [{ wallets: ['WALLET', 7] }, 'INVALID_PARAMETER', '"wallets[1]": expected an EVM address'],
    [{ wallets: ['0xd8dA6BF26964aF9D7eEd9e03E53415D37aA9604A'] }, 'INVALID_PARAMETER', 'checksum'],
    [
      { wallets: ['WALLET'], chain_id: 5 },
      'INVALID_PARAMETER',
      '"chain_id": expected the id of a configured chain (1)',
    ],
    [{ wallets: ['WALLET'], chain_id: '1' }, 'INVALID_PARAMETER', '"chain_id"'],
    [{ wallets: ['WALLET'], chain_id: 1.5 }, 'INVALID_PARAMETER', '"chain_id"'],
    [{ wallets: ['WALLET'], market_id: 'aave' }, 'INVALID_PARAMETER', '"market_id": expected one of'],
    [{ wallets: ['WALLET'], market_id: 1 }, 'INVALID_PARAMETER', '"market_id": expected one of'],
    [{ wallets: ['WALLET'], target_health_factor: 1 }, 'INVALID_PARAMETER', '"target_health_factor": expected'],
    [{ wallets: ['WALLET'], target_health_factor: 100.1 }, 'INVALID_PARAMETER', '"target_health_factor": expected'],
    [{ wallets: ['WALLET'], target_health_factor: '2' }, 'INVALID_PARAMETER', '"target_health_factor": expected'],
    [{ wallets: ['WALLET'], page: 1 }, 'INVALID_PARAMETER', 'Unknown field "page"'],
    [{ wallets: ['WALLET'], extra: 1 }, 'INVALID_PARAMETER', 'Unknown field "extra"'],
  ])('refuses %j', async (body, code, message) => {
    const before = one.chains.count()
    const text = JSON.stringify(body).replaceAll('WALLET', aave.wallets.everywhere)
    const answer = await one.batch(JSON.parse(text))
    expect(refusal(answer).slice(0, 2)).toEqual([400, code])
    expect(refusal(answer)[2]).toContain(message)
    expect(one.chains.count() - before).toBe(0)
  })

  test('lists the configured chains if another one is asked for', async () => {
    const [, , message] = refusal(await seven.batch({ wallets: [aave.wallets.empty], chain_id: 100 }))
    const ids = '1, 10, 56, 137, 8453, 42161, 43114'
    expect(message).toBe(`Cannot read parameter "chain_id": expected the id of a configured chain (${ids}), got 100`)
    expect(refusal(await seven.list(`wallet=${aave.wallets.empty}&chain_id=100`))[2]).toContain(ids)
  })

  test('takes a whole target, the least and the most', async () => {
    for (const target_health_factor of [2, 1.0000000000000002, 100]) {
      const body = ok(await one.batch({ wallets: [aave.wallets.borrower], target_health_factor }), batchOutput)
      expect(body.data[0].calculations[0].targetHealthFactor).toBe(target_health_factor)
    }
  })

  test('is under the names of its family alone, and is posted', async () => {
    const { everywhere } = aave.wallets
    const statuses = ['lending_a', 'aave-v3', 'aave', 'aave-v3/batch'].map(async (path) => {
      return (await one.get(`/v1/lending/${path}?wallet=${everywhere}`)).status
    })
    expect(await Promise.all(statuses)).toEqual([200, 200, 404, 405])
  })
})

describe('requests to endpoints', () => {
  /** Most calls to a chain, and most of them in a row, by rung and number of wallets. */
  const COSTS: readonly (readonly [rung: LensMode, wallets: number, calls: number, depth: number])[] = [
    ['override', 1, 1, 1],
    ['override', 10, 1, 1],
    ['override', 100, 1, 1],
    ['override', 500, 3, 2],
    ['deployless', 1, 1, 1],
    ['deployless', 10, 1, 1],
    ['deployless', 100, 1, 1],
    ['deployless', 500, 6, 2],
  ]

  // One wallet and the two largest numbers, and each with `SEEDS=full`.
  test.each(COSTS.filter(([, wallets]) => IS_FULL || wallets !== 10))(
    'by %s for %i wallets are %i, %i in a row, and on seven chains no more in a row',
    async (...cost) => {
      const [rung, count, calls, depth] = cost
      const nobodies = Array.from({ length: 500 }, (_, index) => toWalletAddress(`aave nobody ${index}`))
      const wallets = [...Object.values(aave.wallets), ...crowd, ...nobodies].slice(0, count)
      for (const ids of [[1], SEVEN]) {
        // Seven times 500 would be long for a test and show nothing new.
        if (ids.length > 1 && count > 100) continue
        const service = serviceOver(ids, { way: rung, deployments: new Map(ids.map((id) => [id, CURRENT])) })
        // The chain's id is asked for once in the life of an endpoint.
        expect((await service.list(`wallet=${aave.wallets.empty}`)).status).toBe(200)
        service.chains.reset()
        const answer = count === 1 ? await service.list(`wallet=${wallets[0]}`) : await service.batch({ wallets })
        expect(answer.status).toBe(200)
        const asked = service.chains.count() / ids.length
        expect([asked, service.chains.depth()]).toEqual([calls, depth])
        expect(service.chains.breadth()).toBeGreaterThanOrEqual(ids.length)
      }
    },
  )
})
