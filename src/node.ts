import { runProgram } from './program.ts'
import { nodeFork } from './service/process/fork_node.ts'

// Without the embedded PostgreSQL: `serve` and the commands about accounts need a `DATABASE_URL`.
runProgram({ loadListen: async () => (await import('./http/server/node.ts')).serveNode, fork: nodeFork })
