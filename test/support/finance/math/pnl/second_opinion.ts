import type { Valuation } from '../../../../../src/finance/math/pnl/figures.ts'
import type { Flow } from '../../../../../src/finance/math/pnl/flow.ts'

/** A fraction, [numerator, denominator], never reduced; nothing of the program is used to count with it. */
type Fraction = readonly [bigint, bigint]

/** One deposit, and which parts of it are pooled, withdrawn and waiting, or paid out. */
interface Lot {
  readonly amount0: bigint
  readonly amount1: bigint
  readonly cost: Fraction
  pooled: Fraction
  waiting: Fraction
}

const NONE: Fraction = [0n, 1n]
const ALL: Fraction = [1n, 1n]

const add = (a: Fraction, b: Fraction): Fraction =>
  a[1] === b[1] ? [a[0] + b[0], a[1]] : [a[0] * b[1] + b[0] * a[1], a[1] * b[1]]
const sub = (a: Fraction, b: Fraction): Fraction => add(a, [-b[0], b[1]])
const mul = (a: Fraction, b: Fraction): Fraction => [a[0] * b[0], a[1] * b[1]]
const div = (a: Fraction, b: Fraction): Fraction => [a[0] * b[1], a[1] * b[0]]
const sumFractions = (values: readonly Fraction[]): Fraction => values.reduce(add, NONE)

/**
 * Profit and loss deposit by deposit, where the program keeps one ledger: every deposit is a lot of its own, and
 * withdrawals and collects take the same share of each. Texts as in the specification, rounded as the contract says.
 */
export function secondOpinion(flows: readonly Flow[], holding: Valuation) {
  const lots: Lot[] = []
  let [waiting0, waiting1, liquidity] = [0n, 0n, 0n]
  let [invested, fees, principal, basis, twin, costTime] = [NONE, NONE, NONE, NONE, NONE, NONE]
  let [then, seconds] = [flows[0]?.timeSec ?? 0n, 0n]
  const worth = (amount0: Fraction, amount1: Fraction, prices: Valuation['prices']): Fraction => {
    const [price0, price1] = prices.map(({ numerator, denominator }): Fraction => [numerator, denominator])
    return add(mul(amount0, price0 ?? NONE), mul(amount1, price1 ?? NONE))
  }
  const whole = (amount0: bigint, amount1: bigint, prices: Valuation['prices']) =>
    worth([amount0, 1n], [amount1, 1n], prices)
  const share = (lot: Lot, part: Fraction, prices: Valuation['prices']) =>
    worth(mul([lot.amount0, 1n], part), mul([lot.amount1, 1n], part), prices)
  const costLeft = () => sumFractions(lots.map((lot) => mul(lot.cost, add(lot.pooled, lot.waiting))))
  const pass = (timeSec: bigint) => {
    const cost = costLeft()
    if (cost[0] > 0n) {
      costTime = add(costTime, mul(cost, [timeSec - then, 1n]))
      seconds += timeSec - then
    }
    then = timeSec
  }
  const payOut = (part: Fraction, prices: Valuation['prices']) => {
    for (const lot of lots) {
      const paid = mul(lot.waiting, part)
      basis = add(basis, mul(lot.cost, paid))
      twin = add(twin, share(lot, paid, prices))
      lot.waiting = sub(lot.waiting, paid)
    }
  }

  for (const flow of flows) {
    pass(flow.timeSec)
    const [amount0, amount1] = flow.amounts
    if (flow.kind === 'increase') {
      const cost = whole(amount0, amount1, flow.prices)
      lots.push({ amount0, amount1, cost, pooled: ALL, waiting: NONE })
      invested = add(invested, cost)
      liquidity += flow.liquidity
    } else if (flow.kind === 'decrease') {
      for (const lot of lots) {
        const gone = mul(lot.pooled, [flow.liquidity, liquidity])
        lot.pooled = sub(lot.pooled, gone)
        lot.waiting = add(lot.waiting, gone)
      }
      liquidity -= flow.liquidity
      waiting0 += amount0
      waiting1 += amount1
    } else {
      const paid0 = amount0 < waiting0 ? amount0 : waiting0
      const paid1 = amount1 < waiting1 ? amount1 : waiting1
      const before = whole(waiting0, waiting1, flow.prices)
      const paid = whole(paid0, paid1, flow.prices)
      waiting0 -= paid0
      waiting1 -= paid1
      payOut(waiting0 + waiting1 === 0n ? ALL : div(paid, before), flow.prices)
      principal = add(principal, paid)
      fees = add(fees, whole(amount0 - paid0, amount1 - paid1, flow.prices))
    }
  }
  pass(holding.timeSec)
  const { prices } = holding
  const nothingLeft = [liquidity, ...holding.principal, ...holding.fees, waiting0, waiting1].every((n) => n === 0n)
  if (nothingLeft) payOut(ALL, prices)

  const feesLeft = whole(...holding.fees, prices)
  const inside = whole(holding.principal[0] + waiting0, holding.principal[1] + waiting1, prices)
  const hodl = sumFractions(lots.map((lot) => share(lot, ALL, prices)))
  const twinAll = add(twin, sumFractions(lots.map((lot) => share(lot, add(lot.pooled, lot.waiting), prices))))
  const received = sumFractions([principal, fees, inside, feesLeft])
  const pnl = sub(received, invested)
  const net = sub(received, twinAll)
  const pure = sub(net, add(fees, feesLeft))
  const realized = millionths(sub(add(principal, fees), basis))
  const unrealized = millionths(sub(add(inside, feesLeft), costLeft()))
  const market = millionths(twinAll) - millionths(invested)
  const feesE6 = millionths(add(fees, feesLeft))
  const pnlE6 = realized + unrealized
  const capital = seconds === 0n ? invested : mul(costTime, [1n, seconds])
  return {
    pnl_usd_value: sixDigits(pnlE6),
    pnl_percentage: percent(pnl, capital),
    time_weighted_average_capital: sixDigits(millionths(capital)),
    fee_apr: seconds < 86_400n ? null : percent(mul(add(fees, feesLeft), [365n * 86_400n, seconds]), capital),
    hodl_gross_benchmark_usd_value: sixDigits(millionths(hodl)),
    alpha_vs_hodl_gross_usd_value: sixDigits(pnlE6 - millionths(hodl) + millionths(invested)),
    alpha_vs_hodl_gross_percentage: percent(sub(received, hodl), hodl),
    net_impermanent_loss: sixDigits(pnlE6 - market),
    net_impermanent_loss_percentage: percent(net, twinAll),
    pure_impermanent_loss: sixDigits(pnlE6 - market - feesE6),
    pure_impermanent_loss_percentage: percent(pure, twinAll),
    market_pnl_usd_value: sixDigits(market),
    lp_divergence_pnl_usd_value: sixDigits(pnlE6 - market),
    realized_usd_value: sixDigits(realized),
    unrealized_usd_value: sixDigits(unrealized),
  }
}

function percent(part: Fraction, whole: Fraction): string {
  if (whole[0] <= 0n) return '0.0000'
  return digits(rounded(mul(div(part, whole), [1_000_000n, 1n])), 4)
}

function millionths(value: Fraction): bigint {
  return rounded(mul(value, [1_000_000n, 1n]))
}

/** The nearest whole number, a half away from zero. */
function rounded([numerator, denominator]: Fraction): bigint {
  const isNegative = numerator < 0n
  const positive = isNegative ? -numerator : numerator
  const whole = (2n * positive + denominator) / (2n * denominator)
  return isNegative ? -whole : whole
}

function sixDigits(value: bigint): string {
  return digits(value, 6)
}

function digits(value: bigint, count: number): string {
  const text = String(value < 0n ? -value : value).padStart(count + 1, '0')
  return `${value < 0n ? '-' : ''}${text.slice(0, -count)}.${text.slice(-count)}`
}
