import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { systemCode } from '../../src/lib/error.ts'

const CACHE = join(import.meta.dir, '../../.cache')
const LOOK_MS = 50

/** Runs `work` while no other process of this checkout runs work of that name; who died in it does not hold it up. */
export function alone<T>(name: string, work: () => T): T {
  mkdirSync(CACHE, { recursive: true })
  const path = join(CACHE, `${name}.lock`)
  while (!isTaken(path)) Bun.sleepSync(LOOK_MS)
  try {
    return work()
  } finally {
    rmSync(path, { force: true })
  }
}

function isTaken(path: string): boolean {
  try {
    const file = openSync(path, 'wx')
    writeSync(file, String(process.pid))
    closeSync(file)
    return true
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error
    const holder = Number(readText(path))
    if (holder > 0 && !isAlive(holder)) rmSync(path, { force: true })
    return false
  }
}

/** Empty if it is gone meanwhile. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return systemCode(error) === 'EPERM'
  }
}
