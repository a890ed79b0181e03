import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import type { Database } from '../../../src/db/database.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { applyChange } from '../../../src/trigger/apply_change.ts'
import { prepareTest } from '../../../src/trigger/routes/test_message.ts'
import { type MessageSelection, prepareRedelivery } from '../../../src/trigger/webhook.ts'
import { createAccount } from '../../support/account/scene.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { slowClock } from '../../support/test_clock.ts'
import { addMany, createWebhook } from '../../support/trigger/deliver/scene.ts'

const MESSAGES = 20_000
const EACH_MS = 100_000

let database: TestDatabase
/** With one connection, so that what it read can be counted. */
let db: Database
let organizationId: string
let webhookId: string
let ids: readonly string[]
const nowMs = Date.now()

/** One message each 100 s until a day ago, all delivered; ids and times are as they would have been then. */
beforeAll(async () => {
  database = await testDatabase()
  db = openDatabase({ url: database.url, clock: slowClock, log: silentLog, max: 1 })
  organizationId = (await createAccount(db)).organizationId
  webhookId = await createWebhook(db, organizationId, 'https://example.org/')
  await addMany(database.db, { organizationId, webhookId, count: MESSAGES })
  await database.db.run(
    `update message set type = 'trigger.blind', due_at = null, outcome = 'delivered',
       created_at = to_timestamp($2::float8 / 1000) - (${MESSAGES} - no) * interval '${EACH_MS} ms',
       id = (left(message_id_floor(to_timestamp($2::float8 / 1000) - (${MESSAGES} - no) * interval '${EACH_MS} ms')::text, 14)
         || right(id::text, 22))::uuid
     where organization_id = $1`,
    [organizationId, nowMs - 86_400_000],
    { lane: 'background', deadlineMs: 60_000 },
  )
  await database.db.run('analyze message', [], { lane: 'background', deadlineMs: 60_000 })
  const rows = await db.run<{ id: string }>('select id::text from message where organization_id = $1 order by no', [
    organizationId,
  ])
  ids = rows.map(({ id }) => id)
}, 120_000)
afterAll(async () => {
  await db.close()
  await database.close()
}, 60_000)

async function redeliver(selection: Partial<MessageSelection>) {
  const change = prepareRedelivery(webhookId, { most: 10_000, deadlineMs: 8_000, ...selection })
  return (await applyChange(db, organizationId, change)) as { redelivered: number; last: string | null }
}

/** Rows of messages that `work` has the connection read. */
async function readBy(work: () => Promise<unknown>): Promise<number> {
  const read = async () => {
    await db.run('select pg_stat_force_next_flush()', [])
    const [row] = await db.run<{ n: string }>(
      "select (seq_tup_read + idx_tup_fetch)::text as n from pg_stat_user_tables where relname = 'message'",
      [],
    )
    return Number(row?.n)
  }
  const before = await read()
  await work()
  return (await read()) - before
}

test('a test message reads those of the last hour alone', async () => {
  const test = prepareTest({ triggerId: null, webhookId, text: 'Test.', data: {} })
  expect(await readBy(() => applyChange(db, organizationId, test))).toBeLessThan(100)
})

test('messages that are posted again by their ids are all that is read', async () => {
  const [oldest = '', middle = ''] = [ids[0], ids[MESSAGES / 2]]
  const chosen = [oldest, middle, crypto.randomUUID()]
  const asked = () => redeliver({ ids: chosen })
  const read = readBy(async () => expect(await asked()).toEqual({ redelivered: 2, last: middle }))
  expect(await read).toBeLessThan(100)
  expect(await asked()).toEqual({ redelivered: 0, last: null })
})

test('messages that are posted again by their time are read from that time on, to an hour after it', async () => {
  const again = (fromMs: number, toMs: number, { most = 10_000, after }: { most?: number; after?: string } = {}) =>
    redeliver({ from: new Date(fromMs), to: new Date(toMs), after, most })
  const atMs = nowMs - 86_400_000 - 5_000 * EACH_MS
  const three = () => again(atMs, atMs + 3 * EACH_MS)
  const { last } = await three()
  expect(last).toBe(ids[MESSAGES - 5_000 + 1] ?? '')
  expect(await three()).toEqual({ redelivered: 0, last: null })
  const oldest = (after?: string) =>
    again(0, Date.parse('2999-01-01'), { most: 7, ...(after === undefined ? {} : { after }) })
  let seventh = ''
  const read = await readBy(async () => {
    const { redelivered, last } = await oldest()
    expect(redelivered).toBe(7)
    seventh = last ?? ''
  })
  expect(read).toBeLessThan(100)
  // By then they may have been posted, so that they could be chosen again.
  await database.db.run('update message set due_at = null where organization_id = $1', [organizationId])
  expect(await readBy(async () => expect((await oldest(seventh)).last).toBe(ids[14] ?? ''))).toBeLessThan(100)
})
