import type { Config } from '../config/config.ts'
import type { Database } from '../db/database.ts'
import { createHistory } from '../history/mod.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import { createClients } from './clients.ts'
import { listHistories } from './routes.ts'

/** The histories for the command `index`, without a server. */
export type Histories = ReturnType<typeof openHistories>

/** Connects to the chains of a configuration and opens their histories. */
export function openHistories(
  config: Config,
  { db, clock, log }: { readonly db: Database; readonly clock: Clock; readonly log: Log },
) {
  const clients = createClients(config, { clock, log, recorder: () => () => {} })
  const holder = crypto.randomUUID()
  const history = createHistory({ clients: clients.evm, db, clock, log, holder })
  const connect = () => ({ clients: clients.evm, solana: clients.solana, db, holder, history, clock, log })
  return {
    indexable: listHistories(config, connect),
    history,
    async close() {
      await history.close()
      clients.close()
    },
  }
}
