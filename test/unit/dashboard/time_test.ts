import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface Times {
  parseMoment(moment: string): number
}
interface Api {
  parseDate(text: string | null): number
}

const DASHBOARD = join(import.meta.dir, '../../../src/dashboard')
const { parseMoment } = (await import(join(DASHBOARD, 'lib/time.ts'))) as Times
const { parseDate } = (await import(join(DASHBOARD, 'lib/api.ts'))) as Api

test('a moment without a zone is UTC, wherever the reader is', () => {
  const noon = Date.UTC(2026, 10, 27, 12) / 1000
  const zone = process.env['TZ']
  process.env['TZ'] = 'Pacific/Apia'
  try {
    for (const text of ['2026-11-27T12:00', '2026-11-27T12:00:00Z', '2026-11-28T01:00+13:00', String(noon)])
      expect(parseMoment(text)).toBe(noon)
    expect(parseMoment('2026-11-27')).toBe(noon - 43_200)
    expect(parseMoment('')).toBe(Number.POSITIVE_INFINITY)
  } finally {
    if (zone === undefined) delete process.env['TZ']
    else process.env['TZ'] = zone
  }
})

test('an answer is as old as its service says', () => {
  expect(parseDate('Fri, 27 Nov 2026 12:00:00 GMT')).toBe(Date.UTC(2026, 10, 27, 12) / 1000)
})

test("no figure depends on the reader's clock", () => {
  const scripts = readdirSync(DASHBOARD, { recursive: true, encoding: 'utf8' }).filter((path) => /\.tsx?$/.test(path))
  const uses = scripts.filter((path) => /Date\.now\(|new Date\(\)/.test(readFileSync(join(DASHBOARD, path), 'utf8')))
  // It stands in for an answer without a date.
  expect(uses).toEqual(['lib/api.ts'])
})
