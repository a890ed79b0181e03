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

test('a log may get longer while it is read, another list may not, and none shorter', () => {
  const findNext = (total: number, isLog: boolean) => {
    const address = 'http://test.local/v1/usage/logs?limit=2'
    const pagination = createPagination({ page: 2, limit: 2, total, url: new URL(address) })
    const place = { query: 'page=2', reads: [], total: 9 }
    return () => findNextCursor({ data: [], pagination, isLog }, { address, path: '/v1/usage/logs', place })
  }
  expect(findNext(10, true)()).toContain('cursor=')
  expect(findNext(9, false)()).toContain('cursor=')
  expect(findNext(10, false)).toThrow('changed')
  expect(findNext(8, true)).toThrow('changed')
})
