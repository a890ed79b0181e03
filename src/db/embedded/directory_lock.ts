import { constants } from 'node:fs'
import { chmod, lstat, open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { getErrnoCode } from '../../lib/error.ts'

/** An exclusive lock on a data directory. */
export interface DirectoryLock {
  release(): void
}

/** Held locks: without a reference, the garbage collector would release a lock. */
const heldLocks = new Set<object>()

/**
 * Locks the data directory for this process until `release()` or the process's end: an operating-system lock on
 * `owner.lock`, held through SQLite because neither Bun nor Node offers such locks directly. Throws if another process
 * holds it; the message shows `displayPath`.
 */
export async function lockDirectory(
  dataDir: string,
  { displayPath = dataDir }: { readonly displayPath?: string } = {},
): Promise<DirectoryLock> {
  const lockFile = join(dataDir, 'owner.lock')
  const pidFile = join(dataDir, 'owner.pid')
  await makeLockFile(lockFile)
  const { Database } = await import('bun:sqlite')
  const lock = new Database(lockFile)
  try {
    lock.run('begin exclusive')
  } catch (error) {
    lock.close()
    if (getErrnoCode(error) !== 'SQLITE_BUSY') throw error
    const pid = (await readFile(pidFile, 'utf8').catch(() => '')).trim()
    throw new Error(`Cannot use data directory "${displayPath}": another walletscope (pid ${pid || 'unknown'}) owns it`)
  }
  heldLocks.add(lock)
  const release = () => {
    heldLocks.delete(lock)
    lock.close()
  }
  try {
    await writePid(pidFile)
  } catch (error) {
    release()
    throw error
  }
  return { release }
}

/** Creates the lock file for its owner alone: a user who can open it can lock it and keep the service from starting. */
async function makeLockFile(path: string): Promise<void> {
  try {
    await (await open(path, 'wx', 0o600)).close()
  } catch (error) {
    if (getErrnoCode(error) !== 'EEXIST') throw error
    // Do not open it: this process may hold the lock, and closing any descriptor of a file releases its locks.
    if (!(await lstat(path)).isFile()) throw new Error(`Cannot use "${path}": expected a plain file`, { cause: error })
    await chmod(path, 0o600)
  }
}

/** Writes the pid, never through a link. */
async function writePid(path: string): Promise<void> {
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants
  const file = await open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o644)
  try {
    await file.write(`${process.pid}\n`)
  } finally {
    await file.close()
  }
}
