import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

/** A user of the system and the one group that a process of it is in. */
export interface SystemUser {
  readonly uid: number
  readonly gid: number
}

/**
 * PostgreSQL refuses to run as root: then this user runs it. A number of its own, for `nobody` is shared with other
 * programs that were to have no rights. Between 60578 and 61183 neither distributions nor systemd give numbers to
 * anybody, and it exists in containers that map only 65,536 users.
 */
const SERVER_USER: SystemUser = { uid: 60_873, gid: 60_873 }
/** Group of `initdb` while it runs as `nobody`: what other processes of `nobody` may do to it is told by this group. */
const CREATOR_GID = 60_874
const NOBODY_UID = 65_534
const ID_MAX_MS = 5_000

/** True if this process may do everything, and must therefore not be led astray by files of others. */
export function isRoot(): boolean {
  return process.geteuid?.() === 0
}

/** The user that PostgreSQL runs as; undefined: the same as this process. */
export function serverUser(): SystemUser | undefined {
  return isRoot() ? SERVER_USER : undefined
}

/**
 * The user that `initdb` runs as, if it is not the user of this process. `initdb` demands a user with a name, which a
 * number of our own has not; what it made is handed over to `serverUser()` afterwards.
 */
export async function creatorUser(): Promise<SystemUser | undefined> {
  if (!isRoot()) return undefined
  const nobody = (await passwdEntries()).find(({ name }) => name === 'nobody')
  return { uid: nobody?.uid ?? NOBODY_UID, gid: CREATOR_GID }
}

/**
 * Names of the users who may open a session: root, and whoever runs this process. Throws if the latter has no name, for
 * PostgreSQL knows by its name who connects.
 */
export async function sessionUsers(): Promise<readonly string[]> {
  const uid = process.geteuid?.() ?? 0
  const entries = await passwdEntries()
  const nameOf = (wanted: number) => entries.find((entry) => entry.uid === wanted)?.name
  const root = nameOf(0) ?? 'root'
  // Not by `userInfo()`, which Bun takes from the environment.
  const own = nameOf(uid) ?? (await ownName())
  if (own === undefined) {
    throw new Error(
      `Cannot start the embedded database: uid ${uid} has no entry in /etc/passwd, which PostgreSQL needs; ` +
        'add one, run as another user, or set DATABASE_URL',
    )
  }
  return [...new Set([root, own])]
}

/** Users of directories such as LDAP, and those of macOS, are not in the file. */
async function ownName(): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('id', ['-un'], { timeout: ID_MAX_MS })
    return stdout.trim() || undefined
  } catch {
    return undefined
  }
}

/** The first entry of a number tells its name, as for the system itself. */
async function passwdEntries(): Promise<readonly { readonly name: string; readonly uid: number }[]> {
  const text = await readFile('/etc/passwd', 'utf8').catch(() => '')
  return text.split('\n').flatMap((line) => {
    const [name = '', , uid = ''] = line.split(':')
    // macOS writes -2 for 4294967294.
    return /^[^#+-]/.test(name) && /^-?\d+$/.test(uid) ? [{ name, uid: Number(uid) >>> 0 }] : []
  })
}
