import { expect, test } from 'bun:test'
import { join } from 'node:path'

interface Tables {
  namePageSteps(isOldestFirst: boolean): readonly string[]
  findPageWithRows(page: { readonly data: readonly unknown[]; readonly pagination: object }): number | undefined
}

const PATH: string = join(import.meta.dir, '../../../src/dashboard/part/table.tsx')
const { findPageWithRows, namePageSteps } = (await import(PATH)) as Tables

test('a page that lost its rows gives way to the last one, and only an empty list is empty', () => {
  const find = (rows: number, page: number, total: number) =>
    findPageWithRows({ data: Array.from({ length: rows }), pagination: { page, limit: 25, total } })
  expect(find(0, 2, 25)).toBe(1)
  expect(find(0, 9, 51)).toBe(3)
  expect(find(0, 1, 0)).toBeUndefined()
  expect(find(1, 2, 26)).toBeUndefined()
  expect(find(0, 2, 26)).toBeUndefined()
})

test('a list that begins with the oldest leads to newer rows, and any other to older ones', () => {
  expect(namePageSteps(true)).toEqual(['Older', 'Newer'])
  expect(namePageSteps(false)).toEqual(['Newer', 'Older'])
})
