import { randomBytes } from 'node:crypto'
import { link, lstat, open, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { getErrnoCode } from '../../lib/error.ts'

export type Append = (bytes: Uint8Array) => Promise<void>

/**
 * Writes a new file that only its owner may read. Until all of it is on the disk, its name has `.unfinished`; a failure
 * removes it, and no file is ever overwritten. Throws an `Error` that names what the system refused, and what `write`
 * throws.
 */
export async function writeNewFile<T>(path: string, write: (append: Append) => Promise<T>): Promise<T> {
  if (await lstat(path).catch(() => undefined)) throw alreadyExistsError(path)
  const directory = dirname(path)
  const unfinished = join(directory, `${basename(path)}.unfinished-${randomBytes(4).toString('hex')}`)
  try {
    const file = await open(unfinished, 'wx', 0o600)
    let result: T
    try {
      result = await write((bytes) => file.appendFile(bytes))
      await file.sync()
    } finally {
      await file.close()
    }
    await moveIntoPlace(unfinished, path)
    await syncDirectory(directory)
    return result
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => undefined)
    throw toWriteError(error, path)
  }
}

/** Links the file, because a link fails if the name is taken; file systems without links get a rename. */
async function moveIntoPlace(unfinished: string, path: string): Promise<void> {
  try {
    await link(unfinished, path)
  } catch (error) {
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(getErrnoCode(error))) throw error
    if (await lstat(path).catch(() => undefined)) throw alreadyExistsError(path)
    return rename(unfinished, path)
  }
  await rm(unfinished, { force: true })
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  await directory.sync().finally(() => directory.close())
}

const MEANINGS: Readonly<Record<string, string>> = {
  EEXIST: 'it already exists',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk is full',
  EFBIG: 'the file is too large for the file system',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'it is on a file system that cannot be written',
  ENOENT: 'its directory is missing',
  ENOTDIR: 'its directory is missing',
}

function toWriteError(error: unknown, path: string): unknown {
  const meaning = MEANINGS[getErrnoCode(error)]
  return meaning === undefined ? error : new Error(`Cannot write "${path}": ${meaning}`, { cause: error })
}

function alreadyExistsError(path: string): Error {
  return new Error(`Cannot write "${path}": it already exists`)
}
