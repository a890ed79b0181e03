import { idempotencyRelease, ledgerFind } from '../../../sql/queries.ts'
import { type Database, SqlError } from '../../db/database.ts'
import type { Admission, Gate, GateRequest, Settlement, SettlementResult } from '../../http/exchange/gate.ts'
import type { StoredAnswer } from '../../http/exchange/idempotency.ts'
import type { Feature } from '../../http/route/route.ts'
import { type JobOptions, startJob } from '../../job/job.ts'
import { createBatcher } from '../../lib/async/batch.ts'
import { withTimeout } from '../../lib/async/wait.ts'
import type { Clock } from '../../lib/clock.ts'
import { AlreadyLoggedError, UnavailableError } from '../../lib/error.ts'
import { createFailureTracker } from '../../lib/failure_tracker.ts'
import type { Log } from '../../lib/log.ts'
import { logThrottled } from '../../lib/log.ts'
import { createMetrics, type Metrics } from '../../lib/metrics.ts'
import { hashKey, isWellFormedKey } from '../key.ts'
import { createLogIdCache } from '../log_ids.ts'
import { admitBatch } from './admit.ts'
import { claimKey } from './idempotency.ts'
import { LEASE_MS, openJournal } from './journal.ts'
import { createKeyCache } from './key_cache.ts'
import { createGateMetrics } from './metrics.ts'
import { createRefusalLogLimiter } from './refusal_log_limiter.ts'
import { rollupJob } from './rollup.ts'
import {
  isRefusedByDatabase,
  isSuperseded,
  type SettleOutcome,
  sanitizeSettlement,
  settleBatch,
  settleIdempotent,
} from './settle.ts'
import { createUnknownKeyLimiter } from './unknown_key_limiter.ts'
import { createVoider } from './voider.ts'

export interface AccountGate extends Gate {
  /** Settlements whose void waits for the database. */
  readonly voidsWaiting: number
  /** Why requests are neither admitted nor charged now, in the database's words; undefined as far as is known. */
  readonly trouble: string | undefined
  /** Finishes batches in flight and voids what it can, for at most `timeoutMs`; other voids stay on the disk. */
  close(timeoutMs: number): Promise<void>
}

interface GateOptions {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  /** Directory of the journal of unknown outcomes. */
  readonly journalDir: string
  /** How long an admission or a settlement may take. @default 1,500 */
  readonly deadlineMs?: number
  /** How long a journal must have stood still before it is adopted. @default 10,000 */
  readonly leaseMs?: number
  readonly metrics?: Metrics
  readonly jobs?: JobOptions
  /** Switched off whatever the database says. @default none */
  readonly featuresOff?: readonly Feature[]
  /** Log rows of one organization's refused requests in one second. @default 100, and one that stands for the rest */
  readonly refusalRowsMax?: number
}

const BATCH_MAX = 2_048
/** Fewer of those whose answers are kept: each brings its body. */
const KEPT_BATCH_MAX = 16
const QUEUE_MAX = 8_192
const DEADLINE_MS = 1_500
/** How often the journal shows, within a lease, that this process lives. */
const BEATS_PER_LEASE = 5

/**
 * Makes the gate over one database: two batched statements. Facts about keys are remembered between requests, but the
 * database makes every decision and reports which facts are out of date. The gate also voids what dead processes left
 * unvoided.
 */
export async function createGate(options: GateOptions): Promise<AccountGate> {
  const {
    db,
    clock,
    log,
    journalDir,
    deadlineMs = DEADLINE_MS,
    leaseMs = LEASE_MS,
    metrics = createMetrics(),
    jobs = {},
  } = options
  const facts = createKeyCache({ clock, featuresOff: options.featuresOff ?? [] })
  const numbers = createLogIdCache()
  const strangers = createUnknownKeyLimiter({ clock })
  const logsRefusal = createRefusalLogLimiter(options.refusalRowsMax)
  const trouble = createFailureTracker(clock)
  const voider = createVoider({
    db,
    log,
    trouble,
    open: async () => openJournal({ directory: journalDir, ledger: await ledgerIdOf(db), clock, log, leaseMs }),
    tendMs: leaseMs / BEATS_PER_LEASE,
    jobs,
  })
  const rollups = startJob(rollupJob({ db, log }), jobs)
  const { observed, unlogged, turnedAway } = createGateMetrics(metrics, { clock, voider, trouble })
  const limits = { clock, itemsMax: BATCH_MAX, queueMax: QUEUE_MAX }
  const admissions = createBatcher<GateRequest, Admission>({
    ...limits,
    flush: observed('admit', decide),
  })
  const settlements = createBatcher<Settlement, SettlementResult>({
    ...limits,
    flush: observed('settle', (batch) => orVoid(batch, (limited) => settleBatch(limited, batch, numbers))),
  })
  const kept = createBatcher<Parameters<typeof settleIdempotent>[1][number], SettlementResult>({
    ...limits,
    itemsMax: KEPT_BATCH_MAX,
    flush: observed('settle', (batch) =>
      orVoid(
        batch.map(({ settlement }) => settlement),
        (limited) => settleIdempotent(limited, batch),
      ),
    ),
  })

  // The service starts even if its database is away: the journal opens once the database names its ledger.
  await voider.ready().catch(() => {})

  async function decide(requests: readonly GateRequest[]): Promise<readonly Admission[]> {
    try {
      return await admitBatch(within(db, { deadlineMs, clock }), requests, facts)
    } catch (error) {
      if (!(error instanceof SqlError)) throw error
      // For example while a newer program migrates the database: another process may be able to admit it.
      const fields = { msg: 'The database refused to admit a batch', requests: requests.length, error }
      logThrottled(log, { level: 'error', kind: fields.msg }, fields)
      throw new AlreadyLoggedError('The request could not be admitted', { cause: error })
    }
  }

  async function admitStranger(request: GateRequest, hash: string): Promise<Admission> {
    if (!strangers.enter(hash)) {
      turnedAway.add(1)
      throw new UnavailableError('Too many unknown keys are being tried')
    }
    let isStranger = false
    try {
      const admission = await admissions.submit(request)
      isStranger = admission.kind === 'unknown_key'
      return admission
    } finally {
      strangers.leave(hash, { isStranger })
    }
  }

  /** Each settled, or why not. */
  async function orVoid(
    batch: readonly Settlement[],
    settle: (limited: Database) => Promise<readonly SettleOutcome[]>,
  ): Promise<readonly (SettlementResult | Error)[]> {
    await voider.ready().catch((error: unknown) => {
      throw unsettled(error)
    })
    try {
      const outcomes = await settle(within(db, { deadlineMs, clock }))
      rollups.wake()
      return outcomes.some(isRefusedByDatabase) ? outcomes.map((each, place) => reasoned(each, batch[place])) : outcomes
    } catch (error) {
      if (!(error instanceof UnavailableError)) {
        const fields = { msg: 'The database refused to settle a batch', settlements: batch.length, error }
        logThrottled(log, { level: 'error', kind: fields.msg }, fields)
      }
      await voider.add(batch)
      throw unsettled(error)
    }
  }

  function reasoned(outcome: SettleOutcome, settlement: Settlement | undefined): SettlementResult | Error {
    if (!isRefusedByDatabase(outcome) || isSuperseded(outcome)) return outcome
    const { code, constraint } = outcome
    log.error({ msg: 'The database refused a settlement', settlementId: settlement?.settlementId, code, constraint })
    return unsettled(outcome)
  }

  function settle(settlement: Settlement, answer?: StoredAnswer): Promise<SettlementResult> {
    const { admitted, caller, requestedAtMs } = settlement
    if (!admitted && !logsRefusal(caller.organizationId, requestedAtMs)) {
      unlogged.add(1)
      return Promise.resolve({ paid: true, creditsCharged: 0, creditsRemaining: caller.credits })
    }
    // Nothing may be sent whose outcome, if unknown, could not be remembered.
    if (voider.full) return Promise.reject(unsettled(new Error('journal full')))
    const safe = sanitizeSettlement(settlement)
    return answer === undefined ? settlements.submit(safe) : settleAndKeep(safe, answer)
  }

  async function settleAndKeep(settlement: Settlement, answer: StoredAnswer): Promise<SettlementResult> {
    try {
      return await kept.submit({ settlement, answer })
    } catch (error) {
      if (!isSuperseded(error)) throw error
      const logged = await settle({ ...settlement, status: 409, credits: 0 })
      return { ...logged, paid: false, isSuperseded: true }
    }
  }

  return {
    get voidsWaiting() {
      return voider.waiting
    },
    get trouble() {
      return trouble.reason
    },
    holder(key, client) {
      const hash = hashKey(key)
      // A key that is known has the right form, and looking it up takes less time than checking that.
      if (!facts.knows(hash) && !isWellFormedKey(key)) return undefined
      return client === undefined ? { kind: 'key', hash } : { kind: 'key', hash, client }
    },
    admit(request) {
      const { principal } = request
      // Nobody outside can invent a job.
      if (principal.kind === 'job' || facts.knows(principal.hash)) return admissions.submit(request)
      return admitStranger(request, principal.hash)
    },
    settle,
    claim: (claim) => claimKey(db, claim),
    async release(settlementId) {
      try {
        await idempotencyRelease(db, { settlementId })
      } catch (error) {
        log.warn({ msg: 'Could not give up an idempotency key', settlementId, error })
      }
    },
    async close(timeoutMs) {
      const settled = () => Promise.all([settlements.idle(), kept.idle()])
      const drained = Promise.all([admissions.idle(), settled()]).then(() => voider.idle())
      await withTimeout(timeoutMs, drained).catch(() => {})
      voider.stop()
      rollups.stop()
      // A settlement under way may still need the journal, until its deadline at the latest.
      const closing = settled().then(() => voider.close())
      if (settlements.size + kept.size === 0) await closing
    },
  }
}

/** The database for one batch: all its statements together end by the deadline. */
function within(db: Database, { deadlineMs, clock }: { readonly deadlineMs: number; readonly clock: Clock }): Database {
  const endMs = clock.monotonicMs() + deadlineMs
  return {
    ...db,
    async run(text, params, options) {
      const leftMs = endMs - clock.monotonicMs()
      if (leftMs <= 0) throw new UnavailableError('The database took too long')
      return db.run(text, params, { ...options, deadlineMs: leftMs })
    },
  }
}

/** Id of the ledger that the database holds. Throws `UnavailableError` if it is away. */
async function ledgerIdOf(db: Database): Promise<string> {
  const [row] = await ledgerFind(db, {})
  if (row === undefined) throw new Error('Cannot tell which ledger the database holds')
  return row.id
}

function unsettled(cause: unknown): UnavailableError {
  return new UnavailableError('The request could not be settled, nothing was charged', { cause })
}
