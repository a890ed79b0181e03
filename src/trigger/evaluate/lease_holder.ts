import type { Database } from '../../db/database.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { pruneFinalized } from '../step.ts'
import type { MessageContext } from './change_message.ts'
import { type Evaluation, revertToStored } from './evaluate.ts'
import type { PartitionRecorder } from './metrics.ts'
import {
  acquirePartition,
  type BlockCommit,
  commitBlock,
  notifyBlindTriggers,
  type PartitionLease,
  type TriggerPartition,
} from './partition.ts'
import { createWatchlist, setReorgState, type Watchlist } from './watchlist.ts'

/** What a loop over a line works with, whatever the chain. */
export interface LeaseHolderOptions {
  readonly line: TriggerPartition
  readonly db: Database
  /** Names this process. */
  readonly holder: string
  readonly telling: MessageContext
  readonly recorder: PartitionRecorder
  /** Called when there are new messages. */
  readonly told: () => void
  readonly clock: Clock
  readonly log: Log
}

/** A line that this process evaluates. */
export interface HeldPartition<Known> {
  tenure: PartitionLease
  readonly list: Watchlist
  /** What the loop knows besides, as long as it has the line. */
  readonly known: Known
}

/** A block that was evaluated. */
export interface EvaluatedBlock
  extends Pick<BlockCommit, 'block' | 'fork' | 'final' | 'nowMs'>,
    Pick<Evaluation, 'changes' | 'families' | 'screened' | 'confirmed'> {}

/** How often it is looked whether the process that evaluates is gone. */
export const LEASE_POLL_MS = 1_000
/** How often it is looked who has to be told that nothing can be seen. */
const BLIND_EVERY_MS = 5_000

/** Has the lease of a line, and commits what is evaluated under it. `begin` makes what a loop knows at first. */
export function createLeaseHolder<Known>(options: LeaseHolderOptions, begin: () => Promise<Known>) {
  const { line, db, holder, recorder, told, clock, log } = options
  // While nothing is committed.
  const prolongMs = (line.leaseSec * 1_000) / 3
  let held: HeldPartition<Known> | undefined
  let prolongedMs = Number.NEGATIVE_INFINITY
  let blindMs = Number.NEGATIVE_INFINITY

  /** What was found in memory may not be what the database has: begins anew. */
  function release(): void {
    held = undefined
    recorder.ended(line)
  }

  return {
    /** The line, if this process has it or can take it. Throws as `Database.run`. */
    async hold(): Promise<HeldPartition<Known> | undefined> {
      const nowMs = clock.monotonicMs()
      if (held !== undefined && nowMs - prolongedMs < prolongMs) return held
      const tenure = await acquirePartition(db, line, holder)
      if (tenure === undefined) {
        release()
        return undefined
      }
      if (held === undefined || !isSame(held.tenure, tenure)) {
        // Nobody may have evaluated for long.
        if ((await notifyBlindTriggers(db, line, tenure)) > 0) told()
        held = { tenure, list: createWatchlist({ db, clock }, line), known: await begin() }
      }
      prolongedMs = nowMs
      return held
    },
    /** Looks before the next block whether the line is still there: a commit may have been made or not. */
    doubt(): void {
      prolongedMs = Number.NEGATIVE_INFINITY
    },
    /**
     * Commits a block. False if the line turned out to be somebody else's, which ends what is held. Throws as
     * `Database.run`; all triggers are then as the database had them.
     */
    async commit(mine: HeldPartition<Known>, evaluated: EvaluatedBlock): Promise<boolean> {
      const { tenure, list } = mine
      const { block, fork, final, nowMs, changes, families, screened, confirmed } = evaluated
      const commit = { line, tenure, block, fork, final, families, nowMs, changes }
      const failed = await commitBlock(db, commit).catch((error: unknown) => {
        // Whether it was committed is seen by the block where the line is then.
        for (const { entry } of changes) revertToStored(entry)
        throw error
      })
      if (failed === undefined) {
        release()
        return false
      }
      const { number, hash, timestampSec } = block
      mine.tenure = { ...tenure, at: { number, hash, timestampSec } }
      prolongedMs = clock.monotonicMs()
      const left = new Set(failed.map(({ trigger }) => trigger))
      for (const { entry, trigger } of changes) {
        if (left.has(trigger)) list.drop(trigger)
        else {
          setReorgState(entry, pruneFinalized(entry.life, final))
          entry.stored = entry.life
        }
      }
      const messages = changes.reduce((sum, each) => sum + each.messages.length, 0)
      if (messages > 0) told()
      recorder.evaluated(line, { block: number, atMs: nowMs, screened, confirmed, changes: messages })
      return true
    },
    /** Says who is blind, now and then, if anybody was last seen before `seenMs` allows. Throws as `Database.run`. */
    async lookWhoIsBlind({ tenure }: HeldPartition<Known>, seenMs: number): Promise<void> {
      if (clock.now() - seenMs < line.blindAfterSec * 1_000) return
      if (clock.monotonicMs() - blindMs < BLIND_EVERY_MS) return
      blindMs = clock.monotonicMs()
      const messages = await notifyBlindTriggers(db, line, tenure)
      if (messages === 0) return
      told()
      log.warn({ msg: 'Told that triggers are not evaluated', chainId: line.chainId, messages })
    },
  }
}

function isSame(a: PartitionLease, b: PartitionLease): boolean {
  return a.epoch === b.epoch && a.at?.number === b.at?.number && a.at?.hash === b.at?.hash
}
