import { expect, test } from 'bun:test'
import { join } from 'node:path'

interface Total {
  readonly net: string | undefined
  readonly state: string
  readonly missing: number
  readonly targetCredits: number
}
interface Totals {
  computeTotal(parts: readonly object[]): Total
  sumTotals(totals: readonly (Omit<Total, 'targetCredits'> | undefined)[]): object
}

const PATH: string = join(import.meta.dir, '../../../../src/dashboard/explore/total.ts')
const { computeTotal, sumTotals } = (await import(PATH)) as Totals

const position = (total: string | null) => ({
  uncollected_fees: {},
  usd: { total, uncollected_fees: '0', withdrawn_principal: '0', amounts: '0' },
})
const list = (...totals: (string | null)[]) => ({
  family: 'liquidity',
  answer: { ok: true, body: { data: totals.map(position), pagination: { page: 1, total: totals.length } } },
})
const aave = (netWorthUSD: string) => ({
  family: 'aave',
  answer: { ok: true, body: { data: [{ positions: [{ netWorthUSD }] }] } },
})
const failed = (family: string, code = 'SERVICE_UNAVAILABLE', progress?: object) => ({
  family,
  answer: { ok: false, code, progress },
})

test('a wallet that was not read has no net worth, not zero', () => {
  // Nothing is requested for a Solana wallet in the past.
  expect(computeTotal([])).toMatchObject({ net: undefined, state: 'partial', missing: 0 })
  expect(computeTotal([failed('liquidity'), failed('aave')])).toMatchObject({
    net: undefined,
    state: 'partial',
    missing: 0,
  })
  expect(computeTotal([{ family: 'aave' }]).state).toBe('loading')
  expect(computeTotal([failed('aave', 'SERVICE_UNAVAILABLE', { percent: 3 })]).state).toBe('loading')
})

test('a wallet in which nothing was found has zero', () => {
  const nothing = { net: expect.stringMatching(/^0(\.0+)?$/), state: 'whole', missing: 0 }
  expect(computeTotal([list(), failed('aave', 'NOT_FOUND')])).toMatchObject(nothing)
})

test('a sum says what it lacks', () => {
  expect(computeTotal([list('12.5', null), aave('7.5'), failed('morpho')])).toMatchObject({
    state: 'whole',
    missing: 1,
  })
  expect(Number(computeTotal([list('12.5', null), aave('7.5')]).net)).toBe(20)
  expect(computeTotal([list('12.5'), failed('aave')])).toMatchObject({ state: 'partial' })
  const added = ['risk', 'yield'].map((name) => ({ family: 'obligation', id: 'o', path: name }))
  expect(computeTotal([list('1'), ...added]).missing).toBe(1)
})

test('a market in no table counts in no sum, and is named as missing', () => {
  const kamino = (netWorthUSD: string, marketKnown: boolean) => ({
    family: 'kamino',
    answer: { ok: true, body: { data: [{ positions: [{ netWorthUSD, marketKnown }] }] } },
  })
  const total = computeTotal([aave('7.5'), kamino('2.5', true), kamino('15000000000000.000000', false)])
  expect({ ...total, net: Number(total.net) }).toMatchObject({ net: 10, state: 'whole', missing: 1 })
})

test('the wallets together name those that are not in it', () => {
  const whole = { net: '20', state: 'whole', missing: 2 }
  const unread = computeTotal([])
  expect(sumTotals([whole, unread])).toMatchObject({
    net: '20.000000',
    isLoading: false,
    unread: 1,
    partial: 0,
    missing: 2,
  })
  expect(sumTotals([unread, unread])).toMatchObject({ net: undefined, unread: 2 })
  expect(sumTotals([whole, { ...whole, state: 'partial' }, undefined])).toMatchObject({ isLoading: true, partial: 1 })
})

test('another health factor costs what the answers that name it have cost', () => {
  const paid = (family: string, credits: number) => ({
    family,
    answer: { ok: true, credits, body: { data: [], pagination: { page: 1, total: 0 } } },
  })
  const parts = [paid('liquidity', 30), paid('aave', 15), paid('morpho', 4), failed('aave'), { family: 'kamino' }]
  expect(computeTotal(parts).targetCredits).toBe(19)
})
