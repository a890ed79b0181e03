/**
 * How an answer gets a history of which no log is missing:
 *
 * 1. The caller names a stream, its target and a subject: what is followed, on which contract, for whom (`stream.ts`).
 * 2. `finality.ts` reads the newest final block, has the other endpoints confirm it, and compares the block that the
 *    stored history was built on, its anchor, with the chain. Where the chain has another block there, the history goes
 *    back to an older block, or stops.
 * 3. `coverage.ts` reads which blocks are stored, for the subject and for all. With none, the contracts' state may prove
 *    that the subject has no rows; then no log is read.
 * 4. `follow/follower.ts` finds the blocks that are missing, those of a single endpoint's word among them if a second
 *    one may serve. It chooses to read the subject alone or all subjects at once, gives requesters their turns, and a
 *    lease keeps other processes off the same blocks.
 * 5. `proof/cover.ts` goes through these blocks in parts, newest first. `logs/reader.ts` divides a part into requests
 *    that the endpoint accepts.
 * 6. `proof/proof.ts` reads each part until two reads have every known log, from two endpoints if two may serve.
 *    `proof/evidence.ts` decides about a log that only one of them gave, by receipts.
 * 7. The stream decodes the logs; `stored_part.ts` stores its rows with their coverage in one statement.
 * 8. When no block is missing, the stream compares the subject's rows with the contracts' state. Blocks that fail are
 *    read once more; after that the answer names the check.
 * 9. `proof/tail.ts` reads the rows after the final block. They are never stored. If some history is stored, this and
 *    the state for 8 are read at the same time as the logs of 4 to 7.
 *
 * A caller waits four seconds for 4 to 8; then `follow/failure.ts` tells the progress, and the work continues for half a
 * minute. Nothing is read for a block that 2 has not confirmed.
 */

import type { Hex } from 'viem'
import { featureDisabledFind } from '../../sql/queries.ts'
import type { PinnedBlock } from '../chain/block.ts'
import type { ChainClient } from '../chain/rpc/client.ts'
import type { Database } from '../db/database.ts'
import { coalesce } from '../lib/async/coalesce.ts'
import { limitWork, type Work } from '../lib/async/work.ts'
import type { Clock } from '../lib/clock.ts'
import { AbortedError, UnavailableError } from '../lib/error.ts'
import type { Log } from '../lib/log.ts'
import { createCoverage, hasCoverage, type StoredProgress, type SubjectCoverage } from './coverage.ts'
import { createFinalityTracker } from './finality.ts'
import {
  checkHistoryAge,
  createHistoryIssues,
  historyPendingError,
  historySwitchedOffError,
  tailPendingError,
  tipPendingError,
} from './follow/failure.ts'
import { createFollower, type Follower } from './follow/follower.ts'
import { createFollowerPool } from './follow/pool.ts'
import { type AdaptiveLogSource, createAdaptiveLogSource, type FinalBlock } from './logs/reader.ts'
import { createLogSource } from './logs/source.ts'
import type { HistoryRecorder, WorkingHistory } from './metrics.ts'
import { createTailReader } from './proof/tail.ts'
import type {
  CompleteHistory,
  EnsureRequest,
  History,
  HistoryReader,
  Stream,
  StreamTarget,
  TargetedRequest,
} from './stream.ts'
import type { Tip } from './tip.ts'

export interface HistoryService extends History, HistoryReader {
  /** Stored progress of all histories. Reads the database. */
  listProgress(): Promise<readonly StoredProgress[]>
  /** Global histories that this process works on. */
  listActive(): readonly WorkingHistory[]
  /** Why histories last failed, by chain id; safe to publish. */
  getIssues(): ReadonlyMap<number, string>
  /** Stops background work. */
  close(): Promise<void>
}

/** How long a request waits for its history, milliseconds, before it fails with `Retry-After`. */
const WAIT_MS = 4_000
/** Minimum wait, milliseconds, after a slow start: the request may have time left. */
const WAIT_LEAST_MS = 500

/** Creates the histories of all chains. Sends no request to an endpoint before the first history is requested. */
export function createHistory(options: {
  readonly clients: ReadonlyMap<number, ChainClient>
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  /** Names this process in leases. */
  readonly holder: string
  readonly recorder?: HistoryRecorder
  /** True if the configuration switches histories off. The operator can also do so at run time. */
  readonly isOff?: boolean
}): HistoryService {
  const { clients, db, clock, log, holder, recorder, isOff = false } = options
  const coverage = createCoverage(db, holder)
  const isSwitchedOff = createHistorySwitch(db)
  const finality = createFinalityTracker({ coverage, clock, log })
  const tailReader = createTailReader(clock)
  const issues = createHistoryIssues(clock)
  const sources = new Map<number, readonly AdaptiveLogSource[]>()
  const followers = createFollowerPool()

  function requireClient({ chainId }: Pick<StreamTarget, 'chainId'>): ChainClient {
    const client = clients.get(chainId)
    if (client === undefined) throw new Error(`Cannot follow chain ${chainId}: it is not served`)
    return client
  }

  function getSources(client: ChainClient): readonly AdaptiveLogSource[] {
    const { id } = client.chain
    const cachedSources = sources.get(id)
    if (cachedSources !== undefined) return cachedSources
    const newSources = client.background.map((endpoint) =>
      createAdaptiveLogSource({
        source: createLogSource(endpoint, id),
        clock,
        onOutcome: (outcome) => recorder?.recordRequest(id, outcome),
      }),
    )
    sources.set(id, newSources)
    return newSources
  }

  /** Tells the sources which of them have just shown that they have the final block. */
  function recordHolders({ client, tip }: TipContext): void {
    for (const each of getSources(client))
      if (tip.holders.includes(each.source.index)) each.recordFinalBlock(tip.finalized)
  }

  function getFollower<Row, Target extends StreamTarget>(
    client: ChainClient,
    stream: Stream<Row, Target>,
    target: Target,
  ): Follower<Target> {
    const { id } = client.chain
    return followers.use({ chainId: target.chainId, stream: stream.name, contract: target.contract }, () =>
      createFollower({
        stream,
        target,
        client,
        sources: getSources(client),
        coverage,
        db,
        clock,
        log,
        onStored: (blocks) => recorder?.recordStored(id, blocks),
        onHealed: (logs) => recorder?.recordHealed(id, logs),
      }),
    )
  }

  /**
   * True if the contracts' state proves that the subject has no rows. Used only while nothing is stored, when reading
   * the logs may take thousands of requests.
   */
  async function readUntouched<Row, Target extends StreamTarget>(
    { stream, target, subject }: TargetedRequest<Row, Target>,
    { client, block }: { readonly client: ChainClient; readonly block: PinnedBlock },
    work: Work,
  ): Promise<boolean> {
    if (stream.isUntouched === undefined) return false
    try {
      return await stream.isUntouched(target, { subject, client, block }, work)
    } catch (error) {
      // Fall back to the logs.
      if (error instanceof UnavailableError) return false
      throw error
    }
  }

  /**
   * Completes the stored history; true if two endpoints agreed on all of it. Throws `UnavailableError` with the
   * progress after `waitMs`.
   */
  async function complete<Row, Target extends StreamTarget>(
    { stream, target, subject, startBlock }: TargetedRequest<Row, Target>,
    { client, final, waitMs }: { readonly client: ChainClient; readonly final: FinalBlock; readonly waitMs: number },
    work: Work,
  ): Promise<boolean> {
    const fromBlock = Math.max(target.startBlock, startBlock ?? 0)
    if (fromBlock > final.number) return true
    const follower = getFollower(client, stream, target)
    const { requesters } = work
    const waitSignal = clock.timeout(waitMs)
    try {
      return await follower.complete(
        { subject, fromBlock, final, requesters },
        target,
        AbortSignal.any([work.signal, waitSignal]),
      )
    } catch (error) {
      if (!(error instanceof AbortedError) || work.signal.aborted) throw error
      throw follower.findFailure(subject) ?? historyPendingError(client, follower.getProgress(subject))
    }
  }

  /** Completes the stored history and reads the tail at the same time: neither needs the other. */
  async function readBoth<Row, Target extends StreamTarget>(
    request: TargetedRequest<Row, Target>,
    context: TipContext & {
      readonly waitMs: number
      readonly coverageBySubject: ReadonlyMap<Hex | null, SubjectCoverage>
    },
    work: Work,
  ) {
    const { stream, target, subject } = request
    const { client, tip, coverageBySubject } = context
    const endController = new AbortController()
    const shared = limitWork(work, endController.signal)
    const readTail = () =>
      tailReader.read({ stream, target, subject, client, tip, witnesses: getSources(client) }, shared)
    // Skip the unfinalized tail while most of the history is missing: it would be discarded.
    const isPartlyStored = hasCoverage(coverageBySubject)
    const pendingTail = isPartlyStored ? readTail() : undefined
    pendingTail?.catch(() => {})
    if (isPartlyStored) {
      const { finalized } = tip
      getFollower(client, stream, target).startCheck({ ...request, finalized, coverageBySubject }, target, shared)
    }
    try {
      const isAgreed = await complete(request, { ...context, final: toFinalBlock(tip) }, work)
      work.onTimeout(() => tailPendingError(client, tip))
      const { block = tip.finalized, rows } = await (pendingTail ?? readTail())
      return { isAgreed, block, rows }
    } finally {
      endController.abort()
    }
  }

  async function ensure<Row, Target extends StreamTarget>(
    request: EnsureRequest<Row, Target>,
    client: ChainClient,
    work: Work,
  ): Promise<CompleteHistory<Row>> {
    const startedMs = clock.monotonicMs()
    work.onTimeout(() => tipPendingError(client))
    const [target, tip] = await Promise.all([
      'read' in request.target ? request.target.read() : request.target,
      request.pendingTip ?? finality.readTip(client, work),
      isSwitchedOff().then((isOffNow) => {
        if (isOff || isOffNow) throw historySwitchedOffError(client)
      }),
    ])
    return await ensureAt({ ...request, target }, { client, tip, startedMs }, work)
  }

  async function ensureAt<Row, Target extends StreamTarget>(
    request: TargetedRequest<Row, Target>,
    context: TipContext & { readonly startedMs: number },
    work: Work,
  ): Promise<CompleteHistory<Row>> {
    const { client, tip, startedMs } = context
    const { stream, subject, target } = request
    const follower = getFollower(client, stream, target)
    work.onTimeout(() => follower.findFailure(subject) ?? historyPendingError(client, follower.getProgress(subject)))
    recordHolders(context)
    const storedTo = Number(tip.finalized.number)
    const coverageBySubject = await coverage.find({ target, stream: stream.name }, [null, subject])
    const isUntouched =
      !hasCoverage(coverageBySubject) && (await readUntouched(request, { client, block: tip.block }, work))
    if (isUntouched) return { storedTo, tail: [], block: tip.block, isUntouched, isAgreed: true, version: undefined }
    const waitMs = Math.max(WAIT_LEAST_MS, WAIT_MS - (clock.monotonicMs() - startedMs))
    const { isAgreed, block, rows } = await readBoth(request, { ...context, waitMs, coverageBySubject }, work)
    if (request.upTo === undefined || request.upTo > block.number) checkHistoryAge(client, block, clock)
    const tail = rows.filter((row) => stream.table.toSubject(row) === subject)
    return {
      storedTo,
      tail,
      block,
      isUntouched,
      isAgreed,
      version: isAgreed || client.background.length < 2 ? String(tip.epoch) : undefined,
    }
  }

  return {
    readTip: (chainId, work) => finality.readTip(requireClient({ chainId }), work),
    ensure(request, work) {
      const client = requireClient(request.target)
      return issues.watch(client.chain.id, () => ensure(request, client, work))
    },
    complete({ stream, target }, work) {
      if (stream.subjectsOnly) throw new Error(`Cannot read a global history of stream ${stream.name}`)
      const client = requireClient(target)
      return issues.watch(client.chain.id, async () => {
        const tip = await finality.readTip(client, work)
        recordHolders({ client, tip })
        const final = toFinalBlock(tip)
        if (target.startBlock > final.number) return
        const historyRequest = { subject: null, fromBlock: target.startBlock, final, requesters: work.requesters }
        await getFollower(client, stream, target).complete(historyRequest, target, work.signal)
      })
    },
    getIssues: issues.listRecent,
    listProgress: coverage.listProgress,
    listActive: () =>
      followers.list().flatMap(({ name, follower: { scanBlocksLeft: blocksLeft } }) => {
        return blocksLeft === undefined ? [] : [{ ...name, blocksLeft }]
      }),
    async close() {
      await Promise.all(followers.list().map(({ follower }) => follower.close()))
    },
  }
}

interface TipContext {
  readonly client: ChainClient
  readonly tip: Tip
}

function toFinalBlock({ finalized: { number, hash }, epoch }: Tip): FinalBlock {
  return { number: Number(number), hash, epoch }
}

/**
 * Creates the check whether the operator has switched histories off; concurrent checks share one statement. Throws as
 * `Database.run`.
 */
function createHistorySwitch(db: Database): () => Promise<boolean> {
  const readIsOff = coalesce<undefined, boolean>({
    getKey: () => '',
    itemsMax: Number.POSITIVE_INFINITY,
    async answer(requesters) {
      const [row] = await featureDisabledFind(db, { feature: 'history' })
      return requesters.map(() => row?.is_off === true)
    },
  })
  return () => readIsOff(undefined)
}
