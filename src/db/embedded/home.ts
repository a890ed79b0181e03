import { chmod, chown, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeDirectory } from './directory.ts'
import { POSTGRES_MAJOR } from './program.ts'
import { EMBEDDED_USER, resolveSocketDirectory } from './socket.ts'
import { type SystemUser, serverUser, sessionUsers } from './user.ts'

/**
 * Files of the embedded server. The directory and the files directly in it belong to this process. If this process is
 * root, PostgreSQL's user can write only to the cluster and the socket's directory, and root only removes known names
 * there.
 */
export interface Home {
  /** `DATA_DIR/postgres` as this process sees it, without links. */
  readonly path: string
  /** The directory's path for the server: on Linux the open directory, so that the path may be long. */
  readonly serverPath: string
  /** The open directory, for the server's file descriptor 3; undefined if the server uses the path. */
  readonly fd: number | undefined
  readonly programParent: string
  /** Directory of the socket, for this process and for the server. */
  readonly socketDir: string
  readonly serverSocketDir: string
  /** The user that PostgreSQL runs as; undefined: this process's user. */
  readonly user: SystemUser | undefined
  close(): Promise<void>
}

/** Directory for program files, if this process is root and other users cannot reach its data directory. */
const REACHABLE_PARENT = '/var/lib/walletscope'
/** Path of a process's file descriptor 3. */
const OPEN_HOME = '/proc/self/fd/3'

export const CLUSTER = `cluster-${POSTGRES_MAJOR}`

/** Returns the path of the cluster below the home. */
export function clusterPath(home: string): string {
  return join(home, CLUSTER)
}

/** Creates `DATA_DIR/postgres` and a directory for the socket. `dataDir` comes from `makeDataDirectory`. */
export async function openHome(dataDir: string): Promise<Home> {
  const user = serverUser()
  const path = join(dataDir, 'postgres')
  const isLinux = process.platform === 'linux'
  const users = await sessionUsers()
  const closedDirectory = user === undefined ? undefined : await findClosedDirectory(dataDir)
  if (closedDirectory !== undefined && !isLinux) {
    throw new Error(
      `Cannot use data directory "${dataDir}": "${closedDirectory}" is closed to uid ${user?.uid}, which PostgreSQL runs as ` +
        'when walletscope is root; choose another DATA_DIR or run as an ordinary user',
    )
  }
  // The server, which is not root, must traverse this directory to its own ones, and need not list it.
  const mode = user === undefined ? 0o700 : 0o711
  const directory = await makeDirectory(path, {
    mode,
    remedy: user === undefined ? '' : formatAdoptionHint(path, user),
  })
  try {
    const { uid } = await directory.stat()
    const { base, socketDir } = resolveSocketDirectory(path, { uid, fd: directory.fd })
    if (base !== path) await (await makeDirectory(base, { mode })).close()
    await (await makeDirectory(join(base, 'socket'), { mode: 0o700, owner: user })).close()
    await writeAccess(path, { users, reader: user })
    return {
      path,
      serverPath: isLinux ? OPEN_HOME : path,
      fd: isLinux ? directory.fd : undefined,
      programParent: closedDirectory === undefined ? path : REACHABLE_PARENT,
      socketDir,
      serverSocketDir: isLinux ? join(OPEN_HOME, 'socket') : socketDir,
      user,
      async close() {
        await directory.close()
        if (base === path) return
        // A killed server leaves its socket, so the directory stays until the next start.
        await rmdir(socketDir).catch(() => undefined)
        await rmdir(base).catch(() => undefined)
      },
    }
  } catch (error) {
    await directory.close()
    throw error
  }
}

/** Explains how to take over another user's home, because only the operator can decide whether to trust it. */
function formatAdoptionHint(path: string, { uid, gid }: SystemUser): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
  const chown = (owner: string, target: string) => `chown -hR ${owner} ${quoted(target)}`
  return (
    '; if you trust its content, stop the processes that use it and run: ' +
    `${chown('0:0', path)} && ${chown(`${uid}:${gid}`, clusterPath(path))}`
  )
}

/** Finds the nearest directory on the path that others cannot traverse. */
async function findClosedDirectory(path: string): Promise<string | undefined> {
  for (let directory = path; ; directory = dirname(directory)) {
    const { mode } = await stat(directory)
    if ((mode & 0o001) === 0) return directory
    if (directory === dirname(directory)) return undefined
  }
}

/** File of the access rules. It is outside the cluster, because PostgreSQL's user must not be able to write it. */
const RULES = 'access.conf'
const USERS = 'access_users.conf'
const MAP = 'walletscope'

/**
 * Writes the access rules: only these system users may connect, over the socket, identified by the kernel. PostgreSQL
 * ignores the rules in the cluster.
 */
async function writeAccess(
  home: string,
  { users, reader }: { readonly users: readonly string[]; readonly reader: SystemUser | undefined },
): Promise<void> {
  const rules = ['all', 'replication'].map((database) => `local ${database} ${EMBEDDED_USER} peer map=${MAP}\n`)
  await write(join(home, RULES), { text: rules.join(''), reader })
  await write(join(home, USERS), {
    text: users.map((user) => `${MAP} ${quoteUser(user)} ${EMBEDDED_USER}\n`).join(''),
    reader,
  })
}

/** Returns the settings that name the files of `writeAccess`, below the home's path as the server sees it. */
export function accessSettings(serverHome: string): Readonly<Record<string, string>> {
  return { hba_file: join(serverHome, RULES), ident_file: join(serverHome, USERS) }
}

async function write(
  path: string,
  { text, reader }: { readonly text: string; readonly reader: SystemUser | undefined },
): Promise<void> {
  const unfinished = `${path}.tmp`
  await rm(unfinished, { force: true })
  await writeFile(unfinished, text, { flag: 'wx', mode: 0o600 })
  if (reader !== undefined) {
    await chown(unfinished, process.geteuid?.() ?? 0, reader.gid)
    await chmod(unfinished, 0o640)
  }
  await rename(unfinished, path)
}

/** Quotes a user name. Rejects a leading slash, because PostgreSQL would read the name as a pattern. */
function quoteUser(name: string): string {
  if (/^\/|["\n\r]/.test(name)) throw new Error(`Cannot let the user "${name}" connect: the name is not usable`)
  return `"${name}"`
}
