import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Database } from '../../../src/db/database.ts'
import { createAccount } from '../../support/account/scene.ts'
import { testDatabase } from '../../support/database.ts'
import { type Browser, ORIGIN, openBrowser, openProcess, type Process } from '../../support/operator/scene.ts'

let db: Database
let one: Process
let other: Process
let operator: Browser

beforeAll(async () => {
  db = (await testDatabase()).db
  one = await openProcess(db)
  other = await openProcess(db)
  operator = await openBrowser(db, one.ask, null)
}, 60_000)
afterAll(async () => {
  await one.close()
  await other.close()
}, 60_000)

test('credits of one filled form are granted once, by whichever process is asked', async () => {
  const { organizationId } = await createAccount(db)
  const path = `/admin/v1/organizations/${organizationId}`
  const grant = (process: Process, key: string, credits: number) =>
    process.ask(`${path}/grants`, {
      method: 'POST',
      headers: { ...operator.headers, origin: ORIGIN, 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify({ credits, reason: 'invoice 17' }),
    })
  const readBalance = async () => Number((await operator.send('GET', path)).body.data.balance)
  const before = await readBalance()
  const pressed = await Promise.all([grant(one, 'a', 500), grant(other, 'a', 500)])
  expect(pressed.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([expect.any(Number), 409])
  expect(await readBalance()).toBe(before + 500)
  expect((await grant(other, 'a', 500)).status).toBe(409)
  expect((await grant(one, 'a', 501)).status).toBe(422)
  // A refused form may be sent again with its key.
  expect((await grant(one, 'b', 0.5)).status).toBe(400)
  expect((await grant(one, 'b', 25)).status).toBeLessThan(300)
  expect(await readBalance()).toBe(before + 525)
  // A look needs no key.
  expect((await one.ask(path, { headers: { ...operator.headers, 'idempotency-key': 'c' } })).status).toBe(400)
})
