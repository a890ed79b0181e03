import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { toHex } from 'viem'
import { createChainClient, type EvmClient } from '../../../src/chain/evm/evm_client.ts'
import type { PriceBlock } from '../../../src/finance/price/past/prices_at.ts'
import { createMidnights, DAY_SEC, type Midnights } from '../../../src/history/midnight.ts'
import { createWork } from '../../../src/lib/async/work.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { type FaultyRpc, startFaultyRpc } from '../../support/rpc.ts'
import { createHurriedClock, slowClock } from '../../support/test_clock.ts'
import { type Feeds, feedsChain, startFeeds } from '../finance/price/past/feeds.ts'

const never = createWork(new AbortController().signal)

let feeds: Feeds
let rpcs: readonly [FaultyRpc, FaultyRpc]
let database: TestDatabase
/** Two midnights, and the last block before each. */
let days: readonly [number, number]
let blocks: readonly [PriceBlock, PriceBlock]
let newest: bigint
let nowSec = 0
/** Of the database; the process' own clock is a year ahead. */
const serverTime = async () => nowSec
const clock: Clock = { ...slowClock, now: () => (nowSec + 365 * DAY_SEC) * 1_000 }
const clients: EvmClient[] = []

beforeAll(async () => {
  feeds = await startFeeds()
  const before: PriceBlock[] = []
  const passed: number[] = []
  for (let count = 0; count < 2; count++) {
    const second = Number((await feeds.moment()).timestampSec)
    const day = Math.floor(second / DAY_SEC) + 1
    await feeds.pass(day * DAY_SEC - 30 - second)
    before.push(await feeds.moment())
    await feeds.pass(60)
    passed.push(day)
  }
  days = passed as [number, number]
  blocks = before as [PriceBlock, PriceBlock]
  newest = (await feeds.moment()).number
  rpcs = await Promise.all([startFaultyRpc(feeds.rpcUrl), startFaultyRpc(feeds.rpcUrl)])
  database = await testDatabase()
}, 60_000)
beforeEach(async () => {
  await database.db.run('delete from midnight', [])
  for (const rpc of rpcs) rpc.rule(() => undefined)
  // Less than a day after the older of them.
  nowSec = days[1] * DAY_SEC - 60
})
afterAll(async () => {
  for (const client of clients) client.close()
  await Promise.all((rpcs ?? []).map((rpc) => rpc.stop()))
  await feeds?.stop()
  await database?.close()
})

/** Midnights over so many endpoints of a chain whose blocks are final so deep below the newest. */
function over(endpoints: 1 | 2, depth: number): { readonly midnights: Midnights; readonly client: EvmClient } {
  const urls = rpcs.slice(0, endpoints).map(({ url }) => url)
  const chain = { ...feedsChain(urls, { usdFeeds: {}, stablecoins: [] }), finality: { depth } }
  const client = createChainClient({ chain, clock: createHurriedClock(), log: silentLog })
  clients.push(client)
  return { midnights: createMidnights({ db: database.db, clock, serverTime }), client }
}

/** The midnights that are stored, with the number of endpoints that gave them, and whether they are final. */
async function stored(): Promise<
  readonly (readonly [day: number, block: bigint, witnesses: number, isFinal: boolean])[]
> {
  const rows = await database.db.run<{ day: number; block: string; witnesses: number; is_final: boolean }>(
    'select day, block, witnesses, is_final from midnight order by day',
    [],
  )
  return rows.map((row) => [row.day, BigInt(row.block), row.witnesses, row.is_final])
}

test('a midnight is final once its block is, and those that are not yet are counted', async () => {
  const depths = { none: Number(newest), older: Number(newest - blocks[0].number), both: 0 }
  const { midnights, client } = over(1, depths.none)
  expect(await midnights.settle(client, never)).toBe(0)
  for (const day of days) await midnights.findBlock(client, day, never)
  const said = (first: boolean, second: boolean) => [
    [days[0], blocks[0].number, 1, first],
    [days[1], blocks[1].number, 1, second],
  ]
  for (const [depth, left, expected] of [
    [depths.none, 2, said(false, false)],
    [depths.older + 1, 2, said(false, false)],
    [depths.older, 1, said(true, false)],
    [depths.both, 0, said(true, true)],
  ] as const) {
    const again = over(1, depth)
    expect(await again.midnights.settle(again.client, never)).toBe(left)
    expect(await stored()).toEqual(expected as never)
  }
})

test('one that is not final is read from the database each time: another process may have replaced it', async () => {
  const { midnights, client } = over(1, Number(newest))
  const [day] = days
  for (let read = 0; read < 2; read++) {
    expect((await midnights.findBlock(client, day, never)).number).toBe(blocks[0].number)
  }
  await database.db.run('update midnight set block = block - 1', [])
  expect((await midnights.findBlock(client, day, never)).number).toBe(blocks[0].number - 1n)
})

test('a second endpoint that fails is waited for until the block is a day old', async () => {
  const { midnights, client } = over(2, 0)
  const [day] = days
  rpcs[1].rule(() => ({ kind: 'http', status: 500, body: '' }))
  await midnights.findBlock(client, day, never)
  expect(await midnights.settle(client, never)).toBe(1)
  nowSec = Number(blocks[0].timestampSec) + DAY_SEC
  expect(await midnights.settle(client, never)).toBe(1)
  expect(await stored()).toEqual([[day, blocks[0].number, 1, false]])
  nowSec += 1
  expect(await midnights.settle(client, never)).toBe(0)
  expect(await stored()).toEqual([[day, blocks[0].number, 1, true]])
})

test('two endpoints make it final at once', async () => {
  const { midnights, client } = over(2, 0)
  const [day] = days
  await midnights.findBlock(client, day, never)
  expect(await midnights.settle(client, never)).toBe(0)
  expect(await stored()).toEqual([[day, blocks[0].number, 2, true]])
  // It stays in memory: no endpoint is asked for it again.
  for (const rpc of rpcs) rpc.reset()
  expect((await midnights.findBlock(client, day, never)).number).toBe(blocks[0].number)
  expect([...rpcs[0].seen, ...rpcs[1].seen]).toEqual([])
})

test('several are found together by two endpoints, and asked for no more', async () => {
  const { midnights, client } = over(2, 0)
  nowSec = (days[1] + 2) * DAY_SEC
  const newestFirst = days.toReversed()
  const beforeTheChain = 10
  const groups = await Array.fromAsync(midnights.readGroups(client, [...newestFirst, beforeTheChain], never))
  expect(groups).toEqual([newestFirst])
  expect(await stored()).toEqual(days.map((day, index) => [day, blocks[index]?.number ?? 0n, 2, true]))
  for (const rpc of rpcs) rpc.reset()
  for await (const group of midnights.readGroups(client, newestFirst, never)) expect(group).toEqual(newestFirst)
  for (const [index, day] of days.entries())
    expect((await midnights.findBlock(client, day, never)).number).toBe(blocks[index]?.number ?? 0n)
  expect([...rpcs[0].seen, ...rpcs[1].seen]).toEqual([])
})

test('if endpoints contradict each other about one of several, that one alone is refused', async () => {
  const { midnights, client } = over(2, 0)
  nowSec = (days[1] + 2) * DAY_SEC
  const [older] = blocks
  const invented = toHex(1, { size: 32 })
  rpcs[1].rule(({ params }) => {
    const name = { [toHex(older.number)]: 'hash', [toHex(older.number + 1n)]: 'parentHash' }[String(params[0])]
    if (name === undefined) return undefined
    return { kind: 'change', change: (header) => ({ ...(header as object), [name]: invented }) }
  })
  const groups = await Array.fromAsync(midnights.readGroups(client, days.toReversed(), never))
  expect(groups.flat()).toEqual(days.toReversed())
  expect(await stored()).toEqual([])
  await expect(midnights.findBlock(client, days[0], never)).rejects.toMatchObject({ reason: 'disputed' })
  expect((await midnights.findBlock(client, days[1], never)).number).toBe(blocks[1].number)
})
