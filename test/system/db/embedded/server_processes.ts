import { expect, setDefaultTimeout, test } from 'bun:test'
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findServerProcesses, readPostmasterPid } from '../../../../src/db/embedded/server_processes.ts'
import { serverUser } from '../../../../src/db/embedded/user.ts'
import { dataDirectory, serverPids, temporaryDirectory } from '../../../support/database.ts'
import { embeddedFixture } from '../../../support/embedded.ts'

setDefaultTimeout(60_000)

const { closers, start } = embeddedFixture()

/** A program that has nothing to do with PostgreSQL, and would end at SIGQUIT. */
function bystander(cwd: string): ChildProcess & { readonly pid: number } {
  const child = spawn('/bin/sh', ['-c', 'sleep 600'], { cwd, stdio: 'ignore', detached: true })
  const { pid } = child
  if (pid === undefined) throw new Error('Cannot start a bystander')
  closers.push(() => process.kill(-pid, 'SIGKILL'))
  return Object.assign(child, { pid })
}

function formatPidFile(pid: number, cluster: string): string {
  return `${pid}\n${cluster}\n${Math.floor(Date.now() / 1_000)}\n5432\n\n\n`
}

test('another process in the cluster’s directory, even one that the pid file names, is neither waited for nor killed', async () => {
  const dataDir = await dataDirectory()
  const cluster = join(dataDir, 'postgres', 'cluster-18')
  await (await start(dataDir)).close()
  const other = bystander(cluster)
  writeFileSync(join(cluster, 'postmaster.pid'), formatPidFile(other.pid, cluster))
  const server = await start(dataDir)
  const pids = serverPids(dataDir)
  // A server that hangs is killed in the end, by its known pids.
  // The first of them starts and ends the others.
  for (const pid of pids.slice(0, 1)) process.kill(pid, 'SIGSTOP')
  // On other systems only the file names the server's process.
  if (process.platform === 'linux') writeFileSync(join(cluster, 'postmaster.pid'), formatPidFile(other.pid, cluster))
  await server.close()
  expect([other.exitCode, other.signalCode]).toEqual([null, null])
  expect((await findServerProcesses({ path: join(dataDir, 'postgres'), user: serverUser() })).pids).toEqual([])
  await (await start(dataDir)).close()
  expect([other.exitCode, other.signalCode]).toEqual([null, null])
})

test('findServerProcesses() lists only the processes of a server, and which one is its postmaster', async () => {
  const dataDir = temporaryDirectory()
  const home = { path: join(dataDir, 'postgres'), user: serverUser() }
  expect(await findServerProcesses(home)).toEqual({ postmaster: undefined, pids: [] })
  const server = await start(dataDir)
  const other = await start(await dataDirectory())
  bystander(join(home.path, 'cluster-18'))
  const pids = serverPids(dataDir)
  const living = await findServerProcesses(home)
  expect(living.postmaster).toBe(pids[0])
  if (process.platform === 'linux') expect([...living.pids].sort()).toEqual([...pids].sort())
  expect((await findServerProcesses({ ...home, user: { uid: 12_345, gid: 12_345 } })).pids).toEqual([])
  await Promise.all([server.close(), other.close()])
  expect((await findServerProcesses(home)).pids).toEqual([])
})

test('readPostmasterPid() trusts the file only for a PostgreSQL process of that user and that start time', async () => {
  const dataDir = await dataDirectory()
  const cluster = join(dataDir, 'postgres', 'cluster-18')
  const server = await start(dataDir)
  const uid = serverUser()?.uid ?? process.getuid?.() ?? 0
  const [postmaster] = serverPids(dataDir)
  const file = join(cluster, 'postmaster.pid')
  const text = readFileSync(file, 'utf8')
  expect(await readPostmasterPid(cluster, uid)).toBe(postmaster)
  expect(await readPostmasterPid(cluster, uid + 1)).toBeUndefined()

  const [pid, directory, started, ...rest] = text.split('\n')
  const lies = [
    [pid, directory, String(Number(started) - 3_600), ...rest].join('\n'),
    formatPidFile(bystander(cluster).pid, cluster),
    formatPidFile(1, cluster),
    '-1\n\n1\n',
    'x'.repeat(1_000_000),
    '',
  ]
  renameSync(file, `${file}.kept`)
  for (const lie of lies) {
    writeFileSync(file, lie)
    expect(await readPostmasterPid(cluster, uid)).toBeUndefined()
  }
  rmSync(file)
  symlinkSync(`${file}.kept`, file)
  expect(await readPostmasterPid(cluster, uid)).toBeUndefined()
  rmSync(file)
  // Opening it to read would wait for a writer.
  expect(Bun.spawnSync(['mkfifo', file]).success).toBe(true)
  expect(await readPostmasterPid(cluster, uid)).toBeUndefined()
  rmSync(file)
  renameSync(`${file}.kept`, file)
  await server.close()
})
