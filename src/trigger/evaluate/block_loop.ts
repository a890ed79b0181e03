import type { Watcher, WatchTarget } from '../../family/watch.ts'
import type { Job } from '../../job/job.ts'
import { evaluateBlock } from './evaluate.ts'
import { createBlockSchedule } from './head/block_schedule.ts'
import { readNextBlocks } from './head/heads.ts'
import { createLeaseHolder, type HeldPartition, LEASE_POLL_MS, type LeaseHolderOptions } from './lease_holder.ts'
import { listEvaluatedBlocks } from './watchlist.ts'

/** What evaluates a line. */
export interface BlockLoopOptions extends LeaseHolderOptions {
  readonly client: WatchTarget['client']
  readonly watchers: ReadonlyMap<string, Watcher>
}

/** Blocks that may be replaced, at most. */
const REPLACEABLE = 256n
/** How often it is looked for triggers if all are paused. */
const IDLE_MS = 2_000
const RETRY_MS = { least: 250, most: 3_000 }

interface LoopState {
  /** Of blocks that may be replaced. */
  readonly hashes: Map<bigint, string>
  /** When each family was evaluated last, milliseconds of the wall clock. */
  readonly seenMs: Map<string, number>
}

/** The loop of a line: takes the lease, and then evaluates and commits block by block. */
export function blockLoopJob(options: BlockLoopOptions): Job {
  const { line, client, watchers, db, telling, recorder, clock, log } = options
  const pace = createBlockSchedule(client.chain.blockTimeMs)
  const tenant = createLeaseHolder<LoopState>(options, async () => ({
    hashes: await listEvaluatedBlocks(db, line),
    seenMs: new Map(),
  }))
  const isReplaceable = line.finality === 'latest'

  /** False if the line turned out to be somebody else's. */
  async function evaluate(
    mine: HeldPartition<LoopState>,
    of: Parameters<typeof evaluateBlock>[1],
    signal: AbortSignal,
  ): Promise<boolean> {
    const { list, known } = mine
    const { block, fork } = of
    const nowMs = clock.now()
    const evaluation = await evaluateBlock({ client, list, watchers, telling, clock, nowMs }, of, signal)
    for (const [family, error] of evaluation.failures) {
      recorder.failed(line, family)
      log.debug({ msg: 'Could not evaluate triggers', chainId: line.chainId, family, reason: String(error) })
    }
    const changes = evaluation.changes.map((each) => (isReplaceable ? each : { ...each, told: [], reverted: [] }))
    const oldest = isReplaceable ? block.number - REPLACEABLE : block.number
    const final = oldest < 0n ? 0n : oldest
    if (!(await tenant.commit(mine, { ...evaluation, changes, block, fork, final, nowMs }))) return false
    for (const number of known.hashes.keys()) {
      if (number < final || (fork !== null && number >= fork)) known.hashes.delete(number)
    }
    known.hashes.set(block.number, block.hash)
    for (const family of evaluation.families) known.seenMs.set(family, nowMs)
    return true
  }

  async function round(signal: AbortSignal): Promise<number> {
    const mine = await tenant.hold()
    if (mine === undefined) return LEASE_POLL_MS
    await mine.list.refresh(clock.now(), mine.tenure.at?.number ?? -1n)
    if (mine.list.size === 0) return IDLE_MS
    const { list, known } = mine
    try {
      const { at } = mine.tenure
      const next = await readNextBlocks(client, { head: line.finality, at, known: known.hashes }, signal)
      const readMs = clock.now()
      for (const [index, block] of (next?.blocks ?? []).entries()) {
        const fork = index === 0 ? (next?.fork ?? null) : null
        if (!(await evaluate(mine, { block, before: mine.tenure.at, fork }, signal))) return 0
        pace.seen(block, readMs)
        await list.refresh(clock.now(), block.number)
      }
    } finally {
      const seenMs = list.families.map((family) => known.seenMs.get(family) ?? 0)
      if (!signal.aborted) await tenant.lookWhoIsBlind(mine, Math.min(...seenMs))
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
        if (!signal.aborted) tenant.doubt()
        throw error
      }
    },
  }
}
