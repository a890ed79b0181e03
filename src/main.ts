import { runProgram } from './program.ts'
import { bunFork } from './service/process/fork_bun.ts'

runProgram({
  // Bun's own server closes a connection with pipelined requests. Bun's copy of Node's server takes twice the CPU, and
  // changes how responses are created as soon as it is loaded.
  loadListen: async ({ pipelining }) =>
    pipelining ? (await import('./http/server/node.ts')).serveNode : (await import('./http/server/bun.ts')).serveBun,
  fork: bunFork,
  releaseMemory: () => Bun.shrink(),
})
