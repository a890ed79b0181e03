import type { Database } from '../../db/database.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { pruneFinalized } from '../step.ts'
import { type MessageContext, revertToStored } from './change_message.ts'
import type { Evaluation } from './evaluate.ts'
import type { PartitionRecorder } from './metrics.ts'
import {
  acquirePartition,
  type BlockCommit,
  commitBlock,
  notifyBlindTriggers,
  notifySkippedBlocks,
  type PartitionLease,
  storeUnseen,
  type TriggerPartition,
} from './partition.ts'
import { createWatchlist, setReorgState, type WatchedTrigger, type Watchlist } from './watchlist.ts'

/** Options of a loop over a partition, common to all chains. */
export interface LeaseHolderOptions {
  readonly partition: TriggerPartition
  readonly db: Database
  /** Names this process. */
  readonly holder: string
  readonly messageContext: MessageContext
  readonly recorder: PartitionRecorder
  /** Called when there are new messages. */
  readonly onMessagesQueued: () => void
  readonly clock: Clock
  readonly log: Log
}

/** A partition that this process evaluates. */
export interface HeldPartition<State> {
  lease: PartitionLease
  readonly list: Watchlist
  /** The loop's own state, kept while the lease lasts. */
  readonly loopState: State
}

/** An evaluated block. */
export interface EvaluatedBlock
  extends Pick<BlockCommit, 'block' | 'fork' | 'final'>,
    Pick<Evaluation, 'changes' | 'families' | 'missed' | 'seen' | 'screened' | 'confirmed'> {
  /** When the evaluation began, by the process's clock. */
  readonly nowMs: number
}

/** Interval of checks whether another process's lease has expired, milliseconds. */
export const LEASE_POLL_MS = 1_000
/** Interval of checks for blind triggers, milliseconds. */
const BLIND_EVERY_MS = 5_000

/**
 * Creates the holder of a partition's lease, which commits evaluated blocks. A process keeps the lease while it gets on:
 * one that does not for the length of a lease, or fails before it has got on at all, offers it to the others, and leaves
 * it to them for the length of a lease, but goes on trying until another takes it. `createLoopState` runs per lease.
 */
export function createLeaseHolder<State>(options: LeaseHolderOptions, createLoopState: () => Promise<State>) {
  const { partition, db, holder, recorder, onMessagesQueued, clock, log } = options
  // Interval of renewals while no block is committed.
  const prolongMs = (partition.leaseSec * 1_000) / 3
  let held: HeldPartition<State> | undefined
  /** When the holder last got on, monotonic milliseconds. */
  let progressedMs = Number.NEGATIVE_INFINITY
  /** True from the acquisition of a lease until this process gets on. */
  let isNew = true
  let hasFailed = false
  /** True from the offer of a lease until this process gets on again. */
  let isUnable = false
  let prolongedMs = Number.NEGATIVE_INFINITY
  let blindMs = Number.NEGATIVE_INFINITY

  /** Drops the state in memory, which may differ from the database. */
  function release(): void {
    held = undefined
    recorder.recordEnd(partition)
  }

  /** The partition, whose lease ends at once while its holder does not get on. */
  function toLeasable(): TriggerPartition {
    const stuckMs = held === undefined ? 0 : clock.monotonicMs() - progressedMs
    // Others that cannot work either may be next, so each takes as little time as it can.
    const isUseless = held !== undefined && isNew && hasFailed
    if (stuckMs < partition.leaseSec * 1_000 && !isUseless) return partition
    if (!isUnable) {
      const [chainId, sec] = [partition.chainId, Math.round(stuckMs / 1_000)]
      log.warn({ msg: 'Offered triggers to other processes because none was evaluated', chainId, sec })
    }
    isUnable = true
    return { ...partition, leaseSec: 0 }
  }

  /** Records that triggers are left out because the database refuses what they would change. Throws as `Database.run`. */
  async function tellRefused({ lease, list }: HeldPartition<State>, missed: readonly WatchedTrigger[]): Promise<void> {
    const ids = missed.map(({ trigger }) => trigger.id)
    log.error({ msg: 'The database refused changes of triggers', chainId: partition.chainId, ids: ids.slice(0, 10) })
    for (const entry of missed) list.setUnseen(entry, true)
    await storeUnseen(db, { partition, lease, block: lease.at?.number ?? -1n, missed, seen: [] })
  }

  return {
    /** The partition, if this process holds or acquires its lease. Throws as `Database.run`. */
    async acquire(): Promise<HeldPartition<State> | undefined> {
      const nowMs = clock.monotonicMs()
      if (held !== undefined && nowMs - prolongedMs < prolongMs) return held
      const patienceSec = isUnable ? partition.leaseSec : 0
      const lease = await acquirePartition(db, toLeasable(), { holder, patienceSec })
      if (lease === undefined) {
        release()
        return undefined
      }
      if (held === undefined || !isSameLease(held.lease, lease)) {
        // The partition may not have been evaluated for a long time.
        if ((await notifyBlindTriggers(db, partition, lease)) > 0) onMessagesQueued()
        held = { lease, list: createWatchlist({ db, clock }, partition), loopState: await createLoopState() }
        progressedMs = clock.monotonicMs()
        isNew = true
        hasFailed = false
      }
      prolongedMs = nowMs
      return held
    },
    /** Records that this process can evaluate the partition now, so that it keeps the lease. */
    recordProgress(): void {
      progressedMs = clock.monotonicMs()
      isUnable = false
      isNew = false
    },
    /** Records a failure, and forces a check of the lease before the next block: the outcome of a commit may be unknown. */
    recordFailure(): void {
      hasFailed = true
      prolongedMs = Number.NEGATIVE_INFINITY
    },
    /**
     * Commits a block. False if the lease was lost, which drops the partition. Throws as `Database.run`; all triggers
     * are then reverted to their stored states.
     */
    async commit(heldPartition: HeldPartition<State>, evaluatedBlock: EvaluatedBlock): Promise<boolean> {
      const { lease, list } = heldPartition
      const { block, fork, final, nowMs, changes, families, missed, seen, screened, confirmed } = evaluatedBlock
      if (missed.length > 0 || seen.length > 0) {
        // If the outcome is unknown, they count as left out, until they are evaluated.
        for (const entry of missed) list.setUnseen(entry, true)
        await storeUnseen(db, { partition, lease, block: block.number, missed, seen })
        for (const entry of seen) list.setUnseen(entry, false)
      }
      const commit = { partition: toLeasable(), lease, block, fork, final, families, changes }
      const outcome = await commitBlock(db, commit).catch((error: unknown) => {
        // The partition's block shows at the next acquisition whether the commit succeeded.
        for (const { entry } of changes) revertToStored(entry)
        throw error
      })
      if (outcome === undefined) {
        release()
        return false
      }
      const { number, hash, timestampSec } = block
      heldPartition.lease = { ...lease, at: { number, hash, timestampSec } }
      prolongedMs = clock.monotonicMs()
      const failedTriggers = new Set(outcome.failed.map(({ trigger }) => trigger))
      const refusedTriggers = new Set(outcome.refused.map(({ trigger }) => trigger))
      const refused = changes.flatMap(({ entry }) => (refusedTriggers.has(entry.trigger) ? [entry] : []))
      for (const { entry, trigger } of changes) {
        if (failedTriggers.has(trigger)) list.drop(trigger)
        else if (refusedTriggers.has(trigger)) leaveOut(entry)
        else {
          setReorgState(entry, pruneFinalized(entry.reorgState, final))
          entry.stored = entry.reorgState
        }
      }
      if (refused.length > 0) await tellRefused(heldPartition, refused)
      const messages = changes.reduce((sum, each) => sum + each.messages.length, 0)
      if (messages > 0) onMessagesQueued()
      recorder.recordBlock(partition, { block: number, atMs: nowMs, screened, confirmed, changes: messages })
      return true
    },
    /** Notifies owners that blocks from `first` on are left out for some families. Throws as `Database.run`. */
    async notifySkippedBlocks(
      { lease }: HeldPartition<State>,
      { first, families }: { readonly first: bigint; readonly families: readonly string[] },
    ): Promise<void> {
      const messages = await notifySkippedBlocks(db, { partition, lease, first, families })
      if (messages > 0) onMessagesQueued()
      const [chainId, block] = [partition.chainId, Number(first)]
      log.warn({ msg: 'Left out blocks in the evaluation of triggers', chainId, block, messages })
    },
    /**
     * Periodically notifies owners of triggers left out for too long, and of all if none was evaluated since `seenMs`,
     * monotonic milliseconds. Throws as `Database.run`.
     */
    async notifyBlindTriggers({ lease, list }: HeldPartition<State>, seenMs: number): Promise<void> {
      const nowMs = clock.monotonicMs()
      if (nowMs - blindMs < BLIND_EVERY_MS) return
      const limitMs = partition.blindAfterSec * 1_000
      const unseen = [...list.unseen].flatMap(({ unseen: state }) =>
        state !== undefined && !state.isReported && nowMs - state.sinceMs >= limitMs ? [state] : [],
      )
      if (unseen.length === 0 && nowMs - seenMs < limitMs) return
      blindMs = nowMs
      const messages = await notifyBlindTriggers(db, partition, lease)
      // The database has a clock of its own, and may not count the latest yet.
      for (const state of unseen) state.isReported = nowMs - state.sinceMs >= limitMs + BLIND_EVERY_MS
      if (messages === 0) return
      onMessagesQueued()
      log.warn({ msg: 'Notified owners that triggers are not evaluated', chainId: partition.chainId, messages })
    },
  }
}

/** Leaves out a trigger, so that what the database refuses is not tried at each block. */
function leaveOut(entry: WatchedTrigger): void {
  revertToStored(entry)
  entry.isRefused = true
}

function isSameLease(a: PartitionLease, b: PartitionLease): boolean {
  return a.epoch === b.epoch && a.at?.number === b.at?.number && a.at?.hash === b.at?.hash
}
