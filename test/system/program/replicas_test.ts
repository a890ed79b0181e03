import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { appendFileSync, cpSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MIGRATIONS } from '../../../sql/files.ts'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createChainsFile } from '../../devnet/chain.ts'
import { sharedDevnet } from '../../devnet/mod.ts'
import { caseCount } from '../../support/cases.ts'
import { emptyDatabase, temporaryDirectory } from '../../support/database.ts'
import { hasPatroni, startPatroniPair } from '../../support/patroni.ts'
import {
  type FailoverPair,
  hasReplication,
  type ReplicatedPair,
  startReplicatedPair,
} from '../../support/replication.ts'
import { waitFor } from '../../support/wait_for.ts'
import { openAccount, runJson } from './accounts.ts'
import { buildWhatIsStale } from './builds.ts'
import { ask } from './http.ts'
import { executableProgram, type Program, runCommand, type Service, startService } from './program.ts'

describe('a rolling restart', async () => {
  await buildWhatIsStale()

  const ROOT = join(import.meta.dir, '../../..')
  const NEXT = MIGRATIONS.length + 1
  const GRANTED = 10_000_000
  const CLIENTS = 6
  /** Before the next step of the upgrade. */
  const ANSWERS = caseCount(200, 50)
  /** Between two requests of a client, which is load without taking all that the machine can do. */
  const PAUSE_MS = 40
  /** The database of a busy machine may miss a deadline for any client. */
  const LATE = /^503 .*(database (does not answer|took too long)|could not be settled)/
  const LATE_SHARE_MAX = 0.02
  /** How often the balancer asks each process. */
  const LOOK_MS = 100

  let database: Awaited<ReturnType<typeof emptyDatabase>>
  let old: Program
  let organizationId = ''
  let key = ''

  beforeAll(async () => {
    database = await emptyDatabase()
    old = executableProgram({
      CHAINS: '1',
      CHAINS_FILE: '../chains.json',
      DATABASE_URL: database.url,
      // A busy balancer must look at each process meanwhile.
      DRAIN_SECONDS: '3',
    })
    writeFileSync(join(old.directory, '../chains.json'), createChainsFile((await sharedDevnet()).rpcUrl))
    await runJson(old, ['migrate'])
    ;({ id: organizationId, key } = await openAccount(old, { name: 'Rolled', credits: GRANTED, rateLimit: 100_000 }))
  }, 120_000)

  afterAll(async () => {
    await database.drop()
    old.remove()
  }, 120_000)

  /** This source with one migration more, and with other texts of the functions that every request calls. */
  async function nextRelease(migration: string): Promise<Program> {
    const root = temporaryDirectory()
    for (const each of ['src', 'sql', '.ci/sql', 'package.json', 'tsconfig.json'])
      cpSync(join(ROOT, each), join(root, each), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
    writeFileSync(join(root, 'sql/migrations', `${String(NEXT).padStart(4, '0')}_next.sql`), migration)
    for (const each of ['gate_admit', 'gate_settle_batch', 'request_log_page']) {
      appendFileSync(join(root, 'sql/functions', `${each}.sql`), '-- Of the next release.\n')
    }
    const generator = join(root, '.ci/sql/files.ts')
    const { FILES_FILE, generateFiles } = await import(generator)
    writeFileSync(FILES_FILE, generateFiles())
    const command = [process.execPath, join(root, 'src/main.ts')]
    return { ...old, serve: [...command, 'serve'], command }
  }

  /** A balancer as operators have them: it looks at `/readyz`, sends nowhere else, and retries nothing. */
  function balance() {
    const members = new Set<Service>()
    let ready: readonly Service[] = []
    let turn = 0
    let stopped = false
    const counts = { answered: 0, late: 0, refused: [] as string[] }
    const look = async () => {
      const states = await Promise.all([...members].map((each) => readiness(each).catch(() => undefined)))
      ready = [...members].filter((_, index) => states[index]?.code === 200)
    }
    const looking = async () => {
      for (; !stopped; await Bun.sleep(LOOK_MS)) await look()
    }
    const client = async () => {
      while (!stopped) {
        const to = ready[turn++ % ready.length]
        if (to === undefined) {
          counts.refused.push('no process is ready')
          await Bun.sleep(10)
          continue
        }
        const target = `http://127.0.0.1:${to.port}/v1/usage/logs?limit=1`
        const said = await fetch(target, { headers: { authorization: `Bearer ${key}` } }).then(
          async (response) => `${response.status} ${await response.text()}`,
          (error) => String(error),
        )
        if (said.startsWith('200 ')) counts.answered += 1
        else if (LATE.test(said)) counts.late += 1
        else counts.refused.push(said)
        await Bun.sleep(PAUSE_MS)
      }
    }
    return {
      members,
      counts,
      async start() {
        await look()
        const running = [looking(), ...Array.from({ length: CLIENTS }, client)]
        return async () => {
          stopped = true
          await Promise.all(running)
        }
      },
      isReady: (service: Service) => ready.includes(service),
    }
  }

  async function readiness(service: Service) {
    const { status, body } = await ask(service.port, { method: 'GET', target: '/readyz', headers: {} })
    return { code: status, ...JSON.parse(body) }
  }

  test('a rolling upgrade of two processes under load refuses nothing and charges each answer once', async () => {
    const next = await nextRelease(
      `-- Adds only.\n-- runs with: ${MIGRATIONS.length}\nalter table organization add column rolled text;\n`,
    )
    const balancer = balance()
    const { members, counts } = balancer
    const olds = [await startService(old), await startService(old)]
    for (const each of olds) members.add(each)
    const finish = await balancer.start()
    const more = (n: number) => {
      const from = counts.answered
      return waitFor(`${n} more answers`, () => counts.answered >= from + n)
    }
    await more(ANSWERS)

    expect((await runJson(next, ['migrate'])).applied).toContain(`${String(NEXT).padStart(4, '0')}_next`)
    // Longer than readiness is kept.
    await Bun.sleep(1_500)
    for (const each of olds) expect(await readiness(each)).toMatchObject({ code: 200, reasons: [] })
    await more(ANSWERS)
    const news: Service[] = []
    for (const leaving of olds) {
      const arriving = await startService(next)
      news.push(arriving)
      members.add(arriving)
      await waitFor('the new process to be asked', () => balancer.isReady(arriving))
      const gone = leaving.stop()
      await waitFor('the old process to be left', () => !balancer.isReady(leaving))
      expect((await gone).status).toBe(0)
      members.delete(leaving)
      await more(ANSWERS)
    }
    await finish()
    expect(counts.refused).toEqual([])
    expect(counts.late).toBeLessThanOrEqual(counts.answered * LATE_SHARE_MAX)
    const shown = await runJson(next, ['credits', 'show', organizationId])
    expect(Number(shown.balance)).toBe(GRANTED - counts.answered)
    for (const each of news) await each.stop()
    console.log(`rolling upgrade: ${counts.answered} answers, ${counts.late} late`)
  }, 300_000)

  test('an incompatible newer release makes the old processes unready, with the reason', async () => {
    const next = await nextRelease('alter table organization add column rolled text;\n')
    await database.drop()
    database = await emptyDatabase()
    old = { ...old, env: { ...old.env, DATABASE_URL: database.url } }
    await runJson(old, ['migrate'])
    const service = await startService(old)
    await runJson({ ...next, env: old.env }, ['migrate'])
    await waitFor('readiness to go', async () => (await readiness(service)).status === 'not_ready')
    const { reasons } = await readiness(service)
    expect(reasons).toEqual([{ part: 'database', reason: expect.stringContaining('run the newer program') }])
    const stopping = service.stop()
    let left: Awaited<ReturnType<typeof readiness>> | undefined
    await waitFor('draining', async () => {
      left = await readiness(service)
      return left.status === 'draining'
    })
    expect(left?.reasons[0]).toEqual({
      part: 'process',
      reason: expect.stringContaining('draining before shutdown'),
    })
    await stopping
  }, 120_000)
})

describe('failover', async () => {
  await buildWhatIsStale()

  const GRANTED = 10_000_000
  const CLIENTS = 6
  /** Between two requests of a client, which is load without taking all that the machine can do. */
  const PAUSE_MS = 10

  const KEPT_BY = [
    {
      name: 'streaming replication (needs PostgreSQL 15 of Debian)',
      isHere: hasReplication(),
      start: startReplicatedPair,
      rounds: caseCount(20),
    },
    // A round takes half a minute: Patroni waits 20 s until it takes a leader for dead.
    { name: 'Patroni with etcd (needs both of Debian)', isHere: hasPatroni(), start: startPatroniPair, rounds: 2 },
  ]

  describe.each(KEPT_BY.filter(({ isHere }) => isHere))('$name', ({ start, rounds }) => {
    let pair: FailoverPair
    let program: Program
    let service: Service
    let organizationId = ''
    let key = ''

    beforeAll(async () => {
      pair = await start()
      program = executableProgram({ CHAINS: '1', CHAINS_FILE: '../chains.json', DATABASE_URL: pair.url })
      writeFileSync(join(program.directory, '../chains.json'), createChainsFile((await sharedDevnet()).rpcUrl))
      await runJson(program, ['migrate'])
      const account = await openAccount(program, { name: 'Replicated', credits: GRANTED, rateLimit: 100_000 })
      ;({ id: organizationId, key } = account)
      service = await startService(program)
    }, 120_000)
    afterAll(async () => {
      await service.stop()
      await pair.close()
      program.remove()
    }, 120_000)

    test('a standby takes over under load: each answer is charged once, and no refusal is', async () => {
      const outcomes: { readonly status: number; readonly atMs: number; readonly tookMs: number }[] = []
      let running = true
      const client = async () => {
        const headers = { Authorization: `Bearer ${key}` }
        while (running) {
          const sentMs = performance.now()
          const { status } = await ask(service.port, { method: 'GET', target: '/v1/usage/logs?limit=1', headers })
          const atMs = performance.now()
          outcomes.push({ status, atMs, tookMs: atMs - sentMs })
          // Retries like a client that got Retry-After.
          await Bun.sleep(status === 200 ? PAUSE_MS : 20)
        }
      }
      const answered = () => outcomes.filter(({ status }) => status === 200).length
      const more = (n: number) => {
        const from = answered()
        return waitFor(`${n} more answers`, () => answered() >= from + n)
      }
      const clients = Array.from({ length: CLIENTS }, client)
      const table: object[] = []
      try {
        for (let round = 0; round < rounds; round++) {
          await more(100)
          const how = round % 2 === 0 ? 'killed' : 'stopped'
          const { endedMs, promotedMs } = await pair.takeOver(how)
          await more(100)
          const refused = outcomes.filter(({ status, atMs }) => status !== 200 && atMs >= endedMs)
          const last = refused.at(-1)?.atMs ?? promotedMs
          table.push({
            round,
            primary: how,
            'takeover ms': Math.round(promotedMs - endedMs),
            'refused after it, ms': Math.max(0, Math.round(last - promotedMs)),
            refused: refused.length,
            // A long one waited for an answer that did not come, a short one was not sent at all.
            'longest refusal, ms': Math.round(Math.max(0, ...refused.map(({ tookMs }) => tookMs))),
          })
          await pair.rebuild()
        }
      } finally {
        running = false
        await Promise.all(clients)
      }
      console.table(table)

      expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set([200, 503]))
      await waitFor('unknown outcomes to be taken back', async () => {
        const { body } = await ask(service.port, { method: 'GET', target: '/metrics', headers: {} })
        return body.includes('\nwalletscope_gate_voids_waiting 0\n')
      })
      const shown = await runJson(program, ['credits', 'show', organizationId])
      expect(Number(shown.balance)).toBe(GRANTED - answered())
      const headers = { Authorization: `Bearer ${key}` }
      const { body } = await ask(service.port, {
        method: 'GET',
        target: '/v1/usage/logs?limit=1&status_code=200',
        headers,
      })
      expect(JSON.parse(body).pagination.total).toBe(answered())
    }, 900_000)

    test('the first statement finds the primary, also behind a standby that is named first', async () => {
      for (const url of [pair.url, reversed(pair.url)]) {
        const db = openDatabase({ url, clock: systemClock, log: silentLog })
        expect(await db.run<object>('select pg_is_in_recovery() as standby', [])).toEqual([{ standby: false }])
        await db.close()
      }
    })
  })

  /** The same hosts in the other order. */
  function reversed(url: string): string {
    return url.replace(/@([^,]+),([^/]+)/, '@$2,$1')
  }
})

describe('a standby', async () => {
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
    }, 120_000)

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
      waitFor(what, async () => Bun.deepMatch(standby, (await readiness()).standby))

    test('shows each call to the next one, and the state of the standby on /readyz', async () => {
      await stands('the standby to have replayed all', { answers: true, lag_bytes: 0, lag_seconds: 0 })
      for (let calls = 0; calls < 20; calls++) expect(await logged()).toBe(calls)
    }, 120_000)

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
    }, 120_000)

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
    }, 120_000)

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
})
