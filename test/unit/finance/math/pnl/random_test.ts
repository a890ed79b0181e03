import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { pnlFigures, type Valuation } from '../../../../../src/finance/math/pnl/figures.ts'
import type { Flow } from '../../../../../src/finance/math/pnl/flow.ts'
import { caseCount } from '../../../../support/cases.ts'
import { secondOpinion } from '../../../../support/finance/math/pnl/second_opinion.ts'
import { LIFE, type Life } from './histories.ts'
import { heldTimes, scaledBy } from './pool.ts'
import { replay } from './replayed.ts'
import { shown } from './shown.ts'

const RUNS = { numRuns: caseCount(20_000, 1_000) }
const DAY_SEC = 86_400n

function texts(flows: readonly Flow[], holding: Valuation) {
  return shown(pnlFigures(replay(flows), holding))
}

/** Millionths of the text of an amount. */
function e6(text: string): bigint {
  return BigInt(text.replace('.', ''))
}

/** Worth of all deposits at their own time, in millionths, rounded as the program rounds it. */
function depositedE6({ flows }: Life): bigint {
  const none: Valuation = { timeSec: 0n, prices: [ZERO, ZERO], principal: [0n, 0n], fees: [0n, 0n] }
  const deposits = flows.filter(({ kind }) => kind === 'increase').map((flow) => ({ ...flow, timeSec: 0n }))
  return e6(texts(deposits, none).time_weighted_average_capital)
}

const ZERO = { numerator: 0n, denominator: 1n }

describe('pnlFigures() of random histories', () => {
  test('equals a replay deposit by deposit', () => {
    fc.assert(
      fc.property(LIFE, ({ flows, holding }) => {
        expect(texts(flows, holding)).toEqual(secondOpinion(flows, holding))
      }),
      RUNS,
    )
  })

  test('keeps the identities on the texts', () => {
    fc.assert(
      fc.property(LIFE, (life) => {
        const all = texts(life.flows, life.holding)
        const [pnl, net] = [e6(all.pnl_usd_value), e6(all.net_impermanent_loss)]
        const market = e6(all.market_pnl_usd_value)
        const alpha = e6(all.alpha_vs_hodl_gross_usd_value)
        expect(pnl).toBe(e6(all.realized_usd_value) + e6(all.unrealized_usd_value))
        expect(pnl).toBe(market + e6(all.lp_divergence_pnl_usd_value))
        expect(net).toBe(e6(all.lp_divergence_pnl_usd_value))
        expect(alpha).toBe(pnl - (e6(all.hodl_gross_benchmark_usd_value) - depositedE6(life)))
        if (!life.hasWithdrawals) {
          expect(all.alpha_vs_hodl_gross_usd_value).toBe(all.net_impermanent_loss)
          expect(all.alpha_vs_hodl_gross_percentage).toBe(all.net_impermanent_loss_percentage)
        }
        if (life.isOver) expect(all.unrealized_usd_value).toBe('0.000000')
        // Rounding can move it by a millionth or two.
        if (life.collectsAtOnce) expect(e6(all.pure_impermanent_loss)).toBeLessThanOrEqual(2n)
      }),
      RUNS,
    )
  })

  test('is unchanged by splitting a deposit in two', () => {
    fc.assert(
      fc.property(LIFE, fc.nat(), ({ flows, holding }, seed) => {
        const split = flows.flatMap((flow, index): Flow[] => {
          if (flow.kind !== 'increase' || (seed >> (index % 30)) % 2 === 0) return [flow]
          const [amount0, amount1] = flow.amounts
          const some = { ...flow, liquidity: flow.liquidity / 3n, amounts: [amount0 / 3n, amount1 / 3n] as const }
          const rest = {
            ...flow,
            liquidity: flow.liquidity - some.liquidity,
            amounts: [amount0 - some.amounts[0], amount1 - some.amounts[1]] as const,
          }
          return [some, rest]
        })
        expect(texts(split, holding)).toEqual(texts(flows, holding))
      }),
      RUNS,
    )
  })

  test('is unchanged by an early collect at the same prices, except that its fees are realized', () => {
    fc.assert(
      fc.property(LIFE, ({ flows, holding }) => {
        const ledger = replay(flows)
        const early: Flow = { kind: 'collect', timeSec: holding.timeSec, amounts: holding.fees, prices: holding.prices }
        const isPending = ledger.pending.some((amount) => amount > 0n)
        fc.pre(!isPending)
        const later = { ...holding, timeSec: holding.timeSec + DAY_SEC }
        const moved = texts([...flows, early], { ...later, fees: [0n, 0n] })
        const kept = texts(flows, later)
        const { realized_usd_value: _, unrealized_usd_value: __, ...same } = kept
        // Realized and unrealized are rounded apart, so their sum may move by a millionth.
        for (const [name, text] of Object.entries(same)) {
          const difference = e6(moved[name as keyof typeof same] ?? '0') - e6(text ?? '0')
          expect(difference >= -1n && difference <= 1n).toBe(true)
        }
      }),
      RUNS,
    )
  })

  test('doubles all dollars and no percentage if everything is doubled', () => {
    fc.assert(
      fc.property(LIFE, ({ flows, holding }) => {
        const [once, twice] = [
          pnlFigures(replay(flows), holding),
          pnlFigures(replay(scaledBy(2n, flows)), heldTimes(2n, holding)),
        ]
        const [before, after] = [shown(once), shown(twice)]
        for (const [name, text] of Object.entries(before)) {
          const now = after[name as keyof typeof before]
          const isRate = name.endsWith('_percentage') || name === 'fee_apr'
          if (isRate || now === null || text === null) expect(now).toBe(text)
          // Each of the up to five rounded parts of a sum may be half a millionth off.
          else expect(Math.abs(Number(e6(now) - 2n * e6(text)))).toBeLessThanOrEqual(7)
        }
      }),
      RUNS,
    )
  })

  test('does not change with time once a position is empty', () => {
    fc.assert(
      fc.property(LIFE, ({ flows, holding, isOver }) => {
        fc.pre(isOver && flows.length > 0)
        const end = flows.at(-1)
        const at = { ...holding, timeSec: end?.timeSec ?? 0n }
        expect(texts(flows, { ...at, timeSec: at.timeSec + 400n * DAY_SEC })).toEqual(texts(flows, at))
      }),
      RUNS,
    )
  })

  test('stays exact enough after thousands of withdrawals between deposits', () => {
    const lives = fc.sample(LIFE, { numRuns: 700, seed: 7 }).filter(({ flows }) => flows.length > 0)
    const start = 1_600_000_000n
    let timeSec = start
    const flows: Flow[] = lives
      .flatMap((life) => life.flows.filter(({ kind }) => kind === 'increase'))
      .flatMap((flow, index): Flow[] => {
        timeSec += 60n
        if (flow.kind !== 'increase') return []
        const liquidity = index === 0 ? flow.liquidity + 1_000n : flow.liquidity
        return [
          { ...flow, liquidity, timeSec },
          { kind: 'decrease', timeSec, liquidity: flow.liquidity / 2n, amounts: [flow.amounts[0] / 2n, 7n] },
          { kind: 'collect', timeSec, amounts: [flow.amounts[0] / 3n, 9n], prices: flow.prices },
        ]
      })
    const last = lives.at(-1)
    if (last === undefined) throw new Error('Cannot test without a life')
    const { cost, pendingCost, released, deposited } = replay(flows)
    const parts = [cost, pendingCost, released].reduce(
      (sum, { numerator, denominator }) => sum + (numerator * 10n ** 30n) / denominator,
      0n,
    )
    const whole = (deposited.numerator * 10n ** 30n) / deposited.denominator
    expect(flows.length).toBeGreaterThan(2_500)
    expect(whole - parts >= 0n && whole - parts <= 3n).toBe(true)
  })
})
