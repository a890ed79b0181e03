import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openSession } from '../../../src/db/connection/session.ts'
import type { Database } from '../../../src/db/database.ts'
import { applyChange } from '../../../src/trigger/apply_change.ts'
import { listTriggers, prepareTrigger } from '../../../src/trigger/stored.ts'
import { prepareWebhook, prepareWebhookDeletion } from '../../../src/trigger/webhook.ts'
import { createAccount } from '../../support/account/scene.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { waitForLockWaits } from '../../support/lock_waits.ts'
import { slowClock } from '../../support/test_clock.ts'

let database: TestDatabase
// One whose transaction is open, and one that waits for it.
let first: Database
let second: Database

beforeAll(async () => {
  database = await testDatabase()
  const open = () => openSession({ url: database.url, applicationName: 'session', clock: slowClock })
  ;[first, second] = await Promise.all([open(), open()])
}, 60_000)
afterAll(async () => {
  await Promise.all([first.close(), second.close()])
  await database.close()
}, 60_000)

async function scene() {
  const { organizationId, apiKeyId } = await createAccount(database.db)
  const made = await applyChange(database.db, organizationId, prepareWebhook({ url: 'https://example.org/', name: '' }))
  const { id } = made as { readonly id: string }
  const trigger = {
    apiKeyId,
    chainId: 1,
    family: 'aave-v3',
    subject: { wallet: '0x01' },
    clause: { event: ['Borrow'] },
    clear: null,
    forBlocks: 1,
    finality: 'latest' as const,
    pace: 'exact' as const,
    webhookId: id,
    name: null,
    expiresAt: null,
  }
  const createTrigger = (db: Database) => applyChange(db, organizationId, prepareTrigger(trigger))
  const deleteWebhook = (db: Database) => applyChange(db, organizationId, prepareWebhookDeletion(id))
  return { webhook: { organizationId, id }, createTrigger, deleteWebhook }
}

/** Begins the one while the transaction of the other is open. */
async function meet(one: () => Promise<unknown>, other: () => Promise<unknown>): Promise<unknown> {
  await first.run('begin', [])
  await one()
  const ended = other().catch((error: unknown) => error)
  await waitForLockWaits(database.db)
  await first.run('commit', [])
  return await ended
}

test('a webhook cannot be deleted while a trigger is made that posts to it', async () => {
  const { webhook, createTrigger, deleteWebhook } = await scene()
  const refused = await meet(
    () => createTrigger(first),
    () => deleteWebhook(second),
  )
  expect(refused).toMatchObject({
    code: 'INVALID_REQUEST',
    message: expect.stringContaining('1 trigger posts to it'),
  })
  const listed = await listTriggers(database.db, webhook.organizationId, { page: 1, limit: 10 })
  expect(listed.triggers).toMatchObject([{ webhook_id: webhook.id }])
})

test('a trigger cannot be made for a webhook that is being deleted', async () => {
  const { createTrigger, deleteWebhook } = await scene()
  const refused = await meet(
    () => deleteWebhook(first),
    () => createTrigger(second),
  )
  expect(refused).toMatchObject({ code: 'INVALID_PARAMETER', message: expect.stringContaining('webhook_id') })
})
