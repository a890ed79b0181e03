import type { Database } from '../../db/database.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { settled } from '../step.ts'
import { type Evaluation, undo } from './evaluate.ts'
import { type BlockCommit, commitBlock, type Line, type Tenure, takeLine, tellBlind } from './line.ts'
import type { LineRecorder } from './metrics.ts'
import type { Telling } from './tell.ts'
import { createWatchlist, setLife, type Watchlist } from './watchlist.ts'

/** What a loop over a line works with, whatever the chain. */
export interface TenantOptions {
  readonly line: Line
  readonly db: Database
  /** Names this process. */
  readonly holder: string
  readonly telling: Telling
  readonly recorder: LineRecorder
  /** Called when there are new messages. */
  readonly told: () => void
  readonly clock: Clock
  readonly log: Log
}

/** A line that this process evaluates. */
export interface HeldLine<Known> {
  tenure: Tenure
  readonly list: Watchlist
  /** What the loop knows besides, as long as it has the line. */
  readonly known: Known
}

/** A block that was evaluated. */
export interface Evaluated
  extends Pick<BlockCommit, 'block' | 'fork' | 'final' | 'nowMs'>,
    Pick<Evaluation, 'changes' | 'families' | 'screened' | 'confirmed'> {}

/** How often it is looked whether the process that evaluates is gone. */
export const AWAIT_MS = 1_000
/** How often it is looked who has to be told that nothing can be seen. */
const BLIND_EVERY_MS = 5_000

/** Has the lease of a line, and commits what is evaluated under it. `begin` makes what a loop knows at first. */
export function createTenant<Known>(options: TenantOptions, begin: () => Promise<Known>) {
  const { line, db, holder, recorder, told, clock, log } = options
  // While nothing is committed.
  const prolongMs = (line.leaseSec * 1_000) / 3
  let held: HeldLine<Known> | undefined
  let prolongedMs = Number.NEGATIVE_INFINITY
  let blindMs = Number.NEGATIVE_INFINITY

  /** What was found in memory may not be what the database has: begins anew. */
  function release(): void {
    held = undefined
    recorder.ended(line)
  }

  return {
    /** The line, if this process has it or can take it. Throws as `Database.run`. */
    async hold(): Promise<HeldLine<Known> | undefined> {
      const nowMs = clock.monotonicMs()
      if (held !== undefined && nowMs - prolongedMs < prolongMs) return held
      const tenure = await takeLine(db, line, holder)
      if (tenure === undefined) {
        release()
        return undefined
      }
      if (held === undefined || !isSame(held.tenure, tenure)) {
        // Nobody may have evaluated for long.
        if ((await tellBlind(db, line, tenure)) > 0) told()
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
    async commit(mine: HeldLine<Known>, evaluated: Evaluated): Promise<boolean> {
      const { tenure, list } = mine
      const { block, fork, final, nowMs, changes, families, screened, confirmed } = evaluated
      const commit = { line, tenure, block, fork, final, families, nowMs, changes }
      const failed = await commitBlock(db, commit).catch((error: unknown) => {
        // Whether it was committed is seen by the block where the line is then.
        for (const { entry } of changes) undo(entry)
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
          setLife(entry, settled(entry.life, final))
          entry.stored = entry.life
        }
      }
      const messages = changes.reduce((sum, each) => sum + each.messages.length, 0)
      if (messages > 0) told()
      recorder.evaluated(line, { block: number, atMs: nowMs, screened, confirmed, changes: messages })
      return true
    },
    /** Says who is blind, now and then, if anybody was last seen before `seenMs` allows. Throws as `Database.run`. */
    async lookWhoIsBlind({ tenure }: HeldLine<Known>, seenMs: number): Promise<void> {
      if (clock.now() - seenMs < line.blindAfterSec * 1_000) return
      if (clock.monotonicMs() - blindMs < BLIND_EVERY_MS) return
      blindMs = clock.monotonicMs()
      const messages = await tellBlind(db, line, tenure)
      if (messages === 0) return
      told()
      log.warn({ msg: 'Told that triggers are not evaluated', chainId: line.chainId, messages })
    },
  }
}

function isSame(a: Tenure, b: Tenure): boolean {
  return a.epoch === b.epoch && a.at?.number === b.at?.number && a.at?.hash === b.at?.hash
}
