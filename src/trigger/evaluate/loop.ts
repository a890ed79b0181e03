import type { Database } from '../../db/database.ts'
import type { Watcher, WatchPlace } from '../../family/watch.ts'
import type { Job } from '../../job/job.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { settled } from '../step.ts'
import { evaluateBlock, undo } from './evaluate.ts'
import { readNextBlocks } from './heads.ts'
import { type BlockMark, commitBlock, type Line, type Tenure, takeLine, tellBlind } from './line.ts'
import type { LineRecorder } from './metrics.ts'
import { createPace } from './pace.ts'
import type { Telling } from './tell.ts'
import { createWatchlist, listKnownBlocks, type Watchlist } from './watchlist.ts'

/** What evaluates a line. */
export interface LoopOptions {
  readonly line: Line
  readonly client: WatchPlace['client']
  readonly watchers: ReadonlyMap<string, Watcher>
  readonly db: Database
  /** Names this process. */
  readonly holder: string
  readonly telling: Telling
  readonly recorder: LineRecorder
  readonly clock: Clock
  readonly log: Log
}

/** Blocks that may be replaced, at most. */
const REPLACEABLE = 256n
/** How often it is looked whether the process that evaluates is gone. */
const AWAIT_MS = 1_000
/** How often it is looked who has to be told that nothing can be seen. */
const BLIND_EVERY_MS = 5_000
/** How often it is looked for triggers if all are paused. */
const IDLE_MS = 2_000
const RETRY_MS = { least: 250, most: 3_000 }

/** A line that this process evaluates. */
interface Held {
  tenure: Tenure
  prolongedMs: number
  readonly list: Watchlist
  /** Hashes of blocks that may be replaced. */
  readonly known: Map<bigint, string>
  /** When each family was evaluated last, milliseconds of the wall clock. */
  readonly seenMs: Map<string, number>
}

/** The loop of a line: takes the lease, and then evaluates and commits block by block. */
export function lineJob(options: LoopOptions): Job {
  const { line, client, watchers, db, holder, telling, recorder, clock, log } = options
  const pace = createPace(client.chain.blockTimeMs)
  // While nothing is committed.
  const prolongMs = (line.leaseSec * 1_000) / 3
  let held: Held | undefined
  let blindMs = Number.NEGATIVE_INFINITY

  async function hold(): Promise<Held | undefined> {
    const nowMs = clock.monotonicMs()
    if (held !== undefined && nowMs - held.prolongedMs < prolongMs) return held
    const tenure = await takeLine(db, line, holder)
    if (tenure === undefined) {
      release()
      return undefined
    }
    if (held !== undefined && isSame(held.tenure, tenure)) held.prolongedMs = nowMs
    else held = await begin(tenure, nowMs)
    return held
  }

  async function begin(tenure: Tenure, nowMs: number): Promise<Held> {
    // Nobody may have evaluated for long.
    await tellBlind(db, line, tenure)
    const known = await listKnownBlocks(db, line)
    return { tenure, prolongedMs: nowMs, list: createWatchlist(db, line), known, seenMs: new Map() }
  }

  /** What was found in memory may not be what the database has: begins anew. */
  function release(): void {
    held = undefined
    recorder.ended(line)
  }

  /** Says who is blind, now and then, if anybody may be. */
  async function lookWhoIsBlind({ tenure, seenMs, list }: Held): Promise<void> {
    const nowMs = clock.now()
    const limitMs = line.blindAfterSec * 1_000
    if (clock.monotonicMs() - blindMs < BLIND_EVERY_MS) return
    if (list.families.every((family) => nowMs - (seenMs.get(family) ?? 0) < limitMs)) return
    blindMs = clock.monotonicMs()
    const told = await tellBlind(db, line, tenure)
    if (told > 0) log.warn({ msg: 'Told that triggers are not evaluated', chainId: line.chainId, messages: told })
  }

  /** False if the line turned out to be somebody else's. */
  async function evaluate(mine: Held, of: Parameters<typeof evaluateBlock>[1], signal: AbortSignal): Promise<boolean> {
    const { block, fork } = of
    const { list, known, seenMs } = mine
    const nowMs = clock.now()
    const evaluation = await evaluateBlock({ client, list, watchers, telling, nowMs }, of, signal)
    for (const [family, error] of evaluation.failures) {
      recorder.failed(line, family)
      log.debug({ msg: 'Could not evaluate triggers', chainId: line.chainId, family, reason: String(error) })
    }
    const mayBeReplaced = line.finality === 'latest'
    const final = mayBeReplaced ? block.number - REPLACEABLE : block.number
    const { changes, families, screened, confirmed } = evaluation
    const told = changes.map((each) => (mayBeReplaced ? each : { ...each, told: [], reverted: [] }))
    const commit = { line, tenure: mine.tenure, block, fork, final: final < 0n ? 0n : final, families, nowMs }
    const failed = await commitBlock(db, { ...commit, changes: told }).catch((error: unknown) => {
      // Whether it was committed is seen by the block where the line is then.
      for (const { entry } of changes) undo(entry)
      throw error
    })
    if (failed === undefined) return false
    const at: BlockMark = { number: block.number, hash: block.hash, timestampSec: block.timestampSec }
    mine.tenure = { ...mine.tenure, at }
    mine.prolongedMs = clock.monotonicMs()
    for (const number of known.keys()) if (number < final || (fork !== null && number >= fork)) known.delete(number)
    known.set(at.number, at.hash)
    for (const family of families) seenMs.set(family, nowMs)
    const left = new Set(failed.map(({ trigger }) => trigger))
    for (const { entry, trigger } of changes) {
      if (left.has(trigger)) list.drop(trigger)
      else {
        entry.life = settled(entry.life, final)
        entry.stored = entry.life
      }
    }
    const messages = changes.reduce((sum, each) => sum + each.messages.length, 0)
    recorder.evaluated(line, { block: at.number, atMs: nowMs, screened, confirmed, changes: messages })
    return true
  }

  async function round(signal: AbortSignal): Promise<number> {
    const mine = await hold()
    if (mine === undefined) return AWAIT_MS
    await mine.list.refresh(clock.now(), mine.tenure.at?.number ?? -1n)
    if (mine.list.size === 0) return IDLE_MS
    try {
      const { at } = mine.tenure
      const next = await readNextBlocks(client, { head: line.finality, at, known: mine.known }, signal)
      for (const [index, block] of (next?.blocks ?? []).entries()) {
        const fork = index === 0 ? (next?.fork ?? null) : null
        if (!(await evaluate(mine, { block, before: mine.tenure.at, fork }, signal))) {
          release()
          return 0
        }
        pace.seen(block, clock.now())
        await mine.list.refresh(clock.now(), block.number)
      }
    } finally {
      if (!signal.aborted) await lookWhoIsBlind(mine)
    }
    return pace.pauseMs(clock.now())
  }

  return {
    name: `triggers ${line.chainId} ${line.finality}`,
    retryMs: RETRY_MS,
    failed: (error) => log.error({ msg: 'Could not evaluate triggers', chainId: line.chainId, error }),
    async round(signal) {
      try {
        return await round(signal)
      } catch (error) {
        // A commit may have been made or not.
        if (held !== undefined && !signal.aborted) held.prolongedMs = Number.NEGATIVE_INFINITY
        throw error
      }
    },
  }
}

function isSame(a: Tenure, b: Tenure): boolean {
  return a.epoch === b.epoch && a.at?.number === b.at?.number && a.at?.hash === b.at?.hash
}
