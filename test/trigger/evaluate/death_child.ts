/** A process that evaluates triggers of a meter until it is killed: `death_child.ts DATABASE_URL RPC_URL`. */
import { openDatabase } from '../../../src/db/pool.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createMetrics } from '../../../src/lib/metrics.ts'
import { startTriggers } from '../../../src/trigger/mod.ts'
import { clientOf, METER_CHAIN_ID, meterFamily } from '../meter.ts'

const [databaseUrl = '', rpcUrl = ''] = process.argv.slice(2)

startTriggers({
  db: openDatabase({ url: databaseUrl, clock: systemClock, log: silentLog }),
  holder: crypto.randomUUID(),
  clients: new Map([[METER_CHAIN_ID, clientOf(rpcUrl)]]),
  solanaChainId: undefined,
  families: [meterFamily()],
  publicUrl: undefined,
  clock: systemClock,
  log: silentLog,
  metrics: createMetrics(),
  jobs: {},
  leaseSec: 2,
})
// Jobs alone do not keep a process alive.
setInterval(() => {}, 1_000)
console.log('ready')
