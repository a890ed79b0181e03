import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import type { Database } from '../../../src/db/database.ts'
import { migrate } from '../../../src/db/migrate.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { type SupervisedProcess, spawnSupervised } from '../../devnet/supervised.ts'
import { createAccount, readBooks } from '../../support/account/scene.ts'
import { caseCount } from '../../support/cases.ts'
import { startTestServer, type TestDatabase, type TestServer, testDatabase } from '../../support/database.ts'
import { openProcess, type Process } from '../../support/operator/scene.ts'
import { mulberry } from '../../support/random.ts'
import { startReceiver } from '../../support/receiver.ts'
import { addMany, createWebhook, readOutcomes } from '../../support/trigger/deliver/scene.ts'
import { METER_CHAIN_ID, type Meter, startMeter } from '../../support/trigger/meter.ts'
import { createTrigger } from '../../support/trigger/scene.ts'
import { waitFor } from '../../support/wait_for.ts'
import { runJson } from '../program/accounts.ts'
import { buildWhatIsStale } from '../program/builds.ts'
import { executableProgram, type Program, runCommand } from '../program/program.ts'

describe('deliveries', async () => {
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
  }, 120_000)
  afterAll(async () => {
    await Promise.all([...children].map((child) => child.stop('SIGKILL', 1_000)))
    await db.close()
    await server.close()
  }, 120_000)

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
        await waitFor('posts of the next victim', () => isAtWork() || add())
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
})

describe('evaluations', async () => {
  const KILLS = caseCount(200, 6)
  const FREEZES = caseCount(5, 1)
  const RESTARTS = caseCount(5, 1)
  const ACCOUNTS = 12
  const CREDITS = 100_000
  const CHILD = join(import.meta.dir, 'evaluate/death_child.ts')

  let server: TestServer
  let db: Database
  let meter: Meter
  const startMs = Date.now()
  const children: SupervisedProcess[] = []

  beforeAll(async () => {
    server = await startTestServer()
    db = openDatabase({ url: server.url, clock: systemClock, log: silentLog })
    await migrate(db)
    meter = await startMeter()
  }, 120_000)

  afterAll(async () => {
    await Promise.all(children.map((child) => child.stop('SIGKILL', 1_000)))
    await db.close()
    await meter.stop()
    await server.close()
  }, 120_000)

  function spawn(): SupervisedProcess {
    const child = spawnSupervised([process.execPath, CHILD, server.url, meter.url, String(startMs)], {
      stderr: 'inherit',
    })
    children.push(child)
    return child
  }

  test('killed, frozen and cut off, two processes tell each change once, and charge once for it and for each hour', async () => {
    const random = mulberry(24)
    const account = await createAccount(db, { credits: CREDITS })
    const { organizationId, apiKeyId } = account
    const levels = new Map<string, number>()
    for (let index = 0; index < ACCOUNTS; index++) {
      const subject = { account: `account ${index}` }
      levels.set(subject.account, 110)
      await meter.units(subject.account, 110)
      await createTrigger(db, {
        organizationId,
        apiKeyId,
        chainId: METER_CHAIN_ID,
        family: 'meter',
        subject,
        clause: { figure: 'level', below: '1.05' },
      })
    }
    const alive = [spawn(), spawn()]
    const harms = [
      ...Array.from({ length: KILLS }, () => 'kill' as const),
      ...Array.from({ length: FREEZES }, () => 'freeze' as const),
      ...Array.from({ length: RESTARTS }, () => 'restart' as const),
    ].sort(() => random() - 0.5)

    async function live(blocks: number): Promise<bigint> {
      let block = 0n
      for (let done = 0; done < blocks; done++) {
        const name = `account ${Math.floor(random() * ACCOUNTS)}`
        const level = random() < 0.5 ? 100 : 110
        levels.set(name, level)
        block = await meter.units(name, level)
        await Bun.sleep(30)
      }
      return block
    }

    for (const harm of harms) {
      await live(5 + Math.floor(random() * 10))
      const at = Math.floor(random() * alive.length)
      const victim = alive[at]
      if (victim === undefined) throw new Error('Expected a process')
      if (harm === 'kill') {
        await victim.stop('SIGKILL', 1_000)
        alive[at] = spawn()
      } else if (harm === 'freeze') {
        const frozen = [victim.pid]
        for (const pid of frozen) process.kill(pid, 'SIGSTOP')
        await live(90)
        for (const pid of frozen) process.kill(pid, 'SIGCONT')
      } else {
        await server.stop()
        await server.start()
      }
    }
    const last = await live(10)
    await waitFor('the last block evaluated', async () => {
      const [row] = await db
        .run<{ block: string | null }>('select block from watch_cursor where chain_id = $1', [METER_CHAIN_ID])
        .catch(() => [])
      return BigInt(row?.block ?? -1) >= last
    })
    // No statement is left running, not even for the killed process.
    await Promise.all(alive.map((child) => child.stop('SIGKILL', 1_000)))
    await server.stop()
    await server.start()

    const messages = await db.run<{ account: string; type: string; change: string }>(
      `select w.subject ->> 'account' as account, m.type, m.change
     from message m join watch w on w.organization_id = m.organization_id and w.id = m.watch_id
     order by m.organization_id, m.no`,
      [],
    )
    for (const [name, level] of levels) {
      const own = messages.filter((each) => each.account === name)
      // Changes are numbered without a gap and take turns, and the last says what is so.
      expect(own.map(({ type, change }) => [type, change])).toEqual(
        own.map((_, index) => [index % 2 === 0 ? 'trigger.fired' : 'trigger.cleared', String(index + 1)]),
      )
      expect([name, own.length % 2]).toEqual([name, level === 100 ? 1 : 0])
    }
    expect(messages.length).toBeGreaterThan(ACCOUNTS)
    const hours = await db.run<{ rows: number; credits: number }>(
      `select count(*)::integer as rows, sum(credits)::integer as credits from request_log_entry
     where organization_id = $1 and path = '/v1/triggers/hour' group by requested_at`,
      [organizationId],
    )
    expect(hours.length).toBeGreaterThan(2)
    expect(hours).toEqual(hours.map(() => ({ rows: 1, credits: ACCOUNTS })))
    const charged = 2 * messages.length + ACCOUNTS * hours.length
    const books = await readBooks(db, organizationId)
    expect([books.charged, books.balance, books.logged]).toEqual([
      charged,
      CREDITS - charged,
      messages.length + hours.length,
    ])
  }, 1_800_000)
})

describe('the command', async () => {
  await buildWhatIsStale()

  let database: TestDatabase
  let served: Process
  let program: Program
  let receiver: Awaited<ReturnType<typeof startReceiver>>

  beforeAll(async () => {
    database = await testDatabase()
    served = await openProcess(database.db, { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' })
    program = executableProgram({ DATABASE_URL: database.url })
    receiver = await startReceiver({ plain: true })
  }, 120_000)
  afterAll(async () => {
    program.remove()
    await receiver.stop()
    await served.close()
    await database.close()
  }, 120_000)

  test('beside a service, triggers are listed as the route lists them, and a test message arrives', async () => {
    const { key, organizationId } = await createAccount(database.db)
    const post = async (path: string, body: unknown) => {
      const headers = { 'content-type': 'application/json' }
      return (await served.ask(path, { method: 'POST', key, headers, body: JSON.stringify(body) })).body.data
    }
    const webhook = await post('/v1/webhooks', { url: `http://127.0.0.1:${receiver.port}/ok` })
    const made = await post('/v1/triggers', {
      chain_id: 1,
      family: 'aave-v3',
      subject: { wallet: '0x00000000000000000000000000000000000000AA' },
      when: { figure: 'health_factor', below: '1.05' },
      name: 'Main vault',
      webhook_id: webhook.id,
    })

    const listed = (await served.ask('/v1/triggers', { key })).body.data
    expect(await runJson(program, ['trigger', 'list', organizationId])).toEqual(listed)
    const shown = await runCommand(program, ['trigger', 'list', organizationId])
    expect(shown.stdout).toContain(`${made.id}  Main vault  1         aave-v3  health_factor below 1.05  armed`)

    const { id } = await runJson(program, ['trigger', 'test', organizationId, made.id])
    await waitFor('the test message', () => receiver.received.length === 1)
    expect(receiver.received[0]?.headers['webhook-id']).toBe(id)
    expect(JSON.parse(receiver.received[0]?.body ?? '')).toMatchObject({
      type: 'webhook.test',
      text: 'This is a test message about the trigger Main vault: nothing has happened.',
      data: { trigger_id: made.id },
    })
  }, 120_000)

  test('each command has help, and reports wrong usage and missing triggers', async () => {
    const { organizationId } = await createAccount(database.db)
    for (const name of ['list', 'test']) {
      const { status, stdout } = await runCommand(program, ['trigger', name, '--help'])
      expect([status, stdout]).toEqual([0, expect.stringContaining(`walletscope trigger ${name} <organization>`)])
    }
    expect((await runCommand(program, ['trigger', 'list', organizationId])).stdout).toStartWith('No trigger yet')
    const wrong = await runCommand(program, ['trigger', 'list', 'org_none'])
    expect([wrong.status, wrong.stderr]).toEqual([1, 'walletscope: Cannot find the organization "org_none"\n'])
    const unknown = await runCommand(program, ['trigger', 'test', organizationId, 'trg_none'])
    expect([unknown.status, unknown.stderr]).toEqual([1, 'walletscope: Cannot find trigger "trg_none"\n'])
    expect((await runCommand(program, ['trigger', 'test', organizationId])).status).toBe(2)
  }, 120_000)
})
