import { describe, expect, test } from 'bun:test'
import {
  computeLifetime,
  type FlowRow,
  feeAprOfDays,
  listFlows,
  rewardAprSinceOpening,
} from '../../../support/dashboard/explore/pages.ts'

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

describe('the lifetime of a position', () => {
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

describe('reward APR since opening', () => {
  const pnl = {
    pnl_usd_value: '-20.000000',
    pnl_with_rewards: '30.000000',
    pnl_with_rewards_missing: null,
    time_weighted_average_capital: '1000.000000',
  }
  const lifetime = { openedSec: 10 * DAY, closedSec: undefined, wasEmpty: false }

  test('is rewards ÷ average capital, brought to 365 days', () => {
    expect(rewardAprSinceOpening({ pnl, lifetime, untilSec: 83 * DAY })).toEqual({ apr: 0.25 })
    // A closed one ended before.
    expect(rewardAprSinceOpening({ pnl, lifetime: { ...lifetime, closedSec: 20 * DAY }, untilSec: 83 * DAY })).toEqual({
      apr: 1.825,
    })
  })

  test('has a reason instead where rewards are not known', () => {
    const unknown = { ...pnl, pnl_with_rewards: null, pnl_with_rewards_missing: 'a price is missing' }
    expect(rewardAprSinceOpening({ pnl: unknown, lifetime, untilSec: 83 * DAY })).toEqual({
      reason: 'a price is missing',
    })
    const compute = (change: object, input = pnl) =>
      rewardAprSinceOpening({ pnl: input, lifetime: { ...lifetime, ...change }, untilSec: 83 * DAY })
    expect(compute({ wasEmpty: true })).toEqual({ reason: 'it was empty for a time' })
    expect(compute({ openedSec: 83 * DAY })).toEqual({ reason: 'no time has passed' })
    expect(compute({}, { ...pnl, time_weighted_average_capital: '0.000000' })).toEqual({
      reason: 'there was no capital',
    })
  })

  test('a farm that closes last is no end of the position', () => {
    const flows = [flow('increase', 10, 100), flow('decrease', 30, 100)]
    const marks = [
      { ...flow('stake', 12), custodian: {} },
      { ...flow('unstake', 40), custodian: {} },
    ]
    expect(computeLifetime(listFlows([...flows, ...marks]), false).closedSec).toBe(30 * DAY)
  })
})

describe('fee APR over days', () => {
  const window = { fromSec: 100 * DAY, untilSec: 110 * DAY }

  test('counts fees collected in between, and none collected before', () => {
    const flows = [
      flow('increase', 50, 100),
      flow('collect', 99, 0, ['9', '9']),
      flow('collect', 105, 0, ['0.003', '1']),
    ]
    const input = {
      before: position(100, '900', ['0.001', '2']),
      now: position(100, '1100', ['0.002', '3']),
      flows,
      ...window,
    }
    // (0.002 − 0.001 + 0.003) × 2,000 + (3 − 2 + 1) = 10 dollars in ten days of 1,000 dollars.
    const rate = feeAprOfDays(input)
    expect('apr' in rate ? rate.apr : rate).toBeCloseTo(0.365, 12)
  })

  test('weighs capital by its time in the position', () => {
    const flows = [flow('increase', 50, 100), flow('increase', 102, 300), flow('decrease', 107, 200)]
    const input = {
      before: position(100, '1000', ['0', '0']),
      now: position(200, '2000', ['0', '26']),
      flows,
      ...window,
    }
    // (2 × 100 + 5 × 400 + 3 × 200) ÷ 10 = 280 of liquidity at 10 dollars.
    const rate = feeAprOfDays(input)
    expect('apr' in rate ? rate.apr : rate).toBeCloseTo((26 / 2_800) * 36.5, 12)
  })

  test('has a reason instead without prices, separated fees, or capital', () => {
    const before = position(100, '1000', ['0', '0'])
    const input = { before, now: before, flows: [], ...window }
    expect(feeAprOfDays({ ...input, now: position(100, '1000', null) })).toEqual({
      reason: 'its fees are not separated from withdrawn principal',
    })
    expect(feeAprOfDays({ ...input, before: position(100, null, ['0', '0']) })).toEqual({
      reason: 'a price is missing',
    })
    expect(feeAprOfDays({ ...input, before: position(0, '0', ['0', '0']), now: position(0, '0', ['0', '0']) })).toEqual(
      {
        reason: 'there was no capital',
      },
    )
  })
})
