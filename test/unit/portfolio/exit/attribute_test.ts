import { expect, test } from 'bun:test'
import { type Address, encodeErrorResult, type Hex, parseAbi } from 'viem'
import type { UnitOutcome } from '../../../../src/chain/call/exit/execute.ts'
import type { StepOutcome } from '../../../../src/chain/call/exit/step.ts'
import { explainBy, type HoldingExit, type HoldingStep } from '../../../../src/family/exit.ts'
import { attribute } from '../../../../src/portfolio/exit/attribute.ts'
import { abandon, findAbandonment, getFreeExit } from '../../../../src/portfolio/exit/settle.ts'
import { classifyAssets } from '../../../../src/portfolio/sum/classify.ts'
import type { HeldAsset, Row } from '../../../../src/portfolio/sum/row.ts'
import { asset, dollars } from '../sum/assets.ts'

const GOLD: Address = `0x${'a'.repeat(40)}`
const IRON: Address = `0x${'b'.repeat(40)}`
const LENDER: Address = `0x${'c'.repeat(40)}`
const DONOR: Address = `0x${'d'.repeat(40)}`

/** A row of a family that is made up; whole tokens without decimals, a dollar each unless told otherwise. */
function row(
  kind: HeldAsset['kind'],
  amount: bigint,
  more: { token?: Address; part?: string; usd?: bigint | null } = {},
) {
  const { token: address = GOLD, part, usd = 1n } = more
  const [made] = classifyAssets(
    [
      asset({
        kind,
        amount,
        token: { address, symbol: 'T', name: 'Token', decimals: 0 },
        price: usd === null ? { kind: 'missing', hasSource: false, reason: 'unpriced', because: '' } : dollars(usd),
        position: { family: 'made-up', id: '7', ...(part && { part }) },
      }),
    ],
    { includeUnlisted: false },
  )
  return made as Row
}

const toError = (text: string): Hex =>
  encodeErrorResult({ abi: parseAbi(['error Error(string)']), errorName: 'Error', args: [text] })

function exit(steps: readonly HoldingStep[]): HoldingExit {
  const explain = explainBy({ Stopped: 'paused', Unhealthy: 'health', 'Panic 17': 'no_liquidity' })
  return { position: { family: 'made-up', id: '7' }, steps, explain }
}

const done = (...deltas: readonly bigint[]): StepOutcome => ({ kind: 'done', deltas, lent: undefined })
const reverted = (reason: Hex): StepOutcome => ({ kind: 'reverted', reason })
const ran = (...steps: readonly StepOutcome[]): UnitOutcome => ({ kind: 'run', steps, made: new Set([DONOR]) })
const step = (more: Partial<HoldingStep>): HoldingStep => ({ kind: 'supplied', tokens: [GOLD], calls: [], ...more })

/** What arrived of each row, and why not more. */
function attributed(rows: readonly Row[], steps: readonly HoldingStep[], outcome: UnitOutcome) {
  const { lines, outside } = attribute(exit(steps), rows, outcome)
  return { lines: lines.map(({ arrived, blockage }) => [arrived, blockage?.reason]), outside, lines0: lines }
}

test('fees come before principal, and no row has more than the book', () => {
  const rows = [row('liquidity', 10n, { part: 'principal' }), row('liquidity', 4n, { part: 'fees' })]
  const steps = [step({ kind: 'liquidity' })]
  expect(attributed(rows, steps, ran(done(9n))).lines).toEqual([
    [5n, 'token_refuses'],
    [4n, undefined],
  ])
  expect(attributed(rows, steps, ran(done(99n))).lines).toEqual([
    [10n, undefined],
    [4n, undefined],
  ])
  expect(attributed(rows, steps, ran(done(-3n))).lines.map(([arrived]) => arrived)).toEqual([0n, 0n])
})

test('a row is blocked by the first step that failed, in the words of its family, or says what was said', () => {
  const rows = [row('supplied', 10n)]
  const all = step({})
  const part = step({ isFallback: true, because: 'no_liquidity' })
  const odd = toError('Odd')
  const cases: readonly (readonly [readonly StepOutcome[], readonly [bigint, string | undefined]])[] = [
    [
      [done(10n), { kind: 'skipped' }],
      [10n, undefined],
    ],
    [
      [reverted(toError('Stopped')), reverted(toError('Stopped'))],
      [0n, 'paused'],
    ],
    [
      [reverted(`0x4e487b71${'11'.padStart(64, '0')}`), reverted(odd)],
      [0n, 'no_liquidity'],
    ],
    [
      [reverted(odd), done(3n)],
      [3n, 'no_liquidity'],
    ],
    [
      [reverted(odd), reverted(toError('Stopped'))],
      [0n, 'paused'],
    ],
    [
      [reverted(odd), reverted(odd)],
      [0n, 'unsupported'],
    ],
    [
      [reverted(toError('Pausable: paused')), reverted(odd)],
      [0n, 'token_refuses'],
    ],
    [
      [{ kind: 'too_costly' }, { kind: 'too_costly' }],
      [0n, 'too_costly'],
    ],
    [
      [{ kind: 'unreadable' }, { kind: 'skipped' }],
      [0n, 'unsupported'],
    ],
  ]
  for (const [outcomes, expected] of cases) {
    const { lines, lines0 } = attributed(rows, [all, part], ran(...outcomes))
    expect({ outcomes, line: lines[0] as readonly unknown[] }).toEqual({ outcomes, line: [...expected] })
    if (expected[1] === 'unsupported' && outcomes[0]?.kind === 'reverted') {
      expect(lines0[0]?.blockage?.detail).toContain(odd)
    }
  }
  for (const kind of ['too_costly', 'unsupported'] as const) {
    expect(attributed(rows, [all], { kind }).lines).toEqual([[0n, kind]])
  }
})

test('what debts hold is blocked by what keeps them from being repaid; repayment counts what left the wallet', () => {
  const rows = [row('supplied', 10n), row('borrowed', 6n, { token: IRON })]
  const steps = [
    step({ kind: 'borrowed', tokens: [IRON], loan: { token: IRON, amount: 8n } }),
    step({}),
    step({ isFallback: true, because: 'health' }),
  ]
  const lent = { kind: 'done', deltas: [2n], lent: { lender: LENDER, amount: 8n } } as const
  expect(attributed(rows, steps, ran(lent, done(10n), { kind: 'skipped' }))).toMatchObject({
    lines: [
      [10n, undefined],
      [6n, undefined],
    ],
    outside: [{ token: IRON, amount: 6n, from: LENDER }],
  })
  // A lender may bring more than it was asked for.
  const generous = { kind: 'done', deltas: [3n], lent: { lender: LENDER, amount: 9n } } as const
  expect(attributed(rows, steps, ran(generous, done(10n), { kind: 'skipped' })).outside).toEqual([
    { token: IRON, amount: 6n, from: LENDER },
  ])
  for (const [amount, delta] of [
    [8n, 16n],
    [8n, -1n],
  ] as const) {
    const odd = { kind: 'done', deltas: [delta], lent: { lender: LENDER, amount } } as const
    expect(attributed(rows, steps, ran(odd, done(10n), { kind: 'skipped' }))).toMatchObject({
      lines: [
        [0n, 'unsupported'],
        [0n, 'unsupported'],
      ],
      outside: [],
    })
  }
  const made = { kind: 'done', deltas: [2n], lent: { lender: DONOR, amount: 8n } } as const
  expect(attributed(rows, steps, ran(made, done(10n), { kind: 'skipped' })).outside).toEqual([
    { token: IRON, amount: 6n, from: undefined },
  ])
  const unfunded = (reason: Hex): StepOutcome => ({ kind: 'unfunded', reason })
  const banned = ran(unfunded(toError('Pausable: paused')), reverted(toError('Unhealthy')), done(1n))
  expect(attributed(rows, steps, banned).lines).toEqual([
    [1n, 'token_refuses'],
    [0n, 'token_refuses'],
  ])
  const held = ran(unfunded('0x'), reverted(toError('Unhealthy')), done(1n))
  expect(attributed(rows, steps, held).lines0[1]?.blockage?.detail).toContain('lends the 6 T to repay it')
  expect(attributed(rows, steps, held)).toMatchObject({
    lines: [
      [1n, 'unfunded'],
      [0n, 'unfunded'],
    ],
    outside: [],
  })
})

test('an account that brings less than it takes is left behind, and says whether it owes more than it owns', () => {
  const free = step({ parts: ['lent'], isFree: true })
  const steps = [step({ kind: 'borrowed', loan: { token: GOLD, amount: 10n } }), step({ parts: ['collateral'] }), free]
  const repaid = { kind: 'done', deltas: [0n], lent: { lender: LENDER, amount: 10n } } as const
  const settle = (rows: readonly Row[], outcome: UnitOutcome, ...second: readonly StepOutcome[]) => {
    const unit = attribute(exit(steps), rows, outcome)
    const abandonment = findAbandonment(unit)
    if (abandonment === undefined) return undefined
    const left = getFreeExit(abandonment)
    expect(left.steps.length).toBe(second.length)
    const { lines, outside } = abandon(abandonment, attribute(left, rows, ran(...second)))
    return {
      isInsolvent: abandonment.isInsolvent,
      lines: lines.map(({ arrived, blockage }) => [arrived, blockage?.reason]),
      outside,
    }
  }
  const debt = row('borrowed', 10n)
  const lent = row('supplied', 5n, { part: 'lent' })
  const collateral = (amount: bigint, usd?: null) =>
    row('supplied', amount, { part: 'collateral', ...(usd === null && { usd }) })
  expect(settle([debt, collateral(12n), lent], ran(repaid, done(12n), done(5n)))).toBeUndefined()
  expect(settle([debt, collateral(10n), lent], ran(repaid, done(10n), done(5n)))).toBeUndefined()
  expect(settle([debt, collateral(7n), lent], ran(repaid, done(7n), done(5n)), done(4n))).toEqual({
    isInsolvent: true,
    lines: [
      [0n, 'insolvent'],
      [0n, 'insolvent'],
      [4n, 'token_refuses'],
    ],
    outside: [],
  })
  const stuck = ran(repaid, reverted(toError('Stopped')), done(5n))
  expect(settle([debt, collateral(12n), lent], stuck, done(2n), done(5n))).toMatchObject({
    isInsolvent: false,
    lines: [
      [0n, 'unsupported'],
      [2n, 'paused'],
      [5n, undefined],
    ],
  })
  // Without a price it is not told what the account is worth.
  expect(settle([debt, collateral(7n, null), lent], ran(repaid, done(7n), done(5n)))).toBeUndefined()
  expect(settle([collateral(7n), lent], ran(repaid, done(7n), done(5n)))).toBeUndefined()
})
