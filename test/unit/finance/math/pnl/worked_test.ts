import { describe, expect, test } from 'bun:test'
import { type PnlFigures, pnlFigures, type Valuation } from '../../../../../src/finance/math/pnl/figures.ts'
import type { Flow, Pair } from '../../../../../src/finance/math/pnl/flow.ts'
import { hundredths, pooled, priced, pricesAt, type Range } from './pool.ts'
import { replay } from './replayed.ts'
import { shown } from './shown.ts'
import worked from './worked_examples.json'

interface History {
  readonly flows: readonly Flow[]
  readonly holding: Valuation
}

const NOTHING: Pair<bigint> = [0n, 0n]
const ETHER: Range = { lower: 40n, upper: 60n }
const BITCOIN: Range = { lower: 3n, upper: 5n }

function day(days: number): bigint {
  return BigInt(days * 86_400)
}

function deposit(days: number, liquidity: bigint, root: bigint): Flow {
  const amounts = pooled(liquidity, root, ETHER)
  return { kind: 'increase', timeSec: day(days), liquidity, amounts, prices: pricesAt(root) }
}

/** WBTC/ETH: 4.5 is not a whole number, so these amounts are written out. */
const BTC_ETH: History = {
  flows: [
    {
      kind: 'increase',
      timeSec: day(0),
      liquidity: 100n,
      amounts: pooled(100n, 4n, BITCOIN),
      prices: priced(40_000n, 2_500n),
    },
    { kind: 'decrease', timeSec: day(40), liquidity: 100n, amounts: [(20n * 2_772_000n) / 9n, 150_000n] },
    {
      kind: 'collect',
      timeSec: day(50),
      prices: priced(55_000n, 2_750n),
      amounts: [(20n * 2_772_000n) / 9n + 277_200n, 152_000n],
    },
  ],
  holding: { timeSec: day(50), prices: priced(55_000n, 2_750n), principal: NOTHING, fees: NOTHING },
}

const HISTORIES: Record<keyof typeof worked, History> = {
  ex1_single_deposit_open: {
    flows: [
      deposit(0, 1_000n, 50n),
      { kind: 'collect', timeSec: day(20), amounts: hundredths(1n, 3_000n), prices: priced(2_704n, 1n) },
    ],
    holding: {
      timeSec: day(60),
      prices: pricesAt(55n),
      principal: pooled(1_000n, 55n, ETHER),
      fees: hundredths(2n, 6_000n),
    },
  },
  ex2_two_deposits_partial_withdraw_open: {
    flows: [
      deposit(0, 1_000n, 50n),
      deposit(30, 500n, 55n),
      { kind: 'decrease', timeSec: day(60), liquidity: 600n, amounts: pooled(600n, 45n, ETHER) },
      {
        kind: 'collect',
        timeSec: day(60),
        prices: pricesAt(45n),
        amounts: sum(pooled(600n, 45n, ETHER), hundredths(5n, 10_000n)),
      },
    ],
    holding: {
      timeSec: day(100),
      prices: pricesAt(50n),
      principal: pooled(900n, 50n, ETHER),
      fees: hundredths(3n, 7_000n),
    },
  },
  ex3_closed_decrease_then_collect_later: BTC_ETH,
  edge_zero_duration: {
    flows: [
      deposit(7, 10n, 50n),
      { kind: 'decrease', timeSec: day(7), liquidity: 10n, amounts: pooled(10n, 50n, ETHER) },
      { kind: 'collect', timeSec: day(7), amounts: pooled(10n, 50n, ETHER), prices: pricesAt(50n) },
    ],
    holding: { timeSec: day(7), prices: pricesAt(50n), principal: NOTHING, fees: NOTHING },
  },
  edge_zero_capital: {
    flows: [{ kind: 'increase', timeSec: day(0), liquidity: 1n, amounts: NOTHING, prices: pricesAt(50n) }],
    holding: { timeSec: day(10), prices: pricesAt(50n), principal: NOTHING, fees: hundredths(0n, 500n) },
  },
  edge_single_sided: {
    flows: [deposit(0, 1_000n, 60n)],
    holding: { timeSec: day(10), prices: pricesAt(50n), principal: pooled(1_000n, 50n, ETHER), fees: NOTHING },
  },
}

function sum(a: Pair<bigint>, b: Pair<bigint>): Pair<bigint> {
  return [a[0] + b[0], a[1] + b[1]]
}

function computeFigures({ flows, holding }: History): PnlFigures {
  return pnlFigures(replay(flows), holding)
}

describe('pnlFigures()', () => {
  test.each(Object.keys(HISTORIES) as (keyof typeof worked)[])('gives the worked numbers of %s', (name) => {
    const { _aux: _, is_closed: __, ...expected } = worked[name]
    const { fee_apr: ___, ...figures } = shown(computeFigures(HISTORIES[name]))
    expect(figures).toEqual(expected)
  })

  test.each([
    // Fees of 177.54 on 18,333.33 in 60 days.
    ['ex1_single_deposit_open', '5.8911'],
    ['edge_single_sided', '0.0000'],
    ['edge_zero_duration', null],
    ['edge_zero_capital', null],
  ] as const)('brings the fees of %s to a year', (name, rate) => {
    expect(shown(computeFigures(HISTORIES[name])).fee_apr).toBe(rate)
  })

  test('tells no rate of less than a day', () => {
    const fees = hundredths(0n, 500n)
    const rate = (timeSec: bigint) =>
      shown(
        computeFigures({
          flows: [deposit(0, 1_000n, 60n)],
          holding: { timeSec, prices: pricesAt(60n), principal: pooled(1_000n, 60n, ETHER), fees },
        }),
      ).fee_apr
    expect([rate(day(1) - 1n), rate(day(1))]).toEqual([null, expect.stringMatching(/^\d+\.\d{4}$/)])
  })

  test('of a withdrawal that paid nothing ends with nothing unrealized', () => {
    const whole: Pair<bigint> = [0n, 1n]
    const flows: Flow[] = [
      { kind: 'increase', timeSec: 0n, liquidity: 3n, amounts: whole, prices: priced(1n, 5_000n) },
      { kind: 'decrease', timeSec: 9n, liquidity: 3n, amounts: NOTHING },
    ]
    const holding: Valuation = { timeSec: 9n, prices: priced(1n, 5_000n), principal: NOTHING, fees: NOTHING }
    expect(shown(computeFigures({ flows, holding }))).toMatchObject({
      pnl_usd_value: '-5.000000',
      realized_usd_value: '-5.000000',
      unrealized_usd_value: '0.000000',
    })
    const collect: Flow = { kind: 'collect', timeSec: 12n, amounts: NOTHING, prices: priced(1n, 5_000n) }
    expect(shown(computeFigures({ flows: [...flows, collect], holding: { ...holding, timeSec: 12n } }))).toMatchObject({
      pnl_usd_value: '-5.000000',
      realized_usd_value: '-5.000000',
      unrealized_usd_value: '0.000000',
    })
  })

  test('refuses flows that cannot be a whole history', () => {
    const first = deposit(3, 10n, 50n)
    expect(() => replay([first, { kind: 'decrease', timeSec: day(4), liquidity: 11n, amounts: NOTHING }])).toThrow(
      'Cannot replay flows: 11 of 10 liquidity is withdrawn',
    )
    expect(() => replay([first, deposit(2, 10n, 50n)])).toThrow(/time goes back/)
    const holding: Valuation = { timeSec: day(2), prices: pricesAt(50n), principal: NOTHING, fees: NOTHING }
    expect(() => pnlFigures(replay([first]), holding)).toThrow(/time goes back/)
  })
})
