import { expect, test } from 'bun:test'
import { join } from 'node:path'

interface Row {
  readonly kind: string
  readonly token: { readonly symbol: string }
  readonly position: Readonly<Record<string, string>> | null
  readonly book: { readonly raw: string; readonly usd: string | null }
  readonly arrives: { readonly raw: string; readonly usd: string | null } | null
  readonly blocked_by: string | null
}

interface Exit {
  formatPlace(row: Row): string
  sortRows(rows: readonly Row[]): Readonly<Record<'arriving' | 'blocked' | 'lacking', readonly unknown[]>> & {
    readonly valueless: number
  }
}

const PATH: string = join(import.meta.dir, '../../../../src/dashboard/explore/portfolio/exit.tsx')
const { formatPlace, sortRows } = (await import(PATH)) as Exit

const ROW: Row = {
  kind: 'supplied',
  token: { symbol: 'USDC' },
  position: { family: 'aave-v3', market_id: 'main' },
  book: { raw: '5', usd: '5.000000' },
  arrives: { raw: '5', usd: '5.000000' },
  blocked_by: null,
}

test('a row of which a part arrives is blocked and arrives, and one without value or amount is counted alone', () => {
  const part = { ...ROW, arrives: { raw: '2', usd: '2.000000' }, blocked_by: 'no_liquidity' }
  const hooked = { ...ROW, book: { raw: '7', usd: null }, arrives: null, blocked_by: 'hook_forbids' }
  const debt = { ...ROW, kind: 'borrowed', arrives: null, blocked_by: 'unfunded' }
  const spam = { ...ROW, book: { raw: '9', usd: null }, arrives: { raw: '9', usd: null } }
  const dust = { ...ROW, book: { raw: '0', usd: null }, arrives: null, blocked_by: 'too_costly' }
  expect(sortRows([ROW, part, hooked, debt, spam, dust])).toEqual({
    arriving: [ROW, part],
    blocked: [part, hooked, debt],
    lacking: [{ token: debt.token, amount: debt.book }],
    valueless: 2,
  })
})

test('a row is named by where it is', () => {
  const at = (kind: string, position: Row['position']) => formatPlace({ ...ROW, kind, position })
  expect(at('wallet', null)).toBe('in the wallet')
  expect(at('borrowed', ROW.position)).toBe('aave-v3 main debt')
  expect(at('liquidity', { family: 'uniswap-v3', token_id: '7', part: 'fees' })).toBe('uniswap-v3 #7 fees')
  expect(at('supplied', { family: 'morpho-blue', market_id: `0x${'ab'.repeat(32)}`, part: 'collateral' })).toBe(
    'morpho-blue 0xabababab… collateral',
  )
})
