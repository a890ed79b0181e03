/**
 * A process that evaluates triggers of a meter until it is killed: `death_child.ts DATABASE_URL RPC_URL START_MS`. Since
 * START_MS hours last half a second: without waiting for true ones, each charge is asked for by all who live.
 */
import { openDatabase } from '../../../../src/db/connection/pool.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { startJob } from '../../../../src/lib/job.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { createMetrics } from '../../../../src/lib/metrics.ts'
import { startTriggers } from '../../../../src/trigger/mod.ts'
import { clientOf, METER_CHAIN_ID, meterFamily } from '../../../support/trigger/meter.ts'
import { chargeHourAt } from '../../../support/trigger/scene.ts'

const [databaseUrl = '', rpcUrl = '', startMs = ''] = process.argv.slice(2)
const SHORT_HOUR_MS = 500
const HOUR_MS = 3_600_000
/** By then triggers are older than their first hour. */
const FIRST_HOUR = Math.floor(Number(startMs) / HOUR_MS) + 2
const db = openDatabase({ url: databaseUrl, clock: systemClock, log: silentLog })

startTriggers({
  db,
  holder: crypto.randomUUID(),
  clients: new Map([[METER_CHAIN_ID, clientOf(rpcUrl)]]),
  solanaChainId: undefined,
  families: [meterFamily()],
  publicUrl: undefined,
  clock: systemClock,
  log: silentLog,
  metrics: createMetrics(),
  jobs: { clock: systemClock },
  leaseSec: 2,
})
startJob(
  {
    name: 'short hours',
    everyMs: 50,
    retryMs: { least: 50, most: 500 },
    onError: () => {},
    async round() {
      await chargeHourAt(db, FIRST_HOUR + Math.floor((Date.now() - Number(startMs)) / SHORT_HOUR_MS), 100)
      return undefined
    },
  },
  { clock: systemClock },
)
// Jobs alone do not keep a process alive.
setInterval(() => {}, 1_000)
console.log('ready')
