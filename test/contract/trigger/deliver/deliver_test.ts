import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { Webhook } from 'standardwebhooks'
import type { Database } from '../../../../src/db/database.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import type { Post } from '../../../../src/trigger/deliver/post.ts'
import { messageRetentionJob } from '../../../../src/trigger/deliver/retention.ts'
import { deriveWebhookSecret } from '../../../../src/trigger/deliver/sign.ts'
import { createAccount } from '../../../support/account/scene.ts'
import { type TestDatabase, testDatabase } from '../../../support/database.ts'
import { RECEIVER_BODY, startReceiver } from '../../../support/receiver.ts'
import { createTestClock, settle } from '../../../support/test_clock.ts'
import {
  addMany,
  createWebhook,
  deliverAll,
  deliverer,
  KEYS,
  readMessages,
  readOutcomes,
} from '../../../support/trigger/deliver/scene.ts'
import { waitFor } from '../../../support/wait_for.ts'

let database: TestDatabase
let db: Database
let receiver: Awaited<ReturnType<typeof startReceiver>>

beforeAll(async () => {
  database = await testDatabase()
  db = database.db
  receiver = await startReceiver({ plain: true })
}, 60_000)
afterAll(async () => {
  await receiver.stop()
  await database.close()
}, 60_000)

async function scene(path: string, count: number) {
  const { organizationId } = await createAccount(db)
  const webhookId = await createWebhook(db, organizationId, `http://127.0.0.1:${receiver.port}/${path}`)
  const ids = await addMany(db, { organizationId, webhookId, count })
  const outcomes = () => readOutcomes(db, organizationId)
  const webhook = async () => {
    const [row] = await db.run<{ status: string; failing: boolean }>(
      'select status, failing_since is not null as failing from webhook where organization_id = $1 and id = $2',
      [organizationId, webhookId],
    )
    return row
  }
  const countLeased = async () => {
    const [row] = await db.run<{ leased: number }>(
      'select count(*)::integer as leased from message where organization_id = $1 and lease_until is not null',
      [organizationId],
    )
    return row?.leased
  }
  const messages = () => readMessages(db, organizationId)
  return { organizationId, webhookId, ids, outcomes, webhook, messages, countLeased }
}

/** Lets what waits for its next try be due now. */
async function hurry(organizationId: string): Promise<void> {
  await db.run('update message set due_at = now() where organization_id = $1 and due_at is not null', [organizationId])
}

async function step({ organizationId }: { organizationId: string }, own = deliverer(db)): Promise<void> {
  await hurry(organizationId)
  let isDone = false
  await deliverAll(own, async () => {
    const was = isDone
    isDone = true
    return was
  })
  expect(own.faults).toEqual([])
}

describe('a message', () => {
  test('arrives once, signed, and what the receiver says is kept nowhere', async () => {
    const { organizationId, webhookId, ids, outcomes, messages } = await scene('ok', 40)
    const rounds = await deliverAll(deliverer(db), async () => (await outcomes())['delivered'] === 40)
    expect(rounds).toBe(3)
    const own = receiver.received.filter(({ headers }) => ids.includes(headers['webhook-id'] ?? ''))
    expect(own.map(({ headers }) => headers['webhook-id']).sort()).toEqual([...ids].sort())
    const verifier = new Webhook(deriveWebhookSecret(KEYS.master, { webhookId, generation: 1 }))
    for (const { body, headers } of own) expect(verifier.verify(body, headers)).toMatchObject({ type: 'webhook.test' })
    for (const each of await messages()) {
      expect(each).toMatchObject({ outcome: 'delivered', tries: 1, dueInSec: null, leased: false })
      expect(each.noted).toEqual([{ status: 200, failure: null }])
    }
    const [dump] = await db.run<{ text: string }>(
      'select json_agg(row_to_json(t))::text as text from message_try t where organization_id = $1',
      [organizationId],
    )
    expect(dump?.text).not.toContain(RECEIVER_BODY)
  })

  test('is tried nine times over days, then it is dead; the webhook fails meanwhile, until one arrives', async () => {
    const failing = await scene('status/500', 1)
    for (const dueInSec of [5, 30, 300, 1_800, 7_200, 21_600, 43_200, 86_400]) {
      await step(failing)
      expect(await failing.messages()).toMatchObject([{ outcome: null, dueInSec }])
      expect(await failing.webhook()).toEqual({ status: 'failing', failing: true })
    }
    await step(failing)
    const noted = Array(9).fill({ status: 500, failure: null })
    expect(await failing.messages()).toMatchObject([{ outcome: 'dead', tries: 9, dueInSec: null, noted }])
    await step(failing)
    expect((await failing.messages())[0]?.noted.length).toBe(9)

    const { organizationId, webhookId } = failing
    await db.run('update webhook set url = $2 where id = $1', [webhookId, `http://127.0.0.1:${receiver.port}/ok`])
    await addMany(db, { organizationId, webhookId, count: 1 })
    await step(failing)
    expect(await failing.outcomes()).toEqual({ dead: 1, delivered: 1 })
    expect(await failing.webhook()).toEqual({ status: 'active', failing: false })
  })

  test('waits as long as its receiver asks, and says why no answer came', async () => {
    const later = await scene('later/60', 1)
    await step(later)
    expect(await later.messages()).toMatchObject([{ dueInSec: 60, noted: [{ status: 503, failure: null }] }])
    const redirected = await scene('redirect', 1)
    await step(redirected)
    expect(await redirected.messages()).toMatchObject([{ dueInSec: 5, noted: [{ status: 302, failure: null }] }])
    const closed = await scene('closed', 1)
    await step(closed)
    expect(await closed.messages()).toMatchObject([{ dueInSec: 5, noted: [{ status: null, failure: 'closed' }] }])
    const hidden = await scene('ok', 1)
    await db.run('update webhook set url = $2 where id = $1', [hidden.webhookId, 'https://169.254.169.254/latest'])
    await step(hidden)
    expect(await hidden.messages()).toMatchObject([{ dueInSec: 5, noted: [{ status: null, failure: 'address' }] }])
  })

  test('of a receiver that is gone stops the webhook, and the others die untried', async () => {
    const gone = await scene('status/410', 40)
    await step(gone)
    expect(await gone.webhook()).toMatchObject({ status: 'stopped' })
    const before = (await gone.messages()).filter(({ noted }) => noted.length > 0).length
    expect(before).toBeLessThanOrEqual(16)
    await step(gone)
    expect(await gone.outcomes()).toEqual({ dead: 40 })
    expect((await gone.messages()).filter(({ noted }) => noted.length > 0).length).toBe(before)
  })

  test('stops the webhook once attempts have failed for five days, not before', async () => {
    const failing = await scene('status/500', 2)
    const failed = (hours: number, at = 'now()') =>
      db.run(`update webhook set failed_for = make_interval(hours => $2), failed_at = ${at} where id = $1`, [
        failing.webhookId,
        hours,
      ])
    await step(failing)
    await failed(119)
    await step(failing)
    expect(await failing.webhook()).toMatchObject({ status: 'failing' })
    // No process tried for long: that is no failure of the receiver.
    await failed(80, "now() - interval '100 days'")
    await step(failing)
    expect(await failing.webhook()).toMatchObject({ status: 'failing' })
    await failed(119, "now() - interval '2 hours'")
    await step(failing)
    expect(await failing.webhook()).toMatchObject({ status: 'stopped' })
    await step(failing)
    expect(await failing.outcomes()).toEqual({ dead: 2 })
  })

  test('has all its tries, however long ago its webhook failed while nothing else was due', async () => {
    const rare = await scene('status/500', 1)
    for (let tries = 1; tries <= 9; tries++) await step(rare)
    expect(await rare.outcomes()).toEqual({ dead: 1 })
    // Nothing was due since.
    await db.run("update webhook set failing_since = now() - interval '30 days' where id = $1", [rare.webhookId])
    await addMany(db, { organizationId: rare.organizationId, webhookId: rare.webhookId, count: 1 })
    for (let tries = 1; tries <= 8; tries++) {
      await step(rare)
      expect(await rare.webhook()).toMatchObject({ status: 'failing' })
      expect((await rare.messages())[1]).toMatchObject({ outcome: null, tries })
    }
    await db.run('update webhook set url = $2 where id = $1', [rare.webhookId, `http://127.0.0.1:${receiver.port}/ok`])
    await step(rare)
    expect(await rare.outcomes()).toEqual({ dead: 1, delivered: 1 })
  })
})

describe('a process', () => {
  test('whose clock is wrong signs the time of the database', async () => {
    const { webhookId, ids, outcomes } = await scene('ok', 1)
    const clock = { ...systemClock, now: () => Date.now() + 600_000 }
    await deliverAll(deliverer(db, { clock }), async () => (await outcomes())['delivered'] === 1)
    const own = receiver.received.find(({ headers }) => headers['webhook-id'] === ids[0])
    if (own === undefined) throw new Error('Expected the message')
    const verifier = new Webhook(deriveWebhookSecret(KEYS.master, { webhookId, generation: 1 }))
    expect(verifier.verify(own.body, own.headers)).toMatchObject({ type: 'webhook.test' })
  })

  test('that receivers do not answer, though they answer another, returns messages uncounted, and pauses', async () => {
    const { organizationId, webhookId, messages, webhook } = await scene('ok', 1)
    const clock = createTestClock()
    const { signal } = new AbortController()
    let isCutOff = true
    const post: Post = async () => ({
      ...(isCutOff ? { statusCode: null, failure: 'address' as const } : { statusCode: 204, failure: null }),
      retryAfterSec: null,
      latencyMs: 1,
    })
    const bad = deliverer(db, { clock, post })
    const good = deliverer(db)
    const round = async (own: typeof bad) => {
      await own.job.round(signal)
      await own.idle()
    }
    const add = () => addMany(db, { organizationId, webhookId, count: 1 })

    // Whether the receiver answers at all is not known yet.
    await round(bad)
    expect(await messages()).toMatchObject([{ tries: 1, noted: [{ failure: 'address' }] }])
    await hurry(organizationId)
    await round(good)
    expect(await webhook()).toMatchObject({ status: 'active' })

    await add()
    await round(bad)
    const untried = { outcome: null, tries: 0, leased: false, dueInSec: 0, noted: [] }
    expect((await messages())[1]).toMatchObject(untried)
    expect(await webhook()).toMatchObject({ status: 'active' })
    // Paused, it takes nothing, and the other process delivers.
    await round(bad)
    expect((await messages())[1]).toMatchObject(untried)
    await round(good)
    expect((await messages())[1]).toMatchObject({ outcome: 'delivered', tries: 1, noted: [{ status: 200 }] })

    // It tries again, and pauses for longer; without any other process a second failure of a message counts.
    await add()
    await clock.advance(5_000)
    await round(bad)
    expect((await messages())[2]).toMatchObject(untried)
    await clock.advance(5_000)
    await round(bad)
    expect((await messages())[2]).toMatchObject(untried)
    await clock.advance(5_000)
    await round(bad)
    expect((await messages())[2]).toMatchObject({ tries: 1, noted: [{ failure: 'address' }] })

    isCutOff = false
    await hurry(organizationId)
    await clock.advance(60_000)
    await round(bad)
    expect((await messages())[2]).toMatchObject({ outcome: 'delivered', tries: 2 })
    await add()
    await round(bad)
    expect((await messages())[3]).toMatchObject({ outcome: 'delivered', tries: 1 })
  })
})

test('a process that starts returns what receivers refuse it, because they answered another lately', async () => {
  const { organizationId, webhookId, messages } = await scene('ok', 1)
  await step({ organizationId })
  await addMany(db, { organizationId, webhookId, count: 1 })
  const post: Post = async () => ({ statusCode: null, failure: 'address', retryAfterSec: null, latencyMs: 1 })
  // Each start forgets what the process returned before.
  for (let start = 0; start < 3; start++) {
    await step({ organizationId }, deliverer(db, { clock: createTestClock(), post }))
    expect((await messages())[1]).toMatchObject({ outcome: null, tries: 0, noted: [] })
  }
  await step({ organizationId })
  expect((await messages())[1]).toMatchObject({ outcome: 'delivered', tries: 1 })
  // What it answered long ago tells nothing.
  await db.run("update webhook set answered_at = now() - interval '6 minutes' where id = $1", [webhookId])
  await addMany(db, { organizationId, webhookId, count: 1 })
  await step({ organizationId }, deliverer(db, { clock: createTestClock(), post }))
  expect((await messages())[2]).toMatchObject({ tries: 1, noted: [{ failure: 'address' }] })
})

describe('two processes', () => {
  // What other tests left would be posted beside what is looked at.
  beforeEach(async () => {
    await db.run("update message set due_at = now() + interval '1 day' where due_at is not null", [])
  })

  test('post each message once, with 16 of a webhook under way at most', async () => {
    const { organizationId } = await createAccount(db)
    const webhookId = await createWebhook(db, organizationId, `http://127.0.0.1:${receiver.port}/ok`)
    const ids = await addMany(db, { organizationId, webhookId, count: 600 })
    const posted: string[] = []
    let underWay = 0
    let most = 0
    const post: Post = async (_, { headers }) => {
      posted.push(headers['webhook-id'] ?? '')
      most = Math.max(most, ++underWay)
      await settle()
      underWay--
      return { statusCode: 200, failure: null, retryAfterSec: null, latencyMs: 1 }
    }
    const isDone = async () => (await readOutcomes(db, organizationId))['delivered'] === 600
    await Promise.all([1, 2].map(() => deliverAll(deliverer(db, { post }), isDone)))
    expect(posted.sort()).toEqual([...ids].sort())
    expect(most).toBeGreaterThan(8)
    expect(most).toBeLessThanOrEqual(16)
  }, 60_000)

  test('do not both post a message that one of them gave back', async () => {
    const { ids } = await scene('ok', 12)
    const posted: string[] = []
    const leaving = deliverer(db, {
      post: async (_, { headers }) => {
        posted.push(headers['webhook-id'] ?? '')
        await leaving.abandon()
        return { statusCode: 200, failure: null, retryAfterSec: null, latencyMs: 1 }
      },
    })
    await leaving.job.round(new AbortController().signal)
    expect(posted).toHaveLength(1)
    expect(ids).toContain(posted[0] ?? '')
  })

  test('note one try if both made it, and that it arrived if it did for either', async () => {
    const late = await scene('ok', 2)
    const slow = deliverer(db, { leaseSec: 0, post: () => new Promise((resolve) => posts.push(resolve)) })
    const posts: ((posted: Awaited<ReturnType<NonNullable<Parameters<typeof deliverer>[1]>['post'] & {}>>) => void)[] =
      []
    await slow.job.round(new AbortController().signal)
    expect(posts.length).toBe(2)
    await deliverAll(deliverer(db), async () => (await late.outcomes())['delivered'] === 2)
    for (const resolve of posts) resolve({ statusCode: 500, failure: null, retryAfterSec: null, latencyMs: 1 })
    await slow.idle()
    for (const each of await late.messages()) {
      expect(each).toMatchObject({ outcome: 'delivered', tries: 1, noted: [{ status: 200 }] })
    }
    expect(await late.webhook()).toEqual({ status: 'active', failing: false })
  })
})

/*
 * Counted in rounds, for times would say how loaded the machine is. A round never waits for posts, and looks at 32 messages
 * of a webhook however many are due, so one that hangs makes no round longer: it can only take places, and so make others
 * wait for more rounds. All 320 are due at once, so that the last of them is no earlier than their p99.
 */
test('a webhook that hangs with 10,000 messages due costs another no more than twice its rounds', async () => {
  const hanging = await scene('hang', 10_000)
  const alone = await scene('ok', 320)
  const first = deliverer(db, { postsMax: 64 })
  const { signal } = new AbortController()
  const order: string[] = []
  let rounds = 0
  // The hanging posts stay under way, as they do for 15 seconds each.
  while ((await alone.outcomes())['delivered'] !== 320) {
    await first.job.round(signal)
    rounds++
    await waitFor('answers of this round', async () => (await alone.countLeased()) === 0)
    order.push(`${await hanging.countLeased()}`)
    expect(rounds).toBeLessThan(41)
  }
  // Alone it would take 320 / 16 rounds.
  expect(rounds).toBeLessThanOrEqual(2 * (320 / 16))
  expect(new Set(order)).toEqual(new Set(['16']))
  await first.abandon()
  expect(await hanging.countLeased()).toBe(0)
  await db.run('update message set due_at = null where organization_id = $1', [hanging.organizationId])
}, 60_000)

test('a process asks four times less often once there was nothing to send for ten seconds, and as usual after a message', async () => {
  const own = deliverer(db)
  const round = async () => own.job.round(new AbortController().signal)
  const { organizationId, webhookId, outcomes } = await scene('ok', 1)
  expect(await round()).toBe(500)
  await own.idle()
  const pauses: (number | undefined)[] = []
  for (let time = 0; time < 21; time++) pauses.push(await round())
  expect(pauses).toEqual([...Array(19).fill(500), 2_000, 2_000])
  await addMany(db, { organizationId, webhookId, count: 1 })
  expect(await round()).toBe(500)
  await own.idle()
  expect(await outcomes()).toEqual({ delivered: 2 })
})

test('many webhooks get their first message before one gets its second', async () => {
  const { organizationId } = await createAccount(db)
  const url = `http://127.0.0.1:${receiver.port}/ok`
  const webhooks = await Promise.all(Array.from({ length: 20 }, () => createWebhook(db, organizationId, url)))
  for (const [index, webhookId] of webhooks.entries()) {
    await addMany(db, { organizationId, webhookId, count: index === 0 ? 100 : 1 })
  }
  const own = deliverer(db, { postsMax: 20 })
  await own.job.round(new AbortController().signal)
  await own.idle()
  const [row] = await db.run<{ webhooks: number }>(
    `select count(distinct webhook_id)::integer as webhooks from message where organization_id = $1 and outcome = 'delivered'`,
    [organizationId],
  )
  expect(row?.webhooks).toBe(20)
  await deliverAll(own, async () => (await readOutcomes(db, organizationId))['delivered'] === 119)
})

test('messages are forgotten after 30 days with their tries, whatever became of them', async () => {
  const kept = await scene('ok', 3)
  await step(kept)
  await db.run(
    `update message set created_at = now() - make_interval(days => case when no = 3 then 29 else 31 end)
     where organization_id = $1`,
    [kept.organizationId],
  )
  await messageRetentionJob({ db, log: silentLog }).round(new AbortController().signal)
  expect((await kept.messages()).map(({ id }) => id)).toEqual([kept.ids[2] ?? ''])
  const [row] = await db.run<{ tries: number }>(
    'select count(*)::integer as tries from message_try where organization_id = $1',
    [kept.organizationId],
  )
  expect(row?.tries).toBe(1)
})
