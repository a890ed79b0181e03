import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { toEventSelector } from 'viem'
import { readPositionOrigin } from '../../../../../src/family/liquidity/enumerable/position_history/reader.ts'
import { hasPoolPrice, poolPriceAt } from '../../../../../src/family/liquidity/position_history/flow_price.ts'
import type { PositionFlow } from '../../../../../src/family/liquidity/position_history/position_flow.ts'
import { EXCHANGE } from '../../../../../src/family/uniswap_v3/protocol.ts'
import type { Flow } from '../../../../../src/finance/math/pnl/flow.ts'
import { createWork } from '../../../../../src/lib/async/work.ts'
import type { Rational } from '../../../../../src/lib/number/rational.ts'
import { createDevnetChain } from '../../../../devnet/chain.ts'
import { setFeedCall } from '../../../../devnet/contracts.ts'
import type { RandomPool, RandomPoolToken } from '../../../../devnet/uniswap_v3_random/pools.ts'
import type { RouteTestAnswer } from '../../../../support/call_route.ts'
import { caseCount } from '../../../../support/cases.ts'
import { countedClient, DEPLOYMENT } from '../../../../support/family/uniswap_v3/support.ts'
import { startFaultyRpc } from '../../../../support/rpc.ts'
import { slowClock } from '../../../../support/test_clock.ts'
import { askAbout, type PnlRoutes, type PnlScene, startPnlScene } from './scene.ts'
import { computeTruths, type ExpectedPnl, type Truth } from './truth.ts'

const COUNT = caseCount(200, 40)

let scene: PnlScene
let routes: PnlRoutes
let truths: readonly Truth[]

beforeAll(async () => {
  scene = await startPnlScene({ seed: 20, count: COUNT })
  routes = scene.routes()
  truths = await computeTruths(scene.devnet, scene.lives.positions, {
    flows: scene.flows,
    block: scene.lives.blockNumber,
  })
}, 60_000)
afterAll(() => scene.close())

/** Requests many positions, several at a time. */
async function askAll<T>(
  wanted: readonly ExpectedPnl[],
  ask: (each: ExpectedPnl, index: number) => Promise<T>,
): Promise<T[]> {
  const answers: T[] = []
  const queue = wanted.entries()
  const work = async () => {
    for (const [index, each] of queue) answers[index] = await ask(each, index)
  }
  await Promise.all(Array.from({ length: 8 }, work))
  return answers
}

function getData(answer: RouteTestAnswer): Record<string, unknown> {
  return answer.reply.data as Record<string, unknown>
}

describe('profit and loss of random position histories on the chain', () => {
  test('covers histories of every kind', () => {
    const { positions } = scene.lives
    const all = [...scene.flows.values()].flat()
    const closed = truths.filter(({ pnl }) => pnl['is_closed'])
    expect(positions.length).toBe(COUNT)
    expect(positions.filter(({ isBurned }) => isBurned).length).toBeGreaterThan(COUNT * 0.075)
    expect(closed.length).toBeGreaterThan(COUNT / 10)
    expect(new Set(positions.map(({ pool }) => pool.address)).size).toBe(6)
    for (const kind of ['increase', 'decrease', 'collect']) {
      expect(all.filter((flow) => flow.kind === kind).length).toBeGreaterThan(COUNT)
    }
    expect(
      all.filter(({ kind, amount0, amount1 }) => kind === 'collect' && amount0 + amount1 === 0n).length,
    ).toBeGreaterThan(COUNT / 40)
    const seconds = all.map(({ timestampSec }) => Number(timestampSec))
    expect(Math.max(...seconds) - Math.min(...seconds)).toBeGreaterThan(30 * 86_400)
  })

  test('equals an exact replay of the receipts in every field, for open, closed and burned positions', async () => {
    const answers = await askAll(scene.lives.positions, ({ tokenId }) => askAbout(routes.pnl, tokenId))
    for (const [index, answer] of answers.entries()) {
      expect(getData(answer)).toEqual({ ...truths[index]?.pnl })
      expect(answer.credits).toBe(8)
      expect(answer.reply.asOf).toMatchObject([{ chainId: 1, blockNumber: scene.lives.blockNumber }])
    }
  }, 60_000)

  test('is answered again without reading the stored past again', async () => {
    const lengths = [...scene.flows].map(([tokenId, flows]) => ({
      tokenId,
      blocks: new Set(flows.map(({ blockNumber }) => blockNumber)).size,
    }))
    const [longest] = lengths.toSorted((a, b) => b.blocks - a.blocks)
    if (longest === undefined) throw new Error('Cannot test without positions')
    const before = routes.requests.length
    await askAbout(routes.pnl, longest.tokenId)
    const asked = routes.requests.slice(before)
    // Times and prices of two blocks for each flow would be more, and so would the logs of the whole past.
    expect(asked.filter((method) => method === 'eth_call').length).toBeLessThan(longest.blocks)
    expect(asked.filter((method) => method === 'eth_getLogs').length).toBeLessThanOrEqual(8)
  })

  test('equals the same replay at a past block, and is NOT_FOUND before the mint', async () => {
    const { devnet, lives, flows } = scene
    const block = lives.blockNumber - 36n
    const births = new Map([...flows].map(([tokenId, [first]]) => [tokenId, first?.blockNumber ?? 0]))
    const isBorn = ({ tokenId }: ExpectedPnl) => (births.get(tokenId) ?? 0) <= block
    const born = lives.positions.filter((each, index) => index % 2 === 0 && isBorn(each))
    const unborn = lives.positions.filter((each) => !isBorn(each))
    const then = await Promise.all(
      born.map(async (each) => {
        if (!each.isBurned) return each
        const [stored] = await devnet.v3.readPositions([each.tokenId], block).catch(() => [])
        return { ...each, isBurned: stored === undefined }
      }),
    )
    expect(born.length).toBeGreaterThan(COUNT / 5)
    const expected = await computeTruths(devnet, then, { flows, block })
    const answers = await askAll(then, ({ tokenId }) => askAbout(routes.pnl, tokenId, `at_block=${block}`))
    for (const [index, answer] of answers.entries()) {
      expect(getData(answer)).toEqual({ ...expected[index]?.pnl })
      expect(answer.reply.asOf).toMatchObject([{ chainId: 1, blockNumber: block }])
    }
    const [late] = unborn
    if (late === undefined) throw new Error('Cannot test without a younger position')
    await expect(askAbout(routes.pnl, late.tokenId, `at_block=${block}`)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  }, 60_000)

  test('counts exactly the flows of the events route, at the prices listed there', async () => {
    for (const [index, { tokenId, pool }] of scene.lives.positions.entries()) {
      if (index % 10 !== 0) continue
      const listed: Event[] = []
      for (let page = 1; ; page++) {
        const answer = await askAbout(routes.events, tokenId, `limit=25&page=${page}`)
        expect(answer.credits).toBe(1)
        listed.push(...(answer.reply.data as unknown as Event[]))
        if (answer.reply.pagination?.next_page === null) break
      }
      const receipts = scene.flows.get(tokenId) ?? []
      expect(listed.map(({ block_number, log_index }) => [block_number, log_index])).toEqual(
        receipts.map(({ blockNumber, logIndex }) => [blockNumber, logIndex]).toReversed(),
      )
      const counted = listed.toReversed().filter(({ type, amounts }) => type !== 'collect' || !isNothing(amounts))
      expect(counted.map((each) => eventText(each, pool.tokens))).toEqual((truths[index]?.flows ?? []).map(flowText))
      for (const { type, amounts, principal, fees } of listed) {
        if (type !== 'collect') continue
        for (const token of ['token0', 'token1'] as const) {
          expect(BigInt(principal?.[token].raw ?? -1) + BigInt(fees?.[token].raw ?? -1)).toBe(
            BigInt(amounts[token].raw),
          )
        }
      }
    }
  }, 60_000)

  test('takes from a flow the price that its pool had, to a millionth', async () => {
    const { devnet, lives, flows } = scene
    let compared = 0
    for (const { tokenId, pool, isBurned } of lives.positions) {
      const [stored] = isBurned ? [] : await devnet.v3.readPositions([tokenId])
      if (stored === undefined) continue
      const rows = (flows.get(tokenId) ?? []).map(({ blockNumber: block, timestampSec, ...flow }): PositionFlow => {
        return { ...flow, block, timestampSec: Number(timestampSec) }
      })
      // Blocks of flows have no swaps, so the price at their end is the price of the flow.
      const [told] = rows.filter(hasPoolPrice)
      if (told === undefined) continue
      const { numerator, denominator } = poolPriceAt(told, rows, stored) ?? { numerator: 0n, denominator: 1n }
      const { sqrtPriceX96 } = await devnet.v3.readSlot0(pool.address, BigInt(told.block))
      const [left, right] = [numerator << 192n, sqrtPriceX96 ** 2n * denominator]
      expect((left > right ? left - right : right - left) * 1_000_000n).toBeLessThan(2n * right)
      compared++
    }
    expect(compared).toBeGreaterThan(COUNT / 4)
  })

  test('of a closed position stays the same over time and with any prices', async () => {
    const over = scene.lives.positions.filter(
      (_, index) =>
        truths[index]?.pnl['is_closed'] === true && truths[index]?.pnl['unrealized_usd_value'] === '0.000000',
    )
    expect(over.length).toBeGreaterThan(15)
    const { devnet, lives } = scene
    await devnet.rpc.call('evm_increaseTime', '0x2000000')
    await devnet.send(
      lives.tokens.flatMap(({ feed }) => (feed === undefined ? [] : [setFeedCall(feed, { answer: 123_456_789n })])),
    )
    const closed = truths.filter(({ pnl }) => over.some(({ tokenId }) => String(tokenId) === pnl['token_id']))
    const answers = await askAll(over, ({ tokenId }) => askAbout(routes.pnl, tokenId, 'status=inactive'))
    for (const [index, answer] of answers.entries()) {
      expect(getData(answer)).toEqual({ ...closed[index]?.pnl })
      expect(answer.credits).toBe(4)
      expect(answer.creditsMin).toBe(4)
    }
  }, 60_000)
})

test.each([
  ['says nothing of its fee', '00'],
  ['answers a fee that no pool has', '6000196000526020 6000f3'],
])('a contract that copies the log of a burned position’s birth, and %s, is passed over', async (_, fee) => {
  const { devnet, lives, flows } = scene
  const burned = lives.positions.find(({ isBurned }) => isBurned)
  const [first] = flows.get(burned?.tokenId ?? 0n) ?? []
  if (first === undefined) throw new Error('Cannot test without a burned position')
  const { blockNumber: block, timestampSec, ...rest } = first
  const question = { ...rest, block, timestampSec: Number(timestampSec) }
  const impostor = `0x${'1badc0de'.repeat(5)}`
  // Any call is answered with a token's address, but that of `fee`.
  const token = burned?.pool.tokens[0].address.slice(2) ?? ''
  const code = `60003560e01c63ddca3f4314602c5773${token}60005260206000f35b${fee.replace(' ', '')}`
  await devnet.rpc.call('anvil_setCode', impostor, `0x${code}`)
  const rpc = await startFaultyRpc(devnet.rpcUrl)
  try {
    const { client } = countedClient(createDevnetChain(devnet, { rpcUrls: [rpc.url] }))
    const read = () =>
      readPositionOrigin(
        { client, deployment: DEPLOYMENT, first: question, clock: slowClock, poolKey: EXCHANGE.poolKey },
        patient,
      )
    const { value: told } = await read()
    // Some endpoints count the logs of a receipt otherwise than those of a block.
    for (const shift of [-1, 3]) {
      const change = (result: unknown) => shifted(result, shift)
      rpc.rule(({ method }) => (method === 'eth_getTransactionReceipt' ? { kind: 'change', change } : undefined))
      expect((await read()).value).toEqual(told)
    }
    rpc.rule(({ method }) => (method === 'eth_getTransactionReceipt' ? { kind: 'change', change: copied } : undefined))
    expect((await read()).value).toEqual(told)
    expect(told.pool).toBe(burned?.pool.address ?? '0x')
  } finally {
    await rpc.stop()
  }

  function shifted(result: unknown, by: number): unknown {
    const receipt = result as { readonly logs: readonly { readonly logIndex: string }[] }
    const move = (index: string) => `0x${Math.max(0, Number(index) + by).toString(16)}`
    return { ...receipt, logs: receipt.logs.map((log) => ({ ...log, logIndex: move(log.logIndex) })) }
  }

  /** The receipt with the pool's log once more, from the impostor. */
  function copied(result: unknown): unknown {
    const receipt = result as { readonly logs: readonly { readonly topics: readonly string[] }[] }
    const logs = receipt.logs.flatMap((log) =>
      log.topics[0] === POOL_MINT ? [log, { ...log, address: impostor }] : [log],
    )
    expect(logs.length).toBeGreaterThan(receipt.logs.length)
    return { ...receipt, logs }
  }
})

const POOL_MINT = toEventSelector('Mint(address,address,int24,int24,uint128,uint256,uint256)')
const patient = createWork(new AbortController().signal)

interface Amount {
  readonly raw: string
}

interface Both<T> {
  readonly token0: T
  readonly token1: T
}

interface Event {
  readonly type: string
  readonly block_number: number
  readonly log_index: number
  readonly timestamp: number
  readonly liquidity: string
  readonly amounts: Both<Amount>
  readonly principal?: Both<Amount>
  readonly fees?: Both<Amount>
  readonly prices: Both<{ readonly usd: string }> | null
}

function isNothing({ token0, token1 }: Both<Amount>): boolean {
  return token0.raw === '0' && token1.raw === '0'
}

/** A flow by its own numbers; prices of raw units as fractions in lowest terms. */
function flowText(flow: Flow): string {
  const prices = flow.kind === 'decrease' ? '' : flow.prices.map(lowest).join()
  const liquidity = flow.kind === 'collect' ? 0n : flow.liquidity
  return [flow.kind, flow.timeSec, liquidity, flow.amounts.join(), prices].join(' ')
}

function eventText({ type, timestamp, liquidity, amounts, prices }: Event, tokens: RandomPool['tokens']): string {
  const raw = [amounts.token0.raw, amounts.token1.raw].join()
  const price = (usd: string | undefined, { decimals }: RandomPoolToken) => {
    const [whole = '', fraction = ''] = (usd ?? '').split('.')
    return lowest({ numerator: BigInt(whole + fraction), denominator: 10n ** BigInt(fraction.length + decimals) })
  }
  const both = type === 'decrease' ? '' : [price(prices?.token0.usd, tokens[0]), price(prices?.token1.usd, tokens[1])]
  return [type, timestamp, liquidity, raw, String(both)].join(' ')
}

function lowest({ numerator, denominator }: Rational): string {
  let [divisor, rest] = [numerator, denominator]
  while (rest > 0n) [divisor, rest] = [rest, divisor % rest]
  return `${numerator / divisor}/${denominator / divisor}`
}
