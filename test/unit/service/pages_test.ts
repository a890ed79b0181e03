import { expect, test } from 'bun:test'
import { createServicePages } from '../../../src/service/mod.ts'
import { createFixedClock } from '../../support/test_clock.ts'

test('callers cannot open the operator page, and the operator port has no caller pages', () => {
  const { callers, operator } = createServicePages(
    () => JSON.stringify({ openapi: '3.1.0', info: { description: '' }, paths: {} }),
    createFixedClock(),
  )
  const listPages = (pages: ReadonlyMap<string, unknown>) =>
    [...pages.keys()].filter((path) => !path.startsWith('/assets/'))
  expect(listPages(operator)).toEqual(['/operator'])
  expect(listPages(callers)).toContain('/')
  expect(listPages(callers)).toContain('/usage')
  expect(listPages(callers)).not.toContain('/operator')
})
