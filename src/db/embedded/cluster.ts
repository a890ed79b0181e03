import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { open, readdir, readFile, readlink, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../lib/clock.ts'
import type { Home } from './home.ts'
import { POSTGRES_MAJOR } from './program.ts'

/** The one role of the embedded database. */
export const EMBEDDED_USER = 'walletscope'

/** Address of the embedded database behind the socket in a directory, for `openDatabase`. */
export function embeddedUrl(socketDir: string): string {
  return `postgres://${EMBEDDED_USER}@localhost/postgres?host=${encodeURIComponent(socketDir)}`
}

const CLUSTER = `cluster-${POSTGRES_MAJOR}`
const LEFTOVER_WAIT_MS = 10_000
const LEFTOVER_POLL_MS = 20
const INITDB_MAX_MS = 120_000

/** Path of the cluster below the home. */
export function clusterPath(home: string): string {
  return join(home, CLUSTER)
}

/** Environment of the server's programs: nothing of ours, our own environment holds secrets. */
export const SERVER_ENVIRONMENT: Readonly<Record<string, string>> = { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/bin:/bin' }

/**
 * Makes the cluster at the first start: `initdb` under another name, then a rename, so that a start which breaks off
 * leaves nothing half-made. Throws an `Error` with what `initdb` said.
 */
export async function createCluster(
  home: Home,
  options: { readonly program: string; readonly durable: boolean; readonly onCreate: () => void },
): Promise<void> {
  for (const name of await readdir(home.path)) {
    if (name.startsWith(`${CLUSTER}.tmp-`)) await rm(join(home.path, name), { recursive: true, force: true })
  }
  if (existsSync(clusterPath(home.path))) return
  if (!existsSync('/bin/sh')) {
    throw new Error('Cannot create the embedded database: initdb needs /bin/sh, which is missing; set DATABASE_URL')
  }
  options.onCreate()
  const name = `${CLUSTER}.tmp-${process.pid}`
  await initdb(home, { ...options, directory: join(home.serverPath, name) })
  await rename(join(home.path, name), clusterPath(home.path))
  const directory = await open(home.path, 'r')
  await directory.sync().finally(() => directory.close())
}

async function initdb(
  home: Home,
  options: { readonly program: string; readonly durable: boolean; readonly directory: string },
): Promise<void> {
  const child = spawn(
    join(options.program, 'bin', 'initdb'),
    [
      ...['-D', options.directory, '-U', EMBEDDED_USER, '-E', 'UTF8', '--locale=C', '--no-instructions'],
      ...['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--auth-local=trust', '--auth-host=reject'],
      ...(options.durable ? [] : ['--no-sync']),
    ],
    {
      cwd: '/',
      env: SERVER_ENVIRONMENT,
      stdio: ['ignore', 'ignore', 'pipe', ...(home.fd === undefined ? [] : [home.fd])],
      timeout: INITDB_MAX_MS,
      ...home.user,
    },
  )
  let said = ''
  child.stderr?.on('data', (chunk) => {
    said = `${said}${chunk}`.slice(-2_000)
  })
  const status = await new Promise<number | string | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve(code ?? signal))
  })
  if (status === 0) return
  if (said.includes('could not look up effective user ID')) {
    const uid = home.user?.uid ?? process.getuid?.()
    throw new Error(
      `Cannot create the embedded database: uid ${uid} has no entry in /etc/passwd, which initdb needs; ` +
        'add one, run as another user, or set DATABASE_URL',
    )
  }
  throw new Error(`Cannot create the embedded database: initdb failed (${status}): ${said.trim()}`)
}

/**
 * Clears what a killed server left: waits until its last process is gone, then removes its pid file, which would
 * otherwise keep a new one from starting where the old one is a zombie or its pid now belongs to somebody else.
 */
export async function clearLeftovers(home: Home, clock: Clock): Promise<void> {
  const giveUp = clock.monotonicMs() + LEFTOVER_WAIT_MS
  for (;;) {
    const [pid] = await livingServer(clusterPath(home.path))
    if (pid === undefined) break
    if (clock.monotonicMs() > giveUp) {
      throw new Error(`Cannot start the embedded database: an earlier server (pid ${pid}) still uses "${home.path}"`)
    }
    await new Promise((resolve) => setTimeout(resolve, LEFTOVER_POLL_MS))
  }
  await rm(join(clusterPath(home.path), 'postmaster.pid'), { force: true })
  for (const name of await readdir(home.socketDir)) await rm(join(home.socketDir, name), { force: true })
}

/**
 * Pids of the processes that still have the cluster open. Backends count: they outlive a killed postmaster for a
 * moment, and a frozen one does so for ever. Only Linux tells about them; elsewhere the postmaster alone is known.
 */
export async function livingServer(cluster: string): Promise<readonly number[]> {
  if (process.platform !== 'linux') return livingPostmaster(cluster)
  const pids: number[] = []
  for (const name of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(name)) continue
    const directory = await readlink(`/proc/${name}/cwd`).catch(() => undefined)
    if (directory === cluster && !(await isZombie(name))) pids.push(Number(name))
  }
  return pids
}

async function isZombie(pid: string): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const state = stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3)
  return state === '' || state === 'Z' || state === 'X'
}

async function livingPostmaster(cluster: string): Promise<readonly number[]> {
  const pid = Number.parseInt(await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => ''), 10)
  if (!(pid > 1)) return []
  try {
    process.kill(pid, 0)
    return [pid]
  } catch {
    return []
  }
}
