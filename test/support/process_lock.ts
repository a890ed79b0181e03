import { Database } from 'bun:sqlite'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

const CACHE = join(import.meta.dir, '../../.cache')
const LOOK_MS = 50

/** Runs `work` under a checkout-wide lock named `name`. The lock of a process that dies is released. */
export async function withProcessLock<T>(name: string, work: () => T | Promise<T>): Promise<T> {
  mkdirSync(CACHE, { recursive: true })
  // The system lets go of a database's lock with the process.
  const lock = new Database(join(CACHE, `${name}.lock`), { create: true })
  try {
    while (!takes(lock)) await Bun.sleep(LOOK_MS)
    return await work()
  } finally {
    lock.close()
  }
}

function takes(lock: Database): boolean {
  try {
    lock.run('begin exclusive')
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'SQLITE_BUSY') return false
    throw error
  }
}
