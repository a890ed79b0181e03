import { createServeCommand, type Runtime } from '../../src/command/serve.ts'
import { serveBun } from '../../src/http/server/bun.ts'
import { bunFork } from '../../src/service/process/fork_bun.ts'

/** What the executable serves with. */
export const bunRuntime: Runtime = { loadListen: async () => serveBun, fork: bunFork }

/** `serve` as the executable runs it. */
export const serveCommand = createServeCommand(bunRuntime)
