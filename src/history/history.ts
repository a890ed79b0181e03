import featureSql from '../../sql/queries/feature_disabled_find.sql' with { type: 'text' }
import type { PinnedBlock } from '../chain/block.ts'
import { finalAgeMaxSec } from '../chain/block_age.ts'
import type { ChainClient } from '../chain/rpc/client.ts'
import type { Database } from '../db/database.ts'
import { query } from '../db/query.ts'
import { pause, timeLimit } from '../lib/async/abort.ts'
import { askersOf } from '../lib/async/askers.ts'

import type { Clock } from '../lib/clock.ts'
import { AbortedError, PendingError, UnavailableError } from '../lib/error.ts'
import type { Log } from '../lib/log.ts'
import { createCoverage, type StoredProgress } from './coverage.ts'
import { createFinality, type Tip } from './final/finality.ts'
import { createFollower, type Follower } from './follow/follower.ts'
import { createTroubles } from './follow/troubles.ts'
import { createLearnedSource, type FinalBlock, type LearnedSource } from './logs/reader.ts'
import { createLogSource } from './logs/source.ts'
import type { HistoryRecorder, WorkingHistory } from './metrics.ts'
import type { Ensured, EnsureRequest, History, HistoryReader, Stream, StreamPlace } from './stream.ts'
import { createTails } from './tail.ts'

const findOff = query(featureSql, 'read')

/** The histories of one process. */
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
const OFF_RETRY_SEC = 60
const RETRY_SEC = { least: 1, unknown: 5, most: 15 }

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
  const finality = createFinality({ coverage, clock, log })
  const tails = createTails({ clock })
  const troubles = createTroubles(clock)
  const sources = new Map<number, readonly LearnedSource[]>()
  const followers = new Map<string, Follower<never>>()
  const names = new Map<string, Omit<WorkingHistory, 'blocksLeft'>>()

  function clientOf({ chainId }: StreamPlace): ChainClient {
    const client = clients.get(chainId)
    if (client === undefined) throw new Error(`Cannot follow chain ${chainId}: it is not served`)
    return client
  }

  function sourcesOf(client: ChainClient): readonly LearnedSource[] {
    const { id } = client.chain
    const known = sources.get(id)
    if (known !== undefined) return known
    const made = client.background.map((endpoint) =>
      createLearnedSource({
        source: createLogSource(endpoint, id),
        ...{ clock, sleep: pause },
        record: (outcome) => recorder?.requested(id, outcome),
      }),
    )
    sources.set(id, made)
    return made
  }

  function followerOf<Row, Place extends StreamPlace>(
    client: ChainClient,
    stream: Stream<Row, Place>,
    place: Place,
  ): Follower<Place> {
    const key = `${stream.name}:${place.chainId}:${place.contract}`
    const { id } = client.chain
    const follower: Follower<Place> =
      followers.get(key) ??
      createFollower({
        ...{ stream, place, client, sources: sourcesOf(client), coverage, db, clock, log, sleep: pause },
        onStored: (blocks) => recorder?.stored(id, blocks),
        onHealed: (logs) => recorder?.healed(id, logs),
      })
    followers.set(key, follower)
    names.set(key, { chainId: place.chainId, stream: stream.name, contract: place.contract })
    return follower
  }

  /** Asked only while nothing is stored of the subject, nor of everybody: then its logs may take thousands of requests. */
  async function untouched<Row, Place extends StreamPlace>(
    { stream, place, subject }: EnsureRequest<Row, Place>,
    { client, block }: { readonly client: ChainClient; readonly block: PinnedBlock },
    signal: AbortSignal,
  ): Promise<boolean> {
    if (stream.isUntouched === undefined) return false
    const stored = await coverage.find({ place, stream: stream.name }, [null, subject])
    if ([...stored.values()].some(({ ranges }) => ranges.length > 0)) return false
    try {
      return await stream.isUntouched(place, { subject, client, block }, signal)
    } catch (error) {
      // Then its logs tell.
      if (error instanceof UnavailableError) return false
      throw error
    }
  }

  /** True if two endpoints agreed on it. Throws `UnavailableError` with the progress if it takes longer than a caller waits. */
  async function complete<Row, Place extends StreamPlace>(
    { stream, place, subject, startBlock }: EnsureRequest<Row, Place>,
    { client, final, waitMs }: { readonly client: ChainClient; readonly final: FinalBlock; readonly waitMs: number },
    signal: AbortSignal,
  ): Promise<boolean> {
    const fromBlock = Math.max(place.startBlock, startBlock ?? 0)
    if (fromBlock > final.number) return true
    const follower = followerOf(client, stream, place)
    const askers = askersOf(signal)
    const patience = timeLimit(waitMs)
    try {
      return await follower.complete({ subject, fromBlock, final, askers }, place, AbortSignal.any([signal, patience]))
    } catch (error) {
      if (!(error instanceof AbortedError) || signal.aborted) throw error
      throw follower.failureOf(subject) ?? notYet(client, follower.paceOf(subject))
    }
  }

  async function ensure<Row, Place extends StreamPlace>(
    request: EnsureRequest<Row, Place>,
    client: ChainClient,
    signal: AbortSignal,
  ): Promise<Ensured<Row>> {
    const { stream, place, subject } = request
    const startedMs = clock.monotonicMs()
    const [tip, [row]] = await Promise.all([finality.tip(client, signal), findOff(db, ['history'])])
    if (isOff || row?.is_off === true) throw switchedOff(client)
    const storedTo = Number(tip.finalized.number)
    const isUntouched = await untouched(request, { client, block: tip.block }, signal)
    if (isUntouched) return { storedTo, tail: [], block: tip.block, isUntouched, version: undefined }
    const waitMs = WAIT_MS - (clock.monotonicMs() - startedMs)
    const isAgreed = await complete(request, { client, final: finalOf(tip), waitMs }, signal)
    const { block, rows } = await tails.read({ client, stream, place, tip, witnesses: sourcesOf(client) }, signal)
    if (request.upTo === undefined || request.upTo > block.number) checkEnd(client, block, clock)
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
    ensure(request, signal) {
      const client = clientOf(request.place)
      return troubles.watch(client.chain.id, () => ensure(request, client, signal))
    },
    complete({ stream, place }, signal) {
      const client = clientOf(place)
      return troubles.watch(client.chain.id, async () => {
        const final = finalOf(await finality.tip(client, signal))
        if (place.startBlock > final.number) return
        const wanted = { subject: null, fromBlock: place.startBlock, final, askers: askersOf(signal) }
        await followerOf(client, stream, place).complete(wanted, place, signal)
      })
    },
    troubles: troubles.told,
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

function switchedOff({ chain: { id, name } }: ChainClient): UnavailableError {
  const message = `The history of chain ${id} (${name}) is not read: the operator has switched histories off`
  return new UnavailableError(message, { retryAfterSec: OFF_RETRY_SEC })
}

/** Throws `UnavailableError` if a history that reaches to this block says nothing about now. */
function checkEnd({ chain }: ChainClient, { number, timestampSec }: Tip['block'], clock: Clock): void {
  const ageSec = Math.round(clock.now() / 1_000 - Number(timestampSec))
  const maxSec = finalAgeMaxSec(chain)
  if (ageSec <= maxSec) return
  throw new UnavailableError(
    `The history of chain ${chain.id} (${chain.name}) ends at block ${number}, which is ${ageSec} s old (check "final block", at most ${Math.round(maxSec)} s): its endpoints call no later block final, and the blocks after it are too many to be read with an answer`,
    { retryAfterSec: RETRY_SEC.most },
  )
}

function finalOf({ finalized: { number, hash }, epoch }: Tip): FinalBlock {
  return { number: Number(number), hash, epoch }
}

function notYet({ chain }: ChainClient, pace: ReturnType<Follower<never>['paceOf']>): PendingError {
  const { percent = 0, blocks = 0, seconds } = pace ?? {}
  const retryAfterSec = Math.min(RETRY_SEC.most, Math.max(RETRY_SEC.least, Math.ceil(seconds ?? RETRY_SEC.unknown)))
  return new PendingError(
    `The history of chain ${chain.id} (${chain.name}) is being read: ${percent} % done, ${blocks.toLocaleString('en')} blocks left`,
    { retryAfterSec },
  )
}
