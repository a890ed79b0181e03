import { describe, expect, test } from 'bun:test'
import { createPagination, slicePage } from '../../../../src/http/route/page.ts'

const url = new URL('https://api.example/x/v1/list?wallet=0xabc&page=2&limit=10&note=a%20b')

describe('pageOf()', () => {
  const items = Array.from({ length: 12 }, (_, index) => index)

  test('cuts pages that together are the whole', () => {
    expect(slicePage(items, { page: 1, limit: 5 })).toEqual([0, 1, 2, 3, 4])
    expect(slicePage(items, { page: 3, limit: 5 })).toEqual([10, 11])
  })

  test('a page past the end is empty', () => {
    expect(slicePage(items, { page: 4, limit: 5 })).toEqual([])
    expect(slicePage(items, { page: 1_000_000_000, limit: 25 })).toEqual([])
  })
})

describe('pagination()', () => {
  test('links both ways and keeps the other parameters', () => {
    expect(createPagination({ page: 2, limit: 10, total: 25, url })).toEqual({
      page: 2,
      limit: 10,
      total: 25,
      next_page: 'https://api.example/x/v1/list?wallet=0xabc&page=3&limit=10&note=a+b',
      prev_page: 'https://api.example/x/v1/list?wallet=0xabc&page=1&limit=10&note=a+b',
    })
  })

  test.each([
    [1, 10, 0, null, null],
    [1, 10, 10, null, null],
    [1, 10, 11, 2, null],
    [2, 10, 11, null, 1],
    [2, 10, 20, null, 1],
    [3, 10, 11, null, 2],
    [9, 10, 11, null, 2],
    [9, 10, 0, null, 1],
    [1_000_000_000, 25, 60, null, 3],
  ])('page %d of %d with %d items', (page, limit, total, next, prev) => {
    const result = createPagination({ page, limit, total, url })
    const parsePage = (link: string | null) => (link === null ? null : Number(new URL(link).searchParams.get('page')))
    expect([parsePage(result.next_page), parsePage(result.prev_page)]).toEqual([next, prev])
  })

  test('override pins a parameter in the links only', () => {
    const { next_page } = createPagination({
      page: 1,
      limit: 10,
      total: 11,
      url,
      override: { to: '2026-01-01T00:00:00Z' },
    })
    expect(new URL(next_page ?? '').searchParams.get('to')).toBe('2026-01-01T00:00:00Z')
    expect(url.searchParams.has('to')).toBe(false)
  })
})
