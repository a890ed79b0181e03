import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { sqlNames, sqlText } from '../../../../.ci/sql/files.ts'
import { readRequestLog } from '../../../../src/account/request_log.ts'
import { type DatabasePool, openDatabase } from '../../../../src/db/connection/pool.ts'
import { type StandbyPool, withStandby } from '../../../../src/db/connection/standby.ts'
import { migrate } from '../../../../src/db/migrate.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { hasReplication, type ReplicatedPair, startReplicatedPair } from '../../../support/replication.ts'
import { waitFor } from '../../../support/wait_for.ts'

const options = { clock: systemClock, log: silentLog }

/** Queries that a standby may answer. */
const COPIED = sqlNames('queries').filter((name) => /^-- lane copy$/m.test(sqlText('queries', name)))

describe.skipIf(!hasReplication())('a standby by streaming replication (needs PostgreSQL 15 of Debian)', () => {
  let pair: ReplicatedPair
  let db: StandbyPool
  let standby: DatabasePool

  /** True if the standby answered. */
  const answeredByStandby = async () => {
    const [row] = await db.run<{ standby: boolean }>('select pg_is_in_recovery() as standby', [], { lane: 'copy' })
    return row?.standby
  }
  const count = async () => {
    const [row] = await db.run<{ n: number }>('select count(*)::int4 as n from note', [], { lane: 'copy' })
    return row?.n
  }
  const write = () => db.run('insert into note values (1)', [])

  beforeAll(async () => {
    pair = await startReplicatedPair()
    const primary = openDatabase({ url: pair.url, ...options })
    standby = openDatabase({ url: pair.getUrl('standby'), ...options })
    db = withStandby({ primary, standby }, options)
    await migrate(primary)
    await db.run('create table note (n integer)', [])
  }, 120_000)
  afterAll(async () => {
    await db?.close()
    await pair?.close()
  }, 60_000)
  beforeEach(() => waitFor('the standby to be asked', async () => (await answeredByStandby()) === true, 30_000), 60_000)

  test('answers only statements of lane copy', async () => {
    for (const lane of ['gate', 'read', 'background'] as const) {
      const rows = await db.run<object>('select pg_is_in_recovery() as standby', [], { lane })
      expect(rows).toEqual([{ standby: false }])
    }
    expect(await db.state()).toMatchObject({ answers: true })
  })

  test('shows every write that came before, while others write', async () => {
    let running = true
    const others = Array.from({ length: 4 }, async () => {
      while (running) await db.run('insert into note select generate_series(1, 100) limit 0', [])
    })
    const from = (await count()) ?? 0
    for (let written = 1; written <= 100; written++) {
      await write()
      expect(await count()).toBe(from + written)
    }
    running = false
    await Promise.all(others)
  }, 60_000)

  test('that lags is not used: the primary answers, and the lag is reported', async () => {
    const from = (await count()) ?? 0
    await pair.replay('pause')
    try {
      await write()
      expect([await count(), await answeredByStandby()]).toEqual([from + 1, false])
      const { answers, lag_bytes: bytes } = await db.state()
      expect([answers, (bytes ?? 0) > 0]).toEqual([true, true])
    } finally {
      await pair.replay('resume')
    }
    await waitFor('it has caught up', async () => (await db.state()).lag_bytes === 0)
    expect((await db.state()).lag_seconds).toBe(0)
  }, 60_000)

  test('that is slow leaves the primary half of the deadline', async () => {
    // The primary needs some of it, too.
    const sleep = 'pg_sleep(case when pg_is_in_recovery() then 30 else 0.2 end)::text'
    const text = `select pg_is_in_recovery() as standby, ${sleep} as slept`
    expect(await db.run(text, [], { lane: 'copy', deadlineMs: 2_000 })).toMatchObject([{ standby: false }])
  })

  test('can answer every query of lane copy', async () => {
    expect(COPIED.length).toBeGreaterThan(8)
    for (const name of COPIED) {
      const text = sqlText('queries', name)
      const params = new Set(text.replaceAll(/^--.*$/gm, '').match(/\$\d+/g)).size
      const nulls = Array.from({ length: params }, () => 'null').join(', ')
      const one = openDatabase({ url: pair.getUrl('standby'), ...options, max: 1 })
      await one.run(`prepare ${name} as ${text}`, [])
      const plan = await one.run(`explain execute ${name}${params === 0 ? '' : `(${nulls})`}`, [])
      expect([name, plan.length > 0]).toEqual([name, true])
      await one.close()
    }
    const filter = {
      organizationId: 'org_nobody',
      fromMs: 0,
      toMs: Date.now(),
      errors: 'all',
      page: 1,
      limit: 10,
    } as const
    expect(await readRequestLog(standby, filter)).toEqual({ total: 0, entries: [] })
  }, 60_000)

  test('that dies is not used, and is used again once it is back', async () => {
    const from = (await count()) ?? 0
    pair.killStandby()
    // A synchronous one would hold up every write.
    const url = pair.getUrl('primary')
    const alone = openDatabase({ url, ...options, max: 1 })
    await alone.run("alter system set synchronous_standby_names = ''", [])
    await alone.run('select pg_reload_conf()', [])
    await alone.close()
    await write()
    expect([await count(), await answeredByStandby()]).toEqual([from + 1, false])
    expect(await db.state()).toEqual({ answers: false, lag_bytes: null, lag_seconds: null })
    await pair.rebuild()
    await waitFor('it is asked again', async () => (await answeredByStandby()) === true, 30_000)
  }, 120_000)

  test('that was promoted no longer counts as a standby', async () => {
    const from = (await count()) ?? 0
    await pair.takeOver('killed')
    await waitFor('the primary answers', async () => (await write().catch(() => undefined)) !== undefined, 30_000)
    expect(await count()).toBeGreaterThan(from)
    expect(await answeredByStandby()).toBe(false)
    expect((await db.state()).answers).toBe(false)
    await pair.rebuild()
  }, 120_000)
})
