import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { computeTotals, type ShownPosition } from '../../../support/dashboard/explore/pages.ts'

interface Row {
  readonly key: string
  readonly kind: string
  readonly what: string
  readonly value: string | null
  readonly rate?: { readonly ratio: string }
  readonly state: { readonly urgency: number; readonly side?: string }
  readonly context: { readonly view: { readonly wallet: string } }
}
interface Order {
  readonly by: string
  readonly show: string
  readonly least: string
}
interface Asset {
  readonly chain_id: number
  readonly position: Readonly<Record<string, string>> | null
}
interface Pages {
  sortRows(rows: readonly Row[], order: Order): readonly Row[]
}
interface Places {
  keepPlaces(sorted: readonly Row[], shown: readonly string[]): readonly Row[]
}
interface Collected {
  collectRows(
    sources: {
      readonly parts: readonly object[]
      readonly assets: readonly object[]
      readonly toDo: readonly object[]
    },
    context: object,
  ): readonly Row[]
}
interface Names {
  groupByPosition(assets: readonly Asset[]): readonly (readonly Asset[])[]
  isSameName(a: { chainId: number; subject: object }, b: { chainId: number; subject: object }): boolean
  toRowId(row: Row): string
}
interface Rates {
  describeRate(position: {
    readonly pnl?: { readonly fee_apr: string | null } | null
    readonly rewards?: readonly { readonly token: { readonly symbol: string }; readonly apr: string | null }[]
  }): { readonly ratio: string; readonly words: string } | undefined
}
interface GroupRow {
  readonly where: string
  readonly state: { readonly mood: string; readonly text: string }
  readonly watched?: {
    readonly family: string
    readonly subject: object
    readonly figure: string
    readonly value: string
  }
}
interface Groups {
  toGroupRow(group: readonly object[], toDo: readonly object[], context: object): GroupRow
}
interface Marks {
  computeHues(id: string): readonly number[]
}

const ROWS: string = join(import.meta.dir, '../../../../src/dashboard/explore/rows')
const { sortRows }: Pages = await import(join(ROWS, 'sort.ts'))
const { keepPlaces }: Places = await import(join(ROWS, 'places.ts'))
const { collectRows }: Collected = await import(join(ROWS, 'collect.ts'))
const { groupByPosition, isSameName, toRowId }: Names = await import(join(ROWS, 'row.ts'))
const { describeRate }: Rates = await import(join(ROWS, 'rate.ts'))
const { toGroupRow }: Groups = await import(join(ROWS, 'asset_row.tsx'))
const { computeHues }: Marks = await import(join(ROWS, 'mark.tsx'))

const row = (key: string, more: Partial<Row> = {}): Row => ({
  key,
  kind: 'liquidity',
  what: key,
  value: '0',
  state: { urgency: 0 },
  context: { view: { wallet: '0xb' } },
  ...more,
})

describe('rows', () => {
  const rows = [
    row('b', { value: '5.1', state: { urgency: 0, side: 'in' }, rate: { ratio: '-0.01' } }),
    row('a', { value: '120', state: { urgency: 2, side: 'out' } }),
    row('d', { value: null, kind: 'wallet' }),
    row('c', { value: '-1000.000001', kind: 'lending', state: { urgency: 5 }, rate: { ratio: '0.2' } }),
  ]
  const keys = (order: Partial<Order>) =>
    sortRows(rows, { by: 'value', show: 'all', least: '0', ...order }).map(({ key }) => key)

  test('are sorted by any figure over all kinds, unknown ones last, and by name', () => {
    expect(keys({})).toEqual(['a', 'b', 'c', 'd'])
    expect(keys({ by: 'state' })).toEqual(['c', 'a', 'b', 'd'])
    expect(keys({ by: 'rate' })).toEqual(['c', 'b', 'a', 'd'])
    expect(keys({ by: 'what' })).toEqual(['a', 'b', 'c', 'd'])
    const other = row('e', { context: { view: { wallet: '0xa' } } })
    expect(sortRows([...rows, other], { by: 'wallet', show: 'all', least: '0' })[0]?.key).toBe('e')
  })

  test('are filtered by kind and range, and without small ones, of which none is unknown or a debt', () => {
    expect(keys({ show: 'wallet' })).toEqual(['d'])
    expect(keys({ show: 'out' })).toEqual(['a'])
    expect(keys({ least: '100' })).toEqual(['a', 'c', 'd'])
  })
})

test('rows keep the places that they were shown in, and those that came since follow as they are sorted', () => {
  const sorted = ['a', 'b', 'c', 'd', 'e'].map((key) => row(key))
  const shown = ['d', 'gone', 'b'].map((key) => toRowId(row(key)))
  expect(keepPlaces(sorted, shown).map(({ key }) => key)).toEqual(['d', 'b', 'a', 'c', 'e'])
})

test('that no list has a position is known once all lists of its chain have come', () => {
  const catalog = { names: new Map([[1, 'Ethereum']]), lending: [], liquidity: [], watchable: new Map() }
  const context = { catalog, view: { wallet: '0xb' } }
  const token = { id: '0xt', symbol: 'T' }
  const figures = { kind: 'supplied', token, value_usd: '1', price_usd: '1', not_counted: null, incomplete: [] }
  const asset = { chain_id: 1, ...figures, position: { family: 'aave-v4', market_id: '7', part: 'supplied' } }
  const held = { chain_id: 1, ...figures, kind: 'wallet', position: null }
  const toDo = {
    chain_id: 1,
    code: 'morpho_blue',
    kind: 'unreadable',
    text: '',
    usd: null,
    subject: { market_id: '8' },
  }
  const collect = (...answers: readonly (object | undefined)[]) => {
    const parts = answers.map((answer, index) => ({ family: 'lending', chainId: 1 + index, path: '', answer }))
    return collectRows({ parts, assets: [asset, held], toDo: [toDo] }, context).map(({ what }) => what)
  }
  const failed = { ok: false, status: 503 }
  expect(collect(undefined, failed)).toEqual(['T'])
  expect(collect({ ...failed, progress: { percent: 1 } })).toEqual(['T'])
  expect(collect(failed, undefined)).toEqual(['T', 'Morpho Blue', 'T'])
})

describe('names of positions', () => {
  const v3 = { family: 'uniswap-v3', manager_address: '0xAB', token_id: '7' }

  test('are the same in any spelling and with any part, and not on another chain or of another manager', () => {
    const name = { chainId: 1, subject: { manager_address: '0xab', token_id: '7' } }
    expect(isSameName(name, { chainId: 1, subject: { ...v3, part: 'fees' } })).toBe(true)
    expect(isSameName(name, { chainId: 10, subject: v3 })).toBe(false)
    expect(isSameName(name, { chainId: 1, subject: { ...v3, manager_address: '0xcd' } })).toBe(false)
    expect(isSameName(name, { chainId: 1, subject: { market_id: '7' } })).toBe(false)
    // Families may name their markets alike.
    const main = (family: string) => ({ chainId: 1, subject: { family, market_id: 'main' } })
    expect(isSameName(main('aave-v3'), main('aave-v3'))).toBe(true)
    expect(isSameName(main('aave-v3'), main('aave-v4'))).toBe(false)
    // The letters of a Solana address have a case.
    const of = (obligation_address: string) => ({ chainId: 101, subject: { obligation_address } })
    expect(isSameName(of('Ab'), of('aB'))).toBe(false)
  })

  test('group rows of a portfolio, each protocol apart', () => {
    const asset = (position: Asset['position']) => ({ chain_id: 1, position })
    const [principal, fees] = [asset({ ...v3, part: 'principal' }), asset({ ...v3, part: 'fees' })]
    const other = asset({ ...v3, token_id: '8', part: 'fees' })
    const [aave, spoke] = [asset({ family: 'aave-v3', market_id: 'a' }), asset({ family: 'aave-v4', market_id: 'a' })]
    expect(groupByPosition([principal, asset(null), other, aave, fees, spoke])).toEqual([
      [principal, fees],
      [other],
      [aave],
      [spoke],
    ])
  })
})

test('a rate is that of fees and of the rewards that tell theirs, and says so', () => {
  const reward = (symbol: string, apr: string | null) => ({ token: { symbol }, apr })
  expect(describeRate({ pnl: { fee_apr: '1.2500' }, rewards: [reward('CAKE', '3.5000'), reward('X', null)] })).toEqual({
    ratio: '0.04750000',
    words: 'A year: 1.25\u00a0% fees since it was opened, 3.50\u00a0% CAKE at its present rate, without X',
  })
  expect(describeRate({ rewards: [reward('ORCA', '0.5000')] })?.ratio).toBe('0.00500000')
  // Nothing told is no rate of zero.
  expect(describeRate({ pnl: { fee_apr: null }, rewards: [reward('X', null)] })).toBeUndefined()
  expect(describeRate({ pnl: null })).toBeUndefined()
})

test('a position that owes has its health and a bell, whatever its protocol', () => {
  const context = { catalog: { names: new Map([[1, 'Ethereum']]) }, view: { wallet: '0xme' } }
  const asset = (kind: string, symbol: string, more: object = {}) => ({
    chain_id: 1,
    kind,
    token: { id: symbol, symbol },
    value_usd: '5',
    not_counted: null,
    position: { family: 'made-up-lender', market_id: '0x7', part: kind },
    ...more,
  })
  const owing = [asset('supplied', 'WETH'), asset('borrowed', 'USDC', { health_factor: '1.3000' })]
  const row = toGroupRow(owing, [], context)
  expect(row.where).toBe('Made Up Lender, Ethereum')
  expect(row.state).toMatchObject({ mood: 'warn', text: 'health 1.3000, −23.1\u00a0%' })
  expect(row.watched).toMatchObject({
    family: 'made-up-lender',
    subject: { wallet: '0xme', market_id: '0x7' },
    figure: 'health_factor',
    value: '1.3000',
  })
  expect(toGroupRow([asset('supplied', 'WETH')], [], context).watched).toBeUndefined()
})

test('a token has the same mark in any spelling of its address, and another token has another', () => {
  expect(computeHues('0xAb01')).toEqual(computeHues('0xab01'))
  expect(computeHues('0xab01')).not.toEqual(computeHues('0xab02'))
})

test('totals are exact, with the number of positions in each', () => {
  const position = (id: string, figures: Partial<ShownPosition> = {}): ShownPosition => ({
    token_id: id,
    is_active: true,
    in_range: true,
    ...figures,
  })
  const usd = (total: string | null, uncollected_fees: string | null) => ({ total, uncollected_fees })
  const positions = [
    position('1', { usd: usd('5.100000', '1.000000'), pnl: { pnl_usd_value: '-3.000000' } }),
    position('2', { usd: usd('120.000000', null), pnl: null, in_range: false }),
    position('3', { usd: usd(null, null) }),
    position('4', { is_active: false }),
    // Its hook bars withdrawals, so that its fees cannot be collected either.
    position('6', { usd: usd(null, '3.000000'), withdrawable_error: 'reverts' }),
    position('5', { usd: usd('1000.000001', '0.100000'), pnl: { pnl_usd_value: '7.000001' } }),
  ]
  expect(computeTotals(positions)).toEqual({
    open: 5,
    closed: 1,
    inRange: 4,
    outOfRange: 1,
    value: { usd: '1125.100001', count: 3 },
    fees: { usd: '1.100000', count: 2 },
    pnl: { usd: '4.000001', count: 2 },
  })
})
