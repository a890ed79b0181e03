import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CLI_ACTOR } from '../../../src/account/audit.ts'
import { grantCredits } from '../../../src/account/credit.ts'
import { createOrganization } from '../../../src/account/organization.ts'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import { openSession } from '../../../src/db/connection/session.ts'
import type { Database } from '../../../src/db/database.ts'
import { findRunningEmbedded } from '../../../src/db/embedded/embedded.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { IS_FULL } from '../../support/cases.ts'
import { emptyDatabase, type TestDatabase, testDatabase } from '../../support/database.ts'
import { startPostgres17 } from '../../support/postgres17.ts'
import { waitFor } from '../../support/wait_for.ts'
import { openAccount, runJson } from './accounts.ts'
import { buildWhatIsStale } from './builds.ts'
import { ask } from './http.ts'
import { untilEmpty } from './processes.ts'
import {
  executableProgram,
  giveDatabase,
  type Program,
  runCommand,
  type Service,
  sourceProgram,
  spawnService,
} from './program.ts'

const KEY = /ws_sk_[0-9A-Za-z]{24}/
/** No chain is ever reached here. */
const CHAIN = { CHAINS: '1', RPC_URL_1: 'http://127.0.0.1:9/' }
const LOG_ROWS = 60_000

await buildWhatIsStale()

let programs: Program[] = []
afterEach(() => {
  for (const program of programs) program.remove()
  programs = []
})

function program(create: typeof sourceProgram, env: Readonly<Record<string, string>> = {}): Program {
  const made = create({ ...CHAIN, ...env })
  programs.push(made)
  return made
}

/**
 * One call of one credit: its status, what is left afterwards and how many calls were logged before it. It is repeated
 * while the database that has just begun is late, which is 503 and costs nothing.
 */
async function call(service: Service, key: string) {
  const headers = { Authorization: `Bearer ${key}` }
  const once = () => ask(service.port, { method: 'GET', target: '/v1/usage/logs', headers })
  let answer = await once()
  await waitFor('an answer', async () => {
    if (answer.status === 503) answer = await once()
    return answer.status !== 503
  })
  return {
    status: answer.status,
    remaining: Number(answer.headers['x-credits-remaining']),
    logged: Number(JSON.parse(answer.body).pagination?.total),
  }
}

describe.each([
  ...(IS_FULL ? [['the source', sourceProgram] as const] : []),
  ['the executable', executableProgram] as const,
])('%s', (_, create) => {
  test('a backup beside the running service, restored elsewhere, serves the same key with the same credits and log', async () => {
    const first = program(create)
    await giveDatabase(first)
    const service = await spawnService(first)
    await waitFor('the key is printed', () => KEY.test(service.stdout()))
    const key = KEY.exec(service.stdout())?.[0] ?? ''
    for (let calls = 0; calls < 3; calls++) await call(service, key)
    const file = join(first.directory, 'backup')
    const { rows, bytes, schema_version, file: named } = await runJson(first, ['backup', '--to', file])
    expect({ rows: rows.request_log, named }).toEqual({ rows: 3, named: file })
    expect(schema_version).toBeGreaterThan(2)
    expect(statSync(file)).toMatchObject({ size: bytes })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readFileSync(file).includes(key)).toBe(false)
    // It went on, and what came after the backup is not in it.
    expect(await call(service, key)).toEqual({ status: 200, remaining: 999_996, logged: 3 })
    expect((await runCommand(first, ['backup', '--to', file])).stderr).toContain('it already exists')
    expect((await runCommand(first, ['restore', '--from', file])).stderr).toContain('expected an empty database')
    expect((await service.stop()).status).toBe(0)

    const second = program(create)
    const restored = await runCommand(second, ['restore', '--from', file])
    expect(restored).toMatchObject({ status: 0, stderr: '' })
    expect(restored.stdout).toMatch(/^Restored \d+ rows\n$/)
    expect(await untilEmpty(second.directory, 20_000)).toEqual([])
    const again = await spawnService(second)
    expect(again.stdout()).not.toMatch(KEY)
    expect(await call(again, key)).toEqual({ status: 200, remaining: 999_996, logged: 3 })
    expect((await again.stop()).status).toBe(0)
  }, 120_000)
})

test('from PostgreSQL 17 to 18: a backup of the one, restored into the other, serves the same key with the same credits', async () => {
  const old = await startPostgres17()
  const from = program(executableProgram, { DATABASE_URL: old.url })
  await runJson(from, ['migrate'])
  const { key } = await openAccount(from, { name: 'Acme', credits: 500, rateLimit: 1_000 })
  const service = await spawnService(from)
  for (let calls = 0; calls < 3; calls++) await call(service, key)
  await service.stop()
  const file = join(from.directory, 'backup')
  expect((await runJson(from, ['backup', '--to', file])).postgresql).toStartWith('17.')
  await old.close()

  const to = program(executableProgram)
  await runJson(to, ['restore', '--from', file])
  const again = await spawnService(to)
  expect(await call(again, key)).toEqual({ status: 200, remaining: 496, logged: 3 })
  await again.stop()
  expect((await runJson(to, ['backup', '--to', join(to.directory, 'backup')])).postgresql).toStartWith('18.')
}, 120_000)

test('a backup warns about inconsistent credits and about charges waiting to be voided, and can still be restored', async () => {
  const { db, url, close } = await testDatabase()
  const odd = program(executableProgram, { DATABASE_URL: url })
  const { id } = await createOrganization(db, { name: 'Acme', by: CLI_ACTOR })
  await grantCredits(db, { organizationId: id, credits: 500, reason: 'welcome', by: CLI_ACTOR })
  expect((await runJson(odd, ['backup', '--to', join(odd.directory, 'even')])).warnings).toEqual([])

  await db.run(
    `insert into request_log select now(), 1, 1, 0, 1, 200, 1, true, 'settled', 'req', 'GET', '' from ledger`,
    [],
  )
  await db.run('update spending_limit set spent = spent + 1', [])
  mkdirSync(join(odd.directory, 'data/journal'), { recursive: true })
  writeFileSync(join(odd.directory, 'data/journal/void-1-0123456789abcdef.jsonl'), '{}\n')
  const file = join(odd.directory, 'backup')
  const { status, stderr } = await runCommand(odd, ['backup', '--to', file])
  expect(status).toBe(0)
  expect(stderr).toMatch(
    /^Credits do not add up in 1 of 1 organizations: .+\nCharges to be voided wait in ".+journal".+\n$/,
  )

  const target = await emptyDatabase()
  const to = program(executableProgram, { DATABASE_URL: target.url })
  await runJson(to, ['restore', '--from', file])
  expect(await runJson(to, ['credits', 'show', id])).toMatchObject({ balance: '499', granted: '500' })
  // Its log lies in this week's partition: nothing is left for a service to move while it is read.
  const reader = openDatabase({ url: target.url, clock: systemClock, log: silentLog, max: 1 })
  const where = 'select distinct tableoid::regclass::text as name from request_log'
  expect(await reader.run(where, [])).toEqual([{ name: expect.stringMatching(/^request_log_[0-9]{8}$/) }])
  await reader.close()
  await Promise.all([close(), target.drop()])
}, 120_000)

test.each([
  { words: ['backup'] },
  { words: ['backup', '--to', ''] },
  { words: ['restore'] },
  { words: ['restore', 'file'] },
])('wrong usage is told in one line, status 2: $words', async ({ words }) => {
  const { status, stdout, stderr } = await runCommand(program(executableProgram), words)
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  expect(stderr).toMatch(/^walletscope: .+\n$/)
})

describe('with a large log', () => {
  let database: TestDatabase
  let source: Program
  let whole: string

  beforeAll(async () => {
    database = await testDatabase()
    await database.db.run(
      `insert into request_log
       select now() - i * interval '1 s', 1, 1, 0, 1, 200, 1, true, md5((i * 7)::text), md5(i::text), 'GET', '' from generate_series(1, ${LOG_ROWS}) i`,
      [],
      { lane: 'background', deadlineMs: 60_000 },
    )
    source = executableProgram({ ...CHAIN, DATABASE_URL: database.url })
    whole = join(source.directory, 'whole')
    await runJson(source, ['backup', '--to', whole])
  }, 120_000)
  afterAll(async () => {
    source.remove()
    await database.close()
  }, 120_000)

  const spawn = (of: Program, words: readonly string[]) =>
    Bun.spawn([...of.command, ...words], {
      cwd: of.directory,
      env: { ...of.env },
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'pipe',
    })
  const shell = (script: string, words: readonly string[]) =>
    Bun.spawn(['/bin/sh', '-c', script, ...source.command, ...words], {
      cwd: source.directory,
      env: { ...source.env },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })
  /** Locks a table, at which a backup waits until the returned function is called. */
  async function lockTable(name: string): Promise<() => Promise<void>> {
    const session = await openSession({ url: database.url, applicationName: 'holder', clock: systemClock })
    await session.run('begin', [])
    await session.run(`lock table ${name} in access exclusive mode`, [])
    return () => session.close()
  }
  const left = () => readdirSync(source.directory).filter((name) => name.startsWith('broken'))

  test('a backup through a pipe has the same content, and its report goes to standard error', async () => {
    const target = await emptyDatabase()
    const to = program(executableProgram, { DATABASE_URL: target.url })
    const writing = spawn(source, ['backup', '--to', '-', '--json'])
    const reading = Bun.spawn([...to.command, 'restore', '--from', '-', '--json'], {
      cwd: to.directory,
      env: { ...to.env },
      stdin: writing.stdout,
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const answers = Promise.all([new Response(writing.stderr).text(), new Response(reading.stdout).text()])
    expect([await writing.exited, await reading.exited]).toEqual([0, 0])
    const [said, restored] = (await answers).map((text) => JSON.parse(text))
    expect(said.rows.request_log).toBe(LOG_ROWS)
    expect(restored.rows).toEqual(said.rows)
    await target.drop()
  }, 120_000)

  test('kill -9 in the middle of a backup leaves no file under its name, and the next backup succeeds', async () => {
    const path = join(source.directory, 'broken')
    // It has written the log when it comes there.
    const unlock = await lockTable('webhook')
    const child = spawn(source, ['backup', '--to', path])
    await waitFor('the file to grow', () =>
      left().some((name) => statSync(join(source.directory, name)).size > 100_000),
    )
    child.kill('SIGKILL')
    await child.exited
    await unlock()
    expect(left()).toEqual([expect.stringMatching(/^broken\.unfinished-/)])
    expect((await runJson(source, ['backup', '--to', path])).rows.request_log).toBe(LOG_ROWS)
    await waitFor('the server to forget the one that was killed', async () => (await sessions(database.db)) === 0)
  }, 120_000)

  test('a stopped backup reports the stop and leaves no file', async () => {
    const path = join(source.directory, 'broken-off')
    // The rows of the log are not read before the signal has come.
    const unlock = await lockTable('request_log')
    const child = spawn(source, ['backup', '--to', path])
    await waitFor('the file', () => left().some((name) => name.startsWith('broken-off')))
    child.kill('SIGTERM')
    await unlock()
    expect(await child.exited).toBe(1)
    expect(await new Response(child.stderr).text()).toBe('walletscope: Stopped before the backup was complete\n')
    expect(left().filter((name) => name.startsWith('broken-off'))).toEqual([])
  }, 120_000)

  test('a full disk is reported in one line, status 1, and nothing is left on it', async () => {
    const path = join(source.directory, 'broken-full')
    const child = shell('ulimit -f 100; exec "$0" "$@"', ['backup', '--to', path])
    expect(await child.exited).toBe(1)
    expect(await new Response(child.stderr).text()).toBe(
      `walletscope: Cannot write "${path}": the file is too large for the file system\n`,
    )
    expect(left().filter((name) => name.startsWith('broken-full'))).toEqual([])
    const piped = shell('exec "$0" "$@" > /dev/full', ['backup', '--to', '-'])
    expect(await piped.exited).toBe(1)
    expect(await new Response(piped.stderr).text()).toBe(
      'walletscope: Cannot write the backup to standard output: the disk is full\n',
    )
  }, 120_000)

  test('a closed standard output is reported, status 1', async () => {
    const child = shell('"$0" "$@" | head -c 1000 > /dev/null', ['backup', '--to', '-'])
    await child.exited
    expect(await new Response(child.stderr).text()).toBe(
      'walletscope: Cannot write the backup to standard output: the reader closed it\n',
    )
  }, 120_000)

  test('a truncated file is refused before anything is created', async () => {
    const to = program(executableProgram)
    const cut = join(to.directory, '../cut')
    await Bun.write(cut, Bun.file(whole))
    truncateSync(cut, statSync(cut).size - 30)
    expect(await runCommand(to, ['restore', '--from', cut])).toEqual({
      status: 1,
      stdout: '',
      stderr: 'walletscope: Cannot read the backup: it is truncated\n',
    })
    expect(readdirSync(to.directory)).toEqual([])
    expect((await runCommand(to, ['restore', '--from', join(cut, 'x')])).stderr).toContain('there is no such file')
    expect(readdirSync(to.directory)).toEqual([])
  }, 120_000)

  test('a file that is a pipe is read once', async () => {
    const target = await emptyDatabase()
    const to = program(executableProgram, { DATABASE_URL: target.url })
    const child = Bun.spawn(
      ['/bin/bash', '-c', 'f=$1; shift; "$@" --from <(cat "$f")', 'bash', whole, ...to.command, 'restore'],
      {
        cwd: to.directory,
        env: { ...to.env, PATH: '/usr/bin:/bin' },
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
      },
    )
    // Whatever takes longer than five seconds reports itself.
    expect(await new Response(child.stderr).text()).toMatch(/^(?:Restored [\d,]+ rows of \w+ …\n)*$/)
    expect(await child.exited).toBe(0)
    await target.drop()
  }, 120_000)

  test('an error of the database is reported in one line, status 1', async () => {
    const target = await emptyDatabase()
    const db = openDatabase({ url: target.url, clock: systemClock, log: silentLog, max: 1 })
    await db.run('create view organization as select 1 as id limit 0', [])
    await db.close()
    const to = program(executableProgram, { DATABASE_URL: target.url })
    expect(await runCommand(to, ['restore', '--from', whole])).toEqual({
      status: 1,
      stdout: '',
      stderr:
        'walletscope: Cannot restore the backup: the database rejected a statement (relation "organization" already exists)\n',
    })
    await target.drop()
  }, 120_000)

  test('kill -9 in the middle of a restore: nothing serves, nothing is half restored, and a second restore works', async () => {
    const to = program(executableProgram)
    const child = spawn(to, ['restore', '--from', '-'])
    const bytes = await Bun.file(whole).bytes()
    child.stdin.write(bytes.subarray(0, bytes.length / 2))
    await child.stdin.flush()
    const dataDir = join(to.directory, 'data')
    const { db, url } = await openWhenRunning(dataDir)
    await waitFor('rows to be loaded', async () => (await sessions(db, `state = 'idle in transaction'`)) === 1)
    expect(url).not.toBe('')
    await db.close()
    child.kill('SIGKILL')
    await child.exited

    const refused = await runCommand(to, ['serve'], { PORT: '0' })
    expect(refused.status).toBe(1)
    expect(refused.stderr).toContain('a restore into it is running or did not finish; run "walletscope restore" again')
    expect(refused.stdout).not.toMatch(KEY)
    expect((await runCommand(to, ['org', 'list'])).status).toBe(1)

    expect((await runJson(to, ['restore', '--from', whole])).rows.request_log).toBe(LOG_ROWS)
    const service = await spawnService(to)
    expect((await service.stop()).status).toBe(0)
  }, 120_000)
})

/** Connects to the embedded server of a command that is just starting it. */
async function openWhenRunning(dataDir: string): Promise<{ readonly db: Database; readonly url: string }> {
  let running: Awaited<ReturnType<typeof findRunningEmbedded>>
  await waitFor(
    'the embedded server',
    async () => {
      running = await findRunningEmbedded(dataDir)
      return running !== undefined
    },
    120_000,
  )
  const { url = '', close = async () => {} } = running ?? {}
  const db = openDatabase({ url, clock: systemClock, log: silentLog, max: 1 })
  return { db: { run: db.run, close: () => db.close().then(close) }, url }
}

/** Backups and restores that this server runs. */
async function sessions(db: Database, condition = 'true'): Promise<number> {
  const rows = await db
    .run<{ sessions: number }>(
      `select count(*)::integer as sessions from pg_stat_activity
     where application_name in ('walletscope backup', 'walletscope restore') and ${condition}`,
      [],
    )
    .catch(() => [])
  return rows[0]?.sessions ?? -1
}
