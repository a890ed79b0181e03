import type { Database } from '../db/database.ts'
import type { Feature } from '../http/route/route.ts'
import type { Clock } from '../lib/clock.ts'
import type { Signer } from '../lib/dsse.ts'
import { type JobOptions, startJob } from '../lib/job.ts'
import type { Log } from '../lib/log.ts'
import type { Metrics } from '../lib/metrics.ts'
import type { Network } from '../lib/text/network.ts'
import { createNameResolver } from './deliver/address.ts'
import { createDeliverer } from './deliver/deliver.ts'
import { createDeliveryMetrics } from './deliver/metrics.ts'
import { createPost } from './deliver/post.ts'
import { messageRetentionJob } from './deliver/retention.ts'
import { createFeed } from './feed.ts'
import type { TriggerServices } from './routes/route_parts.ts'

/** Starts the delivery of trigger messages, and creates the services of their routes. */
export function startDeliveries(
  config: { readonly webhookNetworks: readonly Network[]; readonly featuresOff: readonly Feature[] },
  options: {
    readonly db: Database
    /** The instance's key and the master secret of webhooks. */
    readonly signing: { signer(): Promise<Signer>; master(): Promise<Uint8Array> }
    readonly clock: Clock
    readonly log: Log
    readonly metrics: Metrics
    readonly jobs: Required<Pick<JobOptions, 'random'>> & JobOptions
  },
) {
  const { db, signing, clock, log, jobs } = options
  const { webhookNetworks: allowed } = config
  const rules = { allowed, resolve: createNameResolver(allowed) }
  const feed = createFeed({ db, clock, log })
  const metrics = createDeliveryMetrics(options.metrics, { db, log })
  const post = createPost({ rules, clock })
  const keys = async () => ({ master: await signing.master(), key: (await signing.signer()).key })
  const deliverer = createDeliverer({ db, post, keys, clock, log, random: jobs.random, onAttempt: metrics.onAttempt })
  const jobDefinitions = config.featuresOff.includes('triggers')
    ? []
    : [deliverer.job, metrics.job, messageRetentionJob({ db, log })]
  const [delivering, ...others] = jobDefinitions.map((job) => startJob(job, jobs))
  deliverer.setWake(() => delivering?.wake())
  const services: TriggerServices = { db, keys, rules, feed }

  return {
    services,
    /** Starts delivery now, because there are new messages. */
    wake: () => delivering?.wake(),
    /** Answers waiting feed requests and stops new deliveries; running ones may still be recorded. */
    drain(): void {
      feed.close()
      deliverer.stop()
    },
    /** Stops; releases the messages of unfinished deliveries. */
    async stop(): Promise<void> {
      for (const job of [delivering, ...others]) job?.stop()
      feed.close()
      post.close()
      await deliverer.abandon()
    },
  }
}
