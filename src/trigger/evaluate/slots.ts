import type { Database } from '../../db/database.ts'
import type { AccountWatcher } from '../../family/watch.ts'
import type { Job } from '../../job/job.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { type News, step } from '../step.ts'
import { undo } from './evaluate.ts'
import { commitBlock, type Line, type Tenure, takeLine, tellBlind } from './line.ts'
import type { LineRecorder } from './metrics.ts'
import { type Telling, type ToldBlock, tellChange } from './tell.ts'
import { createWatchlist, type Entry, type WatchedSubject, type Watchlist } from './watchlist.ts'

/** What evaluates the triggers of Solana. */
export interface SlotLoopOptions {
  readonly line: Line
  readonly watchers: ReadonlyMap<string, AccountWatcher>
  readonly db: Database
  readonly holder: string
  readonly telling: Telling
  readonly recorder: LineRecorder
  readonly clock: Clock
  readonly log: Log
}

const AWAIT_MS = 1_000
/** Between two readings: public endpoints allow few. */
const READ_EVERY_MS = 2_000
const BLIND_EVERY_MS = 5_000
const RETRY_MS = { least: 500, most: 5_000 }

interface Held {
  tenure: Tenure
  prolongedMs: number
  readonly list: Watchlist
  /** Those who are yet to be read before everybody of a family was, by family. */
  readonly turns: Map<string, WatchedSubject[]>
}

/**
 * The loop of Solana: subjects are read in turn, each time at a slot after the one before, which is never taken back. A
 * family counts as evaluated once all of its subjects were.
 */
export function slotsJob(options: SlotLoopOptions): Job {
  const { line, watchers, db, holder, recorder, clock, log } = options
  // While nothing is committed.
  const prolongMs = (line.leaseSec * 1_000) / 3
  let held: Held | undefined
  let seenMs = Number.NEGATIVE_INFINITY
  let blindMs = Number.NEGATIVE_INFINITY

  async function hold(): Promise<Held | undefined> {
    const nowMs = clock.monotonicMs()
    if (held !== undefined && nowMs - held.prolongedMs < prolongMs) return held
    const tenure = await takeLine(db, line, holder)
    if (tenure === undefined) {
      held = undefined
      recorder.ended(line)
    } else if (held?.tenure.epoch === tenure.epoch && held.tenure.at?.number === tenure.at?.number) {
      held.prolongedMs = nowMs
    } else {
      await tellBlind(db, line, tenure)
      held = { tenure, prolongedMs: nowMs, list: createWatchlist(db, line), turns: new Map() }
    }
    return held
  }

  async function readTurn(mine: Held, family: string, signal: AbortSignal): Promise<boolean> {
    const { list, turns } = mine
    const watcher = watchers.get(family)
    if (watcher === undefined) return true
    const waiting = turns.get(family) ?? [...list.subjectsOf(family)]
    const turn = waiting.slice(0, watcher.subjectsMax)
    const minSlot = (mine.tenure.at?.number ?? -1n) + 1n
    const read = await watcher.confirm(
      turn.map(({ subject }) => subject),
      minSlot,
      signal,
    )
    const rest = waiting.slice(turn.length)
    if (rest.length === 0) turns.delete(family)
    else turns.set(family, rest)
    const block = { number: read.slot, hash: '', timestampSec: read.timestampSec }
    const changes = turn.flatMap((subject, index) => {
      const confirmed = read.subjects[index]
      if (confirmed === undefined) return []
      subject.confirmed = confirmed
      subject.confirmedAt = read.slot
      return [...subject.entries].flatMap((entry) => changeOf(entry, { ...block, hash: null }))
    })
    const nowMs = clock.now()
    const families = rest.length === 0 ? [family] : []
    const commit = { line, tenure: mine.tenure, block, fork: null, final: read.slot, families, nowMs, changes }
    const failed = await commitBlock(db, commit).catch((error: unknown) => {
      for (const { entry } of changes) undo(entry)
      throw error
    })
    if (failed === undefined) return false
    const left = new Set(failed.map(({ trigger }) => trigger))
    for (const { entry, trigger } of changes) {
      if (left.has(trigger)) list.drop(trigger)
      else entry.stored = entry.life
    }
    mine.tenure = { ...mine.tenure, at: block }
    mine.prolongedMs = clock.monotonicMs()
    if (rest.length === 0) seenMs = nowMs
    const told = changes.reduce((sum, { messages }) => sum + messages.length, 0)
    recorder.evaluated(line, { block: read.slot, atMs: nowMs, screened: 0, confirmed: turn.length, changes: told })
    return true
  }

  function changeOf(entry: Entry, block: ToldBlock) {
    const { trigger, subject, stored } = entry
    const { clause } = trigger
    const { confirmed } = subject
    if ('event' in clause || confirmed === undefined || confirmed === 'gone') return []
    const text = confirmed.text(clause.figure)
    const value = confirmed.value(clause.figure)
    const { life, news } = step(entry.rule, entry.life, {
      block: block.number,
      value,
      text: text === null ? null : String(text),
    })
    if (life === entry.life) return []
    entry.life = { ...life, told: [], trail: [] }
    const nowMs = clock.now()
    const messages = news.map((each: News) => ({
      change: each.change,
      body: tellChange(options.telling, { trigger, news: each, block, cited: [], nowMs }),
    }))
    return [{ entry, trigger, before: stored.state, after: life.state, messages, told: [], reverted: [] }]
  }

  async function lookWhoIsBlind({ tenure }: Held): Promise<void> {
    if (clock.now() - seenMs < line.blindAfterSec * 1_000) return
    if (clock.monotonicMs() - blindMs < BLIND_EVERY_MS) return
    blindMs = clock.monotonicMs()
    await tellBlind(db, line, tenure)
  }

  return {
    name: `triggers ${line.chainId} ${line.finality}`,
    retryMs: RETRY_MS,
    failed: (error) => log.error({ msg: 'Could not evaluate triggers', chainId: line.chainId, error }),
    async round(signal) {
      const mine = await hold()
      if (mine === undefined) return AWAIT_MS
      try {
        await mine.list.refresh(clock.now(), mine.tenure.at?.number ?? -1n)
        for (const entry of [...mine.list.entries()]) {
          if (entry.expiresAtMs <= clock.now()) mine.list.drop(entry.trigger)
        }
        for (const family of mine.list.families) {
          if (await readTurn(mine, family, signal)) continue
          held = undefined
          return 0
        }
        return READ_EVERY_MS
      } catch (error) {
        if (!signal.aborted) mine.prolongedMs = Number.NEGATIVE_INFINITY
        throw error
      } finally {
        if (!signal.aborted) await lookWhoIsBlind(mine)
      }
    },
  }
}
