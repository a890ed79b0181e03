import { afterAll, beforeAll, expect, test } from 'bun:test'
import { messageRedeliver } from '../../sql/queries.ts'
import { openDatabase } from '../../src/db/connection/pool.ts'
import type { Database } from '../../src/db/database.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLog } from '../../src/lib/log.ts'
import { sendTest } from '../../src/trigger/routes/test_message.ts'
import { createAccount } from '../account/scene.ts'
import { type TestDatabase, testDatabase } from '../support/database.ts'
import { addMany, createWebhook } from './deliver/scene.ts'

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
  db = openDatabase({ url: database.url, clock: systemClock, log: silentLog, max: 1 })
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
  const test = { organizationId, triggerId: null, webhookId, atMs: nowMs, text: 'Test.', data: {} }
  expect(await readBy(() => sendTest(db, test))).toBeLessThan(100)
})

test('messages that are posted again by their ids are all that is read', async () => {
  const [oldest = '', middle = ''] = [ids[0], ids[MESSAGES / 2]]
  const chosen = [oldest, middle, crypto.randomUUID()]
  const asked = () =>
    messageRedeliver(db, { organizationId, webhookId, ids: chosen, from: null, to: null, after: null, max: 10_000 })
  const read = readBy(async () => expect(await asked()).toEqual([{ redelivered: 2, last: middle }]))
  expect(await read).toBeLessThan(100)
  expect(await asked()).toEqual([{ redelivered: 0, last: null }])
})

test('messages that are posted again by their time are read from that time on, to an hour after it', async () => {
  const again = (fromMs: number, toMs: number, { max = 10_000, after = null as string | null } = {}) =>
    messageRedeliver(db, {
      organizationId,
      webhookId,
      ids: null,
      from: new Date(fromMs),
      to: new Date(toMs),
      after,
      max,
    })
  const atMs = nowMs - 86_400_000 - 5_000 * EACH_MS
  const three = () => again(atMs, atMs + 3 * EACH_MS)
  const [{ last } = { last: null }] = await three()
  expect(last).toBe(ids[MESSAGES - 5_000 + 1] ?? '')
  expect(await three()).toEqual([{ redelivered: 0, last: null }])
  const oldest = (after: string | null) => again(0, Date.parse('2999-01-01'), { max: 7, after })
  let seventh: string | null = null
  const read = await readBy(async () => {
    const [row] = await oldest(null)
    expect(row?.redelivered).toBe(7)
    seventh = row?.last ?? null
  })
  expect(read).toBeLessThan(100)
  // By then they may have been posted, so that they could be chosen again.
  await database.db.run('update message set due_at = null where organization_id = $1', [organizationId])
  expect(await readBy(async () => expect((await oldest(seventh))[0]?.last).toBe(ids[14]))).toBeLessThan(100)
})
