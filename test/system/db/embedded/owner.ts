import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { openDatabase } from '../../../../src/db/connection/pool.ts'
import type { Database } from '../../../../src/db/database.ts'
import { type EmbeddedDatabase, findRunningEmbedded, startEmbedded } from '../../../../src/db/embedded/embedded.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { stillRunning } from '../../../devnet/processes.ts'
import { IS_FULL } from '../../../support/cases.ts'
import { dataDirectory, fillDataDirectory, serverPids, temporaryDirectory } from '../../../support/database.ts'
import { waitFor } from '../../../support/wait_for.ts'

// `initdb` takes a busy machine long.
setDefaultTimeout(240_000)

const programParent = temporaryDirectory()
const closers: (() => Promise<unknown>)[] = []
afterAll(() => Promise.all(closers.map((close) => close())), 60_000)

async function start(dataDir: string, onProgress: (step: string) => void = () => {}): Promise<EmbeddedDatabase> {
  const server = await startEmbedded({ dataDir, clock: systemClock, log: silentLog, programParent, onProgress })
  closers.push(() => server.close())
  return server
}

async function withDatabase<T>(url: string, work: (db: Database) => Promise<T>): Promise<T> {
  const db = openDatabase({ url, clock: systemClock, log: silentLog, max: 1 })
  return work(db).finally(() => db.close())
}

/** Starts another process that owns `dataDir`; resolves when its database is ready. */
async function startOwner(
  dataDir: string,
): Promise<{ kill(): Promise<void>; readonly pid: number; readonly url: string }> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'owner_process.ts'), dataDir, programParent], {
    stdout: 'pipe',
    stderr: 'inherit',
  })
  closers.push(async () => child.kill('SIGKILL'))
  const { value } = await child.stdout.getReader().read()
  return {
    pid: child.pid,
    url: Buffer.from(value ?? [])
      .toString()
      .trim(),
    async kill() {
      child.kill('SIGKILL')
      await child.exited
    },
  }
}

function isRunning(pid: number): boolean {
  const { stdout } = Bun.spawnSync(['ps', '-o', 'stat=', '-p', String(pid)])
  const state = stdout.toString().trim()
  return state !== '' && !state.startsWith('Z')
}

/** True if the pid file names a postmaster that is not `first`. */
function isAnother(dataDir: string, first: number): boolean {
  try {
    return serverPids(dataDir, 'postmaster')[0] !== first
  } catch {
    return false
  }
}

test('startEmbedded() creates a database that keeps its data over a restart and syncs every commit', async () => {
  const dataDir = join(temporaryDirectory(), 'made', 'here')
  const steps: string[] = []
  const first = await start(dataDir, (step) => steps.push(step))
  expect(steps).toContainEqual(expect.stringMatching(/^Creating a database in /))
  await withDatabase(first.url, async (db) => {
    await db.run('create table kept as select 7 as value', [])
    const settings = [
      'fsync',
      'listen_addresses',
      'server_encoding',
      'data_checksums',
      'synchronous_commit',
      'TimeZone',
    ]
    expect(
      await db.run('select name, setting from pg_settings where name = any($1) order by name', [settings]),
    ).toEqual([
      { name: 'TimeZone', setting: 'UTC' },
      { name: 'data_checksums', setting: 'on' },
      { name: 'fsync', setting: 'on' },
      { name: 'listen_addresses', setting: '' },
      { name: 'server_encoding', setting: 'UTF8' },
      { name: 'synchronous_commit', setting: 'on' },
    ])
    expect(
      await db.run('select datlocprovider, datlocale from pg_database where datname = current_database()', []),
    ).toEqual([{ datlocprovider: 'b', datlocale: 'C.UTF-8' }])
  })
  const pids = serverPids(dataDir)
  await first.close()
  expect(pids.filter(isRunning)).toEqual([])

  const again: string[] = []
  const second = await start(dataDir, (step) => again.push(step))
  expect(again).toEqual([])
  expect(await withDatabase(second.url, (db) => db.run('select value from kept', []))).toEqual([{ value: 7 }])
  await second.close()
})

test('startEmbedded() lets only the owner of the server reach its files and socket', async () => {
  const dataDir = await dataDirectory()
  const server = await start(dataDir)
  const mode = (path: string) => (statSync(path).mode & 0o777).toString(8)
  // Root's server may only pass through it to its own directories.
  expect(mode(join(dataDir, 'postgres'))).toBe(process.getuid?.() === 0 ? '711' : '700')
  expect(mode(join(dataDir, 'postgres', 'cluster-18'))).toBe('700')
  expect(mode(server.socketDir)).toBe('700')
  await server.close()
})

test('startEmbedded() refuses a directory that another process owns, and names it', async () => {
  const dataDir = await dataDirectory()
  // It has collected its garbage by now.
  const owner = await startOwner(dataDir)
  await expect(start(dataDir)).rejects.toThrow(
    `Cannot use data directory "${dataDir}": another walletscope (pid ${owner.pid}) owns it`,
  )
  expect(await withDatabase(owner.url, (db) => db.run('select 1 as one', []))).toEqual([{ one: 1 }])
  await owner.kill()
})

test('startEmbedded() refuses a directory that this process owns already', async () => {
  const dataDir = await dataDirectory()
  const server = await start(dataDir)
  await expect(start(dataDir)).rejects.toThrow(`(pid ${process.pid}) owns it`)
  await server.close()
})

test('kill -9 of the owner leaves no server, loses no commit, and the next start works', async () => {
  const dataDir = await dataDirectory()
  const owner = await startOwner(dataDir)
  await withDatabase(owner.url, (db) => db.run('create table kept as select 7 as value', []))
  const pids = serverPids(dataDir)
  expect(pids.length).toBeGreaterThan(1)
  await owner.kill()
  const server = await start(dataDir)
  expect(pids.filter(isRunning)).toEqual([])
  expect(await withDatabase(server.url, (db) => db.run('select value from kept', []))).toEqual([{ value: 7 }])
  await server.close()
})

test('kill -9 of the owner ends its server, even without another start', async () => {
  const dataDir = await dataDirectory()
  const owner = await startOwner(dataDir)
  const pids = serverPids(dataDir)
  expect(pids.length).toBeGreaterThan(1)
  await owner.kill()
  await waitFor('every process of the server to end', () => !pids.some(isRunning))
})

test('a server that is killed is started again, and keeps what was committed', async () => {
  const dataDir = await dataDirectory()
  const server = await start(dataDir)
  await withDatabase(server.url, (db) => db.run('create table kept as select 7 as value', []))
  for (let count = 0; count < 2; count++) {
    const [postmaster = 0] = serverPids(dataDir, 'postmaster')
    process.kill(postmaster, 'SIGKILL')
    await waitFor('the server to end', () => !isRunning(postmaster))
    let rows: unknown
    await withDatabase(server.url, async (db) => {
      await waitFor('an answer', async () => {
        rows = await db.run('select value from kept', []).catch(() => undefined)
        return rows !== undefined
      })
    })
    expect(rows).toEqual([{ value: 7 }])
  }
  await server.close()
})

test('close() ends a server that hangs', async () => {
  const dataDir = await dataDirectory()
  const server = await start(dataDir)
  await withDatabase(server.url, async (db) => {
    await db.run('select 1', [])
    // A process that PostgreSQL began for a moment may be gone by now.
    const pids = serverPids(dataDir).filter(isRunning)
    for (const pid of pids) process.kill(pid, 'SIGSTOP')
    await server.close()
    // The system may list one for a moment after it was killed.
    expect(await stillRunning(pids, 2_000)).toEqual([])
  })
  await (await start(dataDir)).close()
})

test('close() does not wait for a program that a session began and that outlives the server', async () => {
  const server = await start(await dataDirectory())
  const pid = await withDatabase(server.url, async (db) => {
    await db.run('create table begun (pid integer)', [])
    // It inherits the server's messages, as every program of a session does.
    await db.run(`copy begun from program '(trap "" HUP INT QUIT TERM; exec sleep 60) >/dev/null & echo $!'`, [])
    const [row] = await db.run<{ pid: number }>('select pid from begun', [])
    return row?.pid ?? 0
  })
  try {
    await server.close()
    expect(isRunning(pid)).toBe(true)
  } finally {
    process.kill(pid, 'SIGKILL')
  }
})

test('close() ends a restarting server that never becomes ready', async () => {
  const dataDir = await dataDirectory()
  const server = await start(dataDir)
  await withDatabase(server.url, (db) => db.run('alter system set pre_auth_delay = 60', []))
  const [first = 0] = serverPids(dataDir, 'postmaster')
  process.kill(first, 'SIGKILL')
  await waitFor('another server to be started', () => isAnother(dataDir, first))
  const [second = 0] = serverPids(dataDir, 'postmaster')
  await server.close()
  expect(isRunning(second)).toBe(false)
})

test('startEmbedded() starts despite a pid file whose pid belongs to another process now', async () => {
  const dataDir = await dataDirectory()
  await (await start(dataDir)).close()
  const pidFile = join(dataDir, 'postgres', 'cluster-18', 'postmaster.pid')
  writeFileSync(pidFile, `${process.pid}\n${join(dataDir, 'postgres', 'cluster-18')}\n1700000000\n5432\n\n\n`)
  const server = await start(dataDir)
  expect(await withDatabase(server.url, (db) => db.run('select 1 as one', []))).toEqual([{ one: 1 }])
  await server.close()
})

test('startEmbedded() starts over if an earlier first start was interrupted', async () => {
  const dataDir = temporaryDirectory()
  const home = join(dataDir, 'postgres')
  mkdirSync(join(home, 'creating-abcdef', 'cluster-18'), { recursive: true })
  writeFileSync(join(home, 'creating-abcdef', 'cluster-18', 'PG_VERSION'), '18\n')
  const server = await start(dataDir)
  await server.close()
  expect(readdirSync(home).filter((name) => name.startsWith('creating-'))).toEqual([])
})

test('startEmbedded() releases the directory when it fails, and throws PostgreSQL’s messages', async () => {
  const dataDir = await dataDirectory()
  await (await start(dataDir)).close()
  const version = join(dataDir, 'postgres', 'cluster-18', 'PG_VERSION')
  const kept = readFileSync(version)
  rmSync(version)
  await expect(start(dataDir)).rejects.toThrow('not a valid data directory')
  writeFileSync(version, kept)
  chmodSync(version, 0o644)
  await (await start(dataDir)).close()
})

test.each([
  ...(IS_FULL ? [{ what: 'is too long for a socket', name: 'long'.repeat(30) }] : []),
  { what: 'is nearly as long as it may be', name: 'long'.repeat(60) },
  { what: 'holds spaces and what means something elsewhere', name: ` it's  "quoted", 5%: $HOME;\\ é ` },
])('startEmbedded() works if the path $what, and other processes find it', async ({ name }) => {
  const dataDir = join(temporaryDirectory(), name)
  const server = await start(dataDir)
  expect(Buffer.byteLength(join(server.socketDir, '.s.PGSQL.5432'))).toBeLessThan(108)
  expect(await withDatabase(server.url, (db) => db.run('select 1 as one', []))).toEqual([{ one: 1 }])
  const running = await findRunningEmbedded(dataDir)
  expect(await withDatabase(running?.url ?? '', (db) => db.run('select 2 as two', []))).toEqual([{ two: 2 }])
  await running?.close()
  await server.close()
  expect(existsSync(server.socketDir)).toBe(server.socketDir.startsWith(dataDir))
  expect(await findRunningEmbedded(dataDir)).toBeUndefined()
})

test('startEmbedded() refuses a path that is too long for the lock, and creates nothing', async () => {
  const parent = temporaryDirectory()
  const dataDir = join(parent, 'x'.repeat(250), 'x'.repeat(250))
  await expect(start(dataDir)).rejects.toThrow(
    `Cannot use data directory "${dataDir}": expected a path of at most 400 bytes`,
  )
  expect(readdirSync(parent)).toEqual([])
})

test('a data directory may be reached through links, by each process through others', async () => {
  const dataDir = await dataDirectory()
  const link = join(temporaryDirectory(), 'link')
  symlinkSync(dataDir, link)
  const server = await start(link)
  const running = await findRunningEmbedded(dataDir)
  expect(await withDatabase(running?.url ?? '', (db) => db.run('select 1 as one', []))).toEqual([{ one: 1 }])
  await running?.close()
  await expect(start(dataDir)).rejects.toThrow(`(pid ${process.pid}) owns it`)
  await server.close()
})

test.each([
  {
    name: 'cluster-17',
    says:
      'holds data of PostgreSQL 17, this version runs 18: run "walletscope backup --to FILE" with the version that ' +
      'created it, move "HOME" away, then run "walletscope restore --from FILE" with this one',
  },
  { name: 'cluster-19', says: 'holds data of PostgreSQL 19, this version runs 18: ' },
  { name: 'cluster-18.old', says: 'is not data of this version; move it elsewhere' },
])('startEmbedded() makes no empty database beside $name, and says how to move', async ({ name, says }) => {
  const dataDir = temporaryDirectory()
  const other = join(dataDir, 'postgres', name)
  mkdirSync(other, { recursive: true })
  const told = says.replace('HOME', join(dataDir, 'postgres'))
  const message = `Cannot start the embedded database: "${other}" ${told}`
  await expect(start(dataDir)).rejects.toThrow(message)
  expect(readdirSync(join(dataDir, 'postgres'))).toEqual([name])
  rmdirSync(other)
  await fillDataDirectory(dataDir)
  await (await start(dataDir)).close()
  // Nor does its own data make it overlook the other.
  mkdirSync(other)
  await expect(start(dataDir)).rejects.toThrow(message)
})

test('startEmbedded() works as root in a directory that is closed to others', async () => {
  const closed = join(temporaryDirectory(), 'closed')
  mkdirSync(closed, { mode: 0o700 })
  const server = await start(join(closed, 'data'))
  expect(await withDatabase(server.url, (db) => db.run('select 1 as one', []))).toEqual([{ one: 1 }])
  await server.close()
  expect(statSync(closed).mode & 0o777).toBe(0o700)
})
