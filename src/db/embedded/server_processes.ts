import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { open, readdir, readFile, readlink, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { clusterPath, type Home } from './home.ts'

interface ServerProcesses {
  /** The process that starts and ends the others; undefined if it does not run. */
  readonly postmaster: number | undefined
  /** The process that started the postmaster; undefined if unknown. */
  readonly parent?: number | undefined
  readonly pids: readonly number[]
}

const PROGRAM = 'postgres'
const PID_FILE_MAX = 1_000
const PS_MAX_MS = 5_000
/** The postmaster records its start later than the system does, much later on a busy machine. */
const START_TOLERANCE_SEC = 60

/**
 * Finds the processes that run PostgreSQL on a home's cluster as the home's user. Backends count: they outlive a killed
 * postmaster for a moment, frozen ones until they are killed. Only Linux can list them; elsewhere only the postmaster
 * is found. Other processes in the directory, or with a former pid of the server, do not count.
 */
export async function findServerProcesses(home: Pick<Home, 'path' | 'user'>): Promise<ServerProcesses> {
  const cluster = clusterPath(home.path)
  const uid = home.user?.uid ?? process.geteuid?.() ?? 0
  if (process.platform === 'linux') return readProcesses(cluster, uid)
  const postmaster = await readPostmasterPid(cluster, uid)
  return { postmaster, pids: postmaster === undefined ? [] : [postmaster] }
}

/** Finds the processes in /proc alone, because the pid file is not trusted. */
async function readProcesses(cluster: string, uid: number): Promise<ServerProcesses> {
  const clusterStat = await stat(cluster).catch(() => undefined)
  if (clusterStat === undefined) return { postmaster: undefined, pids: [] }
  const processes: { readonly pid: number; readonly parent: number }[] = []
  for (const name of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(name)) continue
    const directory = await stat(`/proc/${name}/cwd`).catch(() => undefined)
    if (directory === undefined || directory.ino !== clusterStat.ino || directory.dev !== clusterStat.dev) continue
    if (!(await executesPostgres(name))) continue
    const parent = await readParentPid(name, uid)
    if (parent !== undefined) processes.push({ pid: Number(name), parent })
  }
  const pids = processes.map(({ pid }) => pid)
  const first = processes.find(({ parent }) => !pids.includes(parent))
  return { postmaster: first?.pid, parent: first?.parent, pids }
}

async function executesPostgres(pid: string): Promise<boolean> {
  const executed = await readlink(`/proc/${pid}/exe`).catch(() => '')
  // An upgrade may have removed the program of a running server.
  return basename(executed.replace(/ \(deleted\)$/, '')) === PROGRAM
}

/** Reads the parent of a running process whose only user is `uid`. */
async function readParentPid(pid: string, uid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const getField = (name: string) => new RegExp(`^${name}:\\s+(.*)$`, 'm').exec(status)?.[1] ?? ''
  const users = getField('Uid').split('\t')
  if (/^[ZX]/.test(getField('State')) || users.length !== 4 || users.some((each) => each !== String(uid)))
    return undefined
  return Number(getField('PPid'))
}

/**
 * Reads the postmaster's pid from its pid file, if that process runs, executes PostgreSQL as user `uid` and started at
 * the recorded time. Needs `ps`.
 */
export async function readPostmasterPid(cluster: string, uid: number): Promise<number | undefined> {
  const [pid = '', , startedSec = ''] = (await readSmallFile(join(cluster, 'postmaster.pid'))).split('\n')
  if (!/^[1-9]\d{0,9}$/.test(pid) || !/^\d{1,12}$/.test(startedSec)) return undefined
  const fields = ['uid=', 'lstart=', 'comm='].flatMap((field) => ['-o', field])
  const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }
  const { stdout } = await promisify(execFile)('ps', [...fields, '-p', pid], { env, timeout: PS_MAX_MS }).catch(() => ({
    stdout: '',
  }))
  // `  501 Fri Nov  7 09:05:01 2025 /path/bin/postgres`
  const [, owner, started = '', command = ''] = /^\s*(\d+)\s+(\w{3} .{15} \d{4})\s+(.*\S)\s*$/.exec(stdout) ?? []
  const differenceSec = Number(startedSec) - Date.parse(`${started} UTC`) / 1_000
  const isMatch =
    Number(owner) === uid && basename(command) === PROGRAM && Math.abs(differenceSec) <= START_TOLERANCE_SEC
  return isMatch ? Number(pid) : undefined
}

/** Reads a small file in another user's directory, without following a link or blocking on a pipe. */
async function readSmallFile(path: string): Promise<string> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => undefined)
  try {
    if (file === undefined || !(await file.stat()).isFile()) return ''
    const { buffer, bytesRead } = await file.read(Buffer.alloc(PID_FILE_MAX), 0, PID_FILE_MAX, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file?.close()
  }
}
