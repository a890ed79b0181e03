import { join } from 'node:path'
import type { Clock } from '../../lib/clock.ts'
import type { JournalDisk } from './journal_disk.ts'
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
  readonly disk: JournalDisk
  readonly leaseMs: number
}) {
  const { directory, ledger, clock, disk, leaseMs } = options
  let statesByPath = new Map<string, FileState>()

  return async (ownPath: string | undefined): Promise<readonly string[]> => {
    const nextStates = new Map<string, FileState>()
    const abandoned: string[] = []
    for (const name of await disk.list(directory)) {
      const path = join(directory, name)
      if (!isJournalName(name, `${ledger}-`) || path === ownPath) continue
      const mark = await disk.readMark(path)
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
