import type { PinnedBlock } from '../../chain/block.ts'
import type { Citation } from '../../chain/receipt/citing.ts'
import type { ConfirmedFigures, FigureValue, SubjectEvent } from '../../family/watch.ts'
import { step, stepEvents, type TriggerReorgState, type TriggerTransition } from '../step.ts'
import type { ChangeBlock } from './change_message.ts'
import { mayChange, toApproximate } from './choose.ts'
import type { WatchedSubject, WatchedTrigger } from './watchlist.ts'

/** A subject as it was confirmed, and what that was read from. */
export interface ConfirmedRead {
  readonly confirmed: ConfirmedFigures | 'gone'
  readonly cited: () => Promise<readonly Citation[]>
}

/** Where a change was found, and what it was read from. */
export interface ChangeSource {
  readonly block: ChangeBlock
  readonly cited: () => Promise<readonly Citation[]>
}

/** Told what a block makes of a trigger. */
export type ApplyStep = (
  entry: WatchedTrigger,
  stepped: { readonly life: TriggerReorgState; readonly news: readonly TriggerTransition[] },
  of: ChangeSource,
) => void

/** Steps the triggers of a subject by what was confirmed, but for those that it cannot change. */
export function applyConfirmedRead(
  { entries }: WatchedSubject,
  of: {
    readonly found: ConfirmedRead
    /** As it was confirmed before. */
    readonly previous: ConfirmedFigures | 'gone' | undefined
    readonly block: ChangeBlock
    readonly apply: ApplyStep
  },
): void {
  const { found, previous, block, apply } = of
  const { confirmed, cited } = found
  // Many triggers of a subject watch the same figure.
  let figure: string | undefined
  let value: FigureValue
  let about = Number.NaN
  for (const entry of entries) {
    const { clause } = entry.trigger
    if ('event' in clause) continue
    if (clause.figure !== figure) {
      figure = clause.figure
      value = confirmed === 'gone' ? undefined : confirmed.value(figure)
      about = toApproximate(value)
    }
    if (!mayChange(entry, about)) continue
    const stepped = step(entry.rule, entry.life, { block: block.number, value, text: textOf(confirmed, figure) })
    // What was confirmed before says more than what was told last.
    const before = previous === undefined ? null : textOf(previous, figure)
    const news = stepped.news.map((each) => ({ ...each, previous: before ?? each.previous }))
    apply(entry, { life: stepped.life, news }, { block, cited })
  }
}

function textOf(confirmed: ConfirmedFigures | 'gone', figure: string): string | null {
  const text = confirmed === 'gone' ? null : confirmed.text(figure)
  return text === null ? null : String(text)
}

/** Tells what happened, block by block. What happened before a trigger was made does not concern it. */
export function applyEvents(
  entry: WatchedTrigger,
  happenings: readonly SubjectEvent[],
  {
    block,
    timeOf,
    apply,
  }: { readonly block: PinnedBlock; readonly timeOf: (blockNumber: number) => bigint; readonly apply: ApplyStep },
): void {
  const { clause } = entry.trigger
  const types = 'event' in clause ? clause.event : []
  const wanted = happenings.filter(
    ({ type, blockNumber }) => types.includes(type) && entry.activeAtSec <= Number(timeOf(blockNumber)),
  )
  const counts = new Map<string, number>()
  const named = wanted.map((each) => {
    const key = `${each.transactionHash} ${each.type}`
    const nth = counts.get(key) ?? 0
    counts.set(key, nth + 1)
    return { ...each, name: `${key} ${nth}` }
  })
  const numbers = [...new Set([...named.map(({ blockNumber }) => blockNumber), Number(block.number)])]
  for (const number of numbers.sort((a, b) => a - b)) {
    const here = named.filter(({ blockNumber }) => blockNumber === number)
    const isHead = number === Number(block.number)
    if (here.length === 0 && entry.life.unsure.length === 0) continue
    const at = { number: BigInt(number), hash: hashOf(here[0]?.blockHash, block), timestampSec: timeOf(number) }
    apply(entry, stepEvents(entry.life, { block: at.number, happenings: here }), {
      block: isHead ? block : at,
      cited: async () => [],
    })
  }
}

function hashOf(hash: string | undefined, block: PinnedBlock): PinnedBlock['hash'] {
  return hash === undefined ? block.hash : `0x${hash.slice(2)}`
}

/** What the database has to learn of changes that may be replaced. */
export function diffNotified(stored: TriggerReorgState, life: TriggerReorgState) {
  const known = new Set([...stored.told, ...stored.unsure])
  const all = [...life.told, ...life.unsure]
  const changes = new Set(all.map(({ change }) => change))
  return {
    told: all.filter((each) => !known.has(each)),
    reverted: [...known].flatMap(({ change }) => (changes.has(change) ? [] : [change])),
  }
}
