import { expect, test } from 'bun:test'
import { findNextCursor } from '../../../../src/http/route/cursor.ts'
import { createPagination } from '../../../../src/http/route/page.ts'

test('a list with receipts leads on by its pages alone: a cursor beside a receipt is refused', () => {
  const findNext = (query: string) => {
    const address = `http://test.local/v1/lending/aave-v3?wallet=0x1${query}`
    const pagination = createPagination({ page: 1, limit: 2, total: 3, url: new URL(address) })
    return findNextCursor({ data: [], pagination }, { address, path: '/v1/lending/aave-v3', place: undefined })
  }
  expect(findNext('')).toContain('&cursor=')
  expect(findNext('&receipt=true')).toBeUndefined()
})
