import { chmodSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../src/db/connection/pool.ts'
import type { Database } from '../../src/db/database.ts'
import { type EmbeddedDatabase, startEmbedded } from '../../src/db/embedded/embedded.ts'
import { migrate } from '../../src/db/migrate.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLog } from '../../src/lib/log.ts'
import { slowClock } from './test_clock.ts'

/** A database of one test file, migrated and empty. */
export interface TestDatabase {
  readonly db: Database
  readonly url: string
  close(): Promise<void>
}

/** A PostgreSQL of its own, for tests that kill, stop or freeze it. */
export interface TestServer {
  readonly url: string
  readonly dataDir: string
  /** Sends a signal to the postmaster and all its children; only to the postmaster for `postmaster`. */
  signal(signal: NodeJS.Signals, role?: 'postmaster'): void
  /** Ends the server; `start()` brings it back at the same address. */
  stop(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

const PREFIX = 'walletscope-test-'
/** In the data directory that others are copied from. */
const PROGRAMS = 'programs'
const ADMIN_DEADLINE_MS = 30_000
const IN_USE = '55006'
interface Shared {
  readonly url: string
  readonly admin: Database
  readonly template: string
  readonly close: (onStep: (step: string) => void) => Promise<void>
}

let shared: Promise<Shared> | undefined
let made = 0
let madeBefore: Promise<string> | undefined
/** The server, too, ends a statement that waits for another one's lock only when the machine is no reason. */
const GRACE_MS = 30_000
const closers = new Set<() => Promise<void>>()

/** A new database, copied from one that was migrated once, on the embedded server or on `TEST_DATABASE_URL`. */
export async function testDatabase(): Promise<TestDatabase> {
  const empty = await createDatabase('migrated')
  const db = openDatabase({ url: empty.url, clock: slowClock, log: silentLog, graceMs: GRACE_MS })
  const close = once(async () => {
    closers.delete(close)
    await db.close()
    await empty.drop()
  })
  closers.add(close)
  return { db, url: empty.url, close }
}

/** A new database without any table of ours. */
export async function emptyDatabase(): Promise<{ readonly url: string; drop(): Promise<void> }> {
  return createDatabase('empty')
}

/** Starts a throwaway server in a directory of its own. */
export async function startTestServer(): Promise<TestServer> {
  const dataDir = await dataDirectory()
  const options = testOptions(dataDir, await madeDirectory())
  let server: EmbeddedDatabase | undefined = await startEmbedded(options)
  const { url } = server
  const close = once(async () => {
    closers.delete(close)
    await server?.close()
    rmSync(dataDir, { recursive: true, force: true })
  })
  closers.add(close)
  return {
    url,
    dataDir,
    signal(signal, role) {
      for (const pid of serverPids(dataDir, role)) process.kill(pid, signal)
    },
    async stop() {
      await server?.close()
      server = undefined
    },
    async start() {
      server ??= await startEmbedded(options)
    },
    close,
  }
}

/** An empty directory that is removed at the end of the test process. */
export function temporaryDirectory(): string {
  sweep(tmpdir(), PREFIX)
  const path = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`))
  // As root the server runs as another user, who must be able to walk through.
  chmodSync(path, 0o711)
  process.once('exit', () => rmSync(path, { recursive: true, force: true }))
  return path
}

/** A data directory that holds a migrated database: copying one takes a tenth of what making it takes. */
export async function dataDirectory(): Promise<string> {
  const path = temporaryDirectory()
  await fillDataDirectory(path)
  return path
}

/** Copies a migrated database into an empty data directory; for an executable, the programs that it would unpack, too. */
export async function fillDataDirectory(path: string, { programs } = { programs: false }): Promise<void> {
  const made = await madeDirectory()
  copyInto(path, join(made, 'postgres'))
  if (!programs) return
  const [name = ''] = readdirSync(join(made, PROGRAMS))
  copyInto(join(path, 'postgres'), join(made, PROGRAMS, name))
}

function copyInto(path: string, from: string): void {
  const { success, stderr } = Bun.spawnSync(['cp', '-a', from, path])
  if (!success) throw new Error(`Cannot copy a data directory: ${stderr}`)
}

/** The data directory that others are copied from; the processes of a run share one. */
function madeDirectory(): Promise<string> {
  madeBefore ??= makeDataDirectory()
  return madeBefore
}

async function makeDataDirectory(): Promise<string> {
  const given = process.env['TEST_DATA_DIRECTORY']
  if (given) return given
  const path = temporaryDirectory()
  const server = await startEmbedded(testOptions(path, path))
  try {
    const db = openDatabase({ url: server.url, clock: slowClock, log: silentLog, max: 1 })
    await migrate(db).finally(() => db.close())
  } finally {
    await server.close()
  }
  return path
}

/**
 * Closes what test files left open, then the server that they share, unless this process is one of several that run
 * tests: it cannot know which file is its last. Tells its steps.
 */
export async function closeTestDatabases(onStep: (step: string) => void = () => {}): Promise<void> {
  onStep(`${closers.size} databases and servers of test files`)
  await Promise.all([...closers].map((close) => close()))
  if (process.env['BUN_TEST_WORKER_ID'] !== undefined) return
  const open = shared
  shared = undefined
  await (await open)?.close(onStep)
}

/** The server, the template and the data directory that all processes of a run share, for their environment. */
export async function openTestServer(): Promise<{
  readonly environment: Readonly<Record<string, string>>
  close(): Promise<void>
}> {
  const { url, template, close } = await openShared()
  return {
    environment: {
      TEST_DATABASE_URL: url,
      TEST_DATABASE_TEMPLATE: template,
      TEST_DATA_DIRECTORY: await madeDirectory(),
    },
    close: () => close(() => {}),
  }
}

/** Pids of a server: its postmaster, then the postmaster's children. */
export function serverPids(dataDir: string, role?: 'postmaster'): readonly number[] {
  const cluster = join(dataDir, 'postgres', 'cluster-18')
  const postmaster = Number.parseInt(readFileSync(join(cluster, 'postmaster.pid'), 'utf8'), 10)
  if (role === 'postmaster') return [postmaster]
  const { stdout } = Bun.spawnSync(['ps', '-A', '-o', 'pid=,ppid='])
  const children = stdout
    .toString()
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([, parent]) => parent === postmaster)
    .flatMap(([pid]) => (pid === undefined ? [] : [pid]))
  return [postmaster, ...children]
}

function testOptions(dataDir: string, made: string) {
  // Shared memory that is no file of the data directory stays for ever if a server is killed.
  const settings = { fsync: 'off', max_connections: '400', dynamic_shared_memory_type: 'mmap' }
  return { dataDir, clock: systemClock, log: silentLog, settings, programParent: join(made, PROGRAMS) }
}

async function createDatabase(kind: 'migrated' | 'empty'): Promise<{ url: string; drop(): Promise<void> }> {
  shared ??= openShared()
  const { url, admin, template } = await shared
  const name = `walletscope_test_${process.pid}_${made++}`
  await create(admin, `create database ${name} template ${kind === 'migrated' ? template : 'template0'}`)
  return {
    url: urlOfDatabase(url, name),
    async drop() {
      await admin.run(`drop database if exists ${name} with (force)`, [], {
        lane: 'background',
        deadlineMs: ADMIN_DEADLINE_MS,
      })
    },
  }
}

async function openShared(): Promise<Shared> {
  const given = process.env['TEST_DATABASE_URL']
  const dataDir = given ? undefined : await dataDirectory()
  const server = dataDir === undefined ? undefined : await startEmbedded(testOptions(dataDir, await madeDirectory()))
  const url = server?.url ?? given ?? ''
  const admin = openDatabase({ url, clock: slowClock, log: silentLog, max: 2 })
  const made = process.env['TEST_DATABASE_TEMPLATE']
  if (made) return { url, admin, template: made, close: () => admin.close() }
  const template = `walletscope_test_${process.pid}_template`
  await create(admin, `create database ${template} template template0`)
  const db = openDatabase({ url: urlOfDatabase(url, template), clock: slowClock, log: silentLog, max: 1 })
  await migrate(db).finally(() => db.close())
  return {
    url,
    admin,
    template,
    async close(onStep) {
      onStep('the template')
      await admin.run(`drop database if exists ${template} with (force)`, [], {
        lane: 'background',
        deadlineMs: ADMIN_DEADLINE_MS,
      })
      onStep('connections')
      await admin.close()
      onStep('the shared server')
      await server?.close()
      if (dataDir !== undefined) rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** A session that is just leaving still holds its database: so the statement is retried for some time. */
async function create(admin: Database, statement: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await admin.run(statement, [], { lane: 'background', deadlineMs: ADMIN_DEADLINE_MS })
      return
    } catch (error) {
      const inUse = error instanceof Error && 'code' in error && error.code === IN_USE
      if (!inUse || attempt === 50) throw error
      await Bun.sleep(20)
    }
  }
}

function urlOfDatabase(url: string, name: string): string {
  return url.replace(/^(postgres(?:ql)?:\/\/[^/?#]*)(?:\/[^?#]*)?/, `$1/${name}`)
}

/** Removes directories that processes made in `parent` whose pid follows `prefix`, if they were killed before they could. */
export function sweep(parent: string, prefix: string): void {
  for (const name of readdirSync(parent)) {
    const pid = name.startsWith(prefix) ? Number.parseInt(name.slice(prefix.length), 10) : 0
    const path = join(parent, name)
    if (pid > 0 && !isAlive(pid) && isOurs(path)) removeIfPossible(path)
  }
}

/** A mount of a killed test stays busy until it is unmounted, which must not fail the next tests. */
function removeIfPossible(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true })
  } catch {}
}

/** What another user's tests left is theirs to remove. */
function isOurs(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.uid === process.getuid?.()
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

function once(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  return () => {
    running ??= run()
    return running
  }
}
