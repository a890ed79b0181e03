import { spawn } from 'node:child_process'
import type { Fork } from './worker_pool.ts'

/** Virtual directory of an executable's modules, which appears in its second argument. */
const INSIDE = '/$bunfs/'

/**
 * Starts the executable, or Bun on the source, again. Workers open the same port with `SO_REUSEPORT`: the system
 * distributes the connections, evenly only on Linux.
 */
export const bunFork: Fork = {
  start(environment) {
    if (process.platform !== 'linux') throw new Error('Cannot start WORKERS: more than one worker needs Linux')
    const [, entry = '', ...words] = process.argv
    const args = entry.startsWith(INSIDE) ? words : [...process.execArgv, entry, ...words]
    // The link leads to the running file, also after a new release was put in its place.
    return spawn('/proc/self/exe', args, {
      argv0: process.execPath,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env: environment,
    })
  },
  sharesListener: false,
}
