// Follows the emitter in a process of its own, for tests that kill it: asks for the histories of wallets, one after the
// other, and ends with status 0 once all are complete.

import { openDatabase } from '../../../src/db/connection/pool.ts'
import { createHistory } from '../../../src/history/mod.ts'
import { createWork } from '../../../src/lib/async/work.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { UnavailableError } from '../../../src/lib/error.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createTestClient, EMITTED, toTarget } from '../../support/history/scene.ts'

const never = createWork(new AbortController().signal)
const [rpcUrl = '', databaseUrl = '', chain = '', ...wallets] = process.argv.slice(2)
const chainId = Number(chain)
const client = createTestClient([rpcUrl], { chainId })
const db = openDatabase({ url: databaseUrl, clock: systemClock, log: silentLog })
const holder = crypto.randomUUID()
const history = createHistory({ clients: new Map([[chainId, client]]), db, clock: systemClock, log: silentLog, holder })
for (const wallet of wallets) {
  for (let isComplete = false; !isComplete; ) {
    try {
      await history.ensure({ stream: EMITTED, target: toTarget(chainId), subject: wallet as `0x${string}` }, never)
      isComplete = true
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error
      await systemClock.sleep(100)
    }
  }
}
await history.close()
client.close()
await db.close()
