import { expect, test } from 'bun:test'
import { join } from 'node:path'

interface LimitsForm {
  listChanges(
    before: Readonly<Record<string, unknown>>,
    filled: Readonly<Record<string, unknown>>,
  ): Readonly<Record<string, unknown>>
}

// The pages have a configuration of their own.
const DASHBOARD = join(import.meta.dir, '../../../src/dashboard')
const { listChanges } = (await import(join(DASHBOARD, 'operator/limits_form.tsx'))) as LimitsForm

test('a form of limits sends what was changed in it alone', () => {
  const before = { name: 'Shop', rate_limit: 5, trigger_limit: 1_000, id: 'org' }
  expect(listChanges(before, { name: 'Store', rate_limit: 5, trigger_limit: 1_000 })).toEqual({ name: 'Store' })
  expect(listChanges(before, { name: 'Shop', rate_limit: 5, trigger_limit: 1_000 })).toEqual({})
})
