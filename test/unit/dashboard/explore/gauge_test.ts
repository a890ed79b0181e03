import { expect, test } from 'bun:test'
import { join } from 'node:path'

interface Gauges {
  isLiquidatable(healthFactor: string): boolean
  formatHealthFactor(healthFactor: string): string
}

const PATH: string = join(import.meta.dir, '../../../../src/dashboard/explore/lending/gauge.tsx')
const { isLiquidatable, formatHealthFactor } = (await import(PATH)) as Gauges

test('a position can be liquidated below 1, not at it', () => {
  expect(['0.0000', '0.9999', '1.0000', '1.0001', 'MAX'].map(isLiquidatable)).toEqual([true, true, false, false, false])
})

test('a large health factor keeps its first digits in the picture', () => {
  expect(formatHealthFactor('1.2345')).toBe('1.2345')
  expect(formatHealthFactor('1234567.1234')).toBe('1.23M')
  expect(formatHealthFactor('86123456789.1234')).toBe('86.12B')
  expect(formatHealthFactor(`1${'0'.repeat(20)}.1234`).length).toBeLessThan(14)
})
