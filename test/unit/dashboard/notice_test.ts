import { expect, test } from 'bun:test'
import { join } from 'node:path'

interface Notice {
  getAdvice(failure: { readonly code: string; readonly path: string }): string | undefined
}

interface LimitsForm {
  listChanges(
    before: Readonly<Record<string, unknown>>,
    filled: Readonly<Record<string, unknown>>,
  ): Readonly<Record<string, unknown>>
}

// The pages have a configuration of their own.
const DASHBOARD = join(import.meta.dir, '../../../src/dashboard')
const { getAdvice } = (await import(join(DASHBOARD, 'part/notice.js'))) as Notice
const { listChanges } = (await import(join(DASHBOARD, 'operator/limits_form.js'))) as LimitsForm

test('a session that ended is not told to paste a key', () => {
  const advise = (path: string) => getAdvice({ code: 'INVALID_API_KEY', path })
  expect(advise('v1/portfolio/balance?wallet=x')).toContain('the whole key')
  for (const path of ['admin/v1/organizations', 'dashboard/v1/usage'])
    expect(advise(path)).toContain('session has ended')
})

test('a form of limits sends what was changed in it alone', () => {
  const before = { name: 'Shop', rate_limit: 5, trigger_limit: 1_000, id: 'org' }
  expect(listChanges(before, { name: 'Store', rate_limit: 5, trigger_limit: 1_000 })).toEqual({ name: 'Store' })
  expect(listChanges(before, { name: 'Shop', rate_limit: 5, trigger_limit: 1_000 })).toEqual({})
})
