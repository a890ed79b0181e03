import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Database } from '../../../src/db/database.ts'
import { createServerTime } from '../../../src/db/server_time.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { createTestClock } from '../../support/test_clock.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await testDatabase()
}, 60_000)
afterAll(() => database?.close())

test("the server's time goes on between two questions, whatever the process' clock says", async () => {
  const clock = createTestClock()
  let questions = 0
  const db: Database = {
    ...database.db,
    run: (...statement) => {
      questions++
      return database.db.run(...statement)
    },
  }
  const serverTime = createServerTime({ db, clock })
  const first = await serverTime()
  expect(Math.abs(first - systemClock.now() / 1_000)).toBeLessThan(60)
  await clock.advance(600_000)
  expect((await serverTime()) - first).toBe(600)
  expect(questions).toBe(1)
  await clock.advance(1)
  // Asked again, it is the server's own, which has not moved by ten minutes.
  expect((await serverTime()) - first).toBeLessThan(60)
  expect(questions).toBe(2)
})
