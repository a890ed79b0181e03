import type { PinnedBlock } from '../../chain/block.ts'
import { type Cited, createCitingClient } from '../../chain/receipt/citing.ts'
import type { FigureForesight, Watcher, WatchPlace } from '../../family/watch.ts'
import { readWatchedLogs } from '../../family/watch_logs.ts'
import { inPieces } from '../../lib/async/pieces.ts'
import type { MessageBody } from '../message.ts'
import { type News, rewind } from '../step.ts'
import { type Apply, type ConfirmedRead, stepFigure, stepHappenings, toldOf } from './apply.ts'
import { isDue } from './choose.ts'
import { readHappenings, waitsForEvents } from './happenings.ts'
import type { BlockMark, TriggerChange } from './line.ts'
import { type Telling, type ToldBlock, tellChange } from './tell.ts'
import type { Entry, WatchedSubject, Watchlist } from './watchlist.ts'

/** What evaluating a block needs. */
export interface Evaluating {
  readonly client: WatchPlace['client']
  readonly list: Watchlist
  readonly watchers: ReadonlyMap<string, Watcher>
  readonly telling: Telling
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
  readonly changes: readonly (TriggerChange & { readonly entry: Entry })[]
  /** Families that were evaluated, of which nobody was left out. */
  readonly families: readonly string[]
  readonly screened: number
  readonly confirmed: number
  /** Why others were not, or not all of them, by family. */
  readonly failures: ReadonlyMap<string, unknown>
}

/** Subjects of one reading, and readings at the same time. */
const PIECES = { size: 500, running: 4 } as const
const PIECES_FAILED_MAX = 4
/** A longer gap is not looked through for logs: everybody is confirmed after it. */
const GAP_MAX = 1_000n

/**
 * Evaluates the triggers of a line at a block, in memory. Throws as `ChainClient.read` if its logs cannot be read; all
 * triggers are then as they were.
 */
export async function evaluateBlock(
  evaluating: Evaluating,
  of: BlockToEvaluate,
  signal: AbortSignal,
): Promise<Evaluation> {
  const { list, nowMs } = evaluating
  for (const { expiresAtMs, trigger } of [...list.entries()]) if (expiresAtMs <= nowMs) list.drop(trigger)
  const moved = new Set<Entry>()
  try {
    return await evaluateAll(evaluating, { ...of, moved }, signal)
  } catch (error) {
    for (const entry of moved) undo(entry)
    throw error
  }
}

/** Makes a trigger what the database has; it is evaluated again. */
export function undo(entry: Entry): void {
  entry.life = entry.stored
  entry.subject.isDue = true
}

async function evaluateAll(
  evaluating: Evaluating,
  { block, before, fork, moved }: BlockToEvaluate & { readonly moved: Set<Entry> },
  signal: AbortSignal,
): Promise<Evaluation> {
  const { list, watchers, client, nowMs } = evaluating
  if (fork !== null) goBack(list, fork, moved)
  const place = { client, block }
  const families = list.families.flatMap((name) => {
    const watcher = watchers.get(name)
    return watcher === undefined ? [] : [{ name, watcher, subjects: list.subjectsOf(name) }]
  })
  const failures = new Map<string, unknown>()

  const sharing = families.map(async ({ name, watcher, subjects }): Promise<FigureForesight | undefined> => {
    try {
      return await watcher.screen?.share(memosOf(subjects), place, signal)
    } catch (error) {
      failures.set(name, error)
      return undefined
    }
  })
  // What names a family's contracts may first be read with what its subjects share.
  if (before === null || families.some(({ subjects }) => subjects.some(({ confirmed }) => confirmed === undefined))) {
    await Promise.all(sharing)
  }
  const first = before === null ? block.number : fork !== null && fork <= before.number ? fork : before.number + 1n
  const isLong = block.number - first >= GAP_MAX
  const filters = families.flatMap(({ watcher: { screen, events }, subjects }) => {
    const watched = subjects.map(({ subject }) => subject)
    const waits = subjects.some(waitsForEvents)
    return [
      ...(screen?.filters(watched, client.chain.id) ?? []),
      ...(waits ? (events?.filters(watched, client.chain.id) ?? []) : []),
    ]
  })
  const number = Number(block.number)
  const range =
    first === block.number || isLong ? { blockHash: block.hash, number } : { fromBlock: Number(first), toBlock: number }
  const logs = await readWatchedLogs(client, { filters, range }, signal)
  const foresights = await Promise.all(sharing)
  signal.throwIfAborted()

  let screened = 0
  let confirmed = 0
  const told = new Map<Entry, { readonly news: News; readonly block: ToldBlock; readonly cited: readonly Cited[] }[]>()

  const apply: Apply = (entry, { life, news }, of) => {
    if (life !== entry.life) moved.add(entry)
    entry.life = life
    if (news.length === 0) return
    const cited = of.cited()
    told.set(entry, [...(told.get(entry) ?? []), ...news.map((each) => ({ news: each, block: of.block, cited }))])
  }

  const ended = await Promise.allSettled(
    families.map(async ({ name, watcher, subjects }, index) => {
      const bySubject = new Map(subjects.map((each) => [each.subject, each]))
      const touched = watcher.screen?.touched(logs, [...bySubject.keys()], client.chain.id) ?? []
      for (const subject of touched) markDue(bySubject.get(subject))
      if (isLong) for (const subject of subjects) subject.isDue = true
      // What happens is told of each block once: without it the block is not evaluated.
      const happenings = await readHappenings(watcher, { subjects, logs, place }, signal)
      for (const subject of subjects) {
        for (const entry of subject.entries) {
          if (!('event' in entry.trigger.clause)) continue
          stepHappenings(entry, happenings.of(subject), { block, timeOf: happenings.timeOf, apply })
        }
      }
      if (failures.has(name)) return
      const foresight = foresights[index]
      const due = subjects.filter((subject) => isDue(subject, { foresight, block: block.number }))
      screened += subjects.length - due.length
      const { read, errors } = await confirm(watcher, { due, client, block }, signal)
      if (errors.length > 0) failures.set(name, errors[0])
      for (const [at, subject] of due.entries()) {
        const found = read[at]
        subject.isDue = found === undefined
        if (found === undefined) continue
        confirmed++
        const previous = subject.confirmed
        subject.confirmed = found.confirmed
        subject.confirmedAt = block.number
        for (const entry of subject.entries) stepFigure(entry, { found, previous, block, apply })
      }
    }),
  )
  for (const each of ended) if (each.status === 'rejected') throw each.reason
  signal.throwIfAborted()

  const changes = [...moved].map((entry) => {
    const { trigger, stored, life } = entry
    const messages = (told.get(entry) ?? []).map(({ news, block, cited }): { change: number; body: MessageBody } => ({
      change: news.change,
      body: tellChange(evaluating.telling, { trigger, news, block, cited, nowMs }),
    }))
    return { entry, trigger, before: stored.state, after: life.state, messages, ...toldOf(stored, life) }
  })
  return {
    changes,
    families: families.flatMap(({ name }) => (failures.has(name) ? [] : [name])),
    screened,
    confirmed,
    failures,
  }
}

/** Takes every trigger back to before the first block that was replaced. */
function goBack(list: Watchlist, fork: bigint, moved: Set<Entry>): void {
  for (const entry of list.entries()) {
    const { life, subject, rule } = entry
    // What was found at a replaced block is no longer so.
    if (subject.confirmedAt >= fork) subject.isDue = true
    const { told, trail, state } = life
    const last = [told.at(-1)?.block ?? -1n, trail.at(-1)?.block ?? -1n]
    if (last.every((block) => block < fork) && state.phase !== 'pending') continue
    entry.life = rewind(rule, life, fork)
    subject.isDue = true
    moved.add(entry)
  }
}

function markDue(subject: WatchedSubject | undefined): void {
  if (subject !== undefined) subject.isDue = true
}

function* memosOf(subjects: readonly WatchedSubject[]): Iterable<unknown> {
  for (const { confirmed } of subjects) {
    if (confirmed !== undefined && confirmed !== 'gone') yield confirmed.memo
  }
}

/**
 * Reads subjects in pieces; each piece knows what it was read from. Those of a piece that fails are undefined, and
 * those of all pieces that are left once several did: it is then the endpoints that fail.
 */
async function confirm(
  watcher: Watcher,
  {
    due,
    client,
    block,
  }: { readonly due: readonly WatchedSubject[]; readonly client: WatchPlace['client']; readonly block: PinnedBlock },
  signal: AbortSignal,
): Promise<{ readonly read: readonly (ConfirmedRead | undefined)[]; readonly errors: readonly unknown[] }> {
  const errors: unknown[] = []
  const read = await inPieces(due, PIECES, readPiece, signal)
  return { read, errors }

  async function readPiece(piece: readonly WatchedSubject[], within: AbortSignal) {
    const unread = piece.map(() => undefined)
    if (errors.length >= PIECES_FAILED_MAX) return unread
    const citing = createCitingClient(client)
    const subjects = piece.map(({ subject }) => subject)
    try {
      const found = await watcher.confirm(subjects, { client: citing.client, block }, within)
      let cited: readonly Cited[] | undefined
      const citedOnce = () => {
        cited ??= citing.cited()
        return cited
      }
      return found.map((confirmed): ConfirmedRead => ({ confirmed, cited: citedOnce }))
    } catch (error) {
      within.throwIfAborted()
      errors.push(error)
      return unread
    }
  }
}
