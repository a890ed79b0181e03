import { expect, test } from 'bun:test'
import { pnlFigures } from '../../../../../src/finance/math/pnl/figures.ts'
import type { Flow } from '../../../../../src/finance/math/pnl/flow.ts'
import { advanceTo } from '../../../../../src/finance/math/pnl/replay.ts'
import { ONE, rational } from '../../../../../src/lib/number/rational.ts'
import { replay } from './replayed.ts'

/** A deposit that cost a dollar, as a fraction in lowest terms, and half of it withdrawn. */
const DEPOSIT: Flow = { kind: 'increase', timeSec: 100n, liquidity: 2n, amounts: [1n, 0n], prices: [ONE, ONE] }
const HALF: Flow = { kind: 'decrease', timeSec: 100n, liquidity: 1n, amounts: [1n, 0n] }

test('the smallest cost in whole dollars counts for as long as it stays, and is shared by what is withdrawn', () => {
  const waited = advanceTo(replay([DEPOSIT]), 107n)
  expect(waited).toMatchObject({ costSeconds: rational(7n, 1n), activeSec: 7n })
  const half = replay([DEPOSIT, HALF])
  expect(half).toMatchObject({ cost: rational(1n, 2n), pendingCost: rational(1n, 2n) })
})

test('a profit of the smallest capital in whole dollars has its percentage', () => {
  const doubled = { timeSec: 101n, prices: [rational(2n, 1n), ONE], principal: [1n, 0n], fees: [0n, 0n] } as const
  expect(pnlFigures(replay([DEPOSIT]), doubled)).toMatchObject({ pnlE6: 1_000_000n, pnlRatio: rational(1n, 1n) })
})

test('time without tokens in the position does not count, and the twin includes pending principal', () => {
  const all: Flow = { ...HALF, liquidity: 2n }
  const paid: Flow = { kind: 'collect', timeSec: 105n, amounts: [1n, 0n], prices: [ONE, ONE] }
  const closed = replay([DEPOSIT, all, paid])
  expect(advanceTo(closed, 200n)).toMatchObject({ costSeconds: rational(5n, 1n), activeSec: 5n, timeSec: 200n })
  const waiting = { timeSec: 105n, prices: [ONE, ONE], principal: [0n, 0n], fees: [0n, 0n] } as const
  expect(pnlFigures(replay([DEPOSIT, all]), waiting)).toMatchObject({ pnlE6: 0n, marketE6: 0n, divergenceE6: 0n })
})
