import { describe, expect, test } from 'bun:test'
import { computeLifetime, type FlowRow, feeAprOfDays, feeAprSinceOpening } from './pages.ts'

const DAY = 86_400
const flow = (
  type: FlowRow['type'],
  day: number,
  liquidity = 0,
  fees: readonly [string, string] = ['0', '0'],
): FlowRow => ({
  type,
  timestamp: day * DAY,
  liquidity: String(liquidity),
  fees: { token0: { amount: fees[0] }, token1: { amount: fees[1] } },
})
const position = (liquidity: number, worth: string | null, fees: readonly [string, string] | null) => ({
  position_state: { liquidity: String(liquidity) },
  usd: { amounts: worth, token0_price: '2000', token1_price: '1' },
  uncollected_fees: fees && { token0: { amount: fees[0] }, token1: { amount: fees[1] } },
})

describe('the life of a position', () => {
  test('is from its first deposit to its last flow, or to now', () => {
    const flows = [flow('increase', 10, 100), flow('decrease', 30, 100), flow('collect', 31)]
    expect(computeLifetime(flows, false)).toEqual({ openedSec: 10 * DAY, closedSec: 31 * DAY, wasEmpty: false })
    expect(computeLifetime(flows.slice(0, 1), true)).toEqual({
      openedSec: 10 * DAY,
      closedSec: undefined,
      wasEmpty: false,
    })
    expect(computeLifetime([...flows, flow('increase', 40, 5)], true)).toMatchObject({
      closedSec: undefined,
      wasEmpty: true,
    })
    expect(computeLifetime([], true).openedSec).toBeUndefined()
  })
})

describe('fee APR since opening', () => {
  const pnl = {
    net_impermanent_loss: '-20.000000',
    pure_impermanent_loss: '-70.000000',
    time_weighted_average_capital: '1000.000000',
  }
  const life = { openedSec: 10 * DAY, closedSec: undefined, wasEmpty: false }

  test('is fees ÷ average capital, brought to 365 days', () => {
    expect(feeAprSinceOpening({ pnl, life, untilSec: 83 * DAY })).toEqual({ apr: 0.25 })
    // A closed one ended before.
    expect(feeAprSinceOpening({ pnl, life: { ...life, closedSec: 20 * DAY }, untilSec: 83 * DAY })).toEqual({
      apr: 1.825,
    })
  })

  test('is not told where it has no meaning', () => {
    const said = (change: object, of = pnl) =>
      feeAprSinceOpening({ pnl: of, life: { ...life, ...change }, untilSec: 83 * DAY })
    expect(said({ wasEmpty: true })).toEqual({ because: 'it was empty for a time' })
    expect(said({ openedSec: 83 * DAY })).toEqual({ because: 'no time has passed' })
    expect(said({}, { ...pnl, time_weighted_average_capital: '0.000000' })).toEqual({ because: 'there was no capital' })
  })
})

describe('fee APR over days', () => {
  const window = { fromSec: 100 * DAY, untilSec: 110 * DAY }

  test('counts what was collected in between as fees, and nothing of before', () => {
    const flows = [
      flow('increase', 50, 100),
      flow('collect', 99, 0, ['9', '9']),
      flow('collect', 105, 0, ['0.003', '1']),
    ]
    const told = {
      before: position(100, '900', ['0.001', '2']),
      now: position(100, '1100', ['0.002', '3']),
      flows,
      ...window,
    }
    // (0.002 − 0.001 + 0.003) × 2,000 + (3 − 2 + 1) = 10 dollars in ten days of 1,000 dollars.
    const rate = feeAprOfDays(told)
    expect('apr' in rate ? rate.apr : rate).toBeCloseTo(0.365, 12)
  })

  test('weighs capital by the time that it was in', () => {
    const flows = [flow('increase', 50, 100), flow('increase', 102, 300), flow('decrease', 107, 200)]
    const told = {
      before: position(100, '1000', ['0', '0']),
      now: position(200, '2000', ['0', '26']),
      flows,
      ...window,
    }
    // (2 × 100 + 5 × 400 + 3 × 200) ÷ 10 = 280 of liquidity at 10 dollars.
    const rate = feeAprOfDays(told)
    expect('apr' in rate ? rate.apr : rate).toBeCloseTo((26 / 2_800) * 36.5, 12)
  })

  test('is not told without prices, without fees apart, or without capital', () => {
    const before = position(100, '1000', ['0', '0'])
    const told = { before, now: before, flows: [], ...window }
    expect(feeAprOfDays({ ...told, now: position(100, '1000', null) })).toEqual({
      because: 'what was owed is not told apart into fees and principal',
    })
    expect(feeAprOfDays({ ...told, before: position(100, null, ['0', '0']) })).toEqual({
      because: 'a price is missing',
    })
    expect(feeAprOfDays({ ...told, before: position(0, '0', ['0', '0']), now: position(0, '0', ['0', '0']) })).toEqual({
      because: 'there was no capital',
    })
  })
})
