import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, opendir, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { getErrnoCode } from '../../lib/error.ts'
import { isRoot, type SystemUser } from './user.ts'

/** SQLite, which holds the lock, accepts paths of 512 bytes, including its own suffixes. */
const DATA_DIR_MAX = 400

/**
 * Creates `DATA_DIR` and returns its path without links. Root uses only paths that no other user can change: a user who
 * could replace a directory by a link would control what root creates, gives away and removes.
 */
export async function makeDataDirectory(dataDir: string): Promise<string> {
  if (Buffer.byteLength(dataDir) > DATA_DIR_MAX) {
    throw new Error(`Cannot use data directory "${dataDir}": expected a path of at most ${DATA_DIR_MAX} bytes`)
  }
  await checkPath(await nearestExisting(dataDir), dataDir)
  await mkdir(dataDir, { recursive: true, mode: 0o755 })
  const path = await realpath(dataDir)
  await checkOnlyRootWrites(path, dataDir)
  return path
}

/** As root, throws if another user can write to a directory or replace it. The message shows `displayPath`. */
export async function checkOnlyRootWrites(path: string, displayPath: string = path): Promise<void> {
  if (!isRoot()) return
  await checkPath(path, displayPath)
  const { mode } = await lstat(path)
  if ((mode & 0o022) !== 0) throw unsafePathError(displayPath, `"${path}" is writable by others (run chmod go-w)`)
}

/**
 * Creates a directory of this process, or of `owner`, and opens it. Throws if its name is taken, even by a link, or if
 * it belongs to a third user; `remedy` ends that message.
 */
export async function makeDirectory(
  path: string,
  options: { readonly mode: number; readonly owner?: SystemUser | undefined; readonly remedy?: string },
): Promise<FileHandle> {
  await mkdir(path, { mode: 0o700 }).catch((error) => {
    if (getErrnoCode(error) !== 'EEXIST') throw error
  })
  const handle = await openDirectory(path)
  try {
    const { uid } = await handle.stat()
    const ownUid = process.geteuid?.() ?? uid
    if (uid !== ownUid && uid !== options.owner?.uid)
      throw new Error(`${describeForeignOwner(path, { uid, own: ownUid })}${options.remedy ?? ''}`)
    if (options.owner !== undefined) await chownTo(handle, { path, owner: options.owner })
    await handle.chmod(options.mode)
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}

async function chownTo(
  handle: FileHandle,
  { path, owner }: { readonly path: string; readonly owner: SystemUser },
): Promise<void> {
  await handle.chown(owner.uid, owner.gid).catch((error) => {
    if (getErrnoCode(error) !== 'EINVAL') throw error
    throw new Error(
      `Cannot hand "${path}" to uid ${owner.uid}, which PostgreSQL runs as: this container has no such user; ` +
        'run walletscope as another user than root, or set DATABASE_URL',
      { cause: error },
    )
  })
}

/** Opens a directory. Throws if the path is a link. */
export async function openDirectory(path: string): Promise<FileHandle> {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants
  try {
    return await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  } catch (error) {
    if (!['ENOTDIR', 'ELOOP'].includes(getErrnoCode(error))) throw error
    throw new Error(`Cannot use "${path}": expected a directory, got a link or a file`, { cause: error })
  }
}

/**
 * Changes the owner of all files and directories of a tree that no process can change meanwhile. Throws on entries that
 * `initdb` never creates: links, special files, files with a second name, files of other users.
 */
export async function chownTree(
  tree: string,
  { from, to }: { readonly from: SystemUser; readonly to: SystemUser },
): Promise<void> {
  const handle = await openDirectory(tree)
  try {
    for await (const entry of await opendir(tree)) {
      const path = join(tree, entry.name)
      if (entry.isDirectory()) await chownTree(path, { from, to })
      else await handOverFile(path, { from, to })
    }
    const { uid } = await handle.stat()
    if (uid !== from.uid) throw new Error(`Cannot hand over "${tree}": it belongs to uid ${uid}`)
    await handle.chown(to.uid, to.gid)
  } finally {
    await handle.close()
  }
}

async function handOverFile(
  path: string,
  { from, to }: { readonly from: SystemUser; readonly to: SystemUser },
): Promise<void> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    const stat = await file.stat()
    if (!stat.isFile() || stat.nlink !== 1 || stat.uid !== from.uid) {
      throw new Error(`Cannot hand over "${path}": expected a plain file of uid ${from.uid}`)
    }
    await file.chown(to.uid, to.gid)
  } finally {
    await file.close()
  }
}

/** Finds the directory at `path`, or its nearest existing ancestor, without links. */
async function nearestExisting(path: string): Promise<string> {
  for (let directory = path; ; directory = dirname(directory)) {
    try {
      return await realpath(directory)
    } catch (error) {
      if (getErrnoCode(error) !== 'ENOENT' || directory === dirname(directory)) throw error
    }
  }
}

/** As root, checks every ancestor. A sticky directory such as /tmp is safe: others cannot replace root's entries. */
async function checkPath(path: string, displayPath: string): Promise<void> {
  if (!isRoot()) return
  for (let directory = path; ; directory = dirname(directory)) {
    const { uid, mode } = await lstat(directory)
    if (uid !== 0) throw unsafePathError(displayPath, `"${directory}" belongs to uid ${uid}`)
    if ((mode & 0o022) !== 0 && (mode & 0o1000) === 0) {
      throw unsafePathError(displayPath, `"${directory}" is writable by others (run chmod go-w)`)
    }
    if (directory === dirname(directory)) return
  }
}

function unsafePathError(displayPath: string, reason: string): Error {
  return new Error(
    `Cannot use "${displayPath}" as root: ${reason}, so another user could redirect root's writes; ` +
      'set DATA_DIR to a directory that only root can write, such as /var/lib/walletscope, or run as another user',
  )
}

function describeForeignOwner(path: string, { uid, own }: { readonly uid: number; readonly own: number }): string {
  return `Cannot use "${path}": it belongs to uid ${uid}, not to uid ${own}, which runs walletscope`
}
