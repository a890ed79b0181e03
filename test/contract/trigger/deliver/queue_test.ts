import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openSession } from '../../../../src/db/connection/session.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { claimMessages, type DueMessage, recordAttempts } from '../../../../src/trigger/deliver/queue.ts'
import { createAccount } from '../../../support/account/scene.ts'
import { type TestDatabase, testDatabase } from '../../../support/database.ts'
import { addMany, createWebhook, readMessages } from '../../../support/trigger/deliver/scene.ts'

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

/** Claims all messages of a new webhook with so many. */
async function claimNew(count: number): Promise<{ organizationId: string; webhookId: string; messages: DueMessage[] }> {
  const { db } = database
  const { organizationId } = await createAccount(db)
  const webhookId = await createWebhook(db, organizationId, 'https://example.org/')
  await addMany(db, { organizationId, webhookId, count })
  const claimed = await claimMessages(db, { messagesMax: 500, leaseSec: 60 })
  return { organizationId, webhookId, messages: claimed.filter((each) => each.organizationId === organizationId) }
}

const result = { statusCode: 200, failure: null, latencyMs: 1 }

test('an attempt that cannot be recorded fails alone, not the batch that it is in', async () => {
  const { db } = database
  const { organizationId, messages } = await claimNew(7)
  const attempts = messages.map((message, index) => ({
    message,
    result: { ...result, latencyMs: index === 4 ? 2 ** 31 : 1 },
    pauseMs: undefined,
  }))
  const recorded = await recordAttempts(db, attempts)
  expect(recorded.map((error) => error?.code)).toEqual([...Array(4), '22003', ...Array(2)])
  const outcomes = (await readMessages(db, organizationId)).map(({ outcome }) => outcome)
  expect(outcomes).toEqual([...Array(4).fill('delivered'), null, ...Array(2).fill('delivered')])
})

test('a failed attempt that two processes record is counted once', async () => {
  const { db } = database
  const { organizationId, messages } = await claimNew(1)
  const attempts = messages.map((message) => ({ message, result: { ...result, statusCode: 500 }, pauseMs: 5_000 }))
  for (let process = 0; process < 2; process++) await recordAttempts(db, attempts)
  expect(await readMessages(db, organizationId)).toMatchObject([{ tries: 1, noted: [{ status: 500 }] }])
})

test('a message with as many noted tries as fit is recorded all the same', async () => {
  const { db } = database
  const { organizationId, messages } = await claimNew(1)
  await db.run(
    `insert into message_try (organization_id, message_no, no, at, latency_ms)
     select organization_id, no, 32767, now(), 1 from message where organization_id = $1`,
    [organizationId],
  )
  const attempts = messages.map((message) => ({ message, result, pauseMs: undefined }))
  expect(await recordAttempts(db, attempts)).toEqual([undefined])
  expect((await readMessages(db, organizationId)).map(({ outcome }) => outcome)).toEqual(['delivered'])
})

test('a message that is done is made due again ten times', async () => {
  const { db } = database
  const { organizationId, messages } = await claimNew(1)
  await recordAttempts(
    db,
    messages.map((message) => ({ message, result, pauseMs: undefined })),
  )
  for (let times = 1; times <= 12; times++) {
    const due = await db.run(
      'update message set due_at = now() where organization_id = $1 and due_at is null returning no',
      [organizationId],
    )
    expect([times, due.length]).toEqual([times, times <= 10 ? 1 : 0])
    await db.run('update message set due_at = null where organization_id = $1', [organizationId])
  }
})

test('every secret that was promised to be valid signs along, of 16 generations at most', async () => {
  const { db } = database
  const { organizationId, webhookId } = await claimNew(0)
  const rotate = (overlapSec: number) =>
    db.run(
      `update webhook set generation = generation + 1, overlap_until = now() + make_interval(secs => $2)
       where id = $1`,
      [webhookId, overlapSec],
    )
  const generations = async () => {
    await addMany(db, { organizationId, webhookId, count: 1 })
    const claimed = await claimMessages(db, { messagesMax: 500, leaseSec: 60 })
    const message = claimed.find((each) => each.organizationId === organizationId)
    await db.run('update message set due_at = null where organization_id = $1', [organizationId])
    return message?.secrets.map(({ generation }) => generation)
  }
  expect(await generations()).toEqual([1])
  await rotate(86_400)
  await rotate(86_400)
  expect(await generations()).toEqual([3, 2, 1])
  // Valid no longer at once, which ends no other promise.
  await rotate(0)
  expect(await generations()).toEqual([4, 2, 1])
  await db.run("update webhook set older_overlaps[2] = now() - interval '1 second' where id = $1", [webhookId])
  expect(await generations()).toEqual([4, 2])
  for (let times = 0; times < 20; times++) await rotate(86_400)
  expect(await generations()).toEqual(Array.from({ length: 17 }, (_, index) => 24 - index))
})
