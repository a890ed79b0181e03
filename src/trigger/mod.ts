import { triggerLines } from '../../sql/functions.ts'
import { blockAgeMaxSec, finalAgeMaxSec } from '../chain/block_age.ts'
import type { FamilyServices, WatchableFamily } from '../family/family.ts'
import type { AccountWatcher, Watcher } from '../family/watch.ts'
import { type Job, type JobOptions, type RunningJob, startJob } from '../job/job.ts'
import { once } from '../lib/memoize.ts'
import type { Metrics } from '../lib/metrics.ts'
import { blockLoopJob } from './evaluate/block_loop.ts'
import type { MessageContext } from './evaluate/change_message.ts'
import { createPartitionMetrics } from './evaluate/metrics.ts'
import { chargeHour, type TriggerPartition } from './evaluate/partition.ts'
import { slotLoopJob } from './evaluate/slot_loop.ts'
import { unservedJob } from './evaluate/unserved.ts'
import { FINALITY_LEVELS, type FinalityLevel, type Trigger } from './trigger.ts'

/** What evaluates triggers. */
export interface TriggersOptions extends Pick<FamilyServices, 'db' | 'holder' | 'clients' | 'clock' | 'log'> {
  /** The number that stands for Solana among chain ids, if it is served. */
  readonly solanaChainId: number | undefined
  readonly families: readonly WatchableFamily[]
  /** Of the instance, without a slash at its end; undefined if nobody knows it. */
  readonly publicUrl: string | undefined
  readonly metrics: Metrics
  readonly jobs: JobOptions
  /** Called when there are new messages. */
  readonly told?: () => void
  /** How long a process that died still has what it evaluated. @default {15} */
  readonly leaseSec?: number
}

const LEASE_SEC = 15
/** How often it is looked which lines have triggers. */
const LOOK_MS = 2_000
const HOUR_MS = 3_600_000
const ORGANIZATIONS_MAX = 500
/** Jitter of jobs lengthens a pause by a tenth at most; the hour has begun for everybody a second after it did. */
const HOUR_LATE_MS = 1_000
const RETRY_MS = { least: 1_000, most: 30_000 }
/** Slots pass by quickly, and are read in turn; of chains that are not served nobody knows how long blocks take. */
const BLIND_SEC = 60

/** Evaluates triggers, and charges for them each hour, until it is stopped. */
export function startTriggers(options: TriggersOptions): { stop(): void } {
  const { db, clients, solanaChainId, log, clock, jobs, metrics } = options
  const recorder = createPartitionMetrics(metrics, () => clock.now())
  const running = new Map<string, RunningJob>()
  const telling = tellingOf(options)
  const readers = readersOf(options)
  function jobOf(chainId: number, finality: FinalityLevel, shard: number): Job {
    const { holder, leaseSec = LEASE_SEC, told = () => {} } = options
    const client = clients.get(chainId)
    const own = { db, holder, recorder, told, clock, log }
    if (client === undefined) {
      const isSolana = chainId === solanaChainId
      const chainName = isSolana ? 'Solana' : `chain ${chainId}`
      const line: TriggerPartition = { chainId, chainName, finality, shard, blindAfterSec: BLIND_SEC, leaseSec }
      if (isSolana) return slotLoopJob({ ...own, line, telling: telling(line), watchers: readers().accounts })
      log.warn({ msg: 'Triggers are not evaluated: their chain is not served', chainId })
      return unservedJob({ line, db, holder, log })
    }
    const { chain } = client
    const blindAfterSec = Math.ceil(finality === 'latest' ? blockAgeMaxSec(chain) : finalAgeMaxSec(chain))
    const line: TriggerPartition = { chainId, chainName: chain.name, finality, shard, blindAfterSec, leaseSec }
    return blockLoopJob({ ...own, line, telling: telling(line), client, watchers: readers().blocks })
  }

  const look: Job = {
    name: 'triggers',
    retryMs: RETRY_MS,
    failed: (error) => log.error({ msg: 'Could not look for triggers', error }),
    async round() {
      const lines = await triggerLines(db, {})
      const wanted = new Map(lines.map((each) => [`${each.chain_id} ${each.finality} ${each.shard}`, each]))
      for (const [key, job] of running) {
        if (wanted.has(key)) continue
        job.stop()
        running.delete(key)
      }
      for (const [key, { chain_id, finality, shard }] of wanted) {
        const name = FINALITY_LEVELS.find((each) => each === finality)
        if (running.has(key) || name === undefined) continue
        running.set(key, startJob(jobOf(Number(chain_id), name, shard), jobs))
      }
      return LOOK_MS
    },
  }

  const started = [startJob(look, jobs), startJob(hourJob(options), jobs)]
  return {
    stop() {
      for (const job of [...started, ...running.values()]) job.stop()
    },
  }
}

/** Charges for triggers once an hour. */
function hourJob({ db, clock, log }: TriggersOptions): Job {
  return {
    name: 'trigger hours',
    retryMs: RETRY_MS,
    failed: (error) => log.error({ msg: 'Could not charge for triggers', error }),
    async round(signal) {
      const hour = Math.floor(clock.now() / HOUR_MS)
      while (!signal.aborted && (await chargeHour(db, hour, ORGANIZATIONS_MAX)) > 0);
      return (hour + 1) * HOUR_MS - clock.now() + HOUR_LATE_MS
    },
  }
}

function tellingOf({ families, publicUrl = '' }: TriggersOptions): (line: TriggerPartition) => MessageContext {
  const paths = new Map(families.map((each) => [each.family, each.answerPath]))
  return (line) => ({
    line,
    publicUrl,
    answerPath: ({ family, subject }: Trigger, blockNumber) =>
      paths.get(family)?.(subject, line.chainId, blockNumber) ?? '',
  })
}

/** What reads subjects, by family; connects when it is first asked. */
function readersOf({ families }: TriggersOptions) {
  return once(() => {
    const made = { blocks: new Map<string, Watcher>(), accounts: new Map<string, AccountWatcher>() }
    for (const { family, watcher, accountWatcher } of families) {
      const [blocks, accounts] = [watcher?.(), accountWatcher?.()]
      if (blocks !== undefined) made.blocks.set(family, blocks)
      if (accounts !== undefined) made.accounts.set(family, accounts)
    }
    return made
  })
}
