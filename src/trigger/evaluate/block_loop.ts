import type { PinnedBlock } from '../../chain/block.ts'
import { readBlock, readHeader, readLatestBlock } from '../../chain/evm/read_block.ts'
import { type ChainClient, type Endpoint, isUnavailable } from '../../chain/rpc/client.ts'
import { SAMPLING, type Watcher, type WatchTarget } from '../../family/watch.ts'
import { createWork, type Work } from '../../lib/async/work.ts'
import { UnavailableError, UpstreamError } from '../../lib/error.ts'
import type { Job } from '../../lib/job.ts'
import { minBigint } from '../../lib/number/fixed_point.ts'
import { type BlockMark, type FinalityLevel, getPace } from '../trigger.ts'
import { revertToStored } from './change_message.ts'
import { type Evaluation, type EvaluationContext, evaluateAdded, evaluateBlock } from './evaluate.ts'
import {
  createLeaseHolder,
  type EvaluatedBlock,
  type HeldPartition,
  LEASE_POLL_MS,
  type LeaseHolderOptions,
} from './lease_holder.ts'
import { listEvaluatedBlocks, type Watchlist } from './watchlist.ts'

/** Options of the loop of a partition. */
export interface BlockLoopOptions extends LeaseHolderOptions {
  readonly client: WatchTarget['client']
  readonly watchers: ReadonlyMap<string, Watcher>
}

/** Maximum number of blocks that may be replaced. */
const REPLACEABLE = 256n
/** Interval of checks for new triggers while all are paused, milliseconds. */
const IDLE_MS = 2_000
const RETRY_MS = { least: 250, most: 3_000 }
/** Blocks that a chain may be late before its endpoints count as standing still. */
const LATE_BLOCKS = 4
/** Maximum number of added triggers that are evaluated at a block again in one round. */
const ADDED_MAX = 500

interface LoopState {
  /** Hashes of evaluated blocks that may be replaced. */
  readonly hashes: Map<bigint, string>
  /** By family, the time of the last evaluation, monotonic milliseconds. */
  readonly seenMs: Map<string, number>
  /** When the last new block was read, monotonic milliseconds. */
  newBlockMs: number
  /** Blocks that were pending before the last ones were evaluated; undefined if none were left. */
  pendingBefore: bigint | undefined
  /** True if no endpoint has the state of the next block. */
  isStateGone: boolean
  /** Since when the next block is tried again because a family fails at it, monotonic milliseconds. */
  retriedSinceMs: number | undefined
  /** Families that failed for so long that blocks go on without them. */
  failing: ReadonlySet<string>
}

/** The loop of a partition: acquires the lease, then evaluates and commits block by block. */
export function blockLoopJob(options: BlockLoopOptions): Job {
  const { partition, client, watchers, db, messageContext, recorder, clock, log } = options
  const schedule = createBlockSchedule(client.chain.blockTimeMs)
  const leaseHolder = createLeaseHolder<LoopState>(options, async () => ({
    hashes: await listEvaluatedBlocks(db, partition),
    seenMs: new Map(),
    newBlockMs: clock.monotonicMs(),
    pendingBefore: undefined,
    isStateGone: false,
    retriedSinceMs: undefined,
    failing: new Set(),
  }))
  const isReplaceable = partition.finality === 'latest'
  const isSampled = getPace(partition.shard) === 'sampled'
  const { blockTimeMs } = client.chain
  // Only newest blocks come regularly, and only on chains with a known block time.
  const lateMs =
    isReplaceable && blockTimeMs !== undefined
      ? Math.max(partition.leaseSec * 1_000, LATE_BLOCKS * blockTimeMs)
      : Number.POSITIVE_INFINITY

  /**
   * Decides whether a block is evaluated again because a family failed at it. Each block is to be looked at, but a family
   * that always fails must not stop the others.
   */
  function mustRetry(loopState: LoopState, { failed, failures }: Evaluation): boolean {
    if ([...failed].every((family) => loopState.failing.has(family))) return false
    loopState.isStateGone = [...failures.values()].some((error) => isUnavailable(error, 'pruned'))
    loopState.retriedSinceMs ??= clock.monotonicMs()
    return clock.monotonicMs() - loopState.retriedSinceMs < partition.leaseSec * 1_000
  }

  /** Renews the lease where an evaluation may outlast it. False if it was lost. */
  async function isHeld(heldPartition: HeldPartition<LoopState>): Promise<boolean> {
    return (await leaseHolder.acquire()) === heldPartition
  }

  /** False if the lease was lost. Throws if a family failed at the block, which is then to be evaluated again. */
  async function evaluate(
    heldPartition: HeldPartition<LoopState>,
    input: Parameters<typeof evaluateBlock>[1],
    work: Work,
  ): Promise<boolean> {
    const { list, loopState } = heldPartition
    const { block, fork } = input
    if (!(await isHeld(heldPartition))) return false
    const context = createContext(list)
    const evaluation = await evaluateBlock(context, input, work)
    recordFailures(evaluation)
    if (mustRetry(loopState, evaluation)) {
      for (const { entry } of evaluation.changes) revertToStored(entry)
      const [cause] = evaluation.failures.values()
      throw new UnavailableError(`Cannot evaluate the triggers of block ${block.number}`, { cause })
    }
    const lost = [...evaluation.failed].filter((family) => !loopState.failing.has(family))
    if (lost.length > 0) await leaseHolder.notifySkippedBlocks(heldPartition, { first: block.number, families: lost })
    const evaluatedBlock = toEvaluatedBlock(evaluation, { block, fork, nowMs: context.nowMs })
    const { final } = evaluatedBlock
    if (!(await leaseHolder.commit(heldPartition, evaluatedBlock))) return false
    for (const number of loopState.hashes.keys()) {
      if (number < final || (fork !== null && number >= fork)) loopState.hashes.delete(number)
    }
    loopState.hashes.set(block.number, block.hash)
    loopState.newBlockMs = clock.monotonicMs()
    loopState.retriedSinceMs = undefined
    loopState.isStateGone = false
    loopState.failing = evaluation.failed
    if (input.isNewest) list.dropAdded()
    if (evaluation.families.length > 0 || evaluation.failures.size === 0) leaseHolder.recordProgress()
    for (const family of evaluation.families) loopState.seenMs.set(family, clock.monotonicMs())
    return true
  }

  /**
   * Evaluates triggers that were added after the newest block was evaluated, so that they wait for no other block. False
   * if the lease was lost.
   */
  async function evaluateAddedAt(
    block: PinnedBlock,
    heldPartition: HeldPartition<LoopState>,
    work: Work,
  ): Promise<boolean> {
    const { list } = heldPartition
    const context = createContext(list)
    list.dropExpired(context.nowMs)
    const added = list.listAdded(isSampled ? SAMPLING.subjectsMax : ADDED_MAX)
    if (added.length === 0) return true
    if (!(await isHeld(heldPartition))) return false
    const evaluation = await evaluateAdded(context, { block, added }, work)
    recordFailures(evaluation)
    const evaluatedBlock = toEvaluatedBlock(evaluation, { block, fork: null, nowMs: context.nowMs })
    if (!(await leaseHolder.commit(heldPartition, evaluatedBlock))) return false
    list.dropAdded(added)
    return true
  }

  function createContext(list: Watchlist): EvaluationContext {
    return { client, list, watchers, messageContext, clock, nowMs: clock.now() }
  }

  function recordFailures({ failures }: Evaluation): void {
    for (const [family, error] of failures) {
      recorder.recordFailure(partition, family)
      log.debug({ msg: 'Failed to evaluate triggers', chainId: partition.chainId, family, reason: String(error) })
    }
  }

  function toEvaluatedBlock(
    evaluation: Evaluation,
    { block, fork, nowMs }: { readonly block: PinnedBlock; readonly fork: bigint | null; readonly nowMs: number },
  ): EvaluatedBlock {
    const changes = evaluation.changes.map((each) => (isReplaceable ? each : { ...each, notified: [], reverted: [] }))
    const oldest = isReplaceable ? block.number - REPLACEABLE : block.number
    return { ...evaluation, changes, block, fork, final: oldest < 0n ? 0n : oldest, nowMs }
  }

  async function round(work: Work): Promise<number> {
    const heldPartition = await leaseHolder.acquire()
    if (heldPartition === undefined) return LEASE_POLL_MS
    await heldPartition.list.refresh(heldPartition.lease.at?.number ?? -1n)
    if (heldPartition.list.size === 0) {
      leaseHolder.recordProgress()
      return IDLE_MS
    }
    const { list, loopState } = heldPartition
    try {
      const { at } = heldPartition.lease
      const { hashes, pendingBefore, isStateGone: skips } = loopState
      const headQuery = {
        level: partition.finality,
        at,
        hashes,
        pendingBefore,
        lagMaxSec: partition.blindAfterSec,
        skips,
      }
      const next = await readNextBlocks(client, headQuery, work)
      if (next?.skippedFrom !== undefined)
        await leaseHolder.notifySkippedBlocks(heldPartition, { first: next.skippedFrom, families: list.families })
      const hasNoLater = next === undefined || next.blocks.length === 0
      if (hasNoLater && clock.monotonicMs() - loopState.newBlockMs < lateMs) leaseHolder.recordProgress()
      if (hasNoLater && next !== undefined && next.newest.hash === at?.hash) {
        if (!(await evaluateAddedAt(next.newest, heldPartition, work))) return 0
      }
      const readMs = clock.now()
      for (const [index, block] of (next?.blocks ?? []).entries()) {
        const fork = index === 0 ? (next?.fork ?? null) : null
        const isNewest = block.hash === next?.newest.hash
        if (!(await evaluate(heldPartition, { block, before: heldPartition.lease.at, fork, isNewest }, work))) return 0
        if (isNewest) schedule.recordBlock(block, readMs)
        await list.refresh(block.number)
      }
      const pending = next === undefined ? 0n : next.newest.number - (heldPartition.lease.at?.number ?? 0n)
      loopState.pendingBefore = pending > 0n ? pending : undefined
      if (pending > 0n) return 0
    } finally {
      const seenMs = list.families.map((family) => loopState.seenMs.get(family) ?? Number.NEGATIVE_INFINITY)
      if (!work.signal.aborted) await leaseHolder.notifyBlindTriggers(heldPartition, Math.min(...seenMs))
    }
    return schedule.pauseMs(clock.now())
  }

  return {
    name: `triggers ${partition.chainId} ${partition.finality}`,
    retryMs: RETRY_MS,
    onError: (error) => log.error({ msg: 'Failed to evaluate triggers', chainId: partition.chainId, error }),
    async round(signal) {
      try {
        return await round(createWork(signal))
      } catch (error) {
        if (!signal.aborted) leaseHolder.recordFailure()
        throw error
      }
    },
  }
}

/** Predicts when a chain's next block can be read. */
interface BlockSchedule {
  /** Records the first read of a block at `nowMs`. */
  recordBlock(block: Pick<PinnedBlock, 'number' | 'timestampSec'>, nowMs: number): void
  /** Pause before the next read of the newest block, milliseconds. */
  pauseMs(nowMs: number): number
}

/** Polling interval for a due block: a twenty-fourth of the block time, within `LOOK_MS`. */
const LOOK_SHARE = 24
const LOOK_MS = { least: 100, most: 500 }
/** Assumed block time if unknown, milliseconds. */
const BLOCK_MS = 1_000
/** Weight of a new observation in the moving averages. */
const LEARN = 0.2
/** Maximum pause: chains with an unknown block time may pause for hours, and clocks may be wrong. */
const PAUSE_MS_MAX = 12_000
/** Share of the usual lateness after which polling starts, a little before the block usually appears. */
const EARLY = 0.9

/** Creates a schedule from the chain's usual block time, if known; it learns how late blocks can be read. */
export function createBlockSchedule(usualMs: number | undefined): BlockSchedule {
  let blockMs = usualMs
  let lateMs = 0
  let last: { readonly number: bigint; readonly atMs: number; readonly seenMs: number } | undefined

  return {
    recordBlock({ number, timestampSec }, nowMs) {
      const atMs = Number(timestampSec) * 1_000
      if (last !== undefined && number > last.number) {
        const perBlock = (atMs - last.atMs) / Number(number - last.number)
        if (usualMs === undefined) blockMs = blockMs === undefined ? perBlock : blockMs + LEARN * (perBlock - blockMs)
        lateMs += LEARN * (Math.min(PAUSE_MS_MAX, Math.max(0, nowMs - atMs)) - lateMs)
      } else if (last === undefined) lateMs = 0
      last = { number, atMs, seenMs: nowMs }
    },
    pauseMs(nowMs) {
      const each = blockMs ?? BLOCK_MS
      const look = Math.min(LOOK_MS.most, Math.max(LOOK_MS.least, each / LOOK_SHARE))
      if (last === undefined) return look
      // Whatever the clocks show, the next block comes one block time after this one.
      const dueMs = Math.min(last.atMs + EARLY * lateMs, last.seenMs) + each - nowMs
      return Math.max(look, Math.min(dueMs, PAUSE_MS_MAX))
    },
  }
}

/** The blocks to evaluate now. */
interface NextBlocks {
  /** Oldest first; each is the parent of the next. Empty if there is no later one. */
  readonly blocks: readonly PinnedBlock[]
  readonly newest: PinnedBlock
  /** First evaluated block that is not on this branch; null if all are. */
  readonly fork: bigint | null
  /** The first block that is left out, if the first of `blocks` is not the next one. */
  readonly skippedFrom: bigint | undefined
}

/** Limits of what is evaluated after the block before. */
export interface HeadQuery {
  readonly level: FinalityLevel
  /** The last evaluated block. */
  readonly at: BlockMark | null
  /** Hashes of evaluated blocks by number. */
  readonly hashes: ReadonlyMap<bigint, string>
  /** Number of blocks that were pending before the last ones were evaluated; undefined if none were left. */
  readonly pendingBefore: bigint | undefined
  /** With more pending blocks than before, those whose age exceeds this are left out, seconds. */
  readonly lagMaxSec: number
  /** True to leave out all pending blocks but the newest: their state is gone. */
  readonly skips: boolean
}

/**
 * Maximum number of pending blocks: of more, all but the newest are left out. Final blocks come by hundreds, and on fast
 * chains by thousands.
 */
const PENDING_MAX = { latest: 512n, final: 4_096n } as const
/** Blocks of one read. */
const BLOCKS_MAX = 16n
/** Maximum depth of a reorganization; a deeper one counts as this deep. */
const FORK_MAX = 64n
const BUDGET_MS = 5_000

/**
 * The blocks of a partition after `at`; undefined if the chain has none of this finality yet. Throws as
 * `ChainClient.read`.
 */
export async function readNextBlocks(
  client: ChainClient,
  query: HeadQuery,
  work: Work,
): Promise<NextBlocks | undefined> {
  return await client.read((endpoint, within) => findNextBlocks({ endpoint, client, ...query }, within), {
    work,
    priority: 'background',
    past: 'header',
    budgetMs: BUDGET_MS,
  })
}

interface EndpointQuery extends HeadQuery {
  readonly endpoint: Endpoint
  readonly client: ChainClient
}

async function findNextBlocks(query: EndpointQuery, work: Work): Promise<NextBlocks | undefined> {
  const { level, at } = query
  const newest = await readHead(query, work)
  if (newest === undefined) return undefined
  if (at === null) return { blocks: [newest], newest, fork: null, skippedFrom: undefined }
  // A shorter branch comes from a lagging node, or will be overtaken.
  if (newest.number <= at.number) return { blocks: [], newest, fork: null, skippedFrom: undefined }
  const next = newest.number === at.number + 1n ? newest : await readByNumber(query, at.number + 1n, work)
  // `safe` and `finalized` blocks are not replaced.
  const fork = level !== 'latest' || next.parentHash === at.hash ? null : await findFork(query, at, work)
  const first = fork ?? next.number
  if (mustSkip(query, { first, newest, at })) return { blocks: [newest], newest, fork, skippedFrom: first }
  const count = Number(minBigint(newest.number - first + 1n, BLOCKS_MAX))
  const blocks = await Promise.all(
    Array.from({ length: count }, (_, index) => first + BigInt(index)).map((number) => {
      const known = [next, newest].find((block) => block.number === number)
      return known ?? readByNumber(query, number, work)
    }),
  )
  if (blocks.some(({ parentHash }, index) => index > 0 && parentHash !== blocks[index - 1]?.hash)) {
    throw new UpstreamError('The chain changed while its blocks were read')
  }
  return { blocks, newest, fork, skippedFrom: undefined }
}

/** True if the blocks before the newest are left out: their state is gone, they are too many, or more and more. */
function mustSkip(
  { level, pendingBefore, lagMaxSec, skips }: HeadQuery,
  { first, newest, at }: { readonly first: bigint; readonly newest: PinnedBlock; readonly at: BlockMark },
): boolean {
  const pending = newest.number - first + 1n
  if (pending === 1n) return false
  const isFallingBehind =
    pendingBefore !== undefined && pending > pendingBefore && newest.timestampSec - at.timestampSec > lagMaxSec
  return skips || pending > PENDING_MAX[level === 'latest' ? 'latest' : 'final'] || isFallingBehind
}

/**
 * Finds the first replaced block, at or before `at`. Below a gap of blocks that were not evaluated, the branch may begin
 * anywhere in the gap, so it counts as beginning after the next evaluated block that it shares.
 */
async function findFork(query: EndpointQuery, at: BlockMark, work: Work): Promise<bigint> {
  const { hashes } = query
  const evaluated = [...hashes.keys()].filter((number) => number < at.number && at.number - number <= FORK_MAX)
  let fork = at.number
  for (const number of evaluated.sort((a, b) => (a < b ? 1 : -1))) {
    const { hash } = await readByNumber(query, number, work)
    if (hash === hashes.get(number)) return number + 1n
    fork = number
  }
  return fork
}

async function readHead(query: EndpointQuery, work: Work): Promise<PinnedBlock | undefined> {
  const { endpoint, client, level } = query
  const { id: chainId, finality } = client.chain
  if (level === 'latest') return await readLatestBlock(endpoint, chainId, work)
  if ('depth' in finality) {
    const { number } = await readLatestBlock(endpoint, chainId, work)
    return number < BigInt(finality.depth)
      ? undefined
      : await readByNumber(query, number - BigInt(finality.depth), work)
  }
  return await readHeader(endpoint, { chainId, at: level === 'safe' ? 'safe' : finality.tag }, work)
}

async function readByNumber({ endpoint, client }: EndpointQuery, number: bigint, work: Work): Promise<PinnedBlock> {
  return await readBlock(endpoint, { chainId: client.chain.id, number }, work)
}
