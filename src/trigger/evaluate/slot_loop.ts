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

/** What evaluates the triggers of Solana. */
export interface SlotLoopOptions extends LeaseHolderOptions {
  readonly watchers: ReadonlyMap<string, AccountWatcher>
}

/** Between two readings: public endpoints allow few. */
const READ_EVERY_MS = 2_000
const RETRY_MS = { least: 500, most: 5_000 }

interface LoopState {
  /** Those who are yet to be read before everybody of a family was, by family. */
  readonly turns: Map<string, WatchedSubject[]>
}

/**
 * The loop of Solana: subjects are read in turn, each time at a slot after the one before, which is never taken back. A
 * family counts as evaluated once all of its subjects were.
 */
export function slotLoopJob(options: SlotLoopOptions): Job {
  const { line, watchers, telling, clock, log } = options
  const tenant = createLeaseHolder<LoopState>(options, async () => ({ turns: new Map() }))
  let seenMs = Number.NEGATIVE_INFINITY

  /** False if the line turned out to be somebody else's. */
  async function readTurn(mine: HeldPartition<LoopState>, family: string, signal: AbortSignal): Promise<boolean> {
    const { list, known } = mine
    const watcher = watchers.get(family)
    if (watcher === undefined) return true
    const waiting = known.turns.get(family) ?? [...list.subjectsOf(family)]
    const turn = waiting.slice(0, watcher.subjectsMax)
    const minSlot = (mine.tenure.at?.number ?? -1n) + 1n
    const read = await watcher.confirm(
      turn.map(({ subject }) => subject),
      minSlot,
      signal,
    )
    const rest = waiting.slice(turn.length)
    if (rest.length === 0) known.turns.delete(family)
    else known.turns.set(family, rest)
    const block = { number: read.slot, hash: '', timestampSec: read.timestampSec }
    const nowMs = clock.now()
    const changes: EvaluatedBlock['changes'][number][] = []
    const apply: ApplyStep = (entry, { life, news }, { block }) => {
      if (life === entry.life) return
      const { trigger, stored } = entry
      setReorgState(entry, { ...life, told: [], trail: [] })
      const messages = news.map((each) =>
        createChangeMessage(telling, { trigger, news: each, block, cited: [], nowMs }),
      )
      changes.push({ entry, trigger, before: stored.state, after: life.state, messages, told: [], reverted: [] })
    }
    for (const [index, subject] of turn.entries()) {
      const confirmed = read.subjects[index]
      if (confirmed === undefined) continue
      subject.confirmed = confirmed
      subject.confirmedAt = read.slot
      const found = { confirmed, cited: async () => [] }
      applyConfirmedRead(subject, { found, previous: undefined, block: { ...block, hash: null }, apply })
    }
    const families = rest.length === 0 ? [family] : []
    const evaluated = { block, fork: null, final: read.slot, nowMs, changes, families }
    if (!(await tenant.commit(mine, { ...evaluated, screened: 0, confirmed: turn.length }))) return false
    if (rest.length === 0) seenMs = nowMs
    return true
  }

  return {
    name: `triggers ${line.chainId} ${line.finality}`,
    retryMs: RETRY_MS,
    failed: (error) => log.error({ msg: 'Could not evaluate triggers', chainId: line.chainId, error }),
    async round(signal) {
      const mine = await tenant.hold()
      if (mine === undefined) return LEASE_POLL_MS
      try {
        await mine.list.refresh(clock.now(), mine.tenure.at?.number ?? -1n)
        mine.list.dropExpired(clock.now())
        for (const family of mine.list.families) if (!(await readTurn(mine, family, signal))) return 0
        return READ_EVERY_MS
      } catch (error) {
        if (!signal.aborted) tenant.doubt()
        throw error
      } finally {
        if (!signal.aborted) await tenant.lookWhoIsBlind(mine, seenMs)
      }
    },
  }
}
