import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { type Address, decodeFunctionResult, encodeFunctionData, getAddress, type Hex, parseAbi, toHex } from 'viem'
import { createChainClient, type EvmClient } from '../../../../../src/chain/evm/evm_client.ts'
import type { FinanceChain } from '../../../../../src/finance/chain.ts'
import { type HistoricalPriceOutcome, readPricesAt } from '../../../../../src/finance/price/past/prices_at.ts'
import { createWork } from '../../../../../src/lib/async/work.ts'
import { silentLog } from '../../../../../src/lib/log.ts'
import { deployAll, withAddresses } from '../../../../devnet/aave_v3/deploy.ts'
import { BANK, toWalletAddress } from '../../../../devnet/addresses.ts'
import { type Anvil, startAnvil } from '../../../../devnet/anvil.ts'
import { ownCreationCode } from '../../../../devnet/artifacts.ts'
import { BLOCK_AGE_SEC_MAX } from '../../../../devnet/chain.ts'
import { createRpc, type Rpc } from '../../../../devnet/rpc.ts'
import { createSend, type Send } from '../../../../devnet/transaction.ts'
import { type FaultyRpc, startFaultyRpc } from '../../../../support/rpc.ts'
import { createHurriedClock, slowClock } from '../../../../support/test_clock.ts'

const ABI = parseAbi([
  'function transmit(int256 answer)',
  'function confirmAggregator(address next)',
  'function latestRoundData() view returns (uint80, int256, uint256, uint256, uint80)',
])
const HOUR_SEC = 3_600
const TOKEN = toWalletAddress('priced token')
const PLAIN = toWalletAddress('token with a feed without phases')
const COIN = toWalletAddress('stablecoin')
const never = createWork(new AbortController().signal)

let anvil: Anvil
let rpc: Rpc
let send: Send
let faulty: FaultyRpc
let client: EvmClient<FinanceChain>
let feed: Address
let plain: Address
/** Blocks of the feeds' past, with what each answered in its state. */
const moments: { readonly number: bigint; readonly timestampSec: bigint; readonly answers: readonly bigint[] }[] = []

beforeAll(async () => {
  anvil = await startAnvil()
  rpc = createRpc(anvil.rpcUrl)
  send = createSend(rpc)
  const decimals = toHex(8, { size: 32 }).slice(2)
  const aggregatorCode: Hex = `${ownCreationCode('Aggregator')}${decimals}`
  const aggregators = (await deployAll(send, [aggregatorCode, aggregatorCode, aggregatorCode])) as [
    Address,
    Address,
    Address,
  ]
  plain = aggregators[2]
  await transmit(aggregators[0], 1n)
  ;[feed] = (await deployAll(send, [withAddresses(ownCreationCode('PhasedFeed'), aggregators[0])])) as [Address]
  await transmit(plain, 5n)
  for (let round = 0; round < 130; round++) {
    const now = round < 70 ? aggregators[0] : aggregators[1]
    if (round === 70) {
      await transmit(now, 700n)
      await send([
        {
          from: BANK,
          to: feed,
          data: encodeFunctionData({ abi: ABI, functionName: 'confirmAggregator', args: [now] }),
        },
      ])
    }
    await transmit(plain, 9_000n + BigInt(round))
    await transmit(now, 1_000n + BigInt(round))
    // The block of the round itself.
    if (round % 9 === 4) await remember()
    await rpc.call('evm_increaseTime', HOUR_SEC)
    await rpc.call('evm_mine')
    if (round % 9 === 0) await remember()
    // A round of the same second as a remembered block would count for it.
    await rpc.call('evm_increaseTime', 60)
  }
  faulty = await startFaultyRpc(anvil.rpcUrl)
  client = createChainClient({ chain: chain(), clock: createHurriedClock(), log: silentLog })
}, 60_000)
beforeEach(() => {
  faulty.rule(() => undefined)
  faulty.reset()
})
afterAll(async () => {
  client?.close()
  await faulty?.stop()
  await anvil?.stop()
})

function chain(): FinanceChain {
  const usdFeeds = {
    [getAddress(TOKEN)]: { feed, heartbeatSec: HOUR_SEC },
    [getAddress(PLAIN)]: { feed: plain, heartbeatSec: HOUR_SEC },
  }
  return {
    id: 1,
    name: 'Test',
    rpcUrls: [faulty.url],
    reuseMs: 0,
    maxBlockAgeSec: BLOCK_AGE_SEC_MAX,
    finality: { depth: 0 },
    prices: { usdFeeds, stablecoins: [COIN] },
    tokens: { addresses: [], names: [], added: [] },
    spamTokens: [],
  }
}

async function transmit(aggregator: Address, answer: bigint): Promise<void> {
  await send([
    { from: BANK, to: aggregator, data: encodeFunctionData({ abi: ABI, functionName: 'transmit', args: [answer] }) },
  ])
}

/** The newest block, and what the feeds answer there when they are asked directly. */
async function remember(): Promise<void> {
  const block = await rpc.call<{ readonly number: Hex; readonly timestamp: Hex }>(
    'eth_getBlockByNumber',
    'latest',
    false,
  )
  const data = encodeFunctionData({ abi: ABI, functionName: 'latestRoundData' })
  const answers = await rpc.batch<Hex>(
    [feed, plain].map((to) => ({ method: 'eth_call', params: [{ to, data }, block.number] })),
  )
  moments.push({
    number: BigInt(block.number),
    timestampSec: BigInt(block.timestamp),
    answers: answers.map((each) => decodeFunctionResult({ abi: ABI, functionName: 'latestRoundData', data: each })[1]),
  })
}

/** Refuses every call at a block other than the newest, as a node without archive state does. */
async function forgetPast(): Promise<void> {
  const newest = await rpc.call<Hex>('eth_blockNumber')
  faulty.rule(({ method, params }) => {
    if (method !== 'eth_call') return undefined
    const at = params[1]
    const isNewest = at === 'latest' || at === newest || (typeof at === 'object' && at !== null)
    return isNewest ? undefined : { kind: 'error', error: { code: -32000, message: 'missing trie node 0xabc (path )' } }
  })
}

async function pricesAt(
  moment: { readonly number: bigint; readonly timestampSec: bigint },
  tokens: readonly Address[],
) {
  const asked = { source: { kind: 'chain' }, tokens: tokens.map((token) => getAddress(token)), block: moment } as const
  const outcomes = await readPricesAt(client, { ...asked, clock: slowClock }, never)
  return tokens.map((token) => outcomes.get(getAddress(token)))
}

function toAnswers(outcomes: readonly (HistoricalPriceOutcome | undefined)[]): unknown[] {
  return outcomes.map((each) => (each?.kind === 'price' ? [each.price.units, each.evidence] : each?.because))
}

test('with archive state, the price is the feed’s answer at that block', async () => {
  expect(moments.length).toBeGreaterThan(13)
  for (const moment of moments) {
    expect(toAnswers(await pricesAt(moment, [TOKEN, PLAIN]))).toEqual(moment.answers.map((answer) => [answer, 'state']))
  }
})

test('without it, the rounds of both phases give the same prices, in few requests', async () => {
  await forgetPast()
  for (const moment of moments) {
    faulty.reset()
    const outcomes = await pricesAt(moment, [TOKEN, PLAIN])
    expect(toAnswers(outcomes)).toEqual(moment.answers.map((answer) => [answer, 'round']))
    expect(faulty.seen.length).toBeLessThan(20)
  }
})

test('a moment before the first round has no price, and the reason names the block', async () => {
  await forgetPast()
  const [outcome] = await pricesAt({ number: 1n, timestampSec: (moments[0]?.timestampSec ?? 0n) - 500_000n }, [TOKEN])
  expect(outcome).toEqual({
    kind: 'missing',
    because: 'no endpoint keeps the state of block 1, and no feed of it keeps rounds so old',
    witnesses: 0,
  })
})

test('a round that was stale then is a missing price', async () => {
  await forgetPast()
  const last = moments.at(-1)
  if (last === undefined) throw new Error('There is no moment')
  const [outcome] = await pricesAt({ ...last, timestampSec: last.timestampSec + 100n * BigInt(HOUR_SEC) }, [TOKEN])
  expect(outcome).toEqual({ kind: 'missing', because: 'its price feed is stale', witnesses: 1 })
})

test('a stablecoin without any other source is a dollar in the past as well', async () => {
  await forgetPast()
  const [moment] = moments
  if (moment === undefined) throw new Error('There is no moment')
  const [outcome] = await pricesAt(moment, [COIN])
  expect(outcome).toMatchObject({ kind: 'price', price: { units: 1n, scale: 0, source: 'stablecoin' } })
})
