import type { HattipHandler } from '@hattip/core'
import type { Config } from '../../config/config.ts'
import type { ListeningServer } from '../../http/server/listening.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { Lifecycle } from '../process/lifecycle.ts'
import type { Fork } from '../process/worker_pool.ts'

/** Dependencies of `serve` on the runtime, Bun or Node, and on the caller. */
export interface ServeOptions {
  /** Opens a port; `shared` if other workers of this service open it too. */
  readonly listen: (
    app: { readonly handler: HattipHandler },
    address: Pick<Config, 'host' | 'port'> & { readonly shared: boolean; readonly clock: Clock },
  ) => ListeningServer | Promise<ListeningServer>
  readonly fork: Fork
  /** Drops what the runtime keeps and can make again, such as compiled code; absent: the runtime cannot. */
  readonly releaseMemory?: () => void
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Prints one line for the operator. */
  readonly out: (text: string) => void
  /** Writes one line of the log. */
  readonly err: (text: string) => void
  /** Fires on a stop signal; its reason names the signal. */
  readonly stop: AbortSignal
}

/** Options of `serve` with a clock, a log and a lifecycle. */
export interface StartOptions extends ServeOptions {
  readonly clock: Clock
  readonly log: Log
  readonly lifecycle: Lifecycle
}
