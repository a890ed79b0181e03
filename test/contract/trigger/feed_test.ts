import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Database } from '../../../src/db/database.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createFeed } from '../../../src/trigger/feed.ts'
import { createAccount } from '../../support/account/scene.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { createTestClock, settle } from '../../support/test_clock.ts'
import { addMessages } from '../../support/trigger/messages.ts'

const POLL_MS = 250
const WAIT_MS = 25_000
const never = new AbortController().signal

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
}, 60_000)
afterAll(() => database.close(), 60_000)

/** Creates a feed over a clock that the test moves, and a caller's read of it. */
async function createScene() {
  const { organizationId } = await createAccount(database.db)
  const clock = createTestClock()
  let ran = 0
  let underWay = 0
  const run: Database['run'] = (...statement) => {
    ran++
    underWay++
    return database.db.run<never>(...statement).finally(() => underWay--)
  }
  const feed = createFeed({ db: { ...database.db, run }, clock, log: silentLog })

  /** Waits until no statement of the feed is under way. */
  async function settleStatements(): Promise<void> {
    for (await settle(); underWay > 0; await settle());
  }

  return {
    feed,
    organizationId,
    countStatements: () => ran,
    async advance(ms: number): Promise<void> {
      await clock.advance(ms)
      await settleStatements()
    },
    async read(waitMs = WAIT_MS, after?: string) {
      const reading: { texts?: readonly string[] } = {}
      void feed.read({ organizationId, after, limit: 25, waitMs }, never).then((messages) => {
        reading.texts = messages.map(({ text }) => text)
      })
      await settleStatements()
      return reading
    },
  }
}

async function add(organizationId: string, text: string): Promise<string> {
  const body = { type: 'webhook.test' as const, timestamp: new Date(0).toISOString(), text, data: {} }
  const [id = ''] = await addMessages(database.db, [{ organizationId, triggerId: null, webhookId: null, body }])
  return id
}

test('a wait ends at the next poll after a message for its organization, and not for those of others', async () => {
  const scene = await createScene()
  const other = await createAccount(database.db)
  const reading = await scene.read()
  await add(other.organizationId, 'not for them')
  for (let poll = 0; poll < 4; poll++) await scene.advance(POLL_MS)
  expect(reading.texts).toBeUndefined()
  await add(scene.organizationId, 'now')
  await scene.advance(POLL_MS - 1)
  expect(reading.texts).toBeUndefined()
  await scene.advance(1)
  expect(reading.texts).toEqual(['now'])
})

test('a wait without a message ends after its time, and no statement polls once none is left', async () => {
  const scene = await createScene()
  const id = await add(scene.organizationId, 'old')
  const reading = await scene.read(1_000, id)
  await scene.advance(999)
  expect(reading.texts).toBeUndefined()
  await scene.advance(1)
  expect(reading.texts).toEqual([])
  // One poll may have been scheduled meanwhile.
  await scene.advance(POLL_MS)
  const ran = scene.countStatements()
  await scene.advance(WAIT_MS)
  expect(scene.countStatements()).toBe(ran)
})

test('waits of one process share one statement a poll', async () => {
  const scene = await createScene()
  const readings = [await scene.read(), await scene.read(), await scene.read()]
  const ran = scene.countStatements()
  await scene.advance(POLL_MS)
  expect(scene.countStatements()).toBe(ran + 1)
  scene.feed.close()
  await scene.advance(0)
  expect(readings.map(({ texts }) => texts)).toEqual([[], [], []])
})
