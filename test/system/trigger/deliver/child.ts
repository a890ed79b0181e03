import { openDatabase } from '../../../../src/db/connection/pool.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { startJob } from '../../../../src/lib/job.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import type { Post } from '../../../../src/trigger/deliver/post.ts'
import { deliverer, testPost } from '../../../support/trigger/deliver/scene.ts'

/** A process that posts what is due in the database at a URL, until it is killed; each post names it. */
const [url = '', leaseSec = '', postsMax = ''] = process.argv.slice(2)
const db = openDatabase({ url, clock: systemClock, log: silentLog })
const send = testPost()
const post: Post = (to, message) => send(to, { ...message, headers: { ...message.headers, 'x-pid': `${process.pid}` } })
const own = deliverer(db, { post, leaseSec: Number(leaseSec), postsMax: Number(postsMax) })
own.setWake(startJob(own.job, { clock: systemClock }).wake)
setInterval(() => undefined, 1_000)
