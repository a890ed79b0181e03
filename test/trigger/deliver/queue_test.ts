import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openSession } from '../../../src/db/connection/session.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { claimMessages } from '../../../src/trigger/deliver/queue.ts'
import { createAccount } from '../../account/scene.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { addMany, createWebhook } from './scene.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await testDatabase()
}, 60_000)
afterAll(() => database.close(), 60_000)

test('claiming skips messages that another transaction has locked, so it never waits', async () => {
  const { db, url } = database
  const { organizationId } = await createAccount(db)
  const webhookId = await createWebhook(db, organizationId, 'https://example.org/')
  await addMany(db, { organizationId, webhookId, count: 3 })
  const other = await openSession({ url, applicationName: 'session', clock: systemClock })
  await other.run('begin', [])
  await other.run('update message set due_at = null where organization_id = $1 and no = 1', [organizationId])
  expect((await claimMessages(db, { messagesMax: 10, leaseSec: 60 })).map(({ no }) => no)).toEqual(['2', '3'])
  await other.run('rollback', [])
  expect((await claimMessages(db, { messagesMax: 10, leaseSec: 60 })).map(({ no }) => no)).toEqual(['1'])
  await other.close()
})
