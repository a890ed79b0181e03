import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Clock } from '../../../src/lib/clock.ts'
import { BANK, TOKENS, toWalletAddress } from '../../devnet/addresses.ts'
import { createDevnetChain } from '../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { usdToRaw } from '../../devnet/scenario.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { slowClock } from '../../support/test_clock.ts'
import { transferCall } from '../finance/token/balance/world.ts'
import { countedClient, createPortfolio, listing } from './support.ts'

const DAY_SEC = 86_400
const CHAIN_ID = 10
const WALLET = toWalletAddress('heartbeats')
const { usdc } = TOKENS

let devnet: Devnet
let database: TestDatabase
let nowSec: number
const clock: Clock = { ...slowClock, now: () => nowSec * 1_000 }

/** A feed with one round a day, at eleven, on each of eight days; then a day without any, and a new round. */
beforeAll(async () => {
  database = await testDatabase()
  devnet = await startDevnet({ chainId: CHAIN_ID, ageSec: 16 * DAY_SEC })
  const { timestamp } = await devnet.client.getBlock()
  nowSec = (Math.floor(Number(timestamp) / DAY_SEC) + 1) * DAY_SEC + 7
  await moveTo(nowSec)
  await devnet.send([transferCall(usdc.address, { from: BANK, to: WALLET, value: usdToRaw(usdc, 1_000_000) })])
  for (let day = 0; day < 8; day++) {
    await moveTo((Math.floor(nowSec / DAY_SEC) + 1) * DAY_SEC - 13 * 3_600)
    await devnet.setFeed(usdc.feed, { answer: 99_990_000n + BigInt(day), updatedAtSec: BigInt(nowSec) })
    await mineAt(nowSec + 13 * 3_600 - 5)
    await mineAt(nowSec + 60)
  }
  await mineAt((Math.floor(nowSec / DAY_SEC) + 1) * DAY_SEC - 5)
  await moveTo(nowSec + 60)
  await devnet.setFeed(usdc.feed, { answer: 99_990_000n, updatedAtSec: BigInt(nowSec) })
}, 120_000)
afterAll(async () => {
  await devnet?.stop()
  await database?.close()
}, 60_000)

async function moveTo(timeSec: number): Promise<void> {
  nowSec = timeSec
  await devnet.rpc.call('evm_setNextBlockTimestamp', timeSec)
}

async function mineAt(timeSec: number): Promise<void> {
  await moveTo(timeSec)
  await devnet.rpc.call('evm_mine')
}

interface Midnight {
  readonly timestamp: number
  readonly net_worth_usd: string
  readonly unpriced: number
}

function createPortfolioWith(heartbeatSec: number) {
  const prices = { usdFeeds: { [usdc.address]: { feed: usdc.feed, heartbeatSec } }, stablecoins: [] }
  const { client } = countedClient(listing(createDevnetChain(devnet, { prices }), []))
  return createPortfolio([client], { db: database.db, clock })
}

test('a midnight counts what the slowest heartbeat lets count, and a late feed is unpriced', async () => {
  const portfolio = createPortfolioWith(255)
  const { reply } = await portfolio.snapshots(`wallet=${WALLET}&chain_id=${CHAIN_ID}&max_snapshots=5`)
  const midnights = reply.data as readonly Midnight[]
  const shown = midnights.map(({ net_worth_usd, unpriced }) => [net_worth_usd, unpriced])
  expect(shown).toEqual([
    ['999900.040000', 0],
    ['999900.050000', 0],
    ['999900.060000', 0],
    ['999900.070000', 0],
    // The day without a round.
    ['0.000000', 1],
  ])
  for (const { timestamp, net_worth_usd } of midnights) {
    const balance = await portfolio.balance(`wallet=${WALLET}&chain_id=${CHAIN_ID}&at_time=${timestamp}`)
    expect((balance.reply.data as Midnight).net_worth_usd).toBe(net_worth_usd)
  }
}, 60_000)

test('a live read keeps the heartbeat of the row; a dated read of the same block counts the round', async () => {
  await mineAt(nowSec + 3_600)
  const portfolio = createPortfolioWith(255)
  const read = async (moment: string) => {
    const { reply } = await portfolio.balance(`wallet=${WALLET}&chain_id=${CHAIN_ID}${moment}`)
    return (reply.data as Midnight).net_worth_usd
  }
  const number = await devnet.client.getBlockNumber()
  expect([await read(''), await read(`&at_block=${number}`)]).toEqual(['0.000000', '999900.000000'])
}, 60_000)
