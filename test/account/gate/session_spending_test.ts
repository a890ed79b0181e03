import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createSessionSpending, type SessionSpending } from '../../../src/account/gate/session_spending.ts'
import { tendLog } from '../../../src/account/retention.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'

let database: TestDatabase
let spending: SessionSpending
const session = { organizationId: 'org_a', sessionId: 'session-a' }

beforeAll(async () => {
  database = await testDatabase()
  spending = createSessionSpending(database.db)
}, 60_000)

afterAll(() => database?.close())

test('takes until the budget is used up, whoever takes at the same time', async () => {
  const taken = await Promise.all(Array.from({ length: 40 }, () => spending.take(session, { credits: 3, budget: 50 })))
  expect(taken.filter((each) => each)).toHaveLength(16)
  expect(await spending.spent(session)).toBe(48)
  expect(await spending.take(session, { credits: 2, budget: 50 })).toBe(true)
  expect(await spending.take(session, { credits: 1, budget: 50 })).toBe(false)
})

test('a first call above the budget takes nothing', async () => {
  const fresh = { ...session, sessionId: 'session-b' }
  expect(await spending.take(fresh, { credits: 51, budget: 50 })).toBe(false)
  expect(await spending.spent(fresh)).toBeUndefined()
})

test('a session is known from its opening on, and opening it again takes nothing back', async () => {
  const begun = { ...session, sessionId: 'session-c' }
  expect(await spending.spent(begun)).toBeUndefined()
  await spending.open(begun)
  expect(await spending.spent(begun)).toBe(0)
  await spending.take(begun, { credits: 7, budget: 50 })
  await spending.open(begun)
  expect(await spending.spent(begun)).toBe(7)
  expect(await spending.spent({ ...begun, organizationId: 'org_b' })).toBeUndefined()
})

test('sessions of two organizations are two sessions, though they have one id', async () => {
  const other = { ...session, organizationId: 'org_b' }
  expect(await spending.spent(other)).toBeUndefined()
  expect(await spending.take(other, { credits: 50, budget: 50 })).toBe(true)
  expect(await spending.spent(session)).toBe(50)
})

test('what is put back can be taken again, and no more than was taken can be put back', async () => {
  await spending.putBack(session, 10)
  expect(await spending.take(session, { credits: 10, budget: 50 })).toBe(true)
  await spending.putBack(session, 51)
  expect(await spending.spent(session)).toBe(50)
})

test('a session is forgotten thirty days after its last charge', async () => {
  const age = (days: number) =>
    database.db.run(`update session_spending set spent_at = now() - make_interval(days => $1::integer)`, [days])
  await age(29)
  await tendLog(database.db, { days: 0, log: silentLog })
  expect(await spending.spent(session)).toBe(50)
  await age(31)
  await tendLog(database.db, { days: 0, log: silentLog })
  expect(await spending.spent(session)).toBeUndefined()
})
