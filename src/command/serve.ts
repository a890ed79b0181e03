import { serveBun } from '../http/server/bun.ts'
import { variablesText } from '../service/config/variables.ts'
import { bunFork } from '../service/process/fork_bun.ts'
import { serve } from '../service/serve/serve.ts'
import type { Command } from './command.ts'

/** `serve`: the default command. */
export const serveCommand: Command = {
  name: 'serve',
  summary: 'Serve the API under its address, localhost and the names in PUBLIC_URL and ALLOWED_HOSTS; the default',
  json: 'changes nothing: the log on standard error is JSON lines in any case',
  more: variablesText,
  async run(_args, io) {
    const config = io.config()
    // Bun's own server closes a connection with pipelined requests. Bun's copy of Node's server takes twice the CPU,
    // and changes how responses are created as soon as it is loaded.
    const listen = config.pipelining ? (await import('../http/server/node.ts')).serveNode : serveBun
    return serve(config, { ...io, listen, fork: bunFork, environment: io.environment })
  },
}
