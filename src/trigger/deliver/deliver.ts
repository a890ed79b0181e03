import type { Database } from '../../db/database.ts'
import type { Job } from '../../job/job.ts'
import { createBatcher } from '../../lib/async/batch.ts'
import { yieldToEventLoop } from '../../lib/async/cooperative.ts'
import { createIdleWaiter } from '../../lib/async/wait.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { Post } from './post.ts'
import { claimMessages, type DeliveryAttempt, type DueMessage, recordAttempts, releaseMessages } from './queue.ts'
import { computeRetryDelay } from './schedule.ts'
import { type SigningKeys, signatureHeaders } from './sign.ts'

/** Told how each try ended: `delivered`, `refused` by the receiver, or why there was no answer. */
export type AttemptRecorder = (outcome: string) => void

interface DelivererOptions {
  readonly db: Database
  readonly post: Post
  readonly keys: () => Promise<SigningKeys>
  readonly clock: Clock
  readonly log: Log
  /** From 0 to below 1. */
  readonly random: () => number
  readonly tried?: AttemptRecorder
  /** Messages under way in this process. @default {512} */
  readonly postsMax?: number
  /** Nobody else tries a message meanwhile. @default {60} */
  readonly leaseSec?: number
}

/** Posts messages of triggers, as long as its job runs. */
export interface Deliverer {
  /** Takes what is due, and begins to post it; it is done when all is under way. */
  readonly job: Job
  /** To be told how the job is woken, for places that have become free. */
  wakeBy(wake: () => void): void
  /** Takes nothing more. */
  stop(): void
  /** Resolves when nothing is under way. */
  idle(): Promise<void>
  /** Gives back what is still under way: whoever takes it tries it again. */
  abandon(): Promise<void>
}

const POSTS_MAX = 512
/** A try takes 16 s at most, and noting it may have to wait for the database. */
const LEASE_SEC = 60
/** Messages of other processes are found so often, and tries that have become due. */
const POLL_MS = 500
const RETRY_MS = { least: 1_000, most: 15_000 }
/** Signing and sending a message takes a fifth of a millisecond. */
const POSTS_IN_TURN = 8
const MARKS_MAX = 500
/** Once a try is made, noting it is worth some patience: else it is made twice. */
const MARK_PAUSE_MS = 1_000
const MARK_ATTEMPTS_MAX = 20
const USER_AGENT = 'walletscope'

/**
 * Posts what is due: it takes messages under a lease, posts them, and notes how that ended, many at a time. Whoever dies
 * in between leaves messages that are taken again when the lease is over, under the same id.
 */
export function createDeliverer(options: DelivererOptions): Deliverer {
  const { db, post, keys, clock, log, random, tried = () => undefined, postsMax = POSTS_MAX } = options
  const { leaseSec = LEASE_SEC } = options
  const underWay = new Set<DueMessage>()
  const idle = createIdleWaiter(() => underWay.size === 0)
  let isStopped = false
  let wake = () => {}
  const marks = createBatcher<DeliveryAttempt, undefined>({
    flush: async (batch) => {
      await recordAttempts(db, batch)
      return batch.map(() => undefined)
    },
    clock,
    itemsMax: MARKS_MAX,
    queueMax: POSTS_MAX,
  })

  async function deliver(message: DueMessage, signing: SigningKeys): Promise<void> {
    const signed = signatureHeaders(message, { keys: signing, names: message.secrets, nowMs: clock.now() })
    const headers = { ...signed, 'content-type': 'application/json', 'user-agent': USER_AGENT }
    const posted = await post(message.url, { headers, body: message.body, no: message.tries })
    const { statusCode } = posted
    const isDelivered = statusCode !== null && statusCode >= 200 && statusCode < 300
    tried(isDelivered ? 'delivered' : (posted.failure ?? 'refused'))
    const pauseMs = isDelivered ? undefined : computeRetryDelay(message.tries + 1, { ...posted, random: random() })
    await mark({ message, posted, pauseMs })
  }

  async function mark(done: DeliveryAttempt): Promise<void> {
    for (let attempts = 1; ; attempts++) {
      try {
        return await marks.submit(done)
      } catch (error) {
        if (attempts === MARK_ATTEMPTS_MAX || !underWay.has(done.message)) throw error
        await new Promise((resolve) => setTimeout(resolve, MARK_PAUSE_MS))
      }
    }
  }

  async function round(): Promise<number> {
    const free = postsMax - underWay.size
    if (isStopped || free <= 0) return POLL_MS
    // First: without keys nothing is taken.
    const signing = await keys()
    const claimed = await claimMessages(db, { most: free, leaseSec })
    for (const message of claimed) underWay.add(message)
    for (const [index, message] of claimed.entries()) {
      if (index % POSTS_IN_TURN === 0) await yieldToEventLoop()
      // It was given back meanwhile.
      if (!underWay.has(message)) continue
      deliver(message, signing)
        .catch((error: unknown) => log.error({ msg: 'Could not note a try of a message', id: message.id, error }))
        .finally(() => {
          underWay.delete(message)
          idle.check()
          wake()
        })
    }
    return POLL_MS
  }

  return {
    job: {
      name: 'deliveries',
      round,
      retryMs: RETRY_MS,
      failed: (error) => log.error({ msg: 'Could not take messages that are due', error }),
    },
    wakeBy(given) {
      wake = given
    },
    stop() {
      isStopped = true
    },
    idle: idle.wait,
    async abandon() {
      isStopped = true
      const left = [...underWay]
      underWay.clear()
      if (left.length > 0) await releaseMessages(db, left)
    },
  }
}
