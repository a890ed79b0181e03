import { describe, expect, test } from 'bun:test'
import { computeTotals, type ShownPosition, sortPositions } from '../../../support/dashboard/explore/pages.ts'

function position(id: string, figures: Partial<ShownPosition> = {}): ShownPosition {
  return { token_id: id, is_active: true, in_range: true, ...figures }
}
const usd = (total: string | null, uncollected_fees: string | null = '0.000000') => ({ total, uncollected_fees })

const POSITIONS = [
  position('1', { usd: usd('5.100000', '1.000000'), pnl: { pnl_usd_value: '-3.000000' } }),
  position('2', { usd: usd('120.000000', null), pnl: null, in_range: false }),
  position('3', { usd: usd(null, null) }),
  position('4', { is_active: false }),
  position('5', { usd: usd('1000.000001', '0.100000'), pnl: { pnl_usd_value: '7.000001' } }),
]
const AS_LISTED = { by: 'listed', show: 'all', least: '0' }
const ids = (order: Partial<typeof AS_LISTED>) =>
  sortPositions(POSITIONS, { ...AS_LISTED, ...order }).map(({ token_id }) => token_id)

describe('positions are shown', () => {
  test('as listed, or the largest figure first and unknown ones last', () => {
    expect(ids({})).toEqual(['1', '2', '3', '4', '5'])
    expect(ids({ by: 'value' })).toEqual(['5', '2', '1', '3', '4'])
    expect(ids({ by: 'fees' })).toEqual(['1', '5', '2', '3', '4'])
    expect(ids({ by: 'pnl' })).toEqual(['5', '1', '2', '3', '4'])
  })

  test('by range, and without small ones, of which none is unknown', () => {
    expect(ids({ show: 'in' })).toEqual(['1', '3', '5'])
    expect(ids({ show: 'out' })).toEqual(['2'])
    expect(ids({ show: 'closed' })).toEqual(['4'])
    expect(ids({ least: '10' })).toEqual(['2', '3', '4', '5'])
  })

  test('with exact sums and the number of positions in each', () => {
    expect(computeTotals(POSITIONS)).toEqual({
      open: 4,
      closed: 1,
      inRange: 3,
      outOfRange: 1,
      value: { usd: '1125.100001', count: 3 },
      fees: { usd: '1.100000', count: 2 },
      pnl: { usd: '4.000001', count: 2 },
    })
  })
})
