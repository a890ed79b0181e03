import { rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { writeAccess } from './access.ts'
import { makeDirectory } from './directory.ts'
import { POSTGRES_MAJOR } from './program.ts'
import { socketPlace } from './socket.ts'
import { type SystemUser, serverUser, sessionUsers } from './user.ts'

/**
 * Where the embedded server keeps what it needs. The directory and the notes in it are this process's own. As root,
 * PostgreSQL's user can write to the cluster and to the directory of the socket alone, and root changes nothing inside
 * those two but removes names that it knows.
 */
export interface Home {
  /** `DATA_DIR/postgres` as this process sees it, without links. */
  readonly path: string
  /** The same as the server sees it: where the system has that, the open directory, however long the path is. */
  readonly serverPath: string
  /** The open directory, to be the server's file descriptor 3; undefined where the server takes the path. */
  readonly fd: number | undefined
  /** Directory that the program files are unpacked in. */
  readonly programParent: string
  /** Directory of the socket, for this process and for the server. */
  readonly socketDir: string
  readonly serverSocketDir: string
  /** The user that PostgreSQL runs as; undefined: the same as this process. */
  readonly user: SystemUser | undefined
  close(): Promise<void>
}

/** Program files of a root process whose data directory other users cannot reach. */
const REACHABLE_PARENT = '/var/lib/walletscope'
/** What a process has open as file descriptor 3. */
const OPEN_HOME = '/proc/self/fd/3'

/** Name of the cluster in the home. */
export const CLUSTER = `cluster-${POSTGRES_MAJOR}`

/** Path of the cluster below the home. */
export function clusterPath(home: string): string {
  return join(home, CLUSTER)
}

/** Makes `DATA_DIR/postgres` and a directory for the socket. `dataDir` comes from `makeDataDirectory`. */
export async function openHome(dataDir: string): Promise<Home> {
  const user = serverUser()
  const path = join(dataDir, 'postgres')
  const linux = process.platform === 'linux'
  const users = await sessionUsers()
  const closed = user === undefined ? undefined : await firstClosed(dataDir)
  if (closed !== undefined && !linux) {
    throw new Error(
      `Cannot use data directory "${dataDir}": "${closed}" is closed to uid ${user?.uid}, which PostgreSQL runs as ` +
        'when walletscope is root; choose another DATA_DIR or run as an ordinary user',
    )
  }
  // What has given up root walks through to what is its own, and can list nothing.
  const mode = user === undefined ? 0o700 : 0o711
  const directory = await makeDirectory(path, { mode, remedy: user === undefined ? '' : adoption(path, user) })
  try {
    const { uid } = await directory.stat()
    const { base, socketDir } = socketPlace(path, { uid, fd: directory.fd })
    if (base !== path) await (await makeDirectory(base, { mode })).close()
    await (await makeDirectory(join(base, 'socket'), { mode: 0o700, owner: user })).close()
    await writeAccess(path, { users, reader: user })
    return {
      path,
      serverPath: linux ? OPEN_HOME : path,
      fd: linux ? directory.fd : undefined,
      programParent: closed === undefined ? path : REACHABLE_PARENT,
      socketDir,
      serverSocketDir: linux ? join(OPEN_HOME, 'socket') : socketDir,
      user,
      async close() {
        await directory.close()
        if (base === path) return
        // Of a server that was killed its socket is left, and the directory with it, for the next start.
        await rmdir(socketDir).catch(() => undefined)
        await rmdir(base).catch(() => undefined)
      },
    }
  } catch (error) {
    await directory.close()
    throw error
  }
}

/** How to take over what another user's service left: what to trust is for the operator to say, not for root to guess. */
function adoption(path: string, { uid, gid }: SystemUser): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
  const chown = (owner: string, what: string) => `chown -hR ${owner} ${quoted(what)}`
  return (
    '; if you trust what is in it, stop what uses it and run: ' +
    `${chown('0:0', path)} && ${chown(`${uid}:${gid}`, clusterPath(path))}`
  )
}

/** The nearest directory on the way that others than its owner cannot walk through. */
async function firstClosed(path: string): Promise<string | undefined> {
  for (let at = path; ; at = dirname(at)) {
    const { mode } = await stat(at)
    if ((mode & 0o001) === 0) return at
    if (at === dirname(at)) return undefined
  }
}
