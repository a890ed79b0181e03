import { describe, expect, test } from 'bun:test'
import {
  computePairPrices,
  type FlowPrice,
  hasPoolPrice,
  type MissingPrice,
  type OwnPrice,
  poolPriceAt,
  toPoolPrice,
} from '../../../../../src/family/liquidity/position_history/flow_price.ts'
import {
  computePnl,
  findContradiction,
  type PnlState,
  replayHistory,
} from '../../../../../src/family/liquidity/position_history/pnl.ts'
import type { PositionFlow } from '../../../../../src/family/liquidity/position_history/position_flow.ts'
import {
  type BlockFacts,
  lastFlow,
  missingPrice,
  type PnlSubject,
  pricedBlocks,
  valueFlowsInSteps,
} from '../../../../../src/family/liquidity/position_history/valued_flows.ts'
import type { Pair } from '../../../../../src/finance/math/pnl/flow.ts'
import { Q96 } from '../../../../../src/lib/number/fixed_point.ts'
import { TOKENS } from '../../../../devnet/addresses.ts'
import { atOnce } from '../../../../support/family/uniswap_v3/support.ts'

/** Tokens of 6 and 18 decimals, in a range from far below a price of one to far above it. */
const SUBJECT: PnlSubject = {
  tokens: [
    { address: TOKENS.usdc.address, decimals: 6 },
    { address: TOKENS.weth.address, decimals: 18 },
  ],
  tickLower: -60_000,
  tickUpper: 60_000,
}
const DOLLAR: OwnPrice = { units: 1n, scale: 0, source: 'stablecoin' }
const THREE_THOUSAND: OwnPrice = { units: 3_000n, scale: 0, source: 'feed' }
const NO_PRICE: OwnPrice = { because: 'no source has it' }
const OWN: Pair<OwnPrice> = [DOLLAR, THREE_THOUSAND]

let log = 0
function flow(kind: PositionFlow['kind'], block: number, rest: Partial<PositionFlow> = {}): PositionFlow {
  const shared = { tokenId: 7n, logIndex: ++log, liquidity: 0n, amount0: 0n, amount1: 0n, timestampSec: null }
  return { ...shared, kind, block, transactionHash: `0x${block.toString(16).padStart(64, '0')}`, ...rest }
}

function createHistory(
  rows: readonly PositionFlow[],
  facts: (block: number) => Partial<BlockFacts> = () => ({ own: OWN }),
) {
  const known = rows.map(({ block }) => [block, { timestampSec: BigInt(block), ...facts(block) }] as const)
  const flows = atOnce(valueFlowsInSteps(rows, { subject: SUBJECT, facts: new Map(known) }))
  return replayHistory(flows, { subject: SUBJECT })
}

function ready(outcome: Awaited<ReturnType<typeof computePnl>>) {
  if (outcome.status !== 'ready') throw new Error('Expected figures')
  return outcome
}

function state(over: Partial<PnlState> = {}): PnlState {
  const nothing = [0n, 0n] as const
  return {
    liquidity: 0n,
    principal: nothing,
    owed: nothing,
    own: OWN,
    sqrtPriceX96: Q96,
    timestampSec: 1_000n,
    ...over,
  }
}

/** US dollars per whole token, and who says it. */
function priceIn(prices: Pair<FlowPrice> | MissingPrice | undefined, index: 0 | 1) {
  if (prices === undefined || 'because' in prices) throw new Error('Expected prices')
  const { units, scale, source } = prices[index]
  return { usd: Number(units) / 10 ** scale, source }
}

const MINT = flow('increase', 1, { liquidity: 100n, amount0: 5_000_000n, amount1: 4_000_000n })
const HALF = flow('decrease', 2, { liquidity: 50n, amount0: 2_500_000n, amount1: 2_000_000n })

describe('flows checked against the manager', () => {
  const life = createHistory([MINT, HALF])
  const at = (owed: Pair<bigint>, liquidity = 50n) => findContradiction(life, state({ liquidity, owed }))

  test('are complete if it owes their pending amounts, or more', () => {
    expect(at([2_500_000n, 2_000_000n])).toBeUndefined()
    expect(at([2_500_001n, 2_000_009n])).toBeUndefined()
  })

  test('are incomplete if it owes one unit less of either token', () => {
    const words = 'its flows have more to collect than the manager says'
    expect(at([2_499_999n, 2_000_000n])).toBe(words)
    expect(at([2_500_000n, 1_999_999n])).toBe(words)
    expect(at([9_999_999n, 0n])).toBe(words)
    expect(at([0n, 9_999_999n])).toBe(words)
  })

  test('are complete if the pool lacks a unit of what the manager counts, which no fees pay for', async () => {
    const counted = [2_500_000n, 2_000_000n] as const
    for (const owed of [
      [2_499_999n, 2_000_000n],
      [2_500_000n, 1_999_999n],
    ] as const) {
      const lacking = state({ liquidity: 50n, owed, counted })
      expect(findContradiction(life, lacking)).toBeUndefined()
      expect(await computePnl(life, lacking)).toEqual(await computePnl(life, { ...lacking, owed: counted }))
      expect(findContradiction(life, { ...lacking, counted: owed })).toContain('more to collect')
    }
    const unrealized = async (owed1: bigint) => {
      const now = state({ liquidity: 50n, owed: [2_500_000n, owed1], counted })
      return ready(await computePnl(life, now)).pnl.figures.unrealizedE6
    }
    expect((await unrealized(2_000_000n + 10n ** 18n)) - (await unrealized(2_000_000n))).toBe(3_000_000_000n)
  })

  test('are incomplete if its liquidity differs, or the token was burned before all was collected', () => {
    const words = 'the liquidity of its flows is not what the manager says'
    for (const liquidity of [49n, 51n, 0n, 100n]) expect(at([2_500_000n, 2_000_000n], liquidity)).toBe(words)
    expect(findContradiction(life, undefined)).toBe(words)
    const rest = flow('decrease', 3, { liquidity: 50n, amount0: 2_500_000n, amount1: 2_000_000n })
    expect(findContradiction(createHistory([MINT, HALF, rest]), undefined)).toContain('more to collect')
    const all = flow('collect', 3, { amount0: 5_000_000n, amount1: 4_000_000n })
    expect(findContradiction(createHistory([MINT, HALF, rest, all]), undefined)).toBeUndefined()
  })
})

describe('profit and loss', () => {
  const close = flow('decrease', 2, { liquidity: 100n, amount0: 6_000_000n, amount1: 3_000_000n })
  const paid = flow('collect', 3, { amount0: 6_500_000n, amount1: 3_000_000n })

  test('of an empty position stays at its last flow', async () => {
    const again = flow('collect', 9)
    const life = createHistory([MINT, close, paid, again])
    const then = await computePnl(life, state())
    expect(then).toMatchObject({ pnl: { isClosed: true }, withdrawn: [0n, 0n] })
    // Later prices and times change nothing.
    const own: Pair<OwnPrice> = [{ ...DOLLAR, units: 9n }, THREE_THOUSAND]
    expect(await computePnl(life, state({ own, timestampSec: 9_999n }))).toEqual(then)
    expect(await computePnl(life, undefined)).toEqual(then)
  })

  test('of a closed position continues while either token is owed', async () => {
    const life = createHistory([MINT, close, paid])
    const values = async (owed: Pair<bigint>) => {
      const { pnl: profit } = ready(await computePnl(life, state({ owed })))
      return { isClosed: profit.isClosed, unrealized: profit.figures.unrealizedE6 }
    }
    expect(await values([7_000_000n, 0n])).toEqual({ isClosed: true, unrealized: 7_000_000n })
    expect(await values([0n, 10n ** 18n])).toEqual({ isClosed: true, unrealized: 3_000_000_000n })
    expect(await values([0n, 0n])).toEqual({ isClosed: true, unrealized: 0n })
  })

  test('distinguishes uncollected fees from pending principal', async () => {
    const owed = [2_500_000n + 3_000_000n, 2_000_000n] as const
    const { pnl: profit, withdrawn } = ready(
      await computePnl(createHistory([MINT, HALF]), state({ liquidity: 50n, owed })),
    )
    expect([profit.isClosed, withdrawn] as unknown).toEqual([false, [2_500_000n, 2_000_000n]])
    // Three dollars of fees are all that it gained or lost, but for dust and what was given up: nothing is held here.
    const { netImpermanentLossE6, pureImpermanentLossE6 } = profit.figures
    expect(netImpermanentLossE6 - pureImpermanentLossE6).toBe(3_000_000n)
  })

  test('is unpriced without a price of a deposit, a payment or now, and keeps the pending principal', async () => {
    const missing = { token: TOKENS.usdc.address, because: 'no source has it', isLasting: false }
    const without = (block: number) => (each: number) => ({
      own: each === block ? ([NO_PRICE, NO_PRICE] as const) : OWN,
    })
    const unpriced = { status: 'unpriced', missing, withdrawn: [0n, 1n] } as const
    const dust = { amount0: 1n, amount1: 1n }
    const rows = [{ ...MINT, ...dust }, { ...HALF, ...dust }, flow('collect', 3, { amount0: 1n })]
    const now = state({ liquidity: 50n, owed: [0n, 1n] })
    for (const block of [1, 3]) {
      expect(await computePnl(createHistory(rows, without(block)), now)).toEqual(unpriced)
    }
    expect(await computePnl(createHistory(rows, without(2)), now)).toMatchObject({ pnl: { isClosed: false } })
    expect(await computePnl(createHistory(rows), { ...now, own: [NO_PRICE, NO_PRICE] })).toEqual(unpriced)
  })

  test('of an open position is valued now, also if nothing is owed', async () => {
    const life = createHistory([MINT])
    const open = { liquidity: 100n, principal: [5_000_000n, 4_000_000n] as const }
    const { pnl: profit } = ready(
      await computePnl(life, state({ ...open, own: [{ ...DOLLAR, units: 3n }, THREE_THOUSAND] })),
    )
    // Five dollars that are fifteen now.
    expect(profit).toMatchObject({ isClosed: false, figures: { pnlE6: 10_000_000n, realizedE6: 0n } })
  })

  test('fails without flows', async () => {
    expect(await computePnl(createHistory([]), undefined)).toEqual({
      status: 'failed',
      contradiction: 'it has no flows',
    })
  })

  test('continues from an earlier replay with the same result as a whole replay', async () => {
    const rows = [MINT, HALF, flow('collect', 3, { amount0: 2_500_000n, amount1: 2_000_000n }), paid, close]
    const life = createHistory(rows.slice(0, 4))
    const before = replayHistory(life.flows.slice(0, 2), { subject: SUBJECT })
    const on = replayHistory(life.flows, { subject: SUBJECT, before })
    expect(await on.ledger()).toEqual(await life.ledger())
    expect([on.liquidity, on.withdrawn]).toEqual([life.liquidity, life.withdrawn])
    // What was counted is not counted again.
    const twice = createHistory([MINT, MINT, ...rows.slice(1, 4)])
    const doubled = { ...replayHistory(twice.flows.slice(0, 3), { subject: SUBJECT }), flows: life.flows.slice(0, 2) }
    const onDoubled = replayHistory(life.flows, { subject: SUBJECT, before: doubled })
    expect(await onDoubled.ledger()).toEqual(await twice.ledger())
  })
})

describe('the last flow', () => {
  test('is more than a collect of nothing, and its block needs a price, as those of deposits and payments do', () => {
    const nothing = flow('collect', 5)
    const first = flow('collect', 4, { amount0: 1n })
    const second = flow('collect', 4, { amount1: 1n })
    expect(lastFlow([MINT, HALF, nothing])).toBe(HALF)
    for (const paid of [first, second]) expect(lastFlow([MINT, HALF, paid, nothing])).toBe(paid)
    expect(lastFlow([nothing])).toBeUndefined()
    expect([...pricedBlocks([MINT, HALF, nothing])]).toEqual([1, 2])
    expect([...pricedBlocks([MINT, HALF, second, nothing])]).toEqual([1, 4])
    expect(missingPrice(createHistory([MINT, HALF, nothing], () => ({})).flows)?.token).toBe(TOKENS.usdc.address)
  })

  test('alone has prices among those that are neither deposits nor payments; a collect pays principal first', () => {
    const early = flow('collect', 2, { amount0: 3n, amount1: 4n })
    const later = flow('collect', 4, { amount0: 2_500_001n, amount1: 1_000_000n })
    const { flows } = createHistory([MINT, early, HALF, later, flow('collect', 5), { ...HALF, block: 6 }])
    expect(flows.map(({ prices }) => prices !== undefined)).toEqual([true, true, false, true, false, true])
    expect(flows.map(({ paid }) => paid)).toEqual([
      undefined,
      { principal: [0n, 0n], fees: [3n, 4n] },
      undefined,
      { principal: [2_500_000n, 1_000_000n], fees: [1n, 0n] },
      { principal: [0n, 0n], fees: [0n, 0n] },
      undefined,
    ])
  })

  test('gets its price from flows of its block, else from the pool, and throws for a block without facts', () => {
    const mint = flow('increase', 1, { liquidity: 10n ** 12n, amount0: 950_212_931_632n, amount1: 950_212_931_632n })
    const own: Pair<OwnPrice> = [DOLLAR, NO_PRICE]
    const facts = () => ({ own, sqrtPriceX96: 2n * Q96 })
    const told = createHistory([mint], facts).flows[0]?.prices
    expect([priceIn(told, 0).source, priceIn(told, 1).source]).toEqual(['stablecoin', 'pool'])
    // A price of one, raw for raw: a whole token of 18 decimals is worth 10^12 of one of 6.
    expect(priceIn(told, 1).usd / 1e12).toBeCloseTo(1, 4)
    const dust = { ...mint, liquidity: 1n, amount0: 1n, amount1: 1n }
    expect(priceIn(createHistory([dust], facts).flows[0]?.prices, 1).usd / 1e12).toBeCloseTo(0.25, 9)
    expect(createHistory([dust], () => ({ own })).flows[0]?.prices).toMatchObject({ token: TOKENS.weth.address })
    const unknown = () => atOnce(valueFlowsInSteps([mint], { subject: SUBJECT, facts: new Map() }))
    expect(unknown).toThrow('no facts about block 1')
  })
})

describe('the pool price of a flow', () => {
  const telling = (over: Partial<PositionFlow>) => hasPoolPrice({ ...MINT, ...over })

  test('follows from a million units of either token, and never from dust', () => {
    expect(telling({ amount0: 1_000_000n, amount1: 1n })).toBe(true)
    expect(telling({ amount0: 1n, amount1: 1_000_000n })).toBe(true)
    expect(telling({ amount0: 999_999n, amount1: 999_999n })).toBe(false)
    expect(telling({ amount0: 999_999n, amount1: 1n })).toBe(false)
  })

  test('is absent out of range, without liquidity, and for a collect', () => {
    expect(telling({ amount0: 0n, amount1: 5_000_000n })).toBe(false)
    expect(telling({ amount0: 5_000_000n, amount1: 0n })).toBe(false)
    expect(telling({ liquidity: 0n })).toBe(false)
    expect(telling({ kind: 'collect' })).toBe(false)
    expect(telling({ kind: 'decrease' })).toBe(true)
  })

  test('comes from the nearest log, of its own transaction first, and of its own block only', () => {
    // √P = √Pa + amount1 / L: the more amount1, the higher the price.
    const [low, middle, high] = [1_000_000n, 2_000_000n, 3_000_000n].map((amount1, index) =>
      flow('increase', 5, { logIndex: 10 * index, liquidity: 1_000_000n, amount0: 1n, amount1 }),
    ) as [PositionFlow, PositionFlow, PositionFlow]
    const computePrice = (row: PositionFlow) => poolPriceAt(row, [row], SUBJECT)
    const collect = (over: Partial<PositionFlow>) => flow('collect', 5, { amount0: 1n, ...over })
    const rows = [low, middle, high]
    for (const [logIndex, near] of [
      [0, low],
      [6, middle],
      [14, middle],
      [16, high],
      [30, high],
    ] as const) {
      expect(poolPriceAt(collect({ logIndex }), rows, SUBJECT)).toEqual(computePrice(near))
    }
    const other = { ...middle, transactionHash: `0x${'ab'.repeat(32)}` as const }
    for (const mixed of [
      [low, other],
      [other, low],
      [low, other, high],
      [high, other, low],
    ]) {
      expect(poolPriceAt(collect({ logIndex: 9 }), mixed, SUBJECT)).toEqual(computePrice(low))
    }
    expect(poolPriceAt(collect({ logIndex: 11, block: 6 }), rows, SUBJECT)).toBeUndefined()
    const numbers = rows
      .map((row) => computePrice(row))
      .map((price) => Number(price?.numerator) / Number(price?.denominator))
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
    for (const [index, root] of [1, 2, 3].entries())
      expect(Math.sqrt(numbers[index] ?? 0)).toBeCloseTo(root + 0.04979, 4)
  })

  test('follows from the token with more units', () => {
    // 1/√P = 1/√Pb + amount0 / L
    const row = flow('increase', 5, { liquidity: 1_000_000n, amount0: 2_000_000n, amount1: 1_500_000n })
    const { numerator, denominator } = poolPriceAt(row, [row], SUBJECT) ?? { numerator: 0n, denominator: 1n }
    expect(1 / Math.sqrt(Number(numerator) / Number(denominator))).toBeCloseTo(2.04979, 4)
    const even = flow('increase', 5, { liquidity: 1_000_000n, amount0: 2_000_000n, amount1: 2_000_000n })
    const equal = poolPriceAt(even, [even], SUBJECT) ?? { numerator: 0n, denominator: 1n }
    expect(Math.sqrt(Number(equal.numerator) / Number(equal.denominator))).toBeCloseTo(2.04979, 4)
  })
})

describe('prices of both tokens', () => {
  const { tokens } = SUBJECT
  const pool = toPoolPrice(2n * Q96)

  test('are their own if both have one, at any pool price', () => {
    expect(computePairPrices(tokens, OWN, pool) as unknown).toEqual([...OWN])
    expect(computePairPrices(tokens, OWN, undefined) as unknown).toEqual([...OWN])
  })

  test('follow from the pool and the other token: four raw units for one', () => {
    // A raw unit of token0 is worth four of token1: 4 · 3000 / 10^18 dollars, and a million of them are a whole one.
    expect(computePairPrices(tokens, [NO_PRICE, THREE_THOUSAND], pool)).toMatchObject([
      { source: 'pool' },
      { units: 3_000n, source: 'feed' },
    ])
    expect(priceIn(computePairPrices(tokens, [NO_PRICE, THREE_THOUSAND], pool), 0).usd).toBeCloseTo(12_000 / 1e12, 20)
    expect(priceIn(computePairPrices(tokens, [DOLLAR, NO_PRICE], pool), 1).usd).toBeCloseTo(1e12 / 4, 3)
  })

  test('are missing without any own price or without a pool price, naming the token', () => {
    const because = 'no source has it'
    const [first, second] = tokens.map(({ address }) => ({ token: address, because, isLasting: false }))
    expect(computePairPrices(tokens, [NO_PRICE, NO_PRICE], pool) as unknown).toEqual(first)
    const never: OwnPrice = { because, isLasting: true }
    expect(computePairPrices(tokens, [never, never], pool) as unknown).toEqual({ ...first, isLasting: true })
    for (const pair of [
      [never, NO_PRICE],
      [NO_PRICE, never],
    ] as const) {
      expect(computePairPrices(tokens, pair, pool)).toMatchObject({ isLasting: false })
    }
    expect(computePairPrices(tokens, [never, THREE_THOUSAND], undefined)).toMatchObject({ isLasting: false })
    for (const none of [undefined, toPoolPrice(0n)]) {
      expect(computePairPrices(tokens, [NO_PRICE, THREE_THOUSAND], none) as unknown).toEqual(first)
      expect(computePairPrices(tokens, [DOLLAR, NO_PRICE], none) as unknown).toEqual(second)
    }
  })
})
