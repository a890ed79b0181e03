import type { PinnedBlock } from '../../chain/block.ts'
import { StatePrunedError } from '../../chain/rpc/client.ts'
import type { Watcher, WatchTarget } from '../../family/watch.ts'
import { UnavailableError } from '../../lib/error.ts'
import type { Job } from '../../lib/job.ts'
import { createBlockSchedule } from './block_schedule.ts'
import { revertToStored } from './change_collector.ts'
import { type Evaluation, type EvaluationContext, evaluateAdded, evaluateBlock } from './evaluate.ts'
import { readNextBlocks } from './heads.ts'
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
    loopState.isStateGone = [...failures.values()].some((error) => error instanceof StatePrunedError)
    loopState.retriedSinceMs ??= clock.monotonicMs()
    return clock.monotonicMs() - loopState.retriedSinceMs < partition.leaseSec * 1_000
  }

  /** False if the lease was lost. Throws if a family failed at the block, which is then to be evaluated again. */
  async function evaluate(
    heldPartition: HeldPartition<LoopState>,
    input: Parameters<typeof evaluateBlock>[1],
    signal: AbortSignal,
  ): Promise<boolean> {
    const { list, loopState } = heldPartition
    const { block, fork } = input
    const context = createContext(list)
    const evaluation = await evaluateBlock(context, input, signal)
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
    signal: AbortSignal,
  ): Promise<boolean> {
    const { list } = heldPartition
    const context = createContext(list)
    list.dropExpired(context.nowMs)
    const added = list.listAdded(ADDED_MAX)
    if (added.length === 0) return true
    const evaluation = await evaluateAdded(context, { block, added }, signal)
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

  async function round(signal: AbortSignal): Promise<number> {
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
      const next = await readNextBlocks(client, headQuery, signal)
      if (next?.skippedFrom !== undefined)
        await leaseHolder.notifySkippedBlocks(heldPartition, { first: next.skippedFrom, families: list.families })
      const hasNoLater = next === undefined || next.blocks.length === 0
      if (hasNoLater && clock.monotonicMs() - loopState.newBlockMs < lateMs) leaseHolder.recordProgress()
      if (hasNoLater && next !== undefined && next.newest.hash === at?.hash) {
        if (!(await evaluateAddedAt(next.newest, heldPartition, signal))) return 0
      }
      const readMs = clock.now()
      for (const [index, block] of (next?.blocks ?? []).entries()) {
        const fork = index === 0 ? (next?.fork ?? null) : null
        const isNewest = block.hash === next?.newest.hash
        if (!(await evaluate(heldPartition, { block, before: heldPartition.lease.at, fork, isNewest }, signal)))
          return 0
        if (isNewest) schedule.recordBlock(block, readMs)
        await list.refresh(block.number)
      }
      const pending = next === undefined ? 0n : next.newest.number - (heldPartition.lease.at?.number ?? 0n)
      loopState.pendingBefore = pending > 0n ? pending : undefined
      if (pending > 0n) return 0
    } finally {
      const seenMs = list.families.map((family) => loopState.seenMs.get(family) ?? Number.NEGATIVE_INFINITY)
      if (!signal.aborted) await leaseHolder.notifyBlindTriggers(heldPartition, Math.min(...seenMs))
    }
    return schedule.pauseMs(clock.now())
  }

  return {
    name: `triggers ${partition.chainId} ${partition.finality}`,
    retryMs: RETRY_MS,
    onError: (error) => log.error({ msg: 'Failed to evaluate triggers', chainId: partition.chainId, error }),
    async round(signal) {
      try {
        return await round(signal)
      } catch (error) {
        if (!signal.aborted) leaseHolder.recordFailure()
        throw error
      }
    },
  }
}
