import cluster from 'node:cluster'
import type { Fork } from './worker_pool.ts'

/** Starts the bundle again as a worker of Node's own cluster, which accepts connections and distributes them. */
export const nodeFork: Fork = {
  start: (environment) => cluster.fork(environment).process,
  sharesListener: true,
}
