import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdir, mkdtemp, readdir, rename, rm, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../lib/clock.ts'
import { getErrnoCode } from '../../lib/error.ts'
import { chownTree, openDirectory } from './directory.ts'
import { CLUSTER, clusterPath, type Home } from './home.ts'
import { POSTGRES_MAJOR } from './program.ts'
import { findServerProcesses } from './server_processes.ts'
import { EMBEDDED_USER, SOCKET_NAME } from './socket.ts'
import { initdbUser, type SystemUser } from './user.ts'

const CREATING = 'creating-'
const LEFTOVER_WAIT_MS = 10_000
const LEFTOVER_POLL_MS = 20
const INITDB_MAX_MS = 120_000

/** Environment of the server's programs. Ours is not passed on, because it holds secrets. */
export const SERVER_ENVIRONMENT: Readonly<Record<string, string>> = { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/bin:/bin' }

/** True if a data directory holds a cluster of any version. Throws if this user may not read it. */
export async function hasCluster(dataDir: string): Promise<boolean> {
  return (await listClusters(dataDir)).length > 0
}

/**
 * Throws if a data directory holds a cluster of another version: after an upgrade the operator wants the old data, not
 * an empty database beside it.
 */
export async function checkOtherClusters(dataDir: string): Promise<void> {
  const other = (await listClusters(dataDir)).find((name) => name !== CLUSTER)
  if (other === undefined) return
  const path = join(dataDir, 'postgres', other)
  const major = /^cluster-(\d+)$/.exec(other)?.[1]
  if (major === undefined) {
    throw new Error(`Cannot start the embedded database: "${path}" is not data of this version; move it elsewhere`)
  }
  throw new Error(
    `Cannot start the embedded database: "${path}" holds data of PostgreSQL ${major}, this version runs ` +
      `${POSTGRES_MAJOR}: run "walletscope backup --to FILE" with the version that created it, move ` +
      `"${join(dataDir, 'postgres')}" away, then run "walletscope restore --from FILE" with this one`,
  )
}

async function listClusters(dataDir: string): Promise<readonly string[]> {
  try {
    return (await readdir(join(dataDir, 'postgres'))).filter((name) => name.startsWith('cluster-')).sort()
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(getErrnoCode(error))) return []
    throw error
  }
}

/** Options of `initdb`. */
interface InitdbOptions {
  readonly program: string
  readonly durable: boolean
  readonly creator: SystemUser | undefined
}

/**
 * Creates the cluster at the first start: `initdb` in a temporary directory, then a rename, so that an interrupted
 * start leaves no partial cluster. Throws an `Error` with the messages of `initdb`.
 */
export async function createCluster(
  home: Home,
  options: Omit<InitdbOptions, 'creator'> & { readonly onCreate: () => void },
): Promise<void> {
  for (const name of await readdir(home.path)) {
    // An `initdb` of a killed service may still write there; the directory then stays until the next start.
    if (name.startsWith(CREATING)) await rm(join(home.path, name), { recursive: true, force: true }).catch(() => {})
  }
  if (existsSync(clusterPath(home.path))) return checkOwner(home)
  if (!existsSync('/bin/sh')) {
    throw new Error('Cannot create the embedded database: initdb needs /bin/sh, which is missing; set DATABASE_URL')
  }
  options.onCreate()
  const creating = await mkdtemp(join(home.path, CREATING))
  try {
    await createClusterTree(creating, { ...options, home, creator: await initdbUser() })
    await rename(join(creating, CLUSTER), clusterPath(home.path))
  } finally {
    await rm(creating, { recursive: true, force: true })
  }
  const directory = await openDirectory(home.path)
  await directory.sync().finally(() => directory.close())
}

/**
 * Creates the cluster in `creating`, which only `creator` and root can enter. `creator` has a group of its own, so no
 * other process can change the tree while its ownership changes.
 */
async function createClusterTree(creating: string, options: InitdbOptions & { readonly home: Home }): Promise<void> {
  const { home, creator } = options
  const path = join(creating, CLUSTER)
  await mkdir(path, { mode: 0o700 })
  if (creator !== undefined) {
    await chown(creating, process.geteuid?.() ?? 0, creator.gid)
    await chmod(creating, 0o710)
    await chown(path, creator.uid, creator.gid)
  }
  const directory = await openDirectory(path)
  try {
    await initdb({ ...options, ...(home.fd === undefined ? { path } : { path: home.serverPath, fd: directory.fd }) })
  } finally {
    await directory.close()
  }
  if (creator !== undefined && home.user !== undefined) await chownTree(path, { from: creator, to: home.user })
}

async function initdb(options: InitdbOptions & { readonly path: string; readonly fd?: number }): Promise<void> {
  const child = spawn(
    join(options.program, 'bin', 'initdb'),
    [
      ...['-D', options.path, '-U', EMBEDDED_USER, '-E', 'UTF8', '--locale=C', '--no-instructions'],
      ...['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--auth-local=reject', '--auth-host=reject'],
      ...(options.durable ? [] : ['--no-sync']),
    ],
    {
      cwd: '/',
      env: SERVER_ENVIRONMENT,
      stdio: ['ignore', 'ignore', 'pipe', ...(options.fd === undefined ? [] : [options.fd])],
      timeout: INITDB_MAX_MS,
      ...options.creator,
    },
  )
  let stderr = ''
  child.stderr?.on('data', (chunk) => {
    stderr = `${stderr}${chunk}`.slice(-2_000)
  })
  const status = await new Promise<number | string | null>((resolve, reject) => {
    child.once('error', (error) => reject(toStartError(error, options.program)))
    child.once('close', (code, signal) => resolve(code ?? signal))
  })
  if (status === 0) return
  if (stderr.includes('could not look up effective user ID')) {
    const uid = options.creator?.uid ?? process.getuid?.()
    throw new Error(
      `Cannot create the embedded database: uid ${uid} has no entry in /etc/passwd, which initdb needs; ` +
        'add one, run as another user, or set DATABASE_URL',
    )
  }
  // In a small container it is this that is full, not the disk.
  if (stderr.includes('shared memory segment')) {
    throw new Error(
      'Cannot create the embedded database: /dev/shm is full or too small; give this container more, as docker run ' +
        '--shm-size=64m, or set DATABASE_URL',
    )
  }
  if (stderr.includes('No space left on device')) {
    throw new Error('Cannot create the embedded database: the disk is full (ENOSPC)')
  }
  throw new Error(`Cannot create the embedded database: initdb failed (${status}): ${stderr.trim()}`)
}

/** Names the file system: the system only says that access is denied. */
function toStartError(error: Error, program: string): Error {
  if (getErrnoCode(error) !== 'EACCES') return error
  return new Error(
    `Cannot create the embedded database: "${program}" is on a file system that runs no programs (noexec); ` +
      'choose another DATA_DIR, or set DATABASE_URL',
    { cause: error },
  )
}

async function checkOwner(home: Home): Promise<void> {
  const path = clusterPath(home.path)
  const directory = await openDirectory(path)
  const { uid } = await directory.stat().finally(() => directory.close())
  const { uid: expected, gid } = home.user ?? { uid: process.geteuid?.() ?? uid, gid: process.getegid?.() ?? 0 }
  if (uid === expected) return
  throw new Error(
    `Cannot use "${path}": it belongs to uid ${uid}, not to uid ${expected}, which PostgreSQL runs as here; ` +
      `run chown -hR ${expected}:${gid} on it if you trust it`,
  )
}

/**
 * Removes the files of a killed server: waits until its last process has ended, then removes its pid file and socket.
 * The pid file would keep a new server from starting if the old one is a zombie or its pid was reused. Throws
 * `AbortedError` if `signal` fires meanwhile.
 */
export async function removeStaleFiles(home: Home, clock: Clock, signal: AbortSignal): Promise<void> {
  const deadlineMs = clock.monotonicMs() + LEFTOVER_WAIT_MS
  for (;;) {
    const [pid] = (await findServerProcesses(home)).pids
    if (pid === undefined) break
    if (clock.monotonicMs() > deadlineMs) {
      throw new Error(`Cannot start the embedded database: an earlier server (pid ${pid}) still uses "${home.path}"`)
    }
    await clock.sleep(LEFTOVER_POLL_MS, signal)
  }
  const names = [SOCKET_NAME, `${SOCKET_NAME}.lock`].map((name) => join(home.socketDir, name))
  for (const path of [join(clusterPath(home.path), 'postmaster.pid'), ...names]) await unlinkIfPresent(path)
}

/** Removes a file or a link itself, never a directory; ignores a missing one. */
async function unlinkIfPresent(path: string): Promise<void> {
  await unlink(path).catch((error) => {
    if (getErrnoCode(error) !== 'ENOENT') throw error
  })
}
