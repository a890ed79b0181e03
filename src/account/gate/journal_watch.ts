import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../lib/clock.ts'
import { isJournalName } from './journal_file.ts'

interface FileState {
  /** Changes with every beat and every write. */
  readonly mark: string
  readonly sinceMs: number
}

/**
 * Watches the files in a directory, and gives the paths of the ledger's files that have not changed for a lease, except
 * `own`. Only changes count, timed by this process's clock: process ids mean nothing across
 * containers, and clocks of hosts differ. A living process that was stopped for a while may be taken for dead; that
 * does no harm, see `JournalFile.append`.
 */
export function createJournalWatch(options: {
  readonly directory: string
  readonly ledger: string
  readonly clock: Clock
  readonly leaseMs: number
}) {
  const { directory, ledger, clock, leaseMs } = options
  let seen = new Map<string, FileState>()

  return async (own: string | undefined): Promise<readonly string[]> => {
    const next = new Map<string, FileState>()
    const abandoned: string[] = []
    for (const name of await readdir(directory)) {
      const path = join(directory, name)
      if (!isJournalName(name, `${ledger}-`) || path === own) continue
      const mark = await markOf(path)
      if (mark === undefined) continue
      const nowMs = clock.monotonicMs()
      const before = seen.get(path)
      const sinceMs = before?.mark === mark ? before.sinceMs : nowMs
      next.set(path, { mark, sinceMs })
      if (nowMs - sinceMs >= leaseMs) abandoned.push(path)
    }
    seen = next
    return abandoned
  }
}

async function markOf(path: string): Promise<string | undefined> {
  try {
    const found = await lstat(path, { bigint: true })
    // We write plain files only, and reading a pipe would never end.
    return found.isFile() ? `${found.ino} ${found.size} ${found.mtimeNs}` : undefined
  } catch {
    // It was taken or removed meanwhile.
    return undefined
  }
}
