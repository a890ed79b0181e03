import { expect, test } from 'bun:test'
import { join } from 'node:path'

interface Portfolio {
  isKnownSum(usd: string, unread: readonly unknown[]): boolean
}

const PATH: string = join(import.meta.dir, '../../../../src/dashboard/explore/portfolio/portfolio.tsx')
const { isKnownSum } = (await import(PATH)) as Portfolio

test('a zero is unknown where a chain could not be read, and any other sum is told', () => {
  const unread = [{ chain_id: 1 }]
  expect(isKnownSum('0.000000', [])).toBe(true)
  expect(isKnownSum('0.000000', unread)).toBe(false)
  expect(isKnownSum('12.500000', unread)).toBe(true)
  expect(isKnownSum('-3.000000', unread)).toBe(true)
})
