import { expect, test } from 'bun:test'
import type { Flow } from '../../../src/finance/pnl/flow.ts'
import { replay, waitUntil } from '../../../src/finance/pnl/replay.ts'
import { ONE, rational } from '../../../src/lib/number/rational.ts'

/** A deposit that cost a dollar, as a fraction in lowest terms, and half of it withdrawn. */
const DEPOSIT: Flow = { kind: 'increase', timeSec: 100n, liquidity: 2n, amounts: [1n, 0n], prices: [ONE, ONE] }
const HALF: Flow = { kind: 'decrease', timeSec: 100n, liquidity: 1n, amounts: [1n, 0n] }

test('the smallest cost in whole dollars counts for as long as it stays, and is shared by what is withdrawn', () => {
  const waited = waitUntil(replay([DEPOSIT]), 107n)
  expect(waited).toMatchObject({ costSeconds: rational(7n, 1n), activeSec: 7n })
  const half = replay([DEPOSIT, HALF])
  expect(half).toMatchObject({ cost: rational(1n, 2n), pendingCost: rational(1n, 2n) })
})
