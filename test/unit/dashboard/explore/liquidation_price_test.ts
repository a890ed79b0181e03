import { expect, test } from 'bun:test'
import { join } from 'node:path'

interface LiquidationPrices {
  formatPlain(value: number): string
  multiplyPrice(usd: string | undefined): (multiple: number) => string | undefined
}

const PATH: string = join(import.meta.dir, '../../../../src/dashboard/explore/lending/liquidation_price.tsx')
const { formatPlain, multiplyPrice } = (await import(PATH)) as LiquidationPrices

test.each([
  [1e50, /^1\d{50}$/],
  [1e21, /^1000000000000000000000$/],
  [2_500, /^2500\.000000$/],
  [0.5, /^0\.5000000000000$/],
  [1.25e-15, /^0\.0{14}125\d*$/],
  [1e-95, /^0\.0{94}1/],
  [0, /^0\.000000$/],
])('formatPlain(%p) has its digits and no exponent', (value, wanted) => {
  expect(formatPlain(value)).toMatch(wanted)
})

test('a liquidation price beyond the usual is dollars, and a tiny one is not zero', () => {
  expect(multiplyPrice('2500')(1e20)).toMatch(/^\$2(50|49)(,\d{3}){7}\.00$/)
  expect(multiplyPrice('2500')(4e-18)).toBe('$1.00\u00a0×\u00a010⁻¹⁴')
  expect(multiplyPrice(undefined)(1)).toBeUndefined()
})
