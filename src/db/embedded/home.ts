import { chmod, chown, lstat, mkdir, mkdtemp, open, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** The user that PostgreSQL runs as; undefined: the same as this process. */
export type ServerUser = { readonly uid: number; readonly gid: number } | undefined

/** Where the embedded server keeps what it needs. */
export interface Home {
  /** `DATA_DIR/postgres` as this process sees it. */
  readonly path: string
  /** The same as the server sees it: through an open directory where its user cannot walk there. */
  readonly serverPath: string
  /** The open directory, to be the server's file descriptor 3; undefined where the server can walk there. */
  readonly fd: number | undefined
  /** Directory that the program files are unpacked in. */
  readonly programParent: string
  /** Directory of the socket, for this process and for the server. */
  readonly socketDir: string
  readonly serverSocketDir: string
  readonly user: ServerUser
  close(): Promise<void>
}

/** PostgreSQL refuses to run as root; this is `nobody` on every common system. */
const NOBODY = { uid: 65_534, gid: 65_534 }
/** Program files of a root process whose data directory other users cannot reach. */
const REACHABLE_PARENT = '/var/lib/walletscope'
/** Longest path of a Unix socket, without the final zero: 107 bytes on Linux, 103 on macOS. */
const SOCKET_PATH_MAX = process.platform === 'linux' ? 107 : 103
/** File in the home that names the socket's directory where that is elsewhere. */
export const SOCKET_DIRECTORY_NOTE = 'socket_directory'
/** Name of the server's socket in its directory. */
export const SOCKET_NAME = '.s.PGSQL.5432'

/** Makes `DATA_DIR/postgres`, closed to everybody but the server's user, and a directory for its socket. */
export async function openHome(dataDir: string): Promise<Home> {
  const user = process.getuid?.() === 0 ? NOBODY : undefined
  const path = join(await realpath(dataDir), 'postgres')
  await makePrivate(path, user)
  const closed = user === undefined ? undefined : await firstClosedParent(path, user)
  if (closed !== undefined && process.platform !== 'linux') {
    throw new Error(
      `Cannot use data directory "${dataDir}": "${closed}" is closed to uid ${NOBODY.uid}, which PostgreSQL runs as ` +
        'when walletscope is root; choose another DATA_DIR or run as an ordinary user',
    )
  }
  const handle = closed === undefined ? undefined : await open(path, 'r')
  const programParent = closed === undefined ? path : REACHABLE_PARENT
  await mkdir(programParent, { recursive: true, mode: 0o755 })
  const serverPath = handle === undefined ? path : '/proc/self/fd/3'
  const sockets = await openSocketDirectory({ path, serverPath, user })
  return {
    path,
    serverPath,
    fd: handle?.fd,
    programParent,
    ...sockets,
    user,
    async close() {
      await handle?.close()
      await rm(sockets.socketDir, { recursive: true, force: true })
    },
  }
}

/** Hands a file or directory to the server's user. */
async function giveTo(path: string, user: ServerUser): Promise<void> {
  if (user !== undefined) await chown(path, user.uid, user.gid)
}

async function makePrivate(path: string, user: ServerUser): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 })
  const { uid } = await lstat(path)
  const expected = user?.uid ?? process.getuid?.() ?? uid
  if (uid !== expected && user === undefined) {
    throw new Error(`Cannot use "${path}": it belongs to uid ${uid}, not to the user that runs walletscope`)
  }
  await giveTo(path, user)
  await chmod(path, 0o700)
}

async function firstClosedParent(path: string, user: { readonly uid: number }): Promise<string | undefined> {
  for (let parent = dirname(path); ; parent = dirname(parent)) {
    const { mode, uid } = await stat(parent)
    if ((mode & (uid === user.uid ? 0o100 : 0o001)) === 0) return parent
    if (parent === '/') return undefined
  }
}

/** In the home where its path is short enough, else in the system's directory for temporary files. */
async function openSocketDirectory(home: {
  readonly path: string
  readonly serverPath: string
  readonly user: ServerUser
}): Promise<Pick<Home, 'socketDir' | 'serverSocketDir'>> {
  const note = join(home.path, SOCKET_DIRECTORY_NOTE)
  // A process that was killed could not remove the directory it had made.
  const left = await readFile(note, 'utf8').catch(() => '')
  if (left.startsWith(join(tmpdir(), 'walletscope-'))) await rm(left, { recursive: true, force: true })
  const own = join(home.path, 'socket')
  if (Buffer.byteLength(join(own, SOCKET_NAME)) <= SOCKET_PATH_MAX) {
    await makePrivate(own, home.user)
    return { socketDir: own, serverSocketDir: join(home.serverPath, 'socket') }
  }
  const temporary = await mkdtemp(join(tmpdir(), 'walletscope-'))
  await giveTo(temporary, home.user)
  await writeFile(note, temporary)
  return { socketDir: temporary, serverSocketDir: temporary }
}
