import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { createAccount } from '../../account/scene.ts'
import { cases } from '../../support/cases.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { startReceiver } from '../../support/receiver.ts'
import { until } from '../../support/until.ts'
import { addMany, createWebhook, outcomesOf } from './scene.ts'

const KILLS = cases(100, 6)
const LEASE_SEC = 2
const WEBHOOKS = 4
const EACH = 150 * KILLS
/** Of a webhook. */
const UNDER_WAY_MAX = 16

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
}, 60_000)
afterAll(() => database.close(), 60_000)

function startChild() {
  const words = [process.execPath, join(import.meta.dir, 'child.ts'), database.url, String(LEASE_SEC)]
  return Bun.spawn(words, { stdin: 'ignore', stdout: 'ignore', stderr: 'inherit' })
}

test(
  `two processes, ${KILLS} killed and some frozen beyond their lease: every message arrives, under one id`,
  async () => {
    const { db } = database
    const receiver = await startReceiver({
      plain: true,
      behave: (response) => void setTimeout(() => response.end(), 5 * Math.random()),
    })
    const { organizationId } = await createAccount(db)
    const ids: string[] = []
    for (let index = 0; index < WEBHOOKS; index++) {
      const webhookId = await createWebhook(db, organizationId, `http://127.0.0.1:${receiver.port}/`)
      ids.push(...(await addMany(db, { organizationId, webhookId, count: EACH })))
    }
    const children = [startChild(), startChild()]
    let frozen = 0
    for (let kill = 0; kill < KILLS; kill++) {
      const before = receiver.received.length
      const isAllSent = () => new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size === ids.length
      await until('posts', () => receiver.received.length > before + 20 || isAllSent(), 30_000)
      await Bun.sleep(50 * Math.random())
      const index = kill % children.length
      const victim = children[index]
      if (kill % 5 === 4) {
        frozen++
        victim?.kill('SIGSTOP')
        await Bun.sleep(LEASE_SEC * 1_000 + 500)
        victim?.kill('SIGCONT')
        await Bun.sleep(100)
      }
      victim?.kill('SIGKILL')
      await victim?.exited
      children[index] = startChild()
    }
    await until('all delivered', async () => (await outcomesOf(db, organizationId))['delivered'] === ids.length, 60_000)
    for (const child of children) child.kill('SIGKILL')
    await Promise.all(children.map((child) => child.exited))

    const sent = receiver.received.map(({ headers }) => headers['webhook-id'] ?? '')
    expect([...new Set(sent)].sort()).toEqual([...ids].sort())
    // What was under way at a death is sent again; what a frozen process had under way, too.
    expect(sent.length - ids.length).toBeLessThanOrEqual((KILLS + frozen) * WEBHOOKS * UNDER_WAY_MAX)
    const bodies = new Map<string, string>()
    for (const { headers, body } of receiver.received) {
      const id = headers['webhook-id'] ?? ''
      expect(bodies.get(id) ?? body).toBe(body)
      bodies.set(id, body)
    }
    await receiver.stop()
  },
  { timeout: 60_000 + KILLS * 10_000 },
)
