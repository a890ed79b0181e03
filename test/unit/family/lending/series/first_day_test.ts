import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { findFirstDay, type Movement } from '../../../../../src/family/lending/series.ts'
import { caseCount } from '../../../../support/cases.ts'

test('findFirstDay() finds every first day, and reports a cut where the state is unknown', async () => {
  const days = fc.record({
    from: fc.nat(50),
    length: fc.integer({ min: 1, max: 2_000 }),
    first: fc.nat(2_000),
    reach: fc.nat(2_000),
  })
  await fc.assert(
    fc.asyncProperty(days, async ({ from, length, first, reach }) => {
      const to = from + length
      const moved = Math.min(from + 1 + first, to)
      const reached = from + 1 + reach
      let asked = 0
      const movementAt = async (day: number): Promise<Movement> => {
        asked++
        expect(day).toBeWithin(from + 1, to)
        return day < reached ? 'unknown' : day < moved ? 'not_yet' : 'before'
      }
      const found = await findFirstDay({ from, to }, movementAt)
      const day = Math.min(Math.max(moved, reached), to)
      expect(found.day).toBe(day)
      expect(found.isCut).toBe(day - 1 > from && day - 1 < reached)
      expect(asked).toBeLessThanOrEqual(3 * Math.ceil(Math.log(length + 1) / Math.log(4)) + 6)
    }),
    { numRuns: caseCount(500) },
  )
})
