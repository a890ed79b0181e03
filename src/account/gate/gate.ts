/**
 * How a request is admitted and paid, once, by one database and any number of processes:
 *
 * 1. `key_cache.ts` has the record of a key by its hash. A key that this process has not seen is looked up, and
 *    `key_cache.ts` limits how many are.
 * 2. `admit.ts` decides all requests that arrived while the previous batch was in flight, in one statement: it tells
 *    which records are out of date, and counts each organization's last second over all processes. No credits move.
 * 3. The exchange carries the request out, and comes back with its status and what it costs.
 * 4. `settle.ts` charges and logs all requests that finished meanwhile, in order of arrival, in one durable statement.
 *    What a balance or a limit cannot pay is refused, and its answer is never sent.
 * 5. A change, and an answer kept for an idempotency key (`idempotency.ts`), commit in the same statement as their
 *    charge.
 * 6. If it is unknown whether a batch was charged, the requests fail, and `journal.ts` writes them to disk before they do.
 *    `voider.ts` ends them as 503 when the database answers: it refunds what was charged, and a row under the same id
 *    blocks what may still arrive. A change that was made stays.
 * 7. After a crash another process adopts the journal of the dead one, and does 6 for it (`journal.ts`).
 * 8. A job adds the rows of the log to the hours' totals, and `write_check.ts` tells readiness whether charges succeed
 *    now.
 */

import { requestRollupFold } from '../../../sql/functions.ts'
import { idempotencyRelease, ledgerFind } from '../../../sql/queries.ts'
import { type Database, SqlError } from '../../db/database.ts'
import {
  type Admission,
  type ChangeResult,
  type Gate,
  type GateRequest,
  type Settlement,
  type SettlementResult,
  UnknownOutcomeError,
} from '../../http/exchange/gate.ts'
import type { StoredAnswer } from '../../http/exchange/idempotency.ts'
import type { Change } from '../../http/route/change.ts'
import type { Feature } from '../../http/route/route.ts'
import { withTimeout } from '../../lib/async/abort.ts'
import { createBatcher } from '../../lib/async/batch.ts'
import { createFairLimiter } from '../../lib/async/fair_queue.ts'
import type { Clock } from '../../lib/clock.ts'
import { AlreadyLoggedError, UnavailableError } from '../../lib/error.ts'
import { createFailureTracker } from '../../lib/failure_tracker.ts'
import { type Job, type JobOptions, startJob } from '../../lib/job.ts'
import { type Log, logThrottled } from '../../lib/log.ts'
import { createMetrics, type Metrics } from '../../lib/metrics.ts'
import { hashKey, isWellFormedKey } from '../key.ts'
import { createLogIdCache } from '../log_ids.ts'
import { admitBatch, lookUpKeys } from './admit.ts'
import { claimKey } from './idempotency.ts'
import { LEASE_MS, openJournal } from './journal.ts'
import { type JournalDisk, systemDisk } from './journal_disk.ts'
import { createKeyCache, createUnknownKeyLimiter, isAllowedNetwork } from './key_cache.ts'
import { createGateMetrics } from './metrics.ts'
import {
  type ChangeSettlement,
  getChangeRefusal,
  isRefusedByDatabase,
  isSuperseded,
  sanitizeSettlement,
  settleBatch,
  settleChange,
  settleIdempotent,
} from './settle.ts'
import { createVoider } from './voider.ts'
import { createWriteCheck } from './write_check.ts'

export interface AccountGate extends Gate {
  /** Settlements whose void waits for the database. */
  readonly voidsWaiting: number
  /** Returns the database's error if requests cannot be admitted or charged now, else undefined. Never rejects. */
  findTrouble(): Promise<string | undefined>
  /** Finishes batches in flight and voids settlements for at most `timeoutMs`; remaining voids stay on the disk. */
  close(timeoutMs: number): Promise<void>
}

interface GateOptions {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  /** Directory of the journal of unknown outcomes. */
  readonly journalDir: string
  /** @default the machine's */
  readonly journalDisk?: JournalDisk
  /** How long an admission or a settlement may take. @default 1,500 */
  readonly deadlineMs?: number
  /** How long a journal must be unchanged before it is adopted. @default 10,000 */
  readonly leaseMs?: number
  readonly metrics?: Metrics
  readonly jobs?: JobOptions
  /** Features that stay off regardless of the database. @default none */
  readonly featuresOff?: readonly Feature[]
  /** Log rows of one organization's refused requests in one second. @default 100, plus one for all further refusals */
  readonly refusalRowsMax?: number
}

/** A change, and how long its statement may take. */
type OwnChange = ChangeSettlement & { readonly deadlineMs: number }

/** A request that gives up its idempotency key. */
interface Release {
  readonly settlementId: string
  readonly isVoided: boolean
}

const BATCH_MAX = 2_048
/** Batch size of settlements that store an answer: smaller, because each carries a body. */
const IDEMPOTENT_BATCH_MAX = 16
const QUEUE_MAX = 8_192
const DEADLINE_MS = 1_500
/** Most statements at a time of those that cannot be batched: of changes, and of claims of idempotency keys. */
const SINGLES_MAX = 3
/** Number of times within a lease that the journal file's modification time is updated. */
const BEATS_PER_LEASE = 5

/**
 * Creates the gate over one database: two batched statements. Key records are cached between requests, but the database
 * makes every decision and reports which records are out of date. The gate also voids settlements that dead processes
 * left in their journals.
 */
export async function createGate(options: GateOptions): Promise<AccountGate> {
  const {
    db,
    clock,
    log,
    journalDir,
    journalDisk: disk = systemDisk,
    deadlineMs = DEADLINE_MS,
    leaseMs = LEASE_MS,
    metrics = createMetrics(),
    jobs = { clock },
  } = options
  const keyCache = createKeyCache({ clock, featuresOff: options.featuresOff ?? [] })
  const logIds = createLogIdCache()
  const unknownKeyLimiter = createUnknownKeyLimiter({ clock })
  const mustLogRefusal = createRefusalLogLimiter(options.refusalRowsMax)
  const trouble = createFailureTracker(clock)
  const writeCheck = createWriteCheck({ db, clock, trouble })
  const voider = createVoider({
    db,
    clock,
    log,
    trouble,
    open: async () => openJournal({ directory: journalDir, ledger: await readLedgerId(db), clock, log, disk, leaseMs }),
    tendMs: leaseMs / BEATS_PER_LEASE,
    jobs,
  })
  const rollups = startJob(rollupJob({ db, log }), jobs)
  const {
    observed: withMetrics,
    unlogged: refusalsUnlogged,
    turnedAway: lookupsRefused,
  } = createGateMetrics(metrics, { clock, voider, trouble })
  const limits = { clock, itemsMax: BATCH_MAX, queueMax: QUEUE_MAX }
  const admissions = createBatcher<GateRequest, Admission>({
    ...limits,
    flush: withMetrics('admit', decide),
  })
  const lookups = createBatcher<string, boolean>({
    ...limits,
    flush: (hashes) => withAdmissionErrors(hashes.length, (limitedDb) => lookUpKeys(limitedDb, hashes, keyCache)),
  })
  const settlements = createBatcher<Settlement, SettlementResult>({
    ...limits,
    flush: withMetrics('settle', (batch) => settleOrVoid(batch, (limitedDb) => settleBatch(limitedDb, batch, logIds))),
  })
  const idempotentSettlements = createBatcher<Parameters<typeof settleIdempotent>[1][number], SettlementResult>({
    ...limits,
    itemsMax: IDEMPOTENT_BATCH_MAX,
    flush: withMetrics('settle', (batch) =>
      settleOrVoid(
        batch.map(({ settlement }) => settlement),
        (limitedDb) => settleIdempotent(limitedDb, batch),
      ),
    ),
  })

  // Changes and claims have a statement each: few at a time, so that they leave connections to the batches.
  const createSingles = () =>
    createFairLimiter({ clock, runsMax: SINGLES_MAX, queueMax: QUEUE_MAX, waitMs: deadlineMs })
  const changes = createSingles()
  const claims = createSingles()
  const settleAlone = withMetrics('settle', ([each]: readonly OwnChange[]) =>
    each === undefined
      ? Promise.resolve([])
      : settleOrVoid([each.settlement], async (limitedDb) => [await settleChange(limitedDb, each)], each.deadlineMs),
  )
  const releases = createBatcher<Release, undefined>({ ...limits, flush: release })

  // The service starts even if its database is unreachable: the journal opens once the ledger's id is read.
  await voider.ready().catch(() => {})

  function decide(requests: readonly GateRequest[]): Promise<readonly Admission[]> {
    return withAdmissionErrors(requests.length, (limitedDb) => admitBatch(limitedDb, requests, keyCache))
  }

  async function withAdmissionErrors<Result>(
    requests: number,
    ask: (limitedDb: Database) => Promise<Result>,
  ): Promise<Result> {
    try {
      return await ask(withDeadline(db, { deadlineMs, clock }))
    } catch (error) {
      if (!(error instanceof SqlError)) throw error
      // For example while a newer release migrates the database: another process may be able to admit the request.
      const fields = { msg: 'The database rejected a batch of admissions', requests, error }
      logThrottled(log, { level: 'error', kind: fields.msg, clock }, fields)
      throw new AlreadyLoggedError('The request could not be admitted', { cause: error })
    }
  }

  /** Limits the look-up of a key that this process has not seen; `isStranger` judges its result. */
  async function limitLookup<Result>(
    hash: string,
    { lookUp, isStranger }: { lookUp: () => Promise<Result>; isStranger: (result: Result) => boolean },
  ): Promise<Result> {
    if (!unknownKeyLimiter.acquire(hash)) {
      lookupsRefused.add(1)
      throw new UnavailableError('Too many unknown keys are being tried')
    }
    let isUnknown = false
    try {
      const result = await lookUp()
      isUnknown = isStranger(result)
      return result
    } finally {
      unknownKeyLimiter.release(hash, { isStranger: isUnknown })
    }
  }

  /** Settles a batch: a result or an error for each. If the outcome is unknown, queues all for voiding and throws. */
  async function settleOrVoid<Result extends SettlementResult>(
    batch: readonly Settlement[],
    settle: (limitedDb: Database) => Promise<readonly (Result | SqlError)[]>,
    ownDeadlineMs = deadlineMs,
  ): Promise<readonly (Result | Error)[]> {
    await voider.ready().catch((error: unknown) => {
      throw unsettledError(error)
    })
    try {
      const outcomes = await settle(withDeadline(db, { deadlineMs: ownDeadlineMs, clock }))
      writeCheck.recordSuccess()
      rollups.wake()
      return outcomes.some(isRefusedByDatabase) ? outcomes.map((each, index) => toResult(each, batch[index])) : outcomes
    } catch (error) {
      if (!(error instanceof UnavailableError)) {
        const fields = { msg: 'The database rejected a batch of settlements', settlements: batch.length, error }
        logThrottled(log, { level: 'error', kind: fields.msg, clock }, fields)
      }
      await voider.add(batch)
      const msg = batch.some(({ isChange }) => isChange) ? UNKNOWN_CHANGE : UNSETTLED
      throw new UnknownOutcomeError(msg, { cause: error })
    }
  }

  function toResult<Result extends SettlementResult>(
    outcome: Result | SqlError,
    settlement: Settlement | undefined,
  ): Result | Error {
    if (!isRefusedByDatabase(outcome) || isSuperseded(outcome) || getChangeRefusal(outcome) !== undefined)
      return outcome
    const { code, constraint } = outcome
    log.error({ msg: 'The database rejected a settlement', settlementId: settlement?.settlementId, code, constraint })
    return unsettledError(outcome)
  }

  function settle(settlement: Settlement, answer?: StoredAnswer): Promise<SettlementResult> {
    const { admitted, caller, requestedAtMs } = settlement
    if (!admitted && !mustLogRefusal(caller.organizationId, requestedAtMs)) {
      refusalsUnlogged.add(1)
      return Promise.resolve({ paid: true, creditsCharged: 0, creditsRemaining: caller.credits })
    }
    // Refuse to settle while the journal is full: an unknown outcome could not be recorded for voiding.
    if (voider.isFull) return Promise.reject(unsettledError(new Error('journal full')))
    const safe = sanitizeSettlement(settlement)
    return answer === undefined ? settlements.submit(safe) : settleAndStore(safe, answer)
  }

  async function settleAndStore(settlement: Settlement, answer: StoredAnswer): Promise<SettlementResult> {
    try {
      return await idempotentSettlements.submit({ settlement, answer })
    } catch (error) {
      if (!isSuperseded(error)) throw error
      return await logSuperseded(settlement)
    }
  }

  async function logSuperseded(settlement: Settlement): Promise<SettlementResult> {
    const loggedResult = await settle({ ...settlement, status: 409, credits: 0 })
    return { ...loggedResult, paid: false, isSuperseded: true }
  }

  async function settleOneChange(
    settlement: Settlement,
    change: Pick<Change, 'kind' | 'details' | 'deadlineMs'>,
    { isKept }: { readonly isKept: boolean },
  ): Promise<ChangeResult> {
    if (voider.isFull) throw unsettledError(new Error('journal full'))
    const safe = sanitizeSettlement(settlement)
    const { deadlineMs: ownDeadlineMs = deadlineMs } = change
    const own = { settlement: { ...safe, isChange: true as const }, change, isKept, deadlineMs: ownDeadlineMs }
    const [outcome] = await changes.run(safe.caller.organizationId, () => settleAlone([own]))
    if (outcome === undefined) throw new Error('Cannot settle a change: it has no outcome')
    if (!(outcome instanceof Error)) return outcome
    const refusal = getChangeRefusal(outcome)
    if (refusal !== undefined) return { refusal }
    if (!isSuperseded(outcome)) throw outcome
    return { ...(await logSuperseded(safe)), result: undefined }
  }

  async function release(batch: readonly Release[]): Promise<readonly undefined[]> {
    const listIds = (voided: boolean) => batch.flatMap((each) => (each.isVoided === voided ? each.settlementId : []))
    await idempotencyRelease(db, { unanswered: listIds(false), voided: listIds(true) })
    return batch.map(() => undefined)
  }

  return {
    get voidsWaiting() {
      return voider.waiting
    },
    findTrouble: writeCheck.findTrouble,
    toHolder(key, client) {
      const hash = hashKey(key)
      // A cached key is well-formed, and the cache look-up is cheaper than the check.
      if (!keyCache.has(hash) && !isWellFormedKey(key)) return undefined
      return client === undefined ? { kind: 'key', hash } : { kind: 'key', hash, client }
    },
    admit(request) {
      const { principal } = request
      // Job principals are internal, so they skip the unknown-key limiter.
      if (principal.kind === 'job' || keyCache.has(principal.hash)) return admissions.submit(request)
      return limitLookup(principal.hash, {
        lookUp: () => admissions.submit(request),
        isStranger: ({ kind }) => kind === 'unknown_key',
      })
    },
    async recognize({ hash, client }) {
      const isKnown =
        keyCache.has(hash) ||
        (await limitLookup(hash, { lookUp: () => lookups.submit(hash), isStranger: (isKey) => !isKey }))
      const record = keyCache.find(hash)
      return isKnown && (record === undefined || isAllowedNetwork(client, record))
    },
    settle,
    settleChange: settleOneChange,
    claim: (claim) => claims.run(claim.organizationId, () => claimKey(withDeadline(db, { deadlineMs, clock }), claim)),
    async release(settlementId, { isVoided } = { isVoided: false }) {
      try {
        await releases.submit({ settlementId, isVoided })
      } catch (error) {
        const fields = { msg: 'Failed to release an idempotency key', settlementId, error }
        logThrottled(log, { level: 'warn', kind: fields.msg, clock }, fields)
      }
    },
    async close(timeoutMs) {
      const settling = [settlements, idempotentSettlements, changes]
      const whenSettled = () => Promise.all(settling.map((each) => each.idle()))
      const drained = Promise.all([lookups.idle(), admissions.idle(), whenSettled()]).then(() => voider.idle())
      await withTimeout(drained, { ms: timeoutMs, clock }).catch(() => {})
      voider.stop()
      rollups.stop()
      // Close the journal after the settlements under way, which may still need it until their deadline.
      const closing = whenSettled().then(() => voider.close())
      if (settling.every(({ size }) => size === 0)) await closing
    },
  }
}

/** Wraps the database for one batch, so that all its statements together end by the deadline. */
function withDeadline(
  db: Database,
  { deadlineMs, clock }: { readonly deadlineMs: number; readonly clock: Clock },
): Database {
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

/** Reads the id of the database's ledger. Throws `UnavailableError` if the database is unreachable. */
async function readLedgerId(db: Database): Promise<string> {
  const [row] = await ledgerFind(db, {})
  if (row === undefined) throw new Error('Cannot read the id of the ledger: the database returned no row')
  return row.id
}

const UNSETTLED = 'The request could not be settled, nothing was charged'
const UNKNOWN_CHANGE =
  'The request may have been carried out: repeat it with the same Idempotency-Key, or look before you repeat it'

function unsettledError(cause: unknown): UnavailableError {
  return new UnavailableError(UNSETTLED, { cause })
}

/** Rows of one organization in one second; one more row represents all further refusals. */
const ROWS_MAX = 100
const LATE_MAX_SEC = 10

/**
 * Creates a limiter for one process that decides whether a request refused at `requestedAtMs`, milliseconds since the
 * epoch, gets a row in the log. Refusals are free of charge and not rate-limited: with a row for each, one key without
 * credits could fill the disk.
 */
function createRefusalLogLimiter(rowsMax = ROWS_MAX) {
  const counts = new Map<string, number>()
  let currentSec = 0
  return (organizationId: string, requestedAtMs: number): boolean => {
    const requestedSec = Math.floor(requestedAtMs / 1_000)
    // Late settlements count in the current second; a clock that was set back resets the counts.
    if (requestedSec > currentSec || requestedSec < currentSec - LATE_MAX_SEC) {
      currentSec = requestedSec
      counts.clear()
    }
    const count = (counts.get(organizationId) ?? 0) + 1
    counts.set(organizationId, count)
    return count <= rowsMax + 1
  }
}

const EVERY_MS = 1_000
const ROLLUP_DEADLINE_MS = 10_000

/**
 * Adds new log rows to the rollups within about a second; the gate wakes the job after each logged batch. The first
 * round counts rows that earlier processes left uncounted. Totals are exact before and after a round.
 */
function rollupJob({ db, log }: { readonly db: Database; readonly log: Log }): Job {
  return {
    name: 'log_rollup',
    gatherMs: EVERY_MS,
    retryMs: { least: EVERY_MS, most: EVERY_MS },
    async round() {
      await requestRollupFold(db, {}, { deadlineMs: ROLLUP_DEADLINE_MS })
      return undefined
    },
    onError: (error) => log.error({ msg: 'Failed to roll up the request log', error }),
  }
}
