import { afterAll, beforeAll, expect, test } from 'bun:test'
import requestRollupListSql from '../../../../sql/queries/request_rollup_list.sql' with { type: 'text' }
import type { Database } from '../../../../src/db/database.ts'
import { readUsage } from '../../../../src/operator/usage_routes.ts'
import { testDatabase } from '../../../support/database.ts'

const DAY_MS = 86_400_000
const ORGANIZATIONS = 10
const NOW_MS = Date.UTC(2026, 5, 1, 12)
const TODAY = Math.floor(NOW_MS / DAY_MS)

let db: Database

beforeAll(async () => {
  db = (await testDatabase()).db
  await db.run(
    `insert into request_caller (no, organization_no, organization_id, api_key_id)
     select 1000 + g, 1000 + g, 'org_' || g, 'key_' || g from generate_series(1, $1::integer) g`,
    [ORGANIZATIONS],
  )
  await db.run(
    `insert into request_rollup (organization_no, day, caller_no, path_no, status, requests, credits, by_hour)
     select 1000 + g, $2::integer - d, 1000 + g, 0, 200, 24, 0, array_fill(1, array[24])
     from generate_series(1, $1::integer) g, generate_series(0, 89) d`,
    [ORGANIZATIONS, TODAY],
  )
}, 60_000)
afterAll(() => db.close())

const read = (range: '7d' | '90d') => readUsage(db, { organizationId: null, range, by: 'organization', nowMs: NOW_MS })

test('days have what their hours add up to', async () => {
  const [days, hours] = [await read('90d'), await read('7d')]
  expect(days.rows.map(({ requests }) => requests)).toEqual(Array.from({ length: ORGANIZATIONS * 90 }, () => 24n))
  expect(new Set(hours.rows.map(({ requests }) => requests))).toEqual(new Set([1n]))
})

test('a day is read as one row, not as 24 hours', async () => {
  const values = [null, (TODAY - 89) * 24, (TODAY + 1) * 24, 24, 0, 0, 0, 1, 10_000]
  const literals = values.map((value, index) =>
    index > 3 && index < 8 ? String(value === 1) : String(value ?? 'null'),
  )
  const text = requestRollupListSql.replace(/\$(\d)/g, (_, number: string) => literals[Number(number) - 1] ?? '')
  const [row] = await db.run<{ 'QUERY PLAN': string }>(`explain (analyze, format json) ${text}`, [])
  const plan = JSON.stringify(row)
  const readRows = [...plan.matchAll(/Function Scan.*?"Actual Rows\\*":\s*(\d+)/g)].map(([, rows]) => Number(rows))
  expect(readRows.reduce((sum, rows) => sum + rows, 0)).toBe(0)
})
