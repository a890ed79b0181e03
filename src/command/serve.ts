import type { Config } from '../config/config.ts'
import { variablesText } from '../config/variables.ts'
import type { ServeOptions } from '../service/serve/options.ts'
import { serve } from '../service/serve/serve.ts'
import type { Command } from './command.ts'

/** What differs between Bun and Node. */
export interface Runtime extends Pick<ServeOptions, 'fork' | 'releaseMemory'> {
  /** Loads the function that opens a port. */
  readonly loadListen: (config: Config) => Promise<ServeOptions['listen']>
}

/** Creates `serve`, the default command. */
export function createServeCommand({ loadListen, ...runtime }: Runtime): Command {
  return {
    name: 'serve',
    summary: 'Serve the API; what walletscope does without a command',
    json: 'changes nothing: the log on standard error is JSON lines in any case',
    more: () =>
      `It answers to its address, localhost and the names in PUBLIC_URL and ALLOWED_HOSTS.\n\n${variablesText()}`,
    async run(_args, io) {
      const config = io.config()
      return serve(config, { ...io, ...runtime, listen: await loadListen(config), environment: io.environment })
    },
  }
}
