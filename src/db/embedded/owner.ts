import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Proof that this process alone uses a data directory. */
export interface Ownership {
  release(): void
}

/** Locks that are held: one that nothing refers to would be collected, and given up with that. */
const held = new Set<object>()

/**
 * Takes the data directory for this process until `release()` or its end, however it ends: a lock of the operating
 * system on `owner.lock`, held through SQLite because neither Bun nor Node offers such locks directly.
 * Throws when another process holds it.
 */
export async function ownDirectory(dataDir: string): Promise<Ownership> {
  const pidFile = join(dataDir, 'owner.pid')
  const { Database } = await import('bun:sqlite')
  const lock = new Database(join(dataDir, 'owner.lock'))
  try {
    lock.run('begin exclusive')
  } catch (error) {
    lock.close()
    if (!(error instanceof Error && 'code' in error && error.code === 'SQLITE_BUSY')) throw error
    const pid = (await readFile(pidFile, 'utf8').catch(() => '')).trim()
    throw new Error(`Cannot use data directory "${dataDir}": another walletscope (pid ${pid || 'unknown'}) owns it`)
  }
  held.add(lock)
  await writeFile(pidFile, `${process.pid}\n`)
  return {
    release() {
      held.delete(lock)
      lock.close()
    },
  }
}
