import { lstat, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'

/** A file that is open for appending. */
interface AppendFile {
  append(text: string): Promise<void>
  /** Resolves once all that was appended is durable. */
  sync(): Promise<void>
  /** Sets the modification time, milliseconds since the epoch. */
  touch(ms: number): Promise<void>
  truncate(): Promise<void>
  /** Identifies the file, whatever its name is by now. */
  identify(): Promise<string>
  close(): Promise<void>
}

/** The disk of journals. Throws the system's errors, with `code`. */
export interface JournalDisk {
  /** Creates a directory and those above it, unless they exist. */
  makeDirectory(path: string): Promise<void>
  list(directory: string): Promise<readonly string[]>
  /** Creates a file. Throws EEXIST if the name is taken. */
  create(path: string): Promise<AppendFile>
  read(path: string): Promise<string>
  /** Throws ENOENT if the file is gone: only one of several processes can rename it. */
  rename(path: string, newPath: string): Promise<void>
  /** Removes a file, unless it is gone. */
  remove(path: string): Promise<void>
  /** Identifies the file that has this name. Throws ENOENT if none has. */
  identify(path: string): Promise<string>
  /** Returns a text that changes with every write and beat; undefined if it is no plain file or cannot be read. */
  readMark(path: string): Promise<string | undefined>
  /** Resolves once the directory's names are durable. */
  syncDirectory(path: string): Promise<void>
}

/** The machine's disk; its directories and files are readable by their owner only. */
export const systemDisk: JournalDisk = {
  async makeDirectory(path) {
    await mkdir(path, { recursive: true, mode: 0o700 })
  },
  list: (directory) => readdir(directory),
  async create(path) {
    const handle = await open(path, 'ax', 0o600)
    return {
      append: (text) => handle.appendFile(text),
      sync: () => handle.datasync(),
      touch: (ms) => handle.utimes(ms / 1_000, ms / 1_000),
      truncate: () => handle.truncate(0),
      identify: async () => toIdentity(await handle.stat()),
      close: () => handle.close(),
    }
  },
  read: (path) => readFile(path, 'utf8'),
  rename,
  remove: (path) => rm(path, { force: true }),
  identify: async (path) => toIdentity(await stat(path)),
  async readMark(path) {
    try {
      const stats = await lstat(path, { bigint: true })
      // Skips what is not a plain file: reading a pipe would never end.
      return stats.isFile() ? `${stats.ino} ${stats.size} ${stats.mtimeNs}` : undefined
    } catch {
      // Another process has claimed or removed the file meanwhile.
      return undefined
    }
  },
  async syncDirectory(path) {
    const handle = await open(path, 'r')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  },
}

function toIdentity({ dev, ino }: { readonly dev: number; readonly ino: number }): string {
  return `${dev} ${ino}`
}
