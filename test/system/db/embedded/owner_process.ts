/**
 * A process that owns the data directory it is given, for tests that kill it: prints the database's URL, then waits.
 * SIGTERM ends it as it ends the service.
 */
import { startEmbedded } from '../../../../src/db/embedded/embedded.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { silentLog } from '../../../../src/lib/log.ts'

const [dataDir = '', programParent] = process.argv.slice(2)
const server = await startEmbedded({
  dataDir,
  clock: systemClock,
  log: silentLog,
  ...(programParent === undefined ? {} : { programParent }),
})
process.once('SIGTERM', () => server.close().then(() => process.exit(0)))
// It keeps no reference to the database: the server must hold all that it needs.
for (let turn = 0; turn < 5; turn++) {
  await new Promise((resolve) => setImmediate(resolve))
  Bun.gc(true)
}
console.log(server.url)
setInterval(() => {}, 60_000)
