import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../lib/clock.ts'
import { isJournalName } from './journal_file.ts'

interface FileState {
  /** Inode, size and modification time: changes with every beat and every write. */
  readonly mark: string
  readonly sinceMs: number
}

/**
 * Creates a watch of a directory. Each call returns the paths of the ledger's files that have not changed for a lease,
 * except `ownPath`. Only changes count, timed by this process's clock: process ids are ambiguous across containers, and
 * clocks of hosts differ. A live process that was stopped for a while may be taken for dead; that is harmless, see
 * `JournalFile.append`.
 */
export function createJournalWatch(options: {
  readonly directory: string
  readonly ledger: string
  readonly clock: Clock
  readonly leaseMs: number
}) {
  const { directory, ledger, clock, leaseMs } = options
  let statesByPath = new Map<string, FileState>()

  return async (ownPath: string | undefined): Promise<readonly string[]> => {
    const nextStates = new Map<string, FileState>()
    const abandoned: string[] = []
    for (const name of await readdir(directory)) {
      const path = join(directory, name)
      if (!isJournalName(name, `${ledger}-`) || path === ownPath) continue
      const mark = await readMark(path)
      if (mark === undefined) continue
      const nowMs = clock.monotonicMs()
      const previous = statesByPath.get(path)
      const sinceMs = previous?.mark === mark ? previous.sinceMs : nowMs
      nextStates.set(path, { mark, sinceMs })
      if (nowMs - sinceMs >= leaseMs) abandoned.push(path)
    }
    statesByPath = nextStates
    return abandoned
  }
}

async function readMark(path: string): Promise<string | undefined> {
  try {
    const stats = await lstat(path, { bigint: true })
    // Skips what is not a plain file: reading a pipe would never end.
    return stats.isFile() ? `${stats.ino} ${stats.size} ${stats.mtimeNs}` : undefined
  } catch {
    // Another process has claimed or removed the file meanwhile.
    return undefined
  }
}
