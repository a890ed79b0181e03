import fc from 'fast-check'
import type { Valuation } from '../../../../../src/finance/math/pnl/figures.ts'
import type { Flow, Pair } from '../../../../../src/finance/math/pnl/flow.ts'
import { hundredths, pooled, pricesAt, type Range, ROOTS } from './pool.ts'

/** A position's life: its flows, what is left, and what happened in it. */
export interface Life {
  readonly flows: readonly Flow[]
  readonly holding: Valuation
  readonly hasWithdrawals: boolean
  /** Every withdrawal was collected, whole, at the same prices. */
  readonly collectsAtOnce: boolean
  readonly isOver: boolean
}

interface Step {
  readonly act: 'increase' | 'decrease' | 'close' | 'collect' | 'collect_part'
  readonly seconds: bigint
  /** Where the pool stands. */
  readonly root: bigint
  readonly dollars: bigint
  readonly size: bigint
  readonly fees: Pair<bigint>
}

const RANGES: readonly Range[] = [
  { lower: 40n, upper: 60n },
  { lower: 35n, upper: 66n },
  { lower: 48n, upper: 50n },
]
const PART = 1_000n

const STEP: fc.Arbitrary<Step> = fc.record({
  act: fc.constantFrom('increase', 'increase', 'decrease', 'close', 'collect', 'collect', 'collect_part'),
  seconds: fc.bigInt(0n, 3_000_000n),
  root: fc.constantFrom(...ROOTS),
  dollars: fc.bigInt(1n, 5n),
  size: fc.bigInt(1n, PART),
  fees: fc.tuple(fc.bigInt(0n, 900n), fc.bigInt(0n, 90_000n)),
})

/** Random lives of positions in a pool whose price the dollar prices follow. */
export const LIFE: fc.Arbitrary<Life> = fc
  .tuple(fc.constantFrom(...RANGES), fc.array(STEP, { minLength: 1, maxLength: 9 }), STEP)
  .map(([range, steps, last]) => live(range, steps, last))

function live(range: Range, steps: readonly Step[], last: Step): Life {
  const flows: Flow[] = []
  let [timeSec, liquidity] = [1_700_000_000n, 0n]
  let [waiting, fees]: Pair<bigint>[] = [
    [0n, 0n],
    [0n, 0n],
  ] as [Pair<bigint>, Pair<bigint>]
  let [hasWithdrawals, collectsAtOnce] = [false, true]
  for (const step of steps) {
    timeSec += step.seconds
    const { act, root } = step
    const prices = pricesAt(root, step.dollars)
    if (liquidity > 0n) fees = sum(fees, hundredths(...step.fees))
    if (act === 'increase') {
      const amounts = pooled(step.size, root, range)
      flows.push({ kind: 'increase', timeSec, liquidity: step.size, amounts, prices })
      liquidity += step.size
    } else if (act === 'decrease' || act === 'close') {
      if (liquidity === 0n) continue
      const part = act === 'close' ? liquidity : (liquidity * step.size + PART - 1n) / PART
      const amounts = pooled(part, root, range)
      flows.push({ kind: 'decrease', timeSec, liquidity: part, amounts })
      liquidity -= part
      waiting = sum(waiting, amounts)
      hasWithdrawals = true
      // Half of the withdrawals are collected in the same transaction.
      if (step.size % 2n === 0n) [waiting, fees] = pay(flows, timeSec, sum(waiting, fees), prices)
      else collectsAtOnce = false
    } else {
      const owed = sum(waiting, fees)
      if (act === 'collect') [waiting, fees] = pay(flows, timeSec, owed, prices)
      else {
        const part: Pair<bigint> = [(owed[0] * step.size) / PART, (owed[1] * step.size) / PART]
        flows.push({ kind: 'collect', timeSec, amounts: part, prices })
        const principal: Pair<bigint> = [min(part[0], waiting[0]), min(part[1], waiting[1])]
        fees = minus(fees, minus(part, principal))
        waiting = minus(waiting, principal)
      }
    }
  }
  const isOver = liquidity === 0n && [...waiting, ...fees].every((amount) => amount === 0n)
  const prices = pricesAt(last.root, last.dollars)
  const holding = { timeSec: timeSec + last.seconds, prices, principal: pooled(liquidity, last.root, range), fees }
  return { flows, holding, hasWithdrawals, collectsAtOnce, isOver }
}

function pay(
  flows: Flow[],
  timeSec: bigint,
  amounts: Pair<bigint>,
  prices: Valuation['prices'],
): Pair<bigint>[] & [Pair<bigint>, Pair<bigint>] {
  flows.push({ kind: 'collect', timeSec, amounts, prices })
  return [
    [0n, 0n],
    [0n, 0n],
  ]
}

function sum(a: Pair<bigint>, b: Pair<bigint>): Pair<bigint> {
  return [a[0] + b[0], a[1] + b[1]]
}

function minus(a: Pair<bigint>, b: Pair<bigint>): Pair<bigint> {
  return [a[0] - b[0], a[1] - b[1]]
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
