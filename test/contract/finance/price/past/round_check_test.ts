import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { type Address, encodeFunctionData, getAddress, parseAbi, toHex } from 'viem'
import { createChainClient, type EvmClient } from '../../../../../src/chain/evm/evm_client.ts'
import type { FinanceChain } from '../../../../../src/finance/chain.ts'
import { type PriceBlock, readPricesAt } from '../../../../../src/finance/price/past/prices_at.ts'
import { createWork } from '../../../../../src/lib/async/work.ts'
import { silentLog } from '../../../../../src/lib/log.ts'
import { deployAll } from '../../../../devnet/aave_v3/deploy.ts'
import { BANK, toWalletAddress } from '../../../../devnet/addresses.ts'
import { createSend } from '../../../../devnet/transaction.ts'
import { type Fault, type FaultyRpc, type SeenRequest, startFaultyRpc } from '../../../../support/rpc.ts'
import { createPatientClock } from '../../../../support/test_clock.ts'
import { createCode } from '../../token/balance/world.ts'
import { type Feeds, feedsChain, startFeeds } from './feeds.ts'

const ABI = parseAbi(['function set(int256 answer, uint256 startedAt, uint256 updatedAt)'])
const HOUR_SEC = 3_600
/** The upper bound of a feed with bounds. */
const GREATEST = 10_000_000_000n
const TOKEN = getAddress(toWalletAddress('priced token'))
const never = createWork(new AbortController().signal)

let feeds: Feeds
let first: FaultyRpc
let second: FaultyRpc
let phased: Address
let plain: Address
let sequencerFeed: Address
/** Since when the sequencer is up: from before the rounds on, and from half a minute after round 1007 on. */
const starts: bigint[] = []
/** The blocks of the rounds 1001 to 1008, of which the last four are of the second phase. */
const blocks: PriceBlock[] = []
/** A minute after each. */
const later: PriceBlock[] = []
const clients: EvmClient<FinanceChain>[] = []

beforeAll(async () => {
  feeds = await startFeeds()
  ;[first, second] = await Promise.all([startFaultyRpc(feeds.rpcUrl), startFaultyRpc(feeds.rpcUrl)])
  const [older, newer] = (await feeds.aggregators(2)) as [Address, Address]
  plain = newer
  await feeds.transmit(older, 1_000n)
  phased = await feeds.phased(older)
  const [status] = (await feeds.aggregators(1)) as [Address]
  const restart = async () => {
    await feeds.transmit(status, 0n)
    starts.push((await feeds.moment()).timestampSec)
  }
  await restart()
  sequencerFeed = await feeds.phased(status)
  for (let round = 1n; round <= 8n; round++) {
    await feeds.pass(HOUR_SEC - 60)
    if (round === 5n) {
      await feeds.transmit(newer, 1_000n + round)
      await feeds.confirm(phased, newer)
    } else await feeds.transmit(round < 5n ? older : newer, 1_000n + round)
    blocks.push(await feeds.moment())
    await feeds.pass(30)
    if (round === 7n) await restart()
    await feeds.pass(30)
    later.push(await feeds.moment())
  }
}, 60_000)
beforeEach(() => {
  for (const rpc of [first, second]) {
    rpc.rule(() => undefined)
    rpc.reset()
  }
})
afterEach(() => {
  for (const client of clients.splice(0)) client.close()
})
afterAll(async () => {
  await Promise.all([first, second].map((rpc) => rpc?.stop()))
  await feeds?.stop()
})

/** The feed's answer at a block, by these endpoints. */
async function ask(
  block: PriceBlock,
  { feed = phased, rpcs = [first], ...rest }: { feed?: Address; rpcs?: FaultyRpc[]; sequencerFeed?: Address } = {},
) {
  const prices = { usdFeeds: { [TOKEN]: { feed, heartbeatSec: 10 * HOUR_SEC } }, stablecoins: [], ...rest }
  const chain = feedsChain(
    rpcs.map(({ url }) => url),
    prices,
  )
  const clock = createPatientClock()
  const client = createChainClient({ chain, clock, log: silentLog })
  clients.push(client)
  const asked = { source: { kind: 'chain' }, tokens: [TOKEN], block, clock } as const
  const outcome = (await readPricesAt(client, asked, never)).get(TOKEN)
  return outcome?.kind === 'price' ? [outcome.price.units, outcome.witnesses] : [outcome?.because, outcome?.witnesses]
}

const toWord = (value: bigint) => value.toString(16).padStart(64, '0')

/** Changes words of every answer of calls at one block. */
function says(block: PriceBlock, changes: readonly (readonly [bigint, bigint])[]) {
  return ({ method, params }: SeenRequest): Fault | undefined => {
    if (method !== 'eth_call' || params[1] !== toHex(block.number)) return undefined
    const change = (result: unknown) =>
      changes.reduce((text, [from, to]) => text.replaceAll(toWord(from), toWord(to)), String(result))
    return { kind: 'change', change }
  }
}

/** Refuses calls at the block, as a node without archive state does. */
const lacks =
  (block: PriceBlock) =>
  ({ method, params }: SeenRequest): Fault | undefined =>
    method === 'eth_call' && params[1] === toHex(block.number)
      ? { kind: 'error', error: { code: -32000, message: 'missing trie node 0xabc (path )' } }
      : undefined

const toRoundId = (phase: bigint, number: bigint) => (phase << 64n) | number
const at = (index: number) => blocks[index] as PriceBlock

/** Round 1003 is the fourth of phase 1, 1006 the second of phase 2. */
const LIES = [
  ['another answer', 2, [[1_003n, 9_999n]]],
  [
    'the round before',
    2,
    [
      [1_003n, 1_002n],
      [toRoundId(1n, 4n), toRoundId(1n, 3n)],
    ],
  ],
  ['a round that is to come', 2, [[toRoundId(1n, 4n), toRoundId(1n, 5n)]]],
  ['a round of another phase', 5, [[toRoundId(2n, 2n), toRoundId(1n, 2n)]]],
  ['a round that never was', 5, [[toRoundId(2n, 2n), toRoundId(2n, 99n)]]],
  [
    'a phase that never was',
    5,
    [
      [toRoundId(2n, 2n), toRoundId(7n, 2n)],
      [1_006n, 5n],
    ],
  ],
] as const

describe('a round from a single endpoint', () => {
  test.each(LIES)('is refused if it is %s', async (_, index, changes) => {
    const block = at(index)
    first.rule(says(block, changes))
    const refused = expect.stringMatching(
      new RegExp(
        `^Cannot believe feed ${phased} at block ${block.number} of chain 1 .*contradict endpoint 1 \\(second witness\\)$`,
      ),
    )
    await expect(ask(block)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', message: refused })
    // Also refused if the other endpoint does not have that state: it has the rounds.
    second.rule(lacks(block))
    await expect(ask(block, { rpcs: [first, second] })).rejects.toMatchObject({ message: refused })
  })

  test('is refused if it is of another time, or has other decimals', async () => {
    const block = at(2)
    first.rule(says(block, [[block.timestampSec, block.timestampSec - 60n]]))
    await expect(ask(block)).rejects.toMatchObject({
      message: expect.stringMatching(/\(second witness\)$|\(block time\)$/),
    })
    const last = at(7)
    first.rule(says(last, [[8n, 6n]]))
    await expect(ask(last)).rejects.toMatchObject({ message: expect.stringContaining('(second witness)') })
  })

  test('is refused if it is the whole round before', async () => {
    const block = later[2] as PriceBlock
    const before = [
      [1_003n, 1_002n],
      [toRoundId(1n, 4n), toRoundId(1n, 3n)],
      [at(2).timestampSec, at(1).timestampSec],
    ] as const
    first.rule(says(block, before))
    await expect(ask(block)).rejects.toThrow('(second witness)')
  })

  test('is confirmed by another endpoint that has only the rounds, and has one witness without it', async () => {
    for (const [index, block] of blocks.entries()) {
      second.rule(lacks(block))
      expect(await ask(block, { rpcs: [first, second] })).toEqual([1_001n + BigInt(index), 2])
      expect(await ask(block, { rpcs: [second, first] })).toEqual([1_001n + BigInt(index), 2])
      expect(await ask(block)).toEqual([1_001n + BigInt(index), 1])
    }
  })

  test('has one witness if the other endpoint finds another fault by the sequencer, and two if it finds the same', async () => {
    const [start, restart] = starts as [bigint, bigint]
    const [running, restarted] = [later[3], later[6]] as [PriceBlock, PriceBlock]
    const both = { rpcs: [first, second], sequencerFeed }
    const halted = expect.stringContaining("before the chain's sequencer halted")
    for (const [block, honest, { told, lie }] of [
      [running, 1_004n, { told: start, lie: running.timestampSec - 10n }],
      [restarted, halted, { told: restart, lie: start }],
    ] as const) {
      second.rule(lacks(block))
      first.rule(() => undefined)
      const found: unknown[] = await ask(block, both)
      expect(found).toEqual([honest, 2])
      first.rule(says(block, [[told, lie]]))
      const lied: unknown[] = await ask(block, both)
      expect(lied).toEqual([honest === halted ? 1_007n : halted, 1])
    }
    // A sequencer feed that does not answer says as little.
    first.rule(() => undefined)
    second.rule(lacks(running))
    expect(await ask(running, { ...both, sequencerFeed: TOKEN })).toEqual([1_004n, 1])
  })

  test('has one witness if the other endpoint finds another fault by the bounds', async () => {
    const send = createSend(feeds.rpc)
    const [bounded] = (await deployAll(send, [createCode('BoundedAggregator', 1, Number(GREATEST))])) as [Address]
    const bound = expect.stringContaining('stands at a bound of what it can answer')
    for (const [answer, lie, honest, lied] of [
      [GREATEST + 5n, GREATEST + 9n, bound, GREATEST + 5n],
      [GREATEST - 5n, GREATEST - 9n, GREATEST - 5n, bound],
    ] as const) {
      const { timestampSec } = await feeds.moment()
      const data = encodeFunctionData({ abi: ABI, functionName: 'set', args: [answer, timestampSec, timestampSec] })
      await send([{ from: BANK, to: bounded, data }])
      const block = await feeds.moment()
      await feeds.pass(60)
      second.rule(lacks(block))
      first.rule(() => undefined)
      const found: unknown[] = await ask(block, { feed: bounded, rpcs: [first, second] })
      first.rule(says(block, [[GREATEST, lie]]))
      found.push(...(await ask(block, { feed: bounded, rpcs: [first, second] })))
      expect(found).toEqual([honest, 2, lied, 1])
    }
  })

  test('of a feed without phases counts as well, unless the feed keeps no such round', async () => {
    const block = at(5)
    second.rule(lacks(block))
    expect(await ask(block, { feed: plain, rpcs: [first, second] })).toEqual([1_006n, 2])
    first.rule(says(block, [[1_006n, 5n]]))
    await expect(ask(block, { feed: plain, rpcs: [first, second] })).rejects.toThrow('(second witness)')
    first.rule(says(block, [[2n, 77n]]))
    expect(await ask(block, { feed: plain, rpcs: [first, second] })).toEqual([1_006n, 1])
  })

  test('has one witness if no endpoint can read rounds now', async () => {
    const block = at(3)
    const silent = ({ method, params }: SeenRequest): Fault | undefined =>
      method === 'eth_getBlockByNumber' && params[0] === 'latest' ? { kind: 'http', status: 500, body: '' } : undefined
    first.rule(silent)
    expect(await ask(block)).toEqual([1_004n, 1])
  })
})

describe('two endpoints with the state', () => {
  // An endpoint that answers a second after the other, as on a busy machine, is not waited for.
  test('agree without another request, or are both refused', { retry: 3 }, async () => {
    const block = at(4)
    for (const rpc of [first, second]) rpc.rule(() => undefined)
    // The aggregator behind a feed is asked apart until it is known.
    await ask(block, { rpcs: [first, second] })
    for (const rpc of [first, second]) rpc.reset()
    expect(await ask(block, { rpcs: [first, second] })).toEqual([1_005n, 2])
    for (const rpc of [first, second]) {
      const calls = rpc.seen.filter(({ method }) => method === 'eth_call')
      expect(calls.map(({ params }) => params[1])).toEqual([toHex(block.number)])
    }
    for (const liar of [first, second]) {
      liar.rule(says(block, [[1_005n, 1_006n]]))
      await expect(ask(block, { rpcs: [first, second] })).rejects.toThrow('endpoints 1 and 2 contradict each other')
      liar.rule(() => undefined)
    }
  })

  test('that differ are decided by a third one', async () => {
    const block = at(4)
    const third = await startFaultyRpc(feeds.rpcUrl)
    try {
      const rpcs = [first, second, third]
      for (const liar of rpcs) {
        liar.rule(says(block, [[1_005n, 1_006n]]))
        expect(await ask(block, { rpcs })).toEqual([1_005n, 2])
        liar.rule(() => undefined)
      }
    } finally {
      await third.stop()
    }
  })

  test('are rejected if the block’s time differs from that of its logs', async () => {
    const block = at(4)
    const wrong = { ...block, timestampSec: block.timestampSec + 1n }
    await expect(ask(wrong, { rpcs: [first, second] })).rejects.toThrow('(block time)')
  })

  test('that agree by rounds, because neither has the state, are two witnesses', async () => {
    const block = at(1)
    for (const rpc of [first, second]) rpc.rule(lacks(block))
    expect(await ask(block, { rpcs: [first, second] })).toEqual([1_002n, 2])
    const rounds = (request: SeenRequest): Fault | undefined => {
      const lost = lacks(block)(request)
      if (lost !== undefined || request.method !== 'eth_call') return lost
      return { kind: 'change', change: (result) => String(result).replaceAll(toWord(1_002n), toWord(3n)) }
    }
    first.rule(rounds)
    await expect(ask(block, { rpcs: [first, second] })).rejects.toThrow('(second witness)')
  })
})
