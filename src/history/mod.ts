import type { PinnedBlock } from '../chain/block.ts'
import type { ChainClient } from '../chain/rpc/client.ts'
import type { Database } from '../db/database.ts'
import { delay, timeoutSignal } from '../lib/async/abort.ts'
import { getRequesters, withRequesters } from '../lib/async/requesters.ts'
import { registerTimeoutError } from '../lib/async/timeout_error.ts'
import type { Clock } from '../lib/clock.ts'
import { AbortedError, UnavailableError } from '../lib/error.ts'
import type { Log } from '../lib/log.ts'
import { createCoverage, hasCoverage, type StoredProgress } from './coverage.ts'
import { createFinalityTracker } from './finality/finality.ts'
import { createFollower, type Follower } from './follow/follower.ts'
import { createHistoryIssues } from './follow/issues.ts'
import {
  checkHistoryAge,
  historyPendingError,
  historySwitchedOffError,
  tailPendingError,
  tipPendingError,
} from './follow/pending_errors.ts'
import { createHistorySwitch } from './follow/switch.ts'
import { type AdaptiveLogSource, createAdaptiveLogSource, type FinalBlock } from './logs/reader.ts'
import { createLogSource } from './logs/source.ts'
import type { HistoryRecorder, WorkingHistory } from './metrics.ts'
import { createTailReader, type Tail } from './proof/tail.ts'
import type {
  CompleteHistory,
  EnsureRequest,
  History,
  HistoryReader,
  Stream,
  StreamTarget,
  TargetedRequest,
} from './stream.ts'
import { type ExpectedTip, isSameTip, type Tip } from './tip.ts'

export interface HistoryService extends History, HistoryReader {
  /** What is stored, from the database. */
  progress(): Promise<readonly StoredProgress[]>
  /** Histories of everybody that this process works on. */
  working(): readonly WorkingHistory[]
  /** Why histories of chains could not go on when somebody asked last, by chain id, in words for anybody. */
  troubles(): ReadonlyMap<number, string>
  /** Ends work in the background. */
  close(): Promise<void>
}

/** How long a caller waits for its history, milliseconds; then it is told when to come back. */
const WAIT_MS = 4_000
/** It waits at least this long, however long it took to learn what is missing: its request may have time left. */
const WAIT_LEAST_MS = 500

/** Makes the histories of all chains. Nothing is asked of any endpoint until somebody asks for a history. */
export function createHistory(options: {
  readonly clients: ReadonlyMap<number, ChainClient>
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  /** Names this process in what it shares with others. */
  readonly holder: string
  readonly recorder?: HistoryRecorder
  /** True if configuration switches histories off; the operator can do so as well. */
  readonly isOff?: boolean
}): HistoryService {
  const { clients, db, clock, log, holder, recorder, isOff = false } = options
  const coverage = createCoverage(db, holder)
  const isSwitchedOff = createHistorySwitch(db)
  const finality = createFinalityTracker({ coverage, clock, log })
  const tails = createTailReader(clock)
  const troubles = createHistoryIssues(clock)
  const sources = new Map<number, readonly AdaptiveLogSource[]>()
  const followers = new Map<string, Follower<never>>()
  const names = new Map<string, Omit<WorkingHistory, 'blocksLeft'>>()

  function clientOf({ chainId }: Pick<StreamTarget, 'chainId'>): ChainClient {
    const client = clients.get(chainId)
    if (client === undefined) throw new Error(`Cannot follow chain ${chainId}: it is not served`)
    return client
  }

  function sourcesOf(client: ChainClient): readonly AdaptiveLogSource[] {
    const { id } = client.chain
    const known = sources.get(id)
    if (known !== undefined) return known
    const made = client.background.map((endpoint) =>
      createAdaptiveLogSource({
        source: createLogSource(endpoint, id),
        clock,
        sleep: delay,
        record: (outcome) => recorder?.requested(id, outcome),
      }),
    )
    sources.set(id, made)
    return made
  }

  function followerOf<Row, Place extends StreamTarget>(
    client: ChainClient,
    stream: Stream<Row, Place>,
    place: Place,
  ): Follower<Place> {
    const key = `${stream.name}:${place.chainId}:${place.contract}`
    const { id } = client.chain
    const follower: Follower<Place> =
      followers.get(key) ??
      createFollower({
        stream,
        place,
        client,
        sources: sourcesOf(client),
        coverage,
        db,
        clock,
        log,
        sleep: delay,
        onStored: (blocks) => recorder?.stored(id, blocks),
        onHealed: (logs) => recorder?.healed(id, logs),
      })
    followers.set(key, follower)
    names.set(key, { chainId: place.chainId, stream: stream.name, contract: place.contract })
    return follower
  }

  /** Asked only while nothing is stored of the subject or everybody: its logs may then take thousands of requests. */
  async function untouched<Row, Place extends StreamTarget>(
    { stream, place, subject }: TargetedRequest<Row, Place>,
    { client, block }: { readonly client: ChainClient; readonly block: PinnedBlock },
    signal: AbortSignal,
  ): Promise<boolean> {
    if (stream.isUntouched === undefined) return false
    try {
      return await stream.isUntouched(place, { subject, client, block }, signal)
    } catch (error) {
      // Then its logs tell.
      if (error instanceof UnavailableError) return false
      throw error
    }
  }

  /** True if two endpoints agreed on it. Throws `UnavailableError` with the progress if `waitMs` pass before. */
  async function complete<Row, Place extends StreamTarget>(
    { stream, place, subject, startBlock }: TargetedRequest<Row, Place>,
    { client, final, waitMs }: { readonly client: ChainClient; readonly final: FinalBlock; readonly waitMs: number },
    signal: AbortSignal,
  ): Promise<boolean> {
    const fromBlock = Math.max(place.startBlock, startBlock ?? 0)
    if (fromBlock > final.number) return true
    const follower = followerOf(client, stream, place)
    const askers = getRequesters(signal)
    const patience = timeoutSignal(waitMs)
    try {
      return await follower.complete({ subject, fromBlock, final, askers }, place, AbortSignal.any([signal, patience]))
    } catch (error) {
      if (!(error instanceof AbortedError) || signal.aborted) throw error
      throw follower.failureOf(subject) ?? historyPendingError(client, follower.paceOf(subject))
    }
  }

  /** What is stored is completed while the end is read: neither needs the other. */
  async function readBoth<Row, Place extends StreamTarget>(
    request: TargetedRequest<Row, Place>,
    within: TipContext<Row> & { readonly waitMs: number; readonly isBegun: boolean },
    signal: AbortSignal,
  ) {
    const { client, tip, isBegun, foreseen } = within
    const over = new AbortController()
    const shared = withRequesters(getRequesters(signal), AbortSignal.any([signal, over.signal]))
    const readEnd = () => tails.read({ ...request, client, tip, witnesses: sourcesOf(client) }, shared)
    // While most is missing the end would be read for nobody, for each block of the wait.
    const ahead = foreseen.end !== undefined && isSameTip(foreseen.end.tip, tip) ? foreseen.end.tail : undefined
    const begun = ahead ?? (isBegun ? readEnd() : undefined)
    begun?.catch(() => {})
    try {
      const isAgreed = await complete(request, { ...within, final: finalOf(tip) }, signal)
      registerTimeoutError(signal, () => tailPendingError(client, tip))
      const { block = tip.finalized, rows } = await (begun ?? readEnd())
      return { isAgreed, block, rows }
    } finally {
      over.abort()
    }
  }

  /**
   * Begins, while the endpoints still agree on the tip, what will be asked for if it is the expected one: whoever asks
   * then finds it under way.
   */
  async function foresee<Row, Place extends StreamTarget>(
    request: TargetedRequest<Row, Place>,
    { client, tip, foreseen }: Omit<TipContext<Row>, 'tip'> & { readonly tip: ExpectedTip },
    signal: AbortSignal,
  ): Promise<void> {
    const { stream, place, subject } = request
    const covered = await coverage.find({ place, stream: stream.name }, [null, subject])
    if (!hasCoverage(covered) || foreseen.isOver || signal.aborted) return
    const tail = tails.read({ ...request, client, tip, witnesses: sourcesOf(client) }, signal)
    tail.catch(() => {})
    foreseen.end = { tip, tail }
    const finalized = { number: tip.finalized.number, timestampSec: tip.block.timestampSec }
    followerOf(client, stream, place).foresee({ ...request, finalized, covered }, place, signal)
  }

  async function ensure<Row, Place extends StreamTarget>(
    unplaced: EnsureRequest<Row, Place>,
    client: ChainClient,
    signal: AbortSignal,
  ): Promise<CompleteHistory<Row>> {
    const over = new AbortController()
    const shared = withRequesters(getRequesters(signal), AbortSignal.any([signal, over.signal]))
    const foreseen: PrefetchContext<Row> = { end: undefined, isOver: false }
    const startedMs = clock.monotonicMs()
    registerTimeoutError(signal, () => tipPendingError(client))
    const begun = unplaced.begun ?? finality.beginTip(client, signal)
    const placing = 'read' in unplaced.place ? unplaced.place.read() : Promise.resolve(unplaced.place)
    const switching = isSwitchedOff().then((isOffNow) => {
      if (isOff || isOffNow) throw historySwitchedOffError(client)
    })
    const expect = (tip: ExpectedTip) => {
      Promise.all([placing, switching])
        .then(([place]) => foresee({ ...unplaced, place }, { client, tip, foreseen }, shared))
        .catch(() => {})
    }
    try {
      const [place, tip] = await Promise.all([placing, begun.tip(expect), switching])
      foreseen.isOver = true
      return await ensureAt({ ...unplaced, place }, { client, tip, startedMs, foreseen, shared }, signal)
    } finally {
      over.abort()
    }
  }

  async function ensureAt<Row, Place extends StreamTarget>(
    request: TargetedRequest<Row, Place>,
    within: TipContext<Row> & { readonly startedMs: number; readonly shared: AbortSignal },
    signal: AbortSignal,
  ): Promise<CompleteHistory<Row>> {
    const { client, tip, startedMs, foreseen, shared } = within
    const { stream, subject, place } = request
    const follower = followerOf(client, stream, place)
    registerTimeoutError(
      signal,
      () => follower.failureOf(subject) ?? historyPendingError(client, follower.paceOf(subject)),
    )
    for (const each of sourcesOf(client)) if (tip.holders.includes(each.source.index)) each.gave(tip.finalized)
    const storedTo = Number(tip.finalized.number)
    const covered = await coverage.find({ place, stream: stream.name }, [null, subject])
    const hasBegun = hasCoverage(covered)
    const isUntouched = !hasBegun && (await untouched(request, { client, block: tip.block }, signal))
    if (isUntouched) return { storedTo, tail: [], block: tip.block, isUntouched, version: undefined }
    // The state that its rows are checked against is read beside its logs.
    const { finalized } = tip
    if (hasBegun && foreseen.end === undefined) follower.foreseeCheck({ ...request, finalized, covered }, place, shared)
    const waitMs = Math.max(WAIT_LEAST_MS, WAIT_MS - (clock.monotonicMs() - startedMs))
    const { isAgreed, block, rows } = await readBoth(request, { ...within, waitMs, isBegun: hasBegun }, signal)
    if (request.upTo === undefined || request.upTo > block.number) checkHistoryAge(client, block, clock)
    const tail = rows.filter((row) => stream.table.subjectOf(row) === subject)
    return {
      storedTo,
      tail,
      block,
      isUntouched,
      version: isAgreed || client.background.length < 2 ? String(tip.epoch) : undefined,
    }
  }

  return {
    prepare: (chainId, signal) => finality.beginTip(clientOf({ chainId }), signal),
    ensure(request, signal) {
      const client = clientOf(request.place)
      return troubles.watch(client.chain.id, () => ensure(request, client, signal))
    },
    complete({ stream, place }, signal) {
      if (stream.subjectsOnly) throw new Error(`Cannot read everybody's history of stream ${stream.name}`)
      const client = clientOf(place)
      return troubles.watch(client.chain.id, async () => {
        const final = finalOf(await finality.beginTip(client, signal).tip())
        if (place.startBlock > final.number) return
        const wanted = { subject: null, fromBlock: place.startBlock, final, askers: getRequesters(signal) }
        await followerOf(client, stream, place).complete(wanted, place, signal)
      })
    },
    troubles: troubles.recent,
    progress: coverage.progress,
    working: () =>
      [...names].flatMap(([key, name]) => {
        const blocksLeft = followers.get(key)?.scanLeft
        return blocksLeft === undefined ? [] : [{ ...name, blocksLeft }]
      }),
    async close() {
      await Promise.all([...followers.values()].map((follower) => follower.close()))
    },
  }
}

interface TipContext<Row> {
  readonly client: ChainClient
  readonly tip: Tip
  readonly foreseen: PrefetchContext<Row>
}

/** What was begun while the endpoints agreed on the tip. */
interface PrefetchContext<Row> {
  /** The end of the history if that tip is the right one. */
  end: { readonly tip: ExpectedTip; readonly tail: Promise<Tail<Row>> } | undefined
  /** True if the tip is known. */
  isOver: boolean
}

function finalOf({ finalized: { number, hash }, epoch }: Tip): FinalBlock {
  return { number: Number(number), hash, epoch }
}
