import type { AccountWatcher } from '../../family/watch.ts'
import type { Job } from '../../job/job.ts'
import { type ApplyStep, applyConfirmedRead } from './apply.ts'
import { createChangeMessage } from './change_message.ts'
import {
  createLeaseHolder,
  type EvaluatedBlock,
  type HeldPartition,
  LEASE_POLL_MS,
  type LeaseHolderOptions,
} from './lease_holder.ts'
import { setReorgState, type WatchedSubject } from './watchlist.ts'

/** Options of the loop of Solana. */
export interface SlotLoopOptions extends LeaseHolderOptions {
  readonly watchers: ReadonlyMap<string, AccountWatcher>
}

/** Pause between two reads, milliseconds: public endpoints allow few. */
const READ_EVERY_MS = 2_000
const RETRY_MS = { least: 500, most: 5_000 }

interface LoopState {
  /** By family, the subjects not read yet in the current pass. */
  readonly remainingByFamily: Map<string, WatchedSubject[]>
}

/**
 * The loop of Solana: reads subjects in turn, each time at a later slot; confirmed slots are never replaced. A family
 * counts as evaluated once all of its subjects were read.
 */
export function slotLoopJob(options: SlotLoopOptions): Job {
  const { partition, watchers, messageContext, clock, log } = options
  const leaseHolder = createLeaseHolder<LoopState>(options, async () => ({ remainingByFamily: new Map() }))
  let seenMs = Number.NEGATIVE_INFINITY

  /** False if the lease was lost. */
  async function readTurn(
    heldPartition: HeldPartition<LoopState>,
    family: string,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { list, loopState } = heldPartition
    const watcher = watchers.get(family)
    if (watcher === undefined) return true
    const pendingSubjects = loopState.remainingByFamily.get(family) ?? [...list.listSubjects(family)]
    const batch = pendingSubjects.slice(0, watcher.subjectsMax)
    const minSlot = (heldPartition.lease.at?.number ?? -1n) + 1n
    const reading = await watcher.confirm(
      batch.map(({ subject }) => subject),
      minSlot,
      signal,
    )
    const remainingSubjects = pendingSubjects.slice(batch.length)
    if (remainingSubjects.length === 0) loopState.remainingByFamily.delete(family)
    else loopState.remainingByFamily.set(family, remainingSubjects)
    const block = { number: reading.slot, hash: '', timestampSec: reading.timestampSec }
    const nowMs = clock.now()
    const changes: EvaluatedBlock['changes'][number][] = []
    const apply: ApplyStep = (entry, { reorgState, transitions }, { block }) => {
      if (reorgState === entry.reorgState) return
      const { trigger, stored } = entry
      setReorgState(entry, { ...reorgState, notified: [], trail: [] })
      const messages = transitions.map((each) =>
        createChangeMessage(messageContext, { trigger, transition: each, block, cited: [] }),
      )
      changes.push({
        entry,
        trigger,
        before: stored.state,
        after: reorgState.state,
        messages,
        notified: [],
        reverted: [],
      })
    }
    for (const [index, subject] of batch.entries()) {
      const confirmed = reading.subjects[index]
      if (confirmed === undefined) continue
      subject.confirmed = confirmed
      subject.confirmedAt = reading.slot
      const confirmedRead = { confirmed, cited: async () => [] }
      applyConfirmedRead(subject, { confirmedRead, previous: undefined, block: { ...block, hash: null }, apply })
    }
    const families = remainingSubjects.length === 0 ? [family] : []
    const evaluated = { block, fork: null, final: reading.slot, nowMs, changes, families }
    if (!(await leaseHolder.commit(heldPartition, { ...evaluated, screened: 0, confirmed: batch.length }))) return false
    if (remainingSubjects.length === 0) seenMs = nowMs
    return true
  }

  return {
    name: `triggers ${partition.chainId} ${partition.finality}`,
    retryMs: RETRY_MS,
    onError: (error) => log.error({ msg: 'Failed to evaluate triggers', chainId: partition.chainId, error }),
    async round(signal) {
      const heldPartition = await leaseHolder.acquire()
      if (heldPartition === undefined) return LEASE_POLL_MS
      try {
        await heldPartition.list.refresh(clock.now(), heldPartition.lease.at?.number ?? -1n)
        heldPartition.list.dropExpired(clock.now())
        for (const family of heldPartition.list.families) if (!(await readTurn(heldPartition, family, signal))) return 0
        leaseHolder.recordProgress()
        return READ_EVERY_MS
      } catch (error) {
        if (!signal.aborted) leaseHolder.recheckLease()
        throw error
      } finally {
        if (!signal.aborted) await leaseHolder.notifyBlindTriggers(heldPartition, seenMs)
      }
    },
  }
}
