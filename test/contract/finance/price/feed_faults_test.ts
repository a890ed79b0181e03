import { beforeAll, describe, expect, test } from 'bun:test'
import { type Address, encodeFunctionData, parseAbi } from 'viem'
import { LENS_MODES } from '../../../../src/chain/call/lens.ts'
import type { ChainPrices } from '../../../../src/finance/chain.ts'
import { type HistoricalPriceOutcome, readPricesAt } from '../../../../src/finance/price/past/prices_at.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { BANK, TOKENS, toWalletAddress } from '../../../devnet/addresses.ts'
import { type Devnet, sharedDevnet } from '../../../devnet/mod.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { createClient, createCode, deploy, listedChain, mintCall, read } from '../token/balance/world.ts'

const { usdc } = TOKENS
const WALLET = toWalletAddress('feed faults')
const ABI = parseAbi(['function set(int256 answer, uint256 startedAt, uint256 updatedAt)'])
const LEAST = 1_000_000n
const GREATEST = 10_000_000_000n
const HOUR = 3_600n

let devnet: Devnet
let [aggregator, unbounded, sequencer]: Address[] = []
let [proxy, unboundedProxy, sequencerFeed]: Address[] = []

function at(address: Address | undefined): Address {
  if (address === undefined) throw new Error('It is not deployed')
  return address
}

beforeAll(async () => {
  devnet = await sharedDevnet()
  ;[aggregator, unbounded, sequencer] = await deploy(devnet, [
    createCode('BoundedAggregator', Number(LEAST), Number(GREATEST)),
    createCode('BoundedAggregator', 0, 0),
    createCode('BoundedAggregator', 0, 1),
  ])
  ;[proxy, unboundedProxy, sequencerFeed] = await deploy(
    devnet,
    [aggregator, unbounded, sequencer].map((each) => createCode('PhasedFeed', at(each))),
  )
  await devnet.send([mintCall(usdc.address, WALLET, 1_000_000n)])
}, 60_000)

interface Round {
  readonly answer: bigint
  readonly startedAt?: bigint
  readonly updatedAt: bigint
}

async function set(contract: Address | undefined, { answer, startedAt = 0n, updatedAt }: Round): Promise<void> {
  const data = encodeFunctionData({ abi: ABI, functionName: 'set', args: [answer, startedAt, updatedAt] })
  await devnet.send([{ from: BANK, to: at(contract), data }])
}

async function readNow(): Promise<bigint> {
  return (await devnet.client.getBlock()).timestamp
}

/** What is told of the dollar by a feed, live and of a flow of the newest block; the reason if nothing is. */
async function readPrice(
  feed: Address | undefined,
  { way = 'override', ...prices }: Partial<ChainPrices> & { readonly way?: (typeof LENS_MODES)[number] } = {},
): Promise<string> {
  const chain = listedChain(devnet, [usdc.address])
  const usdFeeds = { [usdc.address]: { feed: at(feed), heartbeatSec: 86_400 } }
  const client = createClient({ ...chain, prices: { ...chain.prices, usdFeeds, ...prices } })
  const { rows } = await read(client, { wallet: WALLET, way })
  const price = rows.find(({ token }) => token.address === usdc.address)?.price
  if (price === undefined) throw new Error('The token has no row')
  const tell = (outcome: HistoricalPriceOutcome | typeof price) =>
    outcome?.kind === 'price' ? `${outcome.price.units} ${outcome.price.source}` : outcome?.because
  const flow = await readFlowPrice(client)
  expect(flow && tell(flow)).toBe(tell(price))
  return price.kind === 'price' ? `${tell(price)}` : `${price.reason}: ${price.because}`
}

/** The price of a flow at the newest block, from its state. */
async function readFlowPrice(client: ReturnType<typeof createClient>): Promise<HistoricalPriceOutcome | undefined> {
  const { number, timestamp } = await devnet.client.getBlock()
  const block = { number, timestampSec: timestamp }
  const query = {
    source: { kind: 'chain' },
    tokens: [usdc.address],
    block,
    isStored: false,
    clock: slowClock,
  } as const
  return (await readPricesAt(client, query, createWork(new AbortController().signal))).get(usdc.address)
}

describe('a feed at a bound of its aggregator', () => {
  const stuck = 'unpriced: its price feed stands at a bound of what it can answer'

  test.each(LENS_MODES)('has no price, behind a proxy or not, by %s', async (way) => {
    for (const [answer, told] of [
      [LEAST - 1n, stuck],
      [LEAST, stuck],
      [LEAST + 1n, `${LEAST + 1n} feed`],
      [GREATEST - 1n, `${GREATEST - 1n} feed`],
      [GREATEST, stuck],
    ] as const) {
      await set(aggregator, { answer, updatedAt: await readNow() })
      for (const feed of [proxy, aggregator]) expect([answer, await readPrice(feed, { way })]).toEqual([answer, told])
    }
  })

  test('has no other source either', async () => {
    await set(aggregator, { answer: LEAST, updatedAt: await readNow() })
    expect(await readPrice(proxy, { stablecoins: [usdc.address] })).toBe(stuck)
  })

  test('is believed if its aggregator tells no range', async () => {
    await set(unbounded, { answer: LEAST, updatedAt: await readNow() })
    expect(await readPrice(unboundedProxy)).toBe(`${LEAST} feed`)
  })
})

describe('a halt of the sequencer', () => {
  const halted = "stale: its price feed answered before the chain's sequencer halted"
  const answer = 100_000_000n
  const DOWN = 1n
  const UP = 0n

  test.each(LENS_MODES)('takes the rounds of before, while it lasts and for an hour after, by %s', async (way) => {
    const now = await readNow()
    const told = `${answer} feed`
    // The block of a reading is some seconds younger than this moment.
    for (const [status, since, updatedAt, expected] of [
      [DOWN, now - 10n, now - 11n, halted],
      [DOWN, now - 10n * HOUR, now - 11n * HOUR, halted],
      [DOWN, now - 10n, now - 10n, told],
      [UP, now - HOUR + 60n, now - HOUR + 59n, halted],
      [UP, now - HOUR + 60n, now - HOUR + 60n, told],
      [UP, now - HOUR, now - 2n * HOUR, told],
    ] as const) {
      await set(sequencer, { answer: status, startedAt: since, updatedAt: now })
      await set(aggregator, { answer, updatedAt })
      const price = await readPrice(proxy, { sequencerFeed: at(sequencerFeed), way })
      expect([status, since, updatedAt, price]).toEqual([status, since, updatedAt, expected])
      expect(await readPrice(proxy, { way })).toBe(told)
    }
  })

  test('takes nothing where its feed does not answer', async () => {
    await set(aggregator, { answer, updatedAt: await readNow() })
    expect(await readPrice(proxy, { sequencerFeed: WALLET })).toBe(`${answer} feed`)
  })
})
