import { openDatabase } from '../../../src/db/pool.ts'
import { startJob } from '../../../src/job/job.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { deliverer } from './scene.ts'

/** A process that posts what is due in the database at a URL, until it is killed. */
const [url = '', leaseSec = ''] = process.argv.slice(2)
const db = openDatabase({ url, clock: systemClock, log: silentLog })
const own = deliverer(db, { leaseSec: Number(leaseSec) })
own.wakeBy(startJob(own.job).wake)
setInterval(() => undefined, 1_000)
