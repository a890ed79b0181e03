import { expect, test } from 'bun:test'
import type { RateReader } from '../../../../src/finance/currency/rate.ts'
import { readRate } from '../../../../src/portfolio/routes/currency.ts'

test('a rate has the heartbeats of its moment, and a list that goes on those with which it began', async () => {
  const dated: boolean[] = []
  const rates = (): RateReader => ({
    read: async (currency, { isDated }) => {
      dated.push(isDated)
      return { currency, units: 1n, scale: 0, asOfSec: 0n, isStale: false, chainId: 1 }
    },
  })
  const answer = { reads: [{ block: { chainId: 1, number: 7n } }], unread: [] }
  const began = { reads: [{ chainId: 1, number: 7 }] }
  const work = { signal: new AbortController().signal } as never
  for (const moment of [{}, began, { at_block: 7 }, { ...began, at_block: 7 }])
    await readRate(rates, { currency: 'EUR', ...moment }, answer as never, work)
  expect(dated).toEqual([false, false, true, true])
})
