import type { PinnedBlock } from '../../chain/block.ts'
import { readHeader } from '../../chain/evm/read_block.ts'
import {
  readWatchedLogs,
  SAMPLING,
  type SubjectEvent,
  type WatchedLogs,
  type WatchedRange,
  type Watcher,
  type WatchTarget,
} from '../../family/watch.ts'
import { createYielder } from '../../lib/async/cooperative.ts'
import { mapChunks } from '../../lib/async/parallel.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { UpstreamError } from '../../lib/error.ts'
import { groupBy } from '../../lib/group_by.ts'
import { rewind } from '../step.ts'
import { type BlockMark, getPace } from '../trigger.ts'
import { applyConfirmedRead, applyEvents } from './apply.ts'
import { type ChangeCollector, createChangeCollector, type EntryChange, type MessageContext } from './change_message.ts'
import { computeWakeConditions, mustConfirm, mustConfirmByForecast } from './choose.ts'
import { type ConfirmedReading, confirmSubjects } from './confirm.ts'
import { createSightNotes } from './sight_notes.ts'
import type { WatchedSubject, WatchedTrigger, Watchlist } from './watchlist.ts'

/** The context of the evaluation of a block. */
export interface EvaluationContext {
  readonly client: WatchTarget['client']
  readonly list: Watchlist
  readonly watchers: ReadonlyMap<string, Watcher>
  readonly messageContext: MessageContext
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly nowMs: number
}

/** A block to evaluate, and its relation to the previously evaluated one. */
export interface BlockToEvaluate {
  readonly block: PinnedBlock
  /** The previously evaluated block; null if there is none. */
  readonly before: BlockMark | null
  readonly fork: bigint | null
  /** True if the chain has no later block: at an earlier one, triggers that were made after it are not evaluated. */
  readonly isNewest: boolean
}

/** The changes of a block, to be committed. */
export interface Evaluation {
  readonly changes: readonly EntryChange[]
  /** Families that were evaluated, but for the triggers left out. */
  readonly families: readonly string[]
  /** Families of which nothing was evaluated. */
  readonly failed: ReadonlySet<string>
  /** Triggers left out that were not before, and those evaluated again. */
  readonly missed: readonly WatchedTrigger[]
  readonly seen: readonly WatchedTrigger[]
  readonly screened: number
  readonly confirmed: number
  /** By family, the error of an evaluation that left triggers out; of all, if `families` lacks it. */
  readonly failures: ReadonlyMap<string, unknown>
}

/**
 * After a longer gap, skip logs and confirm all subjects. With four blocks a second the gap is an hour, the time that
 * final blocks may be apart before triggers count as blind.
 */
const GAP_MAX = 16_000n

/** The subjects of a family, classified before anything is read. */
interface Family {
  readonly name: string
  readonly watcher: Watcher
  readonly subjects: readonly WatchedSubject[]
  /** Subjects to confirm whatever the forecast. */
  readonly due: readonly WatchedSubject[]
  /** Subjects with triggers that wait for events. */
  readonly waiting: readonly WatchedSubject[]
  /** Distinct memos of confirmed subjects, for the forecast. */
  readonly memos: ReadonlySet<unknown>
}

/**
 * Evaluates the triggers of a partition at a block, in memory, and lets callers go first. Throws as `ChainClient.read`
 * if the logs cannot be read; all triggers then keep their previous state.
 */
export async function evaluateBlock(
  context: EvaluationContext,
  input: BlockToEvaluate,
  work: Work,
): Promise<Evaluation> {
  context.list.dropExpired(context.nowMs)
  const collector = createChangeCollector(context.messageContext)
  try {
    return await evaluateAll(context, { ...input, collector }, work)
  } catch (error) {
    collector.revert()
    throw error
  }
}

/**
 * Evaluates triggers that were added after their block was evaluated, at that block; those whose subject cannot be read
 * are left to the next block. Throws if aborted.
 */
export async function evaluateAdded(
  context: EvaluationContext,
  { block, added }: { readonly block: PinnedBlock; readonly added: readonly WatchedTrigger[] },
  work: Work,
): Promise<Evaluation> {
  const { client, watchers, clock, messageContext } = context
  const collector = createChangeCollector(messageContext)
  const sight = createSightNotes()
  const failures = new Map<string, unknown>()
  let confirmed = 0
  try {
    for (const [family, entries] of groupBy(added, ({ trigger }) => trigger.family)) {
      const watcher = watchers.get(family)
      if (watcher === undefined) continue
      const entriesBySubject = groupBy(entries, ({ subject }) => subject)
      const subjects = [...entriesBySubject.keys()]
      const { reads, errors } = await confirmSubjects(watcher, { subjects, client, block }, work)
      if (errors.length > 0) failures.set(family, errors[0])
      for (const [index, subject] of subjects.entries()) {
        const confirmedRead = reads[index]
        const addedHere = { entries: entriesBySubject.get(subject) ?? [] }
        if (confirmedRead === undefined) {
          sight.noteUnread(addedHere)
          continue
        }
        confirmed++
        applyConfirmedRead(addedHere, {
          confirmedRead,
          previous: undefined,
          block,
          apply: collector.apply,
          note: sight.note,
        })
      }
    }
    work.signal.throwIfAborted()
    const changes = await collector.listChanges(createYielder(clock))
    return { changes, families: [], failed: new Set(), ...sight.list(), screened: 0, confirmed, failures }
  } catch (error) {
    collector.revert()
    throw error
  }
}

async function evaluateAll(
  context: EvaluationContext,
  { collector, ...input }: BlockToEvaluate & { readonly collector: ChangeCollector },
  work: Work,
): Promise<Evaluation> {
  const { list, client, clock } = context
  const { block, before, fork, isNewest } = input
  const { apply } = collector
  const isSampled = getPace(context.messageContext.partition.shard) === 'sampled'
  if (fork !== null) rewindAll(list, fork, collector)
  const first = before === null ? block.number : fork !== null && fork <= before.number ? fork : before.number + 1n
  const isLong = block.number - first >= GAP_MAX
  const families = await openFamilies(context, { block, isLong, isNewest })
  const failures = new Map<string, unknown>()
  const range = toRange(block, isLong ? block.number : first)
  const isFirst = before === null
  const { logs, foresights, readings } = await readBlock(context, { block, range, isFirst, families, failures }, work)
  work.signal.throwIfAborted()
  const yielder = createYielder(clock)
  /** Families that were not evaluated. */
  const failed = new Set<string>()
  let screened = 0
  let confirmed = 0
  const sight = createSightNotes()

  /** Returns the number of subjects that could be read. */
  const applyReading = async (name: string, { subjects, reads: read, errors }: ConfirmedReading) => {
    let readCount = 0
    if (errors.length > 0) failures.set(name, errors[0])
    for (const [index, subject] of subjects.entries()) {
      if (yielder.isDue()) await yielder.take()
      const confirmedRead = read[index]
      subject.isDue = confirmedRead === undefined
      subject.triedAt = block.number
      if (confirmedRead === undefined) {
        sight.noteUnread(subject)
        continue
      }
      confirmed++
      readCount++
      const previous = subject.confirmed
      subject.confirmed = confirmedRead.confirmed
      subject.confirmedAt = block.number
      const entries = isNewest ? subject.entries : list.listMadeBy(subject, block.timestampSec)
      // The newest block evaluates the others.
      if (entries !== subject.entries) subject.isDue = true
      applyConfirmedRead({ entries }, { confirmedRead, previous, block, apply, note: sight.note, isSampled })
    }
    return readCount
  }

  const evaluateFamily = async ({ name, watcher, subjects, waiting, due: dueEarly }: Family, index: number) => {
    // Each block's events are applied exactly once, so a block without them is not evaluated.
    const eventBatch = await readSubjectEvents(watcher, { waiting, logs, target: { client, block } }, work)
    for (const subject of waiting) {
      for (const entry of subject.entries) {
        if (!('event' in entry.trigger.clause)) continue
        applyEvents(entry, eventBatch.getEvents(subject), { block, getTime: eventBatch.getTime, apply })
      }
    }
    const reading = readings[index]
    const readEarly = reading === undefined ? 0 : await applyReading(name, reading)
    const [readSubjects, forecast] = [new Set(dueEarly), foresights[index]]
    const isTouched = watcher.forecaster?.toTouchedCheck(logs, client.chain.id)
    const due: WatchedSubject[] = []
    for (const subject of subjects) {
      if (yielder.isDue()) await yielder.take()
      if (readSubjects.has(subject)) continue
      // Mark the subject even without a forecast now, so that the next block confirms it.
      if (isTouched?.(subject.subject) === true) subject.isDue = true
      if (forecast !== undefined && mustConfirmByForecast(subject, forecast)) due.push(subject)
    }
    const screenedHere = forecast === undefined ? 0 : subjects.length - dueEarly.length - due.length
    screened += screenedHere
    const readLate = await applyReading(name, await confirmSubjects(watcher, { subjects: due, client, block }, work))
    const isScreenBroken = watcher.forecaster !== undefined && forecast === undefined
    // If nothing of a family can be read, its endpoints or contracts fail, and not its subjects.
    const isEmpty = failures.has(name) && readEarly + readLate + screenedHere === 0
    if (isScreenBroken || isEmpty) failed.add(name)
  }

  const outcomes = await Promise.allSettled(families.map(evaluateFamily))
  for (const each of outcomes) if (each.status === 'rejected') throw each.reason
  work.signal.throwIfAborted()

  const changes = await collector.listChanges(yielder)
  return {
    changes,
    families: families.flatMap(({ name }) => (failed.has(name) ? [] : [name])),
    failed,
    ...sight.list(failed),
    screened,
    confirmed,
    failures,
  }
}

/** The range of logs; a single block is named by its hash, which is unambiguous. */
function toRange({ number, hash }: PinnedBlock, first: bigint): WatchedRange {
  return first === number
    ? { blockHash: hash, number: Number(number) }
    : { fromBlock: Number(first), toBlock: Number(number) }
}

/**
 * Reads what the screens need at a block: its logs, and by family the forecast (undefined without a screen or if it
 * failed) and the confirmed due subjects. Reads that need no forecast start together with the shared ones, so that
 * light calls share requests.
 */
async function readBlock(
  { client }: Pick<EvaluationContext, 'client'>,
  options: {
    readonly block: PinnedBlock
    readonly range: WatchedRange
    readonly isFirst: boolean
    readonly families: readonly Family[]
    /** Receives the failures of the screens. */
    readonly failures: Map<string, unknown>
  },
  work: Work,
) {
  const { block, range, isFirst, families, failures } = options
  const forecastReads = families.map(async ({ name, watcher: { forecaster: screen }, memos }) => {
    try {
      return await screen?.readShared(memos, { client, block }, work)
    } catch (error) {
      failures.set(name, error)
      return undefined
    }
  })
  const confirming = families.map(({ watcher, due }) =>
    confirmSubjects(watcher, { subjects: due, client, block }, work),
  )
  const readLogs = async () => {
    // The filters may need contracts that the shared read discovers first.
    const isNew = families.some(({ subjects }) => subjects.some(({ confirmed }) => confirmed === undefined))
    if (isFirst || isNew) await Promise.all(forecastReads)
    const filters = families.flatMap(({ watcher: { forecaster: screen, events }, waiting }) => [
      ...(screen?.filters(client.chain.id) ?? []),
      ...(waiting.length === 0 ? [] : (events?.filters(client.chain.id) ?? [])),
    ])
    return await readWatchedLogs(client, { filters, range }, work)
  }
  const [logs, foresights, readings] = await Promise.all([
    readLogs(),
    Promise.all(forecastReads),
    Promise.all(confirming),
  ])
  return { logs, foresights, readings }
}

/** Classifies all subjects in one pass. */
async function openFamilies(
  { list, watchers, messageContext, clock }: EvaluationContext,
  { block, isLong, isNewest }: Pick<BlockToEvaluate, 'block' | 'isNewest'> & { readonly isLong: boolean },
): Promise<readonly Family[]> {
  const families: Family[] = []
  const yielder = createYielder(clock)
  const { finality, shard } = messageContext.partition
  const pace = getPace(shard)
  // Samples of blocks that have a later one would only keep the loop behind. Final blocks come by hundreds.
  const samplesMax = isNewest || finality !== 'latest' ? SAMPLING.subjectsMax : 0
  for (const name of list.families) {
    const watcher = watchers.get(name)
    if (watcher === undefined) continue
    const [due, waiting, memos] = [[] as WatchedSubject[], [] as WatchedSubject[], new Set<unknown>()]
    const subjects = list.listSubjects(name)
    for (const subject of subjects) {
      if (yielder.isDue()) await yielder.take()
      const { confirmed } = subject
      // Without a screen there is no forecast.
      if (isLong || (watcher.forecaster === undefined && pace === 'exact')) subject.isDue = true
      if (computeWakeConditions(subject).hasEvents) waiting.push(subject)
      if (mustConfirm(subject, block.number, pace)) due.push(subject)
      if (confirmed !== undefined && confirmed !== 'gone') memos.add(confirmed.memo)
    }
    const chosen = pace === 'sampled' ? chooseLongestWaiting(due, samplesMax) : due
    families.push({ name, watcher, subjects, due: chosen, waiting, memos })
  }
  return families
}

/** Chooses at most so many subjects; later blocks look at the others. */
function chooseLongestWaiting(due: readonly WatchedSubject[], max: number): readonly WatchedSubject[] {
  return [...due].sort((a, b) => Number(a.triedAt - b.triedAt)).slice(0, max)
}

/** Rewinds every trigger to before the first replaced block. */
function rewindAll(list: Watchlist, fork: bigint, collector: ChangeCollector): void {
  for (const entry of list.entries()) {
    const { reorgState, subject, rule } = entry
    // Figures confirmed at a replaced block are invalid.
    if (subject.confirmedAt >= fork) subject.isDue = true
    const { notified, trail, state } = reorgState
    const last = [notified.at(-1)?.block ?? -1n, trail.at(-1)?.block ?? -1n]
    if (last.every((block) => block < fork) && state.phase !== 'pending') continue
    collector.move(entry, rewind(rule, reorgState, fork))
    subject.isDue = true
  }
}

/** Events of watched subjects, with the times of their blocks. */
interface SubjectEventBatch {
  getEvents(subject: WatchedSubject): readonly SubjectEvent[]
  /** Time of a block with an event, Unix seconds. */
  getTime(blockNumber: number): bigint
}

/** Headers per read, and concurrent reads. */
const PIECES = { size: 16, runningMax: 4 } as const
const BUDGET_MS = 5_000

/** Reads events of waiting subjects from the logs of a block and the gap before it. Throws as `ChainClient.read`. */
async function readSubjectEvents(
  { events }: Watcher,
  {
    waiting,
    logs,
    target,
  }: { readonly waiting: readonly WatchedSubject[]; readonly logs: WatchedLogs; readonly target: WatchTarget },
  work: Work,
): Promise<SubjectEventBatch> {
  const subjectsByWatch = new Map(waiting.map((each) => [each.subject, each]))
  const eventsBySubject = new Map<WatchedSubject, SubjectEvent[]>()
  if (events !== undefined && subjectsByWatch.size > 0) {
    for (const event of await events.read(logs, [...subjectsByWatch.keys()], target, work)) {
      const subject = subjectsByWatch.get(event.subject)
      if (subject === undefined) continue
      const list = eventsBySubject.get(subject)
      if (list === undefined) eventsBySubject.set(subject, [event])
      else list.push(event)
    }
  }
  const times = await readTimes([...eventsBySubject.values()].flat(), { logs, target }, work)
  return {
    getEvents: (subject) => eventsBySubject.get(subject) ?? [],
    getTime: (number) => times.get(number) ?? target.block.timestampSec,
  }
}

/** Times of blocks by number, from their logs or else from their headers. */
async function readTimes(
  subjectEvents: readonly SubjectEvent[],
  { logs, target: { client, block } }: { readonly logs: WatchedLogs; readonly target: WatchTarget },
  work: Work,
): Promise<ReadonlyMap<number, bigint>> {
  const hashes = new Map(subjectEvents.map(({ blockNumber, blockHash }) => [blockNumber, blockHash]))
  const times = new Map([[Number(block.number), block.timestampSec]])
  for (const { blockNumber, timestampSec } of hashes.size === 0 ? [] : logs) {
    if (timestampSec !== null) times.set(blockNumber, BigInt(timestampSec))
  }
  const missing = [...hashes].filter(([number]) => !times.has(number))
  const read = (piece: readonly (readonly [number, string])[], within: Work) =>
    client.read((endpoint, own) => Promise.all(piece.map(([, hash]) => readBlockHeader(endpoint, hash, own))), {
      work: within,
      budgetMs: BUDGET_MS,
      priority: 'background',
      past: 'header',
    })
  const headers = await mapChunks(missing, PIECES, read, work)
  for (const { number, timestampSec } of headers) times.set(Number(number), timestampSec)
  return times

  async function readBlockHeader(
    endpoint: Parameters<typeof readHeader>[0],
    hash: string,
    own: Work,
  ): Promise<PinnedBlock> {
    const header = await readHeader(endpoint, { chainId: client.chain.id, at: { hash: `0x${hash.slice(2)}` } }, own)
    if (header === undefined) throw new UpstreamError('The endpoint does not have the block of a log')
    return header
  }
}
