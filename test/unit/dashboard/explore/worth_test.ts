import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'

interface Worth {
  readonly net: string | null
  readonly assets: string | null
  readonly lacks: readonly object[]
}
interface Figures {
  toWorth(overview: object): Worth & { readonly now: { readonly changes: readonly object[] } }
  sumBalances(balances: readonly object[], unread: number): Worth
  countRisks(toDo: readonly object[]): readonly object[]
  computeYearlyRatio(perDay: string | null, net: string | null): string | undefined
}
interface Totals {
  sumTargetCredits(parts: readonly object[]): number
}
interface Summaries {
  countParts(parts: readonly object[], pending: readonly object[]): object
  formatOutcome(read: number, failed: number): string
}

const EXPLORE: string = join(import.meta.dir, '../../../../src/dashboard/explore')
const { toWorth, sumBalances, countRisks, computeYearlyRatio }: Figures = await import(
  join(EXPLORE, 'worth/figures.ts')
)
const { sumTargetCredits }: Totals = await import(join(EXPLORE, 'total.ts'))
const { countParts, formatOutcome }: Summaries = await import(join(EXPLORE, 'summary.tsx'))

describe('the worth of now', () => {
  const worth = { net_worth_usd: '110', assets_usd: '120', debt_usd: '10', change_24h_usd: '10', change_30d_usd: null }
  const chain = { chain_id: 10, what: 'chain', why: 'It does not answer' }
  const change = { chain_id: 1, what: 'change_30d_usd', why: 'Its midnights are being read' }
  const overview = { worth, unread: [chain, change], earnings: {}, by_chain: [], by_protocol: [], to_do: [] }

  test('lacks what was not read; a change that is not known lacks nothing of it', () => {
    const { net, lacks, now } = toWorth(overview)
    expect([net, lacks]).toEqual(['110', [chain]])
    expect(now.changes).toEqual([
      { name: '24 h', usd: '10', ratio: '0.100000', why: undefined },
      { name: '30 days', usd: null, ratio: undefined, why: change.why },
    ])
  })
})

describe('the worth of a past moment', () => {
  const balance = (net: string | null, chains: number, unread: readonly object[] = []) => ({
    net_worth_usd: net,
    by_chain: Array.from({ length: chains }, () => ({ assets_usd: '2', debt_usd: '0.5' })),
    unread,
    incomplete: [],
  })

  test('is the sum of all wallets', () => {
    expect(sumBalances([balance('1.5', 1), balance('3', 2)], 0)).toMatchObject({
      net: '4.500000',
      assets: '6.000000',
      lacks: [],
    })
  })

  test('is unknown, not zero, if nothing was read', () => {
    const dead = balance('0.000000', 0, [{ chain_id: 1, because: 'It does not answer' }])
    expect(sumBalances([dead], 0)).toMatchObject({ net: null, assets: null })
    expect(sumBalances([dead], 0).lacks).toHaveLength(1)
    expect(sumBalances([], 1)).toMatchObject({ net: null })
  })

  test('says what it lacks, and is unknown if a debt has no price', () => {
    expect(sumBalances([balance('1', 1)], 1)).toMatchObject({ net: '1.000000' })
    expect(sumBalances([balance('1', 1)], 1).lacks).toHaveLength(1)
    expect(sumBalances([balance(null, 1)], 0).net).toBeNull()
  })
})

test('risks are counted by kind, with a value only if each has one', () => {
  const risk = (kind: string, usd: string | null) => ({ kind, usd })
  expect(countRisks([risk('liquidatable', '5'), risk('out_of_range', '1'), risk('out_of_range', '2.5')])).toEqual([
    { kind: 'liquidatable', count: 1, usd: '5.000000' },
    { kind: 'out_of_range', count: 2, usd: '3.500000' },
  ])
  expect(countRisks([risk('blocked', null), risk('blocked', '2')])).toEqual([
    { kind: 'blocked', count: 2, usd: undefined },
  ])
})

test('a yearly ratio needs a net worth above zero', () => {
  expect(computeYearlyRatio('1', '3650')).toBe('0.100000')
  for (const net of [null, '0.000000', '-5']) expect(computeYearlyRatio('1', net)).toBeUndefined()
})

describe('parts', () => {
  const failed = { answer: { ok: false, code: 'UPSTREAM_ERROR' } }
  const absent = { answer: { ok: false, code: 'NOT_FOUND' } }
  const early = {
    answer: {
      ok: false,
      status: 400,
      code: 'INVALID_PARAMETER',
      message: 'X was not deployed on chain 1 (Y) at block 9',
    },
  }
  const pending = { answer: { ok: false, code: 'SERVICE_UNAVAILABLE' } }
  const read = { answer: { ok: true } }

  test('that failed count as none that was read', () => {
    expect(countParts([read, absent, early, failed, failed], [])).toEqual({ read: 3, failed: 2, isLoading: false })
    expect(countParts([read, pending, { answer: undefined }], [pending])).toEqual({
      read: 1,
      failed: 0,
      isLoading: true,
    })
    expect(formatOutcome(0, 27)).toBe('0 of 27 parts read, 27 could not be')
    expect(formatOutcome(4, 0)).toBe('All of 4 parts read')
  })

  test('that name a health factor are paid again for another one', () => {
    const paid = (family: string, credits: number) => ({ family, answer: { ok: true, credits } })
    const parts = [paid('liquidity', 30), paid('aave', 15), paid('morpho', 4), { family: 'aave', ...failed }]
    expect(sumTargetCredits(parts)).toBe(19)
  })
})
