import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../lib/clock.ts'
import { isJournalName } from './journal_file.ts'

/** Tells which files nobody looks after any more. */
interface JournalWatch {
  /** Paths of files of the ledger that have not changed for as long as a lease lasts, `own` apart. */
  abandoned(own: string | undefined): Promise<readonly string[]>
}

interface Seen {
  /** Changes with every beat and every write. */
  readonly mark: string
  readonly sinceMs: number
}

/**
 * Watches the files in a directory. Only change counts, by this process's own clock: process ids mean nothing across
 * containers, and the clocks of two hosts may differ. That a living process is taken for dead, because it was stopped
 * for a while, does no harm: see `JournalFile.append`.
 */
export function createJournalWatch(options: {
  readonly directory: string
  readonly ledger: string
  readonly clock: Clock
  readonly leaseMs: number
}): JournalWatch {
  const { directory, ledger, clock, leaseMs } = options
  let seen = new Map<string, Seen>()

  return {
    async abandoned(own) {
      const next = new Map<string, Seen>()
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
    },
  }
}

async function markOf(path: string): Promise<string | undefined> {
  try {
    const found = await lstat(path, { bigint: true })
    // Anything else was put there by nobody of ours, and reading a pipe would never end.
    return found.isFile() ? `${found.ino} ${found.size} ${found.mtimeNs}` : undefined
  } catch {
    // It was taken, or removed by its owner.
    return undefined
  }
}
