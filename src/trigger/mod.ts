import { triggerLines } from '../../sql/functions.ts'
import { blockAgeMaxSec, finalAgeMaxSec } from '../chain/block_age.ts'
import type { Database } from '../db/database.ts'
import type { FamilyServices, WatchableFamily } from '../family/contract.ts'
import type { AccountWatcher, Watcher } from '../family/watch.ts'
import type { Feature } from '../http/route/route.ts'
import type { Clock } from '../lib/clock.ts'
import type { Signer } from '../lib/dsse.ts'
import { type Job, type JobOptions, type RunningJob, startJob } from '../lib/job.ts'
import type { Log } from '../lib/log.ts'
import { once } from '../lib/memoize.ts'
import type { Metrics } from '../lib/metrics.ts'
import type { Network } from '../lib/text/network.ts'
import { createNameResolver } from './deliver/address.ts'
import { createDeliverer } from './deliver/deliver.ts'
import { createDeliveryMetrics } from './deliver/metrics.ts'
import { createPost } from './deliver/post.ts'
import { messageRetentionJob } from './deliver/retention.ts'
import { blockLoopJob } from './evaluate/block_loop.ts'
import type { MessageContext } from './evaluate/change_message.ts'
import { createPartitionMetrics } from './evaluate/metrics.ts'
import { chargeHour, type TriggerPartition } from './evaluate/partition.ts'
import { slotLoopJob } from './evaluate/slot_loop.ts'
import { unservedJob } from './evaluate/unserved.ts'
import { createFeed } from './feed.ts'
import type { TriggerServices } from './routes/route_parts.ts'
import { FINALITY_LEVELS, type FinalityLevel, type Trigger } from './trigger.ts'

/** Options of the evaluation of triggers. */
export interface TriggersOptions extends Pick<FamilyServices, 'db' | 'holder' | 'clients' | 'clock' | 'log'> {
  /** The chain id that stands for Solana, if it is served. */
  readonly solanaChainId: number | undefined
  readonly families: readonly WatchableFamily[]
  /** Public URL of the instance, without a trailing slash; undefined if not configured. */
  readonly publicUrl: string | undefined
  readonly metrics: Metrics
  readonly jobs: JobOptions
  /** Called when there are new messages. */
  readonly onMessagesQueued?: () => void
  /** How long the leases of a dead process last, seconds. @default {15} */
  readonly leaseSec?: number
}

const LEASE_SEC = 15
/** Interval of checks which partitions have triggers, milliseconds. */
const LOOK_MS = 2_000
const HOUR_MS = 3_600_000
/** Delay after the full hour, milliseconds, so that the database's clock has passed it. */
const HOUR_LATE_MS = 1_000
/** Longest interval of charges, milliseconds: this process' clock may be wrong, and only the database's tells hours. */
const HOUR_LOOK_MS = 600_000
const RETRY_MS = { least: 1_000, most: 30_000 }
/** For Solana, and for chains without a known block time. */
const BLIND_SEC = 60

/** Starts to evaluate triggers and to charge for them each hour, until stopped. */
export function startTriggers(options: TriggersOptions): { stop(): void } {
  const { db, clients, solanaChainId, log, clock, jobs, metrics } = options
  const recorder = createPartitionMetrics(metrics, () => clock.now())
  const running = new Map<string, RunningJob>()
  const createMessageContext = createContextFactory(options)
  const readWatchers = createWatcherReader(options)
  function createPartitionJob(chainId: number, finality: FinalityLevel, shard: number): Job {
    const { holder, leaseSec = LEASE_SEC, onMessagesQueued = () => {} } = options
    const client = clients.get(chainId)
    const jobOptions = { db, holder, recorder, onMessagesQueued, clock, log }
    if (client === undefined) {
      const isSolana = chainId === solanaChainId
      const chainName = isSolana ? 'Solana' : `chain ${chainId}`
      const partition: TriggerPartition = { chainId, chainName, finality, shard, blindAfterSec: BLIND_SEC, leaseSec }
      if (isSolana)
        return slotLoopJob({
          ...jobOptions,
          partition,
          messageContext: createMessageContext(partition),
          watchers: readWatchers().accounts,
        })
      log.warn({ msg: 'Triggers are not evaluated: their chain is not served', chainId })
      return unservedJob({ partition, db, holder, log })
    }
    const { chain } = client
    const blindAfterSec = Math.ceil(finality === 'latest' ? blockAgeMaxSec(chain) : finalAgeMaxSec(chain))
    const partition: TriggerPartition = { chainId, chainName: chain.name, finality, shard, blindAfterSec, leaseSec }
    return blockLoopJob({
      ...jobOptions,
      partition,
      messageContext: createMessageContext(partition),
      client,
      watchers: readWatchers().blocks,
    })
  }

  const partitionsJob: Job = {
    name: 'triggers',
    retryMs: RETRY_MS,
    onError: (error) => log.error({ msg: 'Failed to list trigger partitions', error }),
    async round() {
      const rows = await triggerLines(db, {})
      const rowsByKey = new Map(rows.map((each) => [`${each.chain_id} ${each.finality} ${each.shard}`, each]))
      for (const [key, job] of running) {
        if (rowsByKey.has(key)) continue
        job.stop()
        running.delete(key)
      }
      for (const [key, { chain_id, finality, shard }] of rowsByKey) {
        const name = FINALITY_LEVELS.find((each) => each === finality)
        if (running.has(key) || name === undefined) continue
        running.set(key, startJob(createPartitionJob(Number(chain_id), name, shard), jobs))
      }
      return LOOK_MS
    },
  }

  const started = [startJob(partitionsJob, jobs), startJob(hourJob(options), jobs)]
  return {
    stop() {
      for (const job of [...started, ...running.values()]) job.stop()
    },
  }
}

/** Charges for triggers once an hour of the database's clock. */
function hourJob({ db, clock, log }: TriggersOptions): Job {
  return {
    name: 'trigger hours',
    retryMs: RETRY_MS,
    onError: (error) => log.error({ msg: 'Failed to charge for triggers', error }),
    async round(signal) {
      while (!signal.aborted && (await chargeHour(db)));
      return Math.min(HOUR_LOOK_MS, HOUR_MS - (clock.now() % HOUR_MS) + HOUR_LATE_MS)
    },
  }
}

function createContextFactory({
  families,
  publicUrl = '',
}: TriggersOptions): (partition: TriggerPartition) => MessageContext {
  const paths = new Map(families.map((each) => [each.family, each.answerPath]))
  return (partition) => ({
    partition,
    publicUrl,
    answerPath({ family, subject, clause }: Trigger, blockNumber, owner) {
      const figure = 'event' in clause ? undefined : clause.figure
      return paths.get(family)?.(subject, partition.chainId, blockNumber, { figure, owner }) ?? ''
    },
  })
}

/** Creates the function that returns the watchers by family; they connect on the first call. */
function createWatcherReader({ families }: TriggersOptions) {
  return once(() => {
    const watchers = { blocks: new Map<string, Watcher>(), accounts: new Map<string, AccountWatcher>() }
    for (const { family, watcher, accountWatcher } of families) {
      const [blocks, accounts] = [watcher?.(), accountWatcher?.()]
      if (blocks !== undefined) watchers.blocks.set(family, blocks)
      if (accounts !== undefined) watchers.accounts.set(family, accounts)
    }
    return watchers
  })
}

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
