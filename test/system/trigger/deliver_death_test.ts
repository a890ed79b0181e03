import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import type { Database } from '../../../src/db/database.ts'
import { migrate } from '../../../src/db/migrate.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { type SupervisedProcess, spawnSupervised } from '../../devnet/supervised.ts'
import { createAccount } from '../../support/account/scene.ts'
import { caseCount } from '../../support/cases.ts'
import { startTestServer, type TestServer } from '../../support/database.ts'
import { mulberry } from '../../support/random.ts'
import { startReceiver } from '../../support/receiver.ts'
import { addMany, createWebhook, readOutcomes } from '../../support/trigger/deliver/scene.ts'
import { waitFor } from '../../support/wait_for.ts'

const KILLS = caseCount(200, 6)
const FREEZES = caseCount(5, 1)
const RESTARTS = caseCount(5, 1)
const LEASE_SEC = 1
/** Messages under way in one process. */
const POSTS_MAX = 32
/** Enough webhooks that messages left leased by a death do not fill the slots of all. */
const WEBHOOKS = 30
/** Messages of a webhook that are added at once, and how many may then wait. */
const EACH = 4
const BACKLOG = 200

let server: TestServer
let db: Database
const children = new Set<SupervisedProcess>()

beforeAll(async () => {
  server = await startTestServer()
  db = openDatabase({ url: server.url, clock: systemClock, log: silentLog })
  await migrate(db)
}, 60_000)
afterAll(async () => {
  await Promise.all([...children].map((child) => child.stop('SIGKILL', 1_000)))
  await db.close()
  await server.close()
}, 60_000)

function spawn(): SupervisedProcess {
  const words = [
    process.execPath,
    join(import.meta.dir, 'deliver/child.ts'),
    server.url,
    String(LEASE_SEC),
    String(POSTS_MAX),
  ]
  const child = spawnSupervised(words, { stderr: 'inherit' })
  children.add(child)
  return child
}

test(
  `two processes, ${KILLS} killed, ${FREEZES} frozen beyond their lease, the database restarted: all messages arrive`,
  async () => {
    const random = mulberry(24)
    const posts = new Map<string, number>()
    const arrived = new Set<string>()
    const receiver = await startReceiver({
      plain: true,
      behave(response, { headers }) {
        const pid = String(headers['x-pid'])
        posts.set(pid, (posts.get(pid) ?? 0) + 1)
        arrived.add(String(headers['webhook-id']))
        setTimeout(() => response.end(), 20 * Math.random())
      },
    })
    const { organizationId } = await createAccount(db)
    const url = `http://127.0.0.1:${receiver.port}/`
    const webhooks = await Promise.all(Array.from({ length: WEBHOOKS }, () => createWebhook(db, organizationId, url)))
    const ids: string[] = []
    /** There is always something to do, and never too much of it. */
    const add = async () => {
      if (ids.length - arrived.size > BACKLOG) return false
      for (const webhookId of webhooks) ids.push(...(await addMany(db, { organizationId, webhookId, count: EACH })))
      return false
    }
    const harms = [
      ...Array.from({ length: KILLS }, () => 'kill' as const),
      ...Array.from({ length: FREEZES }, () => 'freeze' as const),
      ...Array.from({ length: RESTARTS }, () => 'restart' as const),
    ].sort(() => random() - 0.5)
    const alive = [spawn(), spawn()]
    for (const [turn, harm] of harms.entries()) {
      const victim = alive[turn % 2]
      if (victim === undefined) throw new Error('Expected a process')
      const pid = String(victim.pid)
      // It is in the middle of its work: who has posted nothing yet has nothing to lose.
      const before = posts.get(pid) ?? 0
      const isAtWork = () => (posts.get(pid) ?? 0) > before + 5
      await waitFor('posts of the next victim', () => isAtWork() || add(), 30_000)
      await Bun.sleep(20 * random())
      if (harm === 'kill') {
        await victim.stop('SIGKILL', 1_000)
        children.delete(victim)
        alive[turn % 2] = spawn()
      } else if (harm === 'freeze') {
        process.kill(victim.pid, 'SIGSTOP')
        await Bun.sleep(LEASE_SEC * 1_000 + 500)
        process.kill(victim.pid, 'SIGCONT')
      } else {
        await server.stop()
        await server.start()
      }
    }
    const delivered = async () => (await readOutcomes(db, organizationId))['delivered'] ?? 0
    await waitFor('all delivered', async () => (await delivered()) === ids.length, 60_000)

    const bodies = new Map<string, string>()
    for (const { headers, body } of receiver.received) {
      const id = headers['webhook-id'] ?? ''
      expect(bodies.get(id) ?? body).toBe(body)
      bodies.set(id, body)
    }
    expect([...bodies.keys()].sort()).toEqual([...ids].sort())
    // What was under way is sent again: that of a process which died or froze, that of both if the database was away.
    const twice = receiver.received.length - ids.length
    expect(twice).toBeLessThanOrEqual((KILLS + FREEZES + 2 * RESTARTS) * POSTS_MAX)
    await receiver.stop()
  },
  { timeout: 60_000 + KILLS * 10_000 },
)
