import type { PinnedBlock } from '../../chain/block.ts'
import type { Watcher, WatchTarget } from '../../family/watch.ts'
import { readWatchedLogs, type WatchedRange } from '../../family/watch_logs.ts'
import { createYielder } from '../../lib/async/cooperative.ts'
import type { Clock } from '../../lib/clock.ts'
import { rewind, type TriggerTransition } from '../step.ts'
import type { BlockMark } from '../trigger.ts'
import { type ApplyStep, applyConfirmedRead, applyEvents, type ChangeSource, diffNotified } from './apply.ts'
import { type ChangeMessage, createChangeMessage, type MessageContext } from './change_message.ts'
import { computeWakeConditions, mustConfirm, mustConfirmByForecast } from './choose.ts'
import { type ConfirmedReading, confirmSubjects } from './confirm.ts'
import type { TriggerChange } from './partition.ts'
import { readSubjectEvents } from './subject_events.ts'
import { setReorgState, type WatchedSubject, type WatchedTrigger, type Watchlist } from './watchlist.ts'

/** What evaluating a block needs. */
export interface EvaluationContext {
  readonly client: WatchTarget['client']
  readonly list: Watchlist
  readonly watchers: ReadonlyMap<string, Watcher>
  readonly telling: MessageContext
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly nowMs: number
}

/** A block, and what is between it and the one that was evaluated before. */
export interface BlockToEvaluate {
  readonly block: PinnedBlock
  /** Null if nothing was evaluated before. */
  readonly before: BlockMark | null
  readonly fork: bigint | null
}

/** What a block changed, to be committed. */
export interface Evaluation {
  readonly changes: readonly (TriggerChange & { readonly entry: WatchedTrigger })[]
  /** Families that were evaluated, of which nobody was left out. */
  readonly families: readonly string[]
  readonly screened: number
  readonly confirmed: number
  /** Why others were not, or not all of them, by family. */
  readonly failures: ReadonlyMap<string, unknown>
}

/**
 * A longer gap is not looked through for logs: everybody is confirmed after it. With four blocks a second it is an hour,
 * which final blocks may be apart before anybody is told that nothing is seen.
 */
const GAP_MAX = 16_000n

/** The subjects of a family, and what of them is known before anything is read. */
interface Family {
  readonly name: string
  readonly watcher: Watcher
  readonly subjects: readonly WatchedSubject[]
  /** Those to be confirmed whatever can be foreseen. */
  readonly due: readonly WatchedSubject[]
  /** Those to which something may happen that is waited for. */
  readonly waiting: readonly WatchedSubject[]
  /** What was confirmed of the others, each once. */
  readonly memos: ReadonlySet<unknown>
}

/**
 * Evaluates the triggers of a line at a block, in memory, and lets callers go first. Throws as `ChainClient.read` if its
 * logs cannot be read; all triggers are then as they were.
 */
export async function evaluateBlock(
  evaluating: EvaluationContext,
  of: BlockToEvaluate,
  signal: AbortSignal,
): Promise<Evaluation> {
  evaluating.list.dropExpired(evaluating.nowMs)
  const moved = new Set<WatchedTrigger>()
  try {
    return await evaluateAll(evaluating, { ...of, moved }, signal)
  } catch (error) {
    for (const entry of moved) revertToStored(entry)
    throw error
  }
}

/** Makes a trigger what the database has; it is evaluated again. */
export function revertToStored(entry: WatchedTrigger): void {
  setReorgState(entry, entry.stored)
  entry.subject.isDue = true
}

async function evaluateAll(
  evaluating: EvaluationContext,
  { moved, ...of }: BlockToEvaluate & { readonly moved: Set<WatchedTrigger> },
  signal: AbortSignal,
): Promise<Evaluation> {
  const { list, client, clock, telling, nowMs } = evaluating
  const { block, before, fork } = of
  if (fork !== null) goBack(list, fork, moved)
  const first = before === null ? block.number : fork !== null && fork <= before.number ? fork : before.number + 1n
  const isLong = block.number - first >= GAP_MAX
  const families = await openFamilies(evaluating, { block, isLong })
  const failures = new Map<string, unknown>()
  const range = rangeOf(block, isLong ? block.number : first)
  const isFirst = before === null
  const { logs, foresights, readings } = await readBlock(
    evaluating,
    { block, range, isFirst, families, failures },
    signal,
  )
  signal.throwIfAborted()
  const breaks = createYielder(clock)
  let screened = 0
  let confirmed = 0
  const told = new Map<WatchedTrigger, (ChangeSource & { readonly news: TriggerTransition })[]>()

  const apply: ApplyStep = (entry, { life, news }, of) => {
    if (life !== entry.life) {
      moved.add(entry)
      setReorgState(entry, life)
    }
    if (news.length === 0) return
    told.set(entry, [...(told.get(entry) ?? []), ...news.map((each) => ({ ...of, news: each }))])
  }

  const take = async (name: string, { subjects, read, errors }: ConfirmedReading) => {
    if (errors.length > 0) failures.set(name, errors[0])
    for (const [at, subject] of subjects.entries()) {
      if (breaks.isDue()) await breaks.take()
      const found = read[at]
      subject.isDue = found === undefined
      if (found === undefined) continue
      confirmed++
      const previous = subject.confirmed
      subject.confirmed = found.confirmed
      subject.confirmedAt = block.number
      applyConfirmedRead(subject, { found, previous, block, apply })
    }
  }

  const evaluateFamily = async ({ name, watcher, subjects, waiting, due: early }: Family, index: number) => {
    // What happens is told of each block once: without it the block is not evaluated.
    const happenings = await readSubjectEvents(watcher, { waiting, logs, place: { client, block } }, signal)
    for (const subject of waiting) {
      for (const entry of subject.entries) {
        if (!('event' in entry.trigger.clause)) continue
        applyEvents(entry, happenings.of(subject), { block, timeOf: happenings.timeOf, apply })
      }
    }
    const reading = readings[index]
    if (reading !== undefined) await take(name, reading)
    const [isRead, foresight] = [new Set(early), foresights[index]]
    const isTouched = watcher.screen?.touched(logs, client.chain.id)
    const due: WatchedSubject[] = []
    for (const subject of subjects) {
      if (breaks.isDue()) await breaks.take()
      if (isRead.has(subject)) continue
      // Even if nothing can be foreseen now: it is then confirmed next time.
      if (isTouched?.(subject.subject) === true) subject.isDue = true
      if (foresight !== undefined && mustConfirmByForecast(subject, foresight)) due.push(subject)
    }
    if (foresight !== undefined) screened += subjects.length - early.length - due.length
    await take(name, await confirmSubjects(watcher, { subjects: due, client, block }, signal))
  }

  const ended = await Promise.allSettled(families.map(evaluateFamily))
  for (const each of ended) if (each.status === 'rejected') throw each.reason
  signal.throwIfAborted()

  const changes: (TriggerChange & { readonly entry: WatchedTrigger })[] = []
  for (const entry of moved) {
    if (breaks.isDue()) await breaks.take()
    const { trigger, stored, life } = entry
    const messages: ChangeMessage[] = []
    for (const { news, block, cited } of told.get(entry) ?? []) {
      messages.push(createChangeMessage(telling, { trigger, news, block, cited: await cited(), nowMs }))
    }
    changes.push({ entry, trigger, before: stored.state, after: life.state, messages, ...diffNotified(stored, life) })
  }
  return {
    changes,
    families: families.flatMap(({ name }) => (failures.has(name) ? [] : [name])),
    screened,
    confirmed,
    failures,
  }
}

/** Of one block by its hash, for which no other one can be mistaken. */
function rangeOf({ number, hash }: PinnedBlock, first: bigint): WatchedRange {
  return first === number
    ? { blockHash: hash, number: Number(number) }
    : { fromBlock: Number(first), toBlock: Number(number) }
}

/**
 * What is read of a block before anybody is screened: its logs, and by family what can be foreseen, undefined if there is
 * no screen or it failed, and those that were due. Whatever needs no foresight leaves with what all share, so that light
 * questions share requests.
 */
async function readBlock(
  { client }: Pick<EvaluationContext, 'client'>,
  of: {
    readonly block: PinnedBlock
    readonly range: WatchedRange
    readonly isFirst: boolean
    readonly families: readonly Family[]
    /** Gets those of the screens. */
    readonly failures: Map<string, unknown>
  },
  signal: AbortSignal,
) {
  const { block, range, isFirst, families, failures } = of
  const sharing = families.map(async ({ name, watcher: { screen }, memos }) => {
    try {
      return await screen?.share(memos, { client, block }, signal)
    } catch (error) {
      failures.set(name, error)
      return undefined
    }
  })
  const confirming = families.map(({ watcher, due }) =>
    confirmSubjects(watcher, { subjects: due, client, block }, signal),
  )
  const readLogs = async () => {
    // What names a family's contracts may first be read with what its subjects share.
    const isNew = families.some(({ subjects }) => subjects.some(({ confirmed }) => confirmed === undefined))
    if (isFirst || isNew) await Promise.all(sharing)
    const filters = families.flatMap(({ watcher: { screen, events }, waiting }) => [
      ...(screen?.filters(client.chain.id) ?? []),
      ...(waiting.length === 0 ? [] : (events?.filters(client.chain.id) ?? [])),
    ])
    return await readWatchedLogs(client, { filters, range }, signal)
  }
  const [logs, foresights, readings] = await Promise.all([readLogs(), Promise.all(sharing), Promise.all(confirming)])
  return { logs, foresights, readings }
}

/** Looks once through all subjects. */
async function openFamilies(
  { list, watchers, clock }: EvaluationContext,
  { block, isLong }: { readonly block: PinnedBlock; readonly isLong: boolean },
): Promise<readonly Family[]> {
  const families: Family[] = []
  const breaks = createYielder(clock)
  for (const name of list.families) {
    const watcher = watchers.get(name)
    if (watcher === undefined) continue
    const [due, waiting, memos] = [[] as WatchedSubject[], [] as WatchedSubject[], new Set<unknown>()]
    const subjects = list.subjectsOf(name)
    for (const subject of subjects) {
      if (breaks.isDue()) await breaks.take()
      const { confirmed } = subject
      // Without a screen nothing can be foreseen.
      if (isLong || watcher.screen === undefined) subject.isDue = true
      if (computeWakeConditions(subject).hasEvents) waiting.push(subject)
      if (mustConfirm(subject, block.number)) due.push(subject)
      if (confirmed !== undefined && confirmed !== 'gone') memos.add(confirmed.memo)
    }
    families.push({ name, watcher, subjects, due, waiting, memos })
  }
  return families
}

/** Takes every trigger back to before the first block that was replaced. */
function goBack(list: Watchlist, fork: bigint, moved: Set<WatchedTrigger>): void {
  for (const entry of list.entries()) {
    const { life, subject, rule } = entry
    // What was found at a replaced block is no longer so.
    if (subject.confirmedAt >= fork) subject.isDue = true
    const { told, trail, state } = life
    const last = [told.at(-1)?.block ?? -1n, trail.at(-1)?.block ?? -1n]
    if (last.every((block) => block < fork) && state.phase !== 'pending') continue
    setReorgState(entry, rewind(rule, life, fork))
    subject.isDue = true
    moved.add(entry)
  }
}
