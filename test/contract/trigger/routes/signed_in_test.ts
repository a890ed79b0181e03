import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createAccount } from '../../../support/account/scene.ts'
import { type TestDatabase, testDatabase } from '../../../support/database.ts'
import { openBrowser, openProcess, type Process, TOKEN, withToken } from '../../../support/operator/scene.ts'
import { startReceiver } from '../../../support/receiver.ts'
import { addMessages } from '../../../support/trigger/messages.ts'
import { waitFor } from '../../../support/wait_for.ts'

let database: TestDatabase
let served: Process
let receiver: Awaited<ReturnType<typeof startReceiver>>

beforeAll(async () => {
  database = await testDatabase()
  served = await openProcess(database.db, { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' })
  receiver = await startReceiver({ plain: true })
}, 60_000)
afterAll(async () => {
  await receiver.stop()
  await served.close()
  await database.close()
}, 60_000)

const TRIGGER = {
  chain_id: 1,
  family: 'aave-v3',
  subject: { wallet: '0x00000000000000000000000000000000000000AA' },
  when: { figure: 'health_factor', below: '1.05' },
}

/** An organization with a session, and a trigger that its key made. */
async function organization() {
  const { db } = database
  const account = await createAccount(db)
  const browser = await openBrowser(db, served.ask, account.organizationId)
  const { send } = browser
  const url = `http://127.0.0.1:${receiver.port}/status/500`
  const webhook = (await send('POST', '/dashboard/v1/webhooks', { url })).body.data
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ ...TRIGGER, webhook_id: webhook.id })
  const made = await served.ask('/v1/triggers', { method: 'POST', key: account.key, headers, body })
  return { ...account, send, webhook, trigger: made.body.data }
}

test('an organization sees and changes its triggers and webhooks where it is signed in, as with a key, for nothing', async () => {
  const { key, send, webhook, trigger } = await organization()
  expect(webhook.secret).toStartWith('whsec_')
  for (const path of ['/triggers', `/triggers/${trigger.id}`, `/triggers/${trigger.id}/deliveries`, '/webhooks']) {
    const { data, pagination } = (await served.ask(`/v1${path}`, { key })).body
    const answer = await send('GET', `/dashboard/v1${path}`)
    expect([answer.status, answer.body.data]).toEqual([200, data])
    expect(answer.body.pagination?.total).toBe(pagination?.total)
  }
  const credits = () => send('GET', '/dashboard/v1/organization').then(({ body }) => body.data.balance)
  const before = await credits()
  const paused = await send('PATCH', `/dashboard/v1/triggers/${trigger.id}`, { paused: true })
  expect(paused.body.data.state).toBe('paused')
  expect((await send('PATCH', `/dashboard/v1/triggers/${trigger.id}`, { paused: 1 })).status).toBe(400)
  expect((await send('DELETE', `/dashboard/v1/webhooks/${webhook.id}`)).body.error.message).toContain('1 trigger posts')
  await send('DELETE', `/dashboard/v1/triggers/${trigger.id}`)
  expect((await send('GET', '/dashboard/v1/triggers')).body.data).toEqual([])
  expect((await send('GET', '/dashboard/v1/triggers?page=0')).status).toBe(400)
  expect(await credits()).toBe(before)
  // Hours of a trigger are those of a key.
  expect((await send('POST', '/dashboard/v1/triggers', TRIGGER)).status).toBe(405)
})

test("another organization's triggers are not found, and neither a key nor the operator's token opens a route", async () => {
  const { trigger, webhook } = await organization()
  const { key, send } = await organization()
  for (const path of [`/triggers/${trigger.id}`, `/triggers/${trigger.id}/deliveries`, `/webhooks/${webhook.id}`]) {
    expect((await send('GET', `/dashboard/v1${path}`)).status).toBe(404)
  }
  expect((await served.ask('/dashboard/v1/triggers', { key })).status).toBe(401)
  expect((await served.ask('/dashboard/v1/dead-letters', { key: TOKEN })).status).toBe(401)
})

test('what could not be delivered is listed with its tries, and posted again', async () => {
  const { organizationId, send, webhook, trigger } = await organization()
  const { db } = database
  const deadLetters = async (query = '') => (await send('GET', `/dashboard/v1/dead-letters${query}`)).body
  expect((await deadLetters()).data).toEqual([])
  const body = { type: 'trigger.fired' as const, timestamp: new Date().toISOString(), text: 'It fell.', data: {} }
  const message = { organizationId, triggerId: trigger.id, webhookId: webhook.id, body }
  const [first] = await addMessages(db, [message, message])
  const tried = async (count: number) =>
    await waitFor(`${count} tries`, async () => {
      const [row] = await db.run<{ count: number }>(
        'select count(*)::integer as count from message_try where organization_id = $1',
        [organizationId],
      )
      return row?.count === count
    })
  await tried(2)
  // As after the last try.
  await db.run(
    "update message set due_at = null, lease_until = null, outcome = 'dead', done_at = now() where organization_id = $1",
    [organizationId],
  )
  const { data, pagination } = await deadLetters()
  expect(data.map(({ status, trigger_id }: never) => [status, trigger_id])).toEqual([
    ['dead', trigger.id],
    ['dead', trigger.id],
  ])
  expect(data[1]).toMatchObject({ id: first, webhook_id: webhook.id, tries: [{ status_code: 500, failure: null }] })
  expect(pagination.total).toBe(2)
  expect((await deadLetters('?limit=1&page=2')).data).toEqual([data[1]])
  expect((await deadLetters('?page=9')).pagination.total).toBe(2)

  await send('PATCH', `/dashboard/v1/webhooks/${webhook.id}`, { url: `http://127.0.0.1:${receiver.port}/ok` })
  const again = await send('POST', `/dashboard/v1/webhooks/${webhook.id}/redeliver`, { ids: [first] })
  expect(again.body.data).toEqual({ redelivered: 1, more: false, after: null })
  await tried(3)
  expect((await deadLetters()).data).toEqual([data[0]])
}, 30_000)

test('the operator sees how far triggers are, and what waits; nothing of it is there while they are off', async () => {
  const { db } = database
  await db.run('update message set due_at = null', [])
  const { organizationId, trigger, webhook } = await organization()
  await db.run(
    `insert into watch_cursor (chain_id, finality, shard, holder, lease_until, block)
     values (1, 'latest', 0, 'process', now() + interval '1 minute', 7)`,
    [],
  )
  const body = { type: 'trigger.fired' as const, timestamp: new Date().toISOString(), text: 'It fell.', data: {} }
  await addMessages(db, [{ organizationId, triggerId: trigger.id, webhookId: webhook.id, body }])
  await db.run(
    "update message set due_at = now() - interval '95 seconds', lease_until = now() + interval '1 hour' where organization_id = $1",
    [organizationId],
  )
  const { body: told } = await withToken(served.ask, 'GET', '/admin/v1/triggers')
  expect(told.data.lines).toEqual([
    { chain_id: 1, finality: 'latest', holder: 'process', block: 7, age_sec: null, blind_since: null },
  ])
  expect(told.data.messages_due).toBe(1)
  expect(Math.floor(told.data.oldest_due_sec / 10)).toBe(9)
  const off = await openProcess(db, { TRIGGERS: 'off' })
  expect((await withToken(off.ask, 'GET', '/admin/v1/triggers')).status).toBe(404)
  const { send } = await openBrowser(db, off.ask, organizationId)
  expect((await send('GET', '/dashboard/v1/triggers')).status).toBe(404)
  await off.close()
})
