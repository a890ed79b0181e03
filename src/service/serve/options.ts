import type { HattipHandler } from '@hattip/core'
import type { ListeningServer } from '../../http/server/listening.ts'
import type { Log } from '../../lib/log.ts'
import type { Config } from '../config/config.ts'
import type { Lifecycle } from '../process/lifecycle.ts'
import type { Fork } from '../process/worker_pool.ts'

/** What serving needs of the runtime, Bun or Node, and of whoever started it. */
export interface ServeOptions {
  /** Opens a port; if it is shared, other workers of this service open it too. */
  readonly listen: (
    app: { readonly handler: HattipHandler },
    address: Pick<Config, 'host' | 'port'> & { readonly shared: boolean },
  ) => ListeningServer | Promise<ListeningServer>
  readonly fork: Fork
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Takes one line for a person. */
  readonly out: (text: string) => void
  /** Takes one line of the log. */
  readonly err: (text: string) => void
  /** Fires when the process is asked to stop; its reason names the signal. */
  readonly stop: AbortSignal
}

/** The same once the process has a log and parts. */
export interface BeginOptions extends ServeOptions {
  readonly log: Log
  readonly life: Lifecycle
}
