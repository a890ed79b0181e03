import { spawn } from 'node:child_process'
import type { Fork } from './worker_pool.ts'

/** Where the modules of an executable seem to be: the second argument of one, which nobody gave. */
const INSIDE = '/$bunfs/'

/**
 * Starts the executable, or Bun on the source, again. Workers open the same port with `SO_REUSEPORT`: the system gives
 * each its part of the connections, which only Linux does evenly.
 */
export const bunFork: Fork = {
  start(environment) {
    if (process.platform !== 'linux') throw new Error('Cannot start WORKERS: more than one need Linux')
    const [, entry = '', ...words] = process.argv
    const args = entry.startsWith(INSIDE) ? words : [...process.execArgv, entry, ...words]
    return spawn(process.execPath, args, {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env: environment,
    })
  },
  sharesListener: false,
}
