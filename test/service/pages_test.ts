import { expect, test } from 'bun:test'
import { createServicePages } from '../../src/service/pages.ts'

test('the operator’s page is not among those of callers, and theirs are not on the operator’s port', () => {
  const { callers, operator } = createServicePages(
    JSON.stringify({ openapi: '3.1.0', info: { description: '' }, paths: {} }),
  )
  const pagesOf = (pages: ReadonlyMap<string, unknown>) =>
    [...pages.keys()].filter((path) => !path.startsWith('/assets/'))
  expect(pagesOf(operator)).toEqual(['/operator'])
  expect(pagesOf(callers)).toContain('/')
  expect(pagesOf(callers)).toContain('/usage')
  expect(pagesOf(callers)).not.toContain('/operator')
})
