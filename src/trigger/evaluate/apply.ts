import type { PinnedBlock } from '../../chain/block.ts'
import type { Cited } from '../../chain/receipt/citing.ts'
import type { Confirmed, Happening } from '../../family/watch.ts'
import { type News, step, stepEvents, type TriggerLife } from '../step.ts'
import type { ToldBlock } from './tell.ts'
import type { Entry } from './watchlist.ts'

/** A subject as it was confirmed, and what that was read from. */
export interface ConfirmedRead {
  readonly confirmed: Confirmed | 'gone'
  readonly cited: () => readonly Cited[]
}

/** Told what a block makes of a trigger. */
export type Apply = (
  entry: Entry,
  stepped: { readonly life: TriggerLife; readonly news: readonly News[] },
  of: { readonly block: ToldBlock; readonly cited: () => readonly Cited[] },
) => void

/** Steps a trigger by what was confirmed. */
export function stepFigure(
  entry: Entry,
  of: {
    readonly found: ConfirmedRead
    readonly previous: Confirmed | 'gone' | undefined
    readonly block: PinnedBlock
    readonly apply: Apply
  },
): void {
  const { found, previous, block, apply } = of
  const { clause } = entry.trigger
  if ('event' in clause) return
  const { confirmed, cited } = found
  const value = confirmed === 'gone' ? undefined : confirmed.value(clause.figure)
  const stepped = step(entry.rule, entry.life, { block: block.number, value, text: textOf(confirmed, clause.figure) })
  // As it was at the block before, which says more than what was told last.
  const before = previous === undefined ? null : textOf(previous, clause.figure)
  const news = stepped.news.map((each) => ({ ...each, previous: before ?? each.previous }))
  apply(entry, { life: stepped.life, news }, { block, cited })
}

function textOf(confirmed: Confirmed | 'gone', figure: string): string | null {
  const text = confirmed === 'gone' ? null : confirmed.text(figure)
  return text === null ? null : String(text)
}

/** Tells what happened, block by block. What happened before a trigger was made does not concern it. */
export function stepHappenings(
  entry: Entry,
  happenings: readonly Happening[],
  {
    block,
    timeOf,
    apply,
  }: { readonly block: PinnedBlock; readonly timeOf: (blockNumber: number) => bigint; readonly apply: Apply },
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
      cited: () => [],
    })
  }
}

function hashOf(hash: string | undefined, block: PinnedBlock): PinnedBlock['hash'] {
  return hash === undefined ? block.hash : `0x${hash.slice(2)}`
}

/** What the database has to learn of changes that may be replaced. */
export function toldOf(stored: TriggerLife, life: TriggerLife) {
  const known = new Set([...stored.told, ...stored.unsure])
  const all = [...life.told, ...life.unsure]
  const changes = new Set(all.map(({ change }) => change))
  return {
    told: all.filter((each) => !known.has(each)),
    reverted: [...known].flatMap(({ change }) => (changes.has(change) ? [] : [change])),
  }
}
