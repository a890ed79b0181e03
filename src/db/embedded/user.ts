import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

/** A system user and the single group of its processes. */
export interface SystemUser {
  readonly uid: number
  readonly gid: number
}

/**
 * Runs PostgreSQL if this process is root, because PostgreSQL refuses to run as root. Not `nobody`, which other
 * programs share. Neither distributions nor systemd assign numbers between 60578 and 61183, and containers that map
 * only 65,536 users have them.
 */
const SERVER_USER: SystemUser = { uid: 60_873, gid: 60_873 }
/** Group of `initdb` while it runs as `nobody`; it keeps other processes of `nobody` out. */
const CREATOR_GID = 60_874
const NOBODY_UID = 65_534
const ID_MAX_MS = 5_000

/** True if this process is root and must not trust files of other users. */
export function isRoot(): boolean {
  return process.geteuid?.() === 0
}

/** Returns the user that PostgreSQL runs as; undefined: this process's user. */
export function serverUser(): SystemUser | undefined {
  return isRoot() ? SERVER_USER : undefined
}

/**
 * Returns the user that `initdb` runs as; undefined: this process's user. `initdb` requires a user with a name, which
 * `serverUser()` lacks; the cluster's owner is changed to that user afterwards.
 */
export async function initdbUser(): Promise<SystemUser | undefined> {
  if (!isRoot()) return undefined
  const nobody = (await passwdEntries()).find(({ name }) => name === 'nobody')
  return { uid: nobody?.uid ?? NOBODY_UID, gid: CREATOR_GID }
}

/**
 * Lists the names of the users that may open a session: root and this process's user. Throws if the latter has no name,
 * because PostgreSQL identifies it by name.
 */
export async function sessionUsers(): Promise<readonly string[]> {
  const { uid, name: ownName } = await readOwnUser()
  const root = (await findName(0)) ?? 'root'
  if (ownName === undefined) {
    throw new Error(
      `Cannot start the embedded database: uid ${uid} has no entry in /etc/passwd, which PostgreSQL needs; ` +
        'add one, run as another user, or set DATABASE_URL',
    )
  }
  return [...new Set([root, ownName])]
}

/**
 * Reads the user of this process; `name` is undefined if the system has none, as in a container. Not `userInfo()`,
 * because Bun takes it from the environment.
 */
export async function readOwnUser(): Promise<{ readonly uid: number; readonly name: string | undefined }> {
  const uid = process.geteuid?.() ?? 0
  return { uid, name: (await findName(uid)) ?? (await readOwnName()) }
}

async function findName(uid: number): Promise<string | undefined> {
  return (await passwdEntries()).find((entry) => entry.uid === uid)?.name
}

/** Asks `id`: users of macOS, and of directories such as LDAP, are not in /etc/passwd. */
async function readOwnName(): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('id', ['-un'], { timeout: ID_MAX_MS })
    return stdout.trim() || undefined
  } catch {
    return undefined
  }
}

/** Reads /etc/passwd. The first entry of a uid gives its name, as for the system. */
async function passwdEntries(): Promise<readonly { readonly name: string; readonly uid: number }[]> {
  const text = await readFile('/etc/passwd', 'utf8').catch(() => '')
  return text.split('\n').flatMap((line) => {
    const [name = '', , uid = ''] = line.split(':')
    // macOS writes -2 for 4294967294.
    return /^[^#+-]/.test(name) && /^-?\d+$/.test(uid) ? [{ name, uid: Number(uid) >>> 0 }] : []
  })
}
