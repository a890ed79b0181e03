import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createChainsFile } from '../../devnet/chain.ts'
import { sharedDevnet } from '../../devnet/mod.ts'
import { hasReplication, type ReplicatedPair, startReplicatedPair } from '../../support/replication.ts'
import { waitFor } from '../../support/wait_for.ts'
import { openAccount, runJson } from './accounts.ts'
import { buildWhatIsStale } from './builds.ts'
import { ask } from './http.ts'
import { executableProgram, type Program, runCommand, type Service, startService } from './program.ts'

await buildWhatIsStale()

const AWAY = { answers: false, lag_bytes: null, lag_seconds: null }

describe.skipIf(!hasReplication())('DATABASE_READ_URL (needs PostgreSQL 15 of Debian)', () => {
  let pair: ReplicatedPair
  let program: Program
  let service: Service
  let headers: Readonly<Record<string, string>>

  beforeAll(async () => {
    pair = await startReplicatedPair()
    program = executableProgram({
      CHAINS: '1',
      CHAINS_FILE: '../chains.json',
      DATABASE_URL: pair.getUrl('primary'),
      DATABASE_READ_URL: pair.getUrl('standby'),
    })
    writeFileSync(join(program.directory, '../chains.json'), createChainsFile((await sharedDevnet()).rpcUrl))
    await runJson(program, ['migrate'])
    const { key } = await openAccount(program, { name: 'Replicated', credits: 1_000, rateLimit: 1_000 })
    headers = { Authorization: `Bearer ${key}` }
    service = await startService(program)
  }, 120_000)
  afterAll(async () => {
    await service?.stop()
    await pair?.close()
    program?.remove()
  }, 60_000)

  const readiness = async () => {
    const { status, body } = await ask(service.port, { method: 'GET', target: '/readyz', headers: {} })
    return { status, standby: JSON.parse(body).standby }
  }
  /** How many calls the log has; the one that asks is not among them. */
  const logged = async (): Promise<number> => {
    const { status, body } = await ask(service.port, { method: 'GET', target: '/v1/usage/logs?limit=1', headers })
    expect(status).toBe(200)
    return JSON.parse(body).pagination.total
  }
  const stands = (what: string, standby: object) =>
    waitFor(what, async () => Bun.deepMatch(standby, (await readiness()).standby), 30_000)

  test('shows each call to the next one, and the state of the standby on /readyz', async () => {
    await stands('the standby to have replayed all', { answers: true, lag_bytes: 0, lag_seconds: 0 })
    for (let calls = 0; calls < 20; calls++) expect(await logged()).toBe(calls)
  }, 60_000)

  test('does not use a lagging standby, and reports the lag', async () => {
    const before = await logged()
    await pair.replay('pause')
    try {
      expect(await logged()).toBe(before + 1)
      await waitFor('the lag is told', async () => ((await readiness()).standby.lag_bytes ?? 0) > 0)
      const { status, standby } = await readiness()
      expect([status, standby.answers]).toEqual([200, true])
      expect(await logged()).toBe(before + 2)
    } finally {
      await pair.replay('resume')
    }
    await stands('the standby to catch up', { answers: true, lag_bytes: 0 })
  }, 60_000)

  test('is ready after its standby died', async () => {
    const before = await logged()
    pair.killStandby()
    // Only a synchronous one would hold up writes.
    await runPrimary("alter system set synchronous_standby_names = ''")
    await runPrimary('select pg_reload_conf()')
    expect(await logged()).toBe(before + 1)
    await stands('it is told', AWAY)
    expect((await readiness()).status).toBe(200)
    await pair.rebuild()
    await stands('it is back', { answers: true })
  }, 120_000)

  test('with a standby of another primary never uses it', async () => {
    await service.stop()
    service = await startService({ ...program, env: { ...program.env, DATABASE_READ_URL: pair.getUrl('primary') } })
    const before = await logged()
    expect(await logged()).toBe(before + 1)
    expect(await readiness()).toEqual({ status: 200, standby: AWAY })
  }, 60_000)

  test('with a wrong URL does not start, and names every mistake without its password', async () => {
    const wrong = { DATABASE_URL: '', DATABASE_READ_URL: 'postgres://me:hush@one,two/app', DATABASE_TLS: 'maybe' }
    const { status, stderr } = await runCommand(program, ['serve'], wrong)
    expect(status).not.toBe(0)
    expect(stderr).toContain('DATABASE_READ_URL: expected one host')
    expect(stderr).toContain('DATABASE_READ_URL: expected DATABASE_URL as well, its primary')
    expect(stderr).toContain('DATABASE_TLS: expected verify, unverified, off')
    expect(stderr).not.toContain('hush')
  })

  async function runPrimary(text: string): Promise<void> {
    const db = openDatabase({ url: pair.getUrl('primary'), clock: systemClock, log: silentLog, max: 1 })
    await db.run(text, []).finally(() => db.close())
  }
})
