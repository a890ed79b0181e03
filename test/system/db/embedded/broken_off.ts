import { expect, setDefaultTimeout, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { SERVER_ENVIRONMENT } from '../../../../src/db/embedded/cluster.ts'
import { unpackProgram } from '../../../../src/db/embedded/program.ts'
import { findServerProcesses } from '../../../../src/db/embedded/server_processes.ts'
import { serverUser } from '../../../../src/db/embedded/user.ts'
import { WATCHDOG_SH } from '../../../../src/db/embedded/watchdog.ts'
import { caseCount, IS_FULL } from '../../../support/cases.ts'
import { dataDirectory, temporaryDirectory } from '../../../support/database.ts'
import { embeddedFixture, runStatement } from '../../../support/embedded.ts'
import { settle } from '../../../support/test_clock.ts'
import { waitFor } from '../../../support/wait_for.ts'

// Unpacking and `initdb` take a busy machine long.
setDefaultTimeout(240_000)

const { programParent, closers, start } = embeddedFixture()

function startOwner(dataDir: string, ...programs: string[]) {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'owner_process.ts'), dataDir, ...programs], {
    stdout: 'pipe',
    stderr: 'pipe',
  })
  closers.push(() => child.kill('SIGKILL'))
  return child
}

function names(path: string): readonly string[] {
  return existsSync(path) ? readdirSync(path) : []
}

const HOME = 'postgres'
const CLUSTER = join(HOME, 'cluster-18')

interface Step {
  readonly step: string
  readonly reached: (dataDir: string) => boolean
  /** Unpacking takes longest, and only its own step is about it. @default 'shared' */
  readonly programs?: 'own'
}

/** What a first start makes, in this order, each the sign of a step that has begun or ended. */
const ALL_STEPS: readonly Step[] = [
  { step: 'the lock is there', reached: (dataDir) => existsSync(join(dataDir, 'owner.lock')) },
  { step: 'the home is there', reached: (dataDir) => existsSync(join(dataDir, HOME)) },
  {
    step: 'the programs are being unpacked',
    programs: 'own',
    reached: (dataDir) => names(join(dataDir, HOME)).some((name) => name.includes('.tmp-')),
  },
  {
    step: 'initdb is about to run',
    reached: (dataDir) => names(join(dataDir, HOME)).some((name) => name.startsWith('creating-')),
  },
  {
    step: 'initdb writes',
    reached: (dataDir) =>
      names(join(dataDir, HOME)).some(
        (name) => name.startsWith('creating-') && existsSync(join(dataDir, HOME, name, 'cluster-18', 'base')),
      ),
  },
  { step: 'the cluster has its name', reached: (dataDir) => existsSync(join(dataDir, CLUSTER)) },
  { step: 'the server starts', reached: (dataDir) => existsSync(join(dataDir, CLUSTER, 'postmaster.pid')) },
  { step: 'the server listens', reached: (dataDir) => existsSync(join(dataDir, HOME, 'socket', '.s.PGSQL.5432')) },
]
/** The ends of the three that take long: what each leaves is of a kind of its own. */
const LONG = ['the programs are being unpacked', 'initdb writes', 'the server starts']
const STEPS = ALL_STEPS.filter(({ step }) => IS_FULL || LONG.includes(step))

test.each(STEPS)('kill -9 in a first start when $step: the next start works and cleans up', async (given) => {
  const { reached, programs = 'shared' } = given
  const dataDir = temporaryDirectory()
  const owner = programs === 'own' ? startOwner(dataDir) : startOwner(dataDir, programParent)
  await waitFor('the step', () => reached(dataDir), 200_000)
  owner.kill('SIGKILL')
  await owner.exited
  const server = await start(dataDir, { programs })
  await runStatement(server.url, 'create table kept as select 7 as value')
  await server.close()
  const again = await start(dataDir, { programs })
  expect(await runStatement(again.url, 'select value from kept')).toEqual([{ value: 7 }])
  await again.close()
  expect(names(join(dataDir, HOME)).filter((name) => /^creating-|\.tmp/.test(name))).toEqual([])
})

test.each([
  { moment: 'at once', reached: () => true },
  {
    moment: 'when the server has ended',
    reached: (dataDir: string) => !existsSync(join(dataDir, CLUSTER, 'postmaster.pid')),
  },
])('kill -9 while it stops, $moment, loses nothing', async ({ reached }) => {
  const dataDir = await dataDirectory()
  const owner = startOwner(dataDir, programParent)
  const { value } = await owner.stdout.getReader().read()
  await runStatement(
    Buffer.from(value ?? [])
      .toString()
      .trim(),
    'create table kept as select 7 as value',
  )
  owner.kill('SIGTERM')
  await waitFor('the moment', () => reached(dataDir))
  owner.kill('SIGKILL')
  await owner.exited
  const server = await start(dataDir)
  expect(await runStatement(server.url, 'select value from kept')).toEqual([{ value: 7 }])
  await server.close()
})

/** Starts a server as a service did that is gone by now: the pipe of its watchdog has ended. */
async function startAbandoned(dataDir: string) {
  const program = await unpackProgram(programParent, { durable: false, onUnpack: () => undefined })
  const home = { path: join(dataDir, HOME), user: serverUser() }
  const words = [join(program, 'bin', 'postgres'), '-D', join(dataDir, CLUSTER), '-k', join(dataDir, HOME, 'socket')]
  const watchdog = spawn('/bin/sh', ['-c', WATCHDOG_SH, ...words, '-c', 'listen_addresses='], {
    cwd: '/',
    env: SERVER_ENVIRONMENT,
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore'],
    ...home.user,
  })
  const ended = new Promise((resolve) => watchdog.once('exit', resolve))
  closers.push(async () => {
    for (const pid of (await findServerProcesses(home)).pids) process.kill(pid, 'SIGKILL')
  })
  return { home, ended }
}

test('a server whose service ends before the server starts ends by itself', async () => {
  const dataDir = await dataDirectory()
  await (await start(dataDir)).close()
  const { home, ended } = await startAbandoned(dataDir)
  await ended
  expect((await findServerProcesses(home)).pids).toEqual([])
})

test('a service starts although a server of a killed service starts at the same moment', async () => {
  const dataDir = await dataDirectory()
  await (await start(dataDir)).close()
  for (let attempt = 0; attempt < caseCount(10, 3); attempt += 1) {
    const { ended } = await startAbandoned(dataDir)
    // The moments differ.
    await settle(attempt)
    await (await start(dataDir)).close()
    await ended
  }
})

test('of processes that start at once in a new data directory one serves, and the others name its pid', async () => {
  const dataDir = temporaryDirectory()
  const owners = Array.from({ length: 4 }, () => startOwner(dataDir, programParent))
  const outcomes = await Promise.all(
    owners.map(async (owner) => {
      const { value } = await owner.stdout.getReader().read()
      return {
        owner,
        url: Buffer.from(value ?? [])
          .toString()
          .trim(),
      }
    }),
  )
  const serving = outcomes.filter(({ url }) => url !== '')
  expect(serving).toHaveLength(1)
  for (const { owner, url } of outcomes) {
    if (url !== '') continue
    expect(await new Response(owner.stderr).text()).toMatch(/another walletscope \(pid (\d+|unknown)\) owns it/)
    expect(await owner.exited).toBe(1)
  }
  expect(await runStatement(serving[0]?.url ?? '', 'select 1 as one')).toEqual([{ one: 1 }])
})

const disk = temporaryDirectory()
const IS_MOUNTED =
  process.platform === 'linux' &&
  process.getuid?.() === 0 &&
  Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', 'size=1m,mode=755', 'tmpfs', disk]).success
if (IS_MOUNTED) closers.push(() => Bun.spawnSync(['umount', '-l', disk]))

// A disk of that size is a matter of root and of what the machine allows.
test.if(IS_MOUNTED)('a first start reports a full disk, and works once there is room', async () => {
  const dataDir = join(disk, 'data')
  const resize = (size: string) =>
    expect(Bun.spawnSync(['mount', '-o', `remount,size=${size}`, disk]).success).toBe(true)
  let refused = 0
  // Too small for the programs, then for the cluster, then for the write-ahead log.
  for (const size of ['1m', '60m', '75m', '90m']) {
    resize(size)
    const refusal: unknown = await start(dataDir, { programs: 'own' }).then(
      (server) => server.close(),
      (error) => error,
    )
    if (refusal === undefined) continue
    refused += 1
    expect(String(refusal)).toMatch(/disk is full \(ENOSPC\)|No space left on device/)
    expect(String(refusal).trim().split('\n')).toHaveLength(1)
    expect(names(join(dataDir, HOME)).filter((name) => /^creating-|\.tmp/.test(name))).toEqual([])
  }
  expect(refused).toBeGreaterThan(1)
  resize('500m')
  const server = await start(dataDir, { programs: 'own' })
  expect(await runStatement(server.url, 'select 1 as one')).toEqual([{ one: 1 }])
  await server.close()
})
