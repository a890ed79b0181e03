import { rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { writeAccess } from './access.ts'
import { makeDirectory } from './directory.ts'
import { POSTGRES_MAJOR } from './program.ts'
import { resolveSocketDirectory } from './socket.ts'
import { type SystemUser, serverUser, sessionUsers } from './user.ts'

/**
 * Files of the embedded server. The directory and the files directly in it belong to this process. If this process is
 * root, PostgreSQL's user can write only to the cluster and the socket's directory, and root only removes known names
 * there.
 */
export interface Home {
  /** `DATA_DIR/postgres` as this process sees it, without links. */
  readonly path: string
  /** The same as the server sees it: on Linux the open directory, so that the path may be long. */
  readonly serverPath: string
  /** The open directory, for the server's file descriptor 3; undefined if the server takes the path. */
  readonly fd: number | undefined
  readonly programParent: string
  /** Directory of the socket, for this process and for the server. */
  readonly socketDir: string
  readonly serverSocketDir: string
  /** The user that PostgreSQL runs as; undefined: the same as this process. */
  readonly user: SystemUser | undefined
  close(): Promise<void>
}

/** For program files, if this process is root and other users cannot reach its data directory. */
const REACHABLE_PARENT = '/var/lib/walletscope'
/** Path of whatever a process has open as file descriptor 3. */
const OPEN_HOME = '/proc/self/fd/3'

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
  // The server, which is not root, must pass through to its own directories, and needs not list this one.
  const mode = user === undefined ? 0o700 : 0o711
  const directory = await makeDirectory(path, { mode, remedy: user === undefined ? '' : adoption(path, user) })
  try {
    const { uid } = await directory.stat()
    const { base, socketDir } = resolveSocketDirectory(path, { uid, fd: directory.fd })
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
        // A killed server leaves its socket; then the directory stays until the next start.
        await rmdir(socketDir).catch(() => undefined)
        await rmdir(base).catch(() => undefined)
      },
    }
  } catch (error) {
    await directory.close()
    throw error
  }
}

/** How to take over a home of another user: only the operator can tell whether to trust it. */
function adoption(path: string, { uid, gid }: SystemUser): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
  const chown = (owner: string, what: string) => `chown -hR ${owner} ${quoted(what)}`
  return (
    '; if you trust what is in it, stop what uses it and run: ' +
    `${chown('0:0', path)} && ${chown(`${uid}:${gid}`, clusterPath(path))}`
  )
}

/** The nearest directory on the path that others cannot pass through. */
async function firstClosed(path: string): Promise<string | undefined> {
  for (let at = path; ; at = dirname(at)) {
    const { mode } = await stat(at)
    if ((mode & 0o001) === 0) return at
    if (at === dirname(at)) return undefined
  }
}
