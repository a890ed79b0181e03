import { describe, expect, test } from 'bun:test'
import { assessObligation, computeSafeBorrow, computeSafeWithdraw } from '../../../../src/family/kamino/math/risk.ts'
import { CALLS, LOAN_LIMITS, REFUSALS, WITHDRAWAL_LIMITS } from '../../../../src/family/kamino/math/rule.ts'
import { LIQUIDATION_REASONS } from '../../../../src/finance/liquidation_reason.ts'
import { formatRational, parseRational, type Rational } from '../../../../src/lib/number/rational.ts'
import { patchAccount, type ServedAccounts, SF } from '../../../support/kamino.ts'
import { MARKET, OBLIGATION, type SceneChanges, SOL, USDC } from '../../../support/kamino_scene.ts'
import { createSnapshot } from './snapshot.ts'

/** The scene: 100 SOL at 150 (maximum loan-to-value 75 %, threshold 80 %) against 6,000 USDC. */
const NOW = 1_790_000_000n
const DAY = 86_400n

/** A number written into an account: offset and length in bytes are those of the program's interface description. */
type Patch = readonly [address: string, at: number, length: number, value: bigint]

const MARKED: readonly Patch[] = [
  [OBLIGATION, 2321, 1, 10n],
  [OBLIGATION, 2336, 8, NOW - 80n * 3_600n],
  [MARKET, 123, 1, 1n],
  [MARKET, 3288, 8, 72n * 3_600n],
]
const ENDED: readonly Patch[] = [
  [OBLIGATION, 1288, 8, NOW - 40n * DAY],
  [USDC, 5784, 8, 30n * DAY],
]
const MATURED: readonly Patch[] = [[USDC, 5776, 8, NOW - DAY]]
const IN_GROUP: SceneChanges = {
  elevationGroup: 1,
  sol: { groups: [1] },
  usdc: { groups: [1] },
  market: { elevationGroups: [{ id: 1, maxLtvPct: 90, liquidationThresholdPct: 95, debtReserve: USDC }] },
}

function assess(patches: readonly Patch[] = [], changes: SceneChanges = {}) {
  const edit = (accounts: ServedAccounts) => {
    for (const [address, at, length, value] of patches) patchAccount(accounts, address, { at, length, value })
  }
  return assessObligation(createSnapshot({ changes, pricedAtSec: NOW, edit }), { slotMs: 400 })
}

/** Safe amounts to borrow and to withdraw, US dollars, at a target health factor. */
function safe(patches: readonly Patch[] = [], changes: SceneChanges = {}, target = '1.5'): readonly string[] {
  const position = assess(patches, changes)
  const aim = parseRational(target) as Rational
  return [computeSafeBorrow(position, aim), computeSafeWithdraw(position, aim)].map((each) =>
    formatRational(each, { digits: 2 }),
  )
}

function due(patches: readonly Patch[] = [], changes: SceneChanges = {}) {
  const { liquidatableBecause, dueAtSec } = assess(patches, changes)
  return [liquidatableBecause, dueAtSec]
}

test('the rules name their source, and know every reason once', () => {
  for (const { source } of [...REFUSALS, ...LOAN_LIMITS, ...WITHDRAWAL_LIMITS, ...CALLS]) expect(source).not.toBe('')
  expect(CALLS.map(({ because }) => because)).toEqual([...LIQUIDATION_REASONS])
})

describe('an obligation', () => {
  test('of the scene is not liquidatable, and leaves room', () => {
    expect(due()).toEqual([[], undefined])
    expect(safe()).toEqual(['2000.00', '3750.00'])
    expect(safe([], IN_GROUP)).toEqual(['3500.00', '5526.32'])
  })

  test('with debt at its limit or above is, unless the market liquidates by no price', () => {
    const atLimit = { borrows: [{ reserve: USDC, amountSf: 12_000n * 10n ** 6n * SF }] }
    expect(due([], atLimit)).toEqual([['health_factor'], undefined])
    expect(safe([], atLimit, '1.01')).toEqual(['0.00', '0.00'])
    expect(due([[MARKET, 3307, 1, 1n]], atLimit)).toEqual([[], undefined])
    const below = { borrows: [{ reserve: USDC, amountSf: (12_000n * 10n ** 6n - 1n) * SF }] }
    expect(due([], below)).toEqual([[], undefined])
  })

  test('without debt, without collateral or in an emergency is not', () => {
    expect(due(MARKED, { borrows: [] })).toEqual([[], undefined])
    expect(due([], { deposits: [] })).toEqual([[], undefined])
    expect(due([...MARKED, [MARKET, 122, 1, 1n]])[0]).toEqual([])
  })
})

describe('an obligation marked for deleveraging', () => {
  test('is liquidatable from the end of the margin call, whatever its health factor', () => {
    expect(due(MARKED)).toEqual([['deleveraging'], NOW - 8n * 3_600n])
    expect(safe(MARKED)).toEqual(['0.00', '0.00'])
  })

  test('is told the end of a margin call that runs, borrows nothing and keeps to the target', () => {
    const marked: Patch[] = [...MARKED, [OBLIGATION, 2336, 8, NOW - 3_600n], [OBLIGATION, 2321, 1, 30n]]
    expect(due(marked)).toEqual([[], NOW + 71n * 3_600n])
    expect(safe(marked)).toEqual(['0.00', '0.00'])
    const within: Patch[] = [...marked, [OBLIGATION, 2321, 1, 48n]]
    expect(due(within)).toEqual([[], undefined])
    expect(safe(within)).toEqual(['0.00', '2500.00'])
  })

  test.each([
    ['the market has it off', [[MARKET, 123, 1, 0n]]],
    ['the market has no margin call', [[MARKET, 3288, 8, 0n]]],
    ['its loan-to-value is at the target', [[OBLIGATION, 2321, 1, 40n]]],
  ] satisfies [string, Patch[]][])('is not if %s', (_, patches) => {
    expect(due([...MARKED, ...patches])).toEqual([[], undefined])
  })
})

describe('a reserve above its limit', () => {
  const above: Patch[] = [
    [MARKET, 123, 1, 1n],
    [USDC, 5502, 1, 1n],
    [USDC, 5024, 8, 700_000n * 10n ** 6n],
    [USDC, 288, 8, NOW - 10n * DAY],
    [USDC, 4880, 8, 3n * DAY],
    [USDC, 4888, 8, 1_000n],
  ]

  test('calls debts whose loan-to-value the falling threshold has reached', () => {
    // From 100 % it falls by 10 % a day after three days: to 40 % in nine days after the crossing.
    expect(due(above)).toEqual([['market_deleveraging'], NOW - DAY])
    expect(due([...above, [USDC, 288, 8, NOW - 8n * DAY]])).toEqual([[], NOW + DAY])
    const collateral: Patch[] = [
      [MARKET, 123, 1, 1n],
      [SOL, 5502, 1, 1n],
      [SOL, 5016, 8, 9_999n * 10n ** 9n],
      [SOL, 280, 8, NOW - 10n * DAY],
      [SOL, 4880, 8, 3n * DAY],
      [SOL, 4888, 8, 1_000n],
    ]
    expect(due(collateral)).toEqual([['market_deleveraging'], NOW - DAY])
    expect(due([...collateral, [SOL, 5016, 8, 10_000n * 10n ** 9n]])).toEqual([[], undefined])
  })

  test.each([
    ['the market has it off', [[MARKET, 123, 1, 0n]]],
    ['the reserve has it off', [[USDC, 5502, 1, 0n]]],
    ['it is within its limit', [[USDC, 5024, 8, 800_000n * 10n ** 6n]]],
    ['the crossing was not noted', [[USDC, 288, 8, 0n]]],
    ['the threshold does not fall', [[USDC, 4888, 8, 0n]]],
  ] satisfies [string, Patch[]][])('calls none if %s', (_, patches) => {
    expect(due([...above, ...patches])).toEqual([[], undefined])
  })
})

describe('a term or a maturity', () => {
  test('that has passed makes the debt liquidatable in a market that liquidates for it', () => {
    expect(due([...ENDED, [MARKET, 3309, 1, 1n]])).toEqual([['term_ended'], NOW - 10n * DAY])
    expect(due([...MATURED, [MARKET, 3308, 1, 1n]])).toEqual([['debt_matured'], NOW - DAY])
    const both: Patch[] = [...ENDED, ...MATURED, [MARKET, 3308, 1, 1n], [MARKET, 3309, 1, 1n]]
    expect(due(both)).toEqual([['debt_matured', 'term_ended'], NOW - 10n * DAY])
    expect(safe(both)).toEqual(['0.00', '0.00'])
  })

  test('is the time at which the debt is due also in a market that does not, and ends its loans', () => {
    expect(due(ENDED)).toEqual([[], NOW - 10n * DAY])
    expect(due(MATURED)).toEqual([[], NOW - DAY])
    expect([safe(ENDED), safe(MATURED)]).toEqual([
      ['0.00', '3750.00'],
      ['0.00', '3750.00'],
    ])
    const ahead: Patch[] = [
      [USDC, 5776, 8, NOW + 1n],
      [MARKET, 3308, 1, 1n],
    ]
    expect([due(ahead), safe(ahead)]).toEqual([
      [[], NOW + 1n],
      ['2000.00', '3750.00'],
    ])
    expect(
      due([
        [USDC, 5776, 8, NOW],
        [MARKET, 3308, 1, 1n],
      ])[0],
    ).toEqual(['debt_matured'])
  })

  test('counts for debts alone, and from a noted time alone', () => {
    expect(
      due([
        [SOL, 5776, 8, NOW - DAY],
        [MARKET, 3308, 1, 1n],
      ]),
    ).toEqual([[], undefined])
    expect(
      due([
        [USDC, 5784, 8, 30n * DAY],
        [MARKET, 3309, 1, 1n],
      ]),
    ).toEqual([[], undefined])
  })
})

describe('an order', () => {
  const order = (condition: bigint, thresholdSf: bigint): Patch[] => [
    [MARKET, 3304, 1, 1n],
    [OBLIGATION, 2344 + 128, 16, thresholdSf],
    [OBLIGATION, 2344 + 128 + 36, 1, condition],
  ]
  const percent = (of: bigint) => (SF * of) / 100n

  test.each([
    ['of no condition', 0n, 0n, false],
    ['above 39 %', 1n, percent(39n), true],
    ['above 40 %', 1n, percent(40n), true],
    ['above 41 %', 1n, percent(41n), false],
    ['below 41 %', 2n, percent(41n), true],
    ['below 39 %', 2n, percent(39n), false],
    // A dollar of debt token over 150 dollars of collateral token: 0.00666…
    ['of a price ratio above 0.006', 3n, (SF * 6n) / 1_000n, true],
    ['of a price ratio above 0.007', 3n, (SF * 7n) / 1_000n, false],
    ['of a price ratio below 0.007', 4n, (SF * 7n) / 1_000n, true],
    ['of a price ratio below 0.006', 4n, (SF * 6n) / 1_000n, false],
    ['of every moment', 5n, 0n, true],
    ['41 % before liquidation', 6n, percent(41n), true],
    ['39 % before liquidation', 6n, percent(39n), false],
  ] as const)('%s', (_, condition, thresholdSf, isHit) => {
    expect(due(order(condition, thresholdSf))).toEqual([isHit ? ['obligation_order'] : [], undefined])
    expect(due([...order(condition, thresholdSf), [MARKET, 3304, 1, 0n]])[0]).toEqual([])
    const byNoPrice = due([...order(condition, thresholdSf), [MARKET, 3307, 1, 1n]])[0]
    expect(byNoPrice).toEqual(condition === 5n ? ['obligation_order'] : [])
  })

  test.each([
    ['a sale of an amount', 0n, 0n, true],
    ['a sale for the whole debt, by a program before 1.26.0', 1n, 0n, true],
    ['a loan of an amount', 1n, 900n, false],
    ['a sale down to a loan-to-value', 2n, 0n, true],
    ['a loan up to a loan-to-value', 3n, 0n, false],
  ] as const)('for %s', (_, opportunity, maxRateBps, isHit) => {
    const at = 2344 + 128
    const what: Patch[] = [
      [OBLIGATION, at + 37, 1, opportunity],
      [OBLIGATION, at + 40, 4, maxRateBps],
    ]
    expect(due([...order(5n, 0n), ...what])[0]).toEqual(isHit ? ['obligation_order'] : [])
  })
})

describe('the safe amounts', () => {
  test.each([
    ['loans switched off', [[MARKET, 124, 1, 1n]], '0.00', '3750.00'],
    ['an emergency', [[MARKET, 122, 1, 1n]], '0.00', '0.00'],
    ['deposits and liquidations that need a signature', [[MARKET, 3432, 8, 5n]], '2000.00', '3750.00'],
    ['loans that need a signature', [[MARKET, 3432, 8, 2n]], '0.00', '3750.00'],
    ['loans of the debt’s reserve that need a signature', [[USDC, 5800, 8, 2n]], '0.00', '3750.00'],
    ['permissions of another kind', [[MARKET, 3432, 8, 8n]], '0.00', '0.00'],
    ['permissions of another kind in a reserve', [[SOL, 5800, 8, 16n]], '0.00', '0.00'],
    ['an obligation that may not borrow', [[OBLIGATION, 2320, 1, 1n]], '0.00', '3750.00'],
    ['collateral for groups alone', [[SOL, 5500, 1, 1n]], '0.00', '3750.00'],
    ['an obsolete collateral: it alone goes', [[SOL, 4856, 1, 1n]], '0.00', '3750.00'],
    ['an obsolete debt: collateral stays', [[USDC, 4856, 1, 1n]], '0.00', '0.00'],
    ['nothing to lend', [[USDC, 224, 8, 0n]], '0.00', '3750.00'],
    ['500 to lend', [[USDC, 224, 8, 500_000_000n]], '500.00', '3750.00'],
    ['the queue before the loan', [[USDC, 6968, 8, 199_000n * 10n ** 6n]], '1000.00', '3750.00'],
    ['a borrow limit that is reached', [[USDC, 5024, 8, 0n]], '0.00', '3750.00'],
    ['700 to a borrow limit', [[USDC, 5024, 8, 800_700n * 10n ** 6n]], '700.00', '3750.00'],
    [
      '600 to the limit outside groups',
      [
        [USDC, 5504, 8, 700_600n * 10n ** 6n],
        [USDC, 6704, 8, 700_000n * 10n ** 6n],
        [OBLIGATION, 1344, 8, 6_000_000_000n],
      ],
      '600.00',
      '3750.00',
    ],
    ['a utilization limit that is reached', [[USDC, 5501, 1, 80n]], '0.00', '3750.00'],
    ['a utilization limit above it', [[USDC, 5501, 1, 81n]], '2000.00', '3750.00'],
    [
      '400 left of an hour’s loans',
      [
        [USDC, 5448, 8, 1_000_000_000n],
        [USDC, 5456, 8, 600_000_000n],
        [USDC, 5464, 8, NOW - 10n],
        [USDC, 5472, 8, 3_600n],
      ],
      '400.00',
      '3750.00',
    ],
    [
      'a new hour of loans',
      [
        [USDC, 5448, 8, 1_000_000_000n],
        [USDC, 5456, 8, 600_000_000n],
        [USDC, 5464, 8, NOW - 3_600n],
        [USDC, 5472, 8, 3_600n],
      ],
      '1000.00',
      '3750.00',
    ],
    [
      '10 SOL left of a day’s withdrawals',
      [
        [SOL, 5416, 8, 10n * 10n ** 9n],
        [SOL, 5432, 8, NOW],
        [SOL, 5440, 8, DAY],
      ],
      '2000.00',
      '1500.00',
    ],
    [
      'a negative cap',
      [
        [SOL, 5416, 8, 2n ** 64n - 1n],
        [SOL, 5432, 8, NOW],
        [SOL, 5440, 8, DAY],
      ],
      '2000.00',
      '0.00',
    ],
    [
      'no SOL to pay',
      [
        [SOL, 224, 8, 0n],
        [SOL, 232, 16, 10_000n * 10n ** 9n * SF],
      ],
      '2000.00',
      '0.00',
    ],
    [
      '10 SOL to pay',
      [
        [SOL, 224, 8, 10n * 10n ** 9n],
        [SOL, 232, 16, 9_990n * 10n ** 9n * SF],
      ],
      '2000.00',
      '1500.00',
    ],
    ['tickets for all SOL', [[SOL, 6968, 8, 5_000n * 10n ** 9n]], '2000.00', '0.00'],
  ] satisfies [string, Patch[], string, string][])('heed %s', (_, patches, borrow, withdraw) => {
    expect(safe(patches)).toEqual([borrow, withdraw])
  })

  test.each([
    ['no new loans: withdrawals stop too', [[MARKET, 205, 1, 0n]], '0.00', '0.00'],
    ['another debt reserve', [[MARKET, 208, 8, 0n]], '0.00', '5526.32'],
    [
      'a limit that is used up',
      [
        [SOL, 5512, 8, 6_000_000_000n],
        [SOL, 6712, 8, 6_000_000_000n],
      ],
      '0.00',
      '5526.32',
    ],
    [
      '300 to the limit, its own debt counted once',
      [
        [SOL, 5512, 8, 7_300_000_000n],
        [SOL, 6712, 8, 7_000_000_000n],
        [OBLIGATION, 152, 8, 6_000_000_000n],
      ],
      '300.00',
      '5526.32',
    ],
    ['a collateral that left it', [[SOL, 5480, 1, 0n]], '0.00', '0.00'],
  ] satisfies [string, Patch[], string, string][])('heed in a group %s', (_, patches, borrow, withdraw) => {
    expect(safe(patches, IN_GROUP)).toEqual([borrow, withdraw])
  })

  test('hold a withdrawal to the maximum loan-to-value, and to nothing without one', () => {
    expect(safe([], {}, '1.01')[1]).toBe('7000.00')
    expect(safe([], {}, '1.07')[1]).toBe('6975.00')
    const changed = [50, 40, 0].map((maxLtvPct) => safe([], { sol: { maxLtvPct } }))
    expect(changed).toEqual([
      ['1500.00', '3000.00'],
      ['0.00', '0.00'],
      ['0.00', '0.00'],
    ])
    // The market’s cap stops a withdrawal only once it is reached.
    expect(safe([], { market: { borrowCapUsd: 6_001n } })).toEqual(['1.00', '3750.00'])
    expect(safe([], { market: { borrowCapUsd: 6_000n } })).toEqual(['0.00', '0.00'])
  })

  test('leave a debt and a deposit of the least value, or none', () => {
    const least = (usd: bigint): Patch => [MARKET, 3224, 16, usd * SF]
    const tiny = { borrows: [{ reserve: USDC, amountSf: 10n ** 6n * SF }] }
    expect(safe([least(10n), [USDC, 224, 8, 5_000_000n]], tiny)[0]).toBe('0.00')
    expect(safe([least(10n), [USDC, 224, 8, 9_000_000n]], tiny)[0]).toBe('9.00')
    expect(safe([least(12_000n)])[1]).toBe('3000.00')
    expect(safe([least(12_000n)], { borrows: [] })[1]).toBe('15000.00')
    const lent: Patch[] = [
      [SOL, 224, 8, 99n * 10n ** 9n],
      [SOL, 232, 16, 9_901n * 10n ** 9n * SF],
    ]
    expect(safe([least(12_000n), ...lent], { borrows: [] })[1]).toBe('3000.00')
  })

  test('without debt are all that the reserves pay, and know no reserve to borrow from', () => {
    expect(safe([], { borrows: [] })).toEqual(['8000.00', '15000.00'])
    expect(safe([[SOL, 224, 8, 10n * 10n ** 9n]], { borrows: [] })[1]).toBe('1500.00')
  })

  test('need prices that pass the checks against their average, for a withdrawal if there is debt', () => {
    const shaken = (changes: SceneChanges) => {
      const snapshot = createSnapshot({ changes, pricedAtSec: NOW })
      const assets = new Map([...snapshot.assets].map(([address, asset]) => [address, { ...asset, isSteady: false }]))
      const position = assessObligation({ ...snapshot, assets }, { slotMs: 400 })
      const aim = parseRational('1.5') as Rational
      return [computeSafeBorrow(position, aim), computeSafeWithdraw(position, aim)].map(
        ({ numerator }) => numerator > 0n,
      )
    }
    expect(shaken({})).toEqual([false, false])
    expect(shaken({ borrows: [] })).toEqual([false, true])
  })

  test('of several debts count what each reserve can lend, by its borrow factor', () => {
    const borrows = [
      { reserve: USDC, amountSf: 3_000n * 10n ** 6n * SF },
      { reserve: SOL, amountSf: 20n * 10n ** 9n * SF },
    ]
    const room: Patch[] = [
      [USDC, 224, 8, 100_000_000n],
      [SOL, 224, 8, 10n ** 9n],
      [SOL, 232, 16, 9_999n * 10n ** 9n * SF],
    ]
    expect(safe(room, { borrows })[0]).toBe('250.00')
    expect(safe(room, { borrows, sol: { borrowFactorPct: 120n } })[0]).toBe('280.00')
  })
})
