import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import type { Database } from '../../../src/db/database.ts'
import { migrate } from '../../../src/db/migrate.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { type SupervisedProcess, spawnSupervised } from '../../devnet/supervised.ts'
import { createAccount, readBooks } from '../../support/account/scene.ts'
import { caseCount } from '../../support/cases.ts'
import { startTestServer, type TestServer } from '../../support/database.ts'
import { mulberry } from '../../support/random.ts'
import { METER_CHAIN_ID, type Meter, startMeter } from '../../support/trigger/meter.ts'
import { createTrigger } from '../../support/trigger/scene.ts'
import { waitFor } from '../../support/wait_for.ts'

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
}, 60_000)

afterAll(async () => {
  await Promise.all(children.map((child) => child.stop('SIGKILL', 1_000)))
  await db.close()
  await meter.stop()
  await server.close()
}, 60_000)

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
  await waitFor(
    'the last block evaluated',
    async () => {
      const [row] = await db
        .run<{ block: string | null }>('select block from watch_cursor where chain_id = $1', [METER_CHAIN_ID])
        .catch(() => [])
      return BigInt(row?.block ?? -1) >= last
    },
    60_000,
  )
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
