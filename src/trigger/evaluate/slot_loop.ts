import type { AccountWatcher, ConfirmedAtSlot } from '../../family/watch.ts'
import { halve } from '../../lib/async/halves.ts'
import { createWork, type Work } from '../../lib/async/work.ts'
import type { Job } from '../../lib/job.ts'
import { type ApplyStep, applyConfirmedRead } from './apply.ts'
import { createChangeMessage } from './change_message.ts'
import { splitSubjects } from './confirm.ts'
import {
  createLeaseHolder,
  type EvaluatedBlock,
  type HeldPartition,
  LEASE_POLL_MS,
  type LeaseHolderOptions,
} from './lease_holder.ts'
import { createSightNotes } from './sight_notes.ts'
import { setReorgState, type WatchedSubject } from './watchlist.ts'

/** Options of the loop of Solana. */
export interface SlotLoopOptions extends LeaseHolderOptions {
  readonly watchers: ReadonlyMap<string, AccountWatcher>
}

/** Pause between two reads, milliseconds: public endpoints allow few. */
const READ_EVERY_MS = 2_000
const RETRY_MS = { least: 500, most: 5_000 }

interface LoopState {
  /** By family, the pieces of subjects not read yet in the current pass. */
  readonly piecesByFamily: Map<string, readonly (readonly WatchedSubject[])[]>
  passes: number
}

/**
 * The loop of Solana: reads subjects in turn, each time at a later slot; confirmed slots are never replaced. A family
 * counts as evaluated once all of its subjects were read. A piece that cannot be read is halved until the subjects that
 * are the cause stand alone.
 */
export function slotLoopJob(options: SlotLoopOptions): Job {
  const { partition, watchers, messageContext, clock, log } = options
  const leaseHolder = createLeaseHolder<LoopState>(options, async () => ({ piecesByFamily: new Map(), passes: 0 }))
  let seenMs = Number.NEGATIVE_INFINITY

  /** Reads subjects; the slot alone if they cannot be read. Throws if the chain cannot be read. */
  async function readSubjects(
    watcher: AccountWatcher,
    { batch, minSlot }: { readonly batch: readonly WatchedSubject[]; readonly minSlot: bigint },
    work: Work,
  ): Promise<ConfirmedAtSlot & { readonly isRead: boolean }> {
    const subjects = batch.map(({ subject }) => subject)
    try {
      return { ...(await watcher.confirm(subjects, minSlot, work)), isRead: true }
    } catch (error) {
      if (work.signal.aborted || batch.length === 0) throw error
      const slot = await watcher.confirm([], minSlot, work)
      log.debug({ msg: 'Failed to read subjects of triggers', chainId: partition.chainId, reason: String(error) })
      return { ...slot, isRead: false }
    }
  }

  /** False if the lease was lost. */
  async function readTurn(heldPartition: HeldPartition<LoopState>, family: string, work: Work): Promise<boolean> {
    const { list, loopState } = heldPartition
    const watcher = watchers.get(family)
    if (watcher === undefined) return true
    const pieces =
      loopState.piecesByFamily.get(family) ??
      splitSubjects(list.listSubjects(family), watcher.subjectsMax, loopState.passes++)
    const [batch = [], ...remainingPieces] = pieces
    const minSlot = (heldPartition.lease.at?.number ?? -1n) + 1n
    const reading = await readSubjects(watcher, { batch, minSlot }, work)
    if (!reading.isRead && batch.length > 1) {
      loopState.piecesByFamily.set(family, [...halve(batch), ...remainingPieces])
      return await readTurn(heldPartition, family, work)
    }
    if (remainingPieces.length === 0) loopState.piecesByFamily.delete(family)
    else loopState.piecesByFamily.set(family, remainingPieces)
    const sight = createSightNotes()
    const block = { number: reading.slot, hash: '', timestampSec: reading.timestampSec }
    const nowMs = clock.now()
    const changes: EvaluatedBlock['changes'][number][] = []
    const apply: ApplyStep = (entry, { reorgState, transitions }, { block, owner }) => {
      if (reorgState === entry.reorgState) return
      const { trigger, stored } = entry
      setReorgState(entry, { ...reorgState, notified: [], trail: [] })
      const messages = transitions.map((each) =>
        createChangeMessage(messageContext, { trigger, transition: each, block, cited: [], owner }),
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
      subject.isApart = !reading.isRead
      if (confirmed === undefined) {
        sight.noteUnread(subject)
        continue
      }
      subject.confirmed = confirmed
      subject.confirmedAt = reading.slot
      const confirmedRead = { confirmed, cited: async () => [] }
      const changeBlock = { ...block, hash: null }
      applyConfirmedRead(subject, {
        confirmedRead,
        previous: undefined,
        block: changeBlock,
        apply,
        note: sight.note,
        isSampled: true,
      })
    }
    const families = remainingPieces.length === 0 ? [family] : []
    const evaluated = { block, fork: null, final: reading.slot, nowMs, changes, families, ...sight.list() }
    if (!(await leaseHolder.commit(heldPartition, { ...evaluated, screened: 0, confirmed: batch.length }))) return false
    if (remainingPieces.length === 0) seenMs = clock.monotonicMs()
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
        await heldPartition.list.refresh(heldPartition.lease.at?.number ?? -1n)
        heldPartition.list.dropExpired(clock.now())
        for (const family of heldPartition.list.families)
          if (!(await readTurn(heldPartition, family, createWork(signal)))) return 0
        leaseHolder.recordProgress()
        return READ_EVERY_MS
      } catch (error) {
        if (!signal.aborted) leaseHolder.recordFailure()
        throw error
      } finally {
        if (!signal.aborted) await leaseHolder.notifyBlindTriggers(heldPartition, seenMs)
      }
    },
  }
}
