import type { Database } from '../../db/database.ts'
import { createIdleWaiter } from '../../lib/async/abort.ts'
import { createBatcher } from '../../lib/async/batch.ts'
import { yieldToEventLoop } from '../../lib/async/cooperative.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Job } from '../../lib/job.ts'
import type { Log } from '../../lib/log.ts'
import type { Post } from './post.ts'
import { claimMessages, type DeliveryAttempt, type DueMessage, recordAttempts, releaseMessages } from './queue.ts'
import { createSignatureHeaders, type SigningKeys } from './sign.ts'

/**
 * Called with the outcome of each attempt: `delivered`, `refused` by the receiver, `returned` to other processes, or why
 * there was no answer.
 */
export type AttemptRecorder = (outcome: string) => void

interface DelivererOptions {
  readonly db: Database
  readonly post: Post
  readonly keys: () => Promise<SigningKeys>
  readonly clock: Clock
  readonly log: Log
  /** Random number from 0 to below 1. */
  readonly random: () => number
  readonly onAttempt?: AttemptRecorder
  /** Maximum messages under way in this process. @default {512} */
  readonly postsMax?: number
  /** Duration of the lease on a message, seconds; no other process sends it meanwhile. @default {60} */
  readonly leaseSec?: number
}

/** Posts messages of triggers while its job runs. */
export interface Deliverer {
  /** Claims due messages and starts to post them; a round ends when all of them are under way. */
  readonly job: Job
  /** Sets the function that wakes the job when a slot becomes free. */
  setWake(wake: () => void): void
  /** Claims no more messages. */
  stop(): void
  /** Resolves when nothing is under way. */
  idle(): Promise<void>
  /** Releases messages that are still under way, so that another process sends them again. */
  abandon(): Promise<void>
}

const POSTS_MAX = 512
/** An attempt takes at most 16 s, and its record may wait for the database. */
const LEASE_SEC = 60
/** Interval of polling for messages of other processes and for retries that have become due, milliseconds. */
const POLL_MS = 500
/** The interval once there was nothing to send in so many polls in a row: this process's own messages wake the job. */
const QUIET_POLL_MS = 2_000
const QUIET_POLLS = 20
const RETRY_MS = { least: 1_000, most: 15_000 }
/** Signing and sending a message takes a fifth of a millisecond. */
const POSTS_IN_TURN = 8
const MARKS_MAX = 500
/** An attempt that is not recorded is repeated, so recording is retried. */
const MARK_PAUSE_MS = 1_000
const MARK_ATTEMPTS_MAX = 20
const USER_AGENT = 'walletscope'

/**
 * Creates the deliverer: it claims due messages under a lease, posts them, and records the outcomes in batches. If the
 * process dies, the lease expires and the message is sent again with the same id.
 */
export function createDeliverer(options: DelivererOptions): Deliverer {
  const { db, post, keys, clock, log, random, onAttempt = () => undefined, postsMax = POSTS_MAX } = options
  const { leaseSec = LEASE_SEC } = options
  const underWay = new Set<DueMessage>()
  const idle = createIdleWaiter(() => underWay.size === 0)
  let isStopped = false
  let wake = () => {}
  let emptyPolls = 0
  const reach = createReach({ clock, log })
  const attemptBatcher = createBatcher<DeliveryAttempt, undefined>({
    flush: (batch) => recordAttempts(db, batch),
    clock,
    itemsMax: MARKS_MAX,
    queueMax: POSTS_MAX,
  })

  /** `getTimeMs` is the database's clock: a receiver refuses a message of another time. */
  async function deliver(message: DueMessage, signingKeys: SigningKeys, getTimeMs: () => number): Promise<void> {
    const nowMs = getTimeMs()
    const signed = createSignatureHeaders(message, { keys: signingKeys, names: message.secrets, nowMs })
    const headers = { ...signed, 'content-type': 'application/json', 'user-agent': USER_AGENT }
    const result = await post(message.url, { headers, body: message.body, no: message.attempts, nowMs })
    const { statusCode } = result
    if (statusCode === null && reach.isOwnFailure(message, getTimeMs())) {
      onAttempt('returned')
      if (underWay.has(message)) await releaseMessages(db, [message])
      return
    }
    const isDelivered = statusCode !== null && statusCode >= 200 && statusCode < 300
    onAttempt(isDelivered ? 'delivered' : (result.failure ?? 'refused'))
    const pauseMs = isDelivered ? undefined : computeRetryDelay(message.attempts + 1, { ...result, random: random() })
    await recordAttempt({ message, result, pauseMs })
    // Only now, since the record is later than the answer.
    if (statusCode !== null) reach.recordAnswer(getTimeMs())
  }

  async function recordAttempt(attempt: DeliveryAttempt): Promise<void> {
    for (let attempts = 1; ; attempts++) {
      try {
        return await attemptBatcher.submit(attempt)
      } catch (error) {
        if (attempts === MARK_ATTEMPTS_MAX || !underWay.has(attempt.message)) throw error
        await clock.sleep(MARK_PAUSE_MS)
      }
    }
  }

  async function round(): Promise<number> {
    const freeSlots = reach.limit(postsMax - underWay.size)
    if (isStopped || freeSlots <= 0) return POLL_MS
    // Read the keys first: without them no message may be claimed.
    const signingKeys = await keys()
    const startedMs = clock.monotonicMs()
    const claimed = await claimMessages(db, { messagesMax: freeSlots, leaseSec })
    emptyPolls = claimed.length === 0 ? emptyPolls + 1 : 0
    for (const message of claimed) underWay.add(message)
    const claimedAtMs = claimed[0]?.claimedAtMs ?? 0
    const getTimeMs = () => claimedAtMs + clock.monotonicMs() - startedMs
    for (const [index, message] of claimed.entries()) {
      if (index % POSTS_IN_TURN === 0) await yieldToEventLoop()
      // `abandon()` has released the message.
      if (!underWay.has(message)) continue
      deliver(message, signingKeys, getTimeMs)
        .catch((error: unknown) => log.error({ msg: 'Failed to record a delivery attempt', id: message.id, error }))
        .finally(() => {
          underWay.delete(message)
          idle.check()
          wake()
        })
    }
    return emptyPolls < QUIET_POLLS ? POLL_MS : QUIET_POLL_MS
  }

  return {
    job: {
      name: 'deliveries',
      round,
      retryMs: RETRY_MS,
      onError: (error) => log.error({ msg: 'Failed to claim due messages', error }),
    },
    setWake(newWake) {
      wake = newWake
    },
    stop() {
      isStopped = true
    },
    idle: idle.wait,
    async abandon() {
      isStopped = true
      const remaining = [...underWay]
      underWay.clear()
      if (remaining.length > 0) await releaseMessages(db, remaining)
    },
  }
}

const PAUSE_MS = { least: 5_000, most: 60_000 }
/** After a pause so few messages are taken at once until a receiver answers. */
const TRIAL_MESSAGES = 8
/** How old another process' answer may be to count against this process. */
const EVIDENCE_MS = 300_000
/** Messages that were returned are remembered, so that the second failure of each counts. */
const RETURNED_MAX = 10_000

/**
 * Judges whether a post without an answer failed for a reason of this process, such as its network or its settings: if
 * the receiver answered another process after any receiver last answered this one. Such a message is returned without a
 * counted attempt, once, and this process pauses, so that others take the messages. All times are of the database's
 * clock.
 */
function createReach({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
  const returned = new Set<string>()
  let answeredAtMs = 0
  let pauseMs = 0
  let pausedUntilMs = 0

  return {
    /** How many of `free` messages may be taken now. */
    limit(free: number): number {
      if (pauseMs === 0) return free
      return clock.monotonicMs() < pausedUntilMs ? 0 : Math.min(free, TRIAL_MESSAGES)
    },
    /** Called after an answer was recorded. */
    recordAnswer(nowMs: number): void {
      answeredAtMs = Math.max(answeredAtMs, nowMs)
      pauseMs = 0
    },
    /** True if the failure of this message is the process's own; it then pauses. */
    isOwnFailure({ id, answeredAtMs: otherMs }: DueMessage, nowMs: number): boolean {
      if (otherMs <= answeredAtMs || otherMs < nowMs - EVIDENCE_MS || returned.has(id)) return false
      if (returned.size >= RETURNED_MAX) returned.clear()
      returned.add(id)
      // Messages that were taken together fail together.
      if (clock.monotonicMs() >= pausedUntilMs) {
        pauseMs = Math.min(PAUSE_MS.most, Math.max(PAUSE_MS.least, 2 * pauseMs))
        pausedUntilMs = clock.monotonicMs() + pauseMs
        log.warn({ msg: 'Paused deliveries: receivers that answer other processes do not answer this one', pauseMs })
      }
      return true
    },
  }
}

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/** Pauses after the first failed attempt, the second and so on; after the last attempt there is none. */
const PAUSES_MS = [
  ...[5 * SECOND_MS, 30 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS],
  ...[2 * HOUR_MS, 6 * HOUR_MS, 12 * HOUR_MS, 24 * HOUR_MS],
]
/** Jitter of a pause, so that messages that failed together are not retried together. */
const JITTER = 0.2

/** Maximum attempts per message. */
export const ATTEMPTS_MAX = PAUSES_MS.length + 1

/**
 * The pause before the next attempt, milliseconds, after this many failed attempts; undefined if none follows. At least
 * the receiver's `Retry-After`. `random` is from 0 to below 1.
 */
export function computeRetryDelay(
  attempts: number,
  { retryAfterSec, random }: { readonly retryAfterSec: number | null; readonly random: number },
): number | undefined {
  const usualMs = PAUSES_MS[attempts - 1]
  if (usualMs === undefined) return undefined
  const chosenMs = usualMs * (1 + JITTER * (2 * random - 1))
  return Math.round(Math.max(chosenMs, (retryAfterSec ?? 0) * SECOND_MS))
}
