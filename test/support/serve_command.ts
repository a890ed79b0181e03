import { createServeCommand } from '../../src/command/serve.ts'
import { serveBun } from '../../src/http/server/bun.ts'
import { bunFork } from '../../src/service/process/fork_bun.ts'

/** `serve` as the executable runs it. */
export const serveCommand = createServeCommand({ loadListen: async () => serveBun, fork: bunFork })
