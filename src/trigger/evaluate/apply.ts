import type { PinnedBlock } from '../../chain/block.ts'
import type { Citation } from '../../chain/receipt/citing.ts'
import type { ConfirmedFigures, FigureValue, SubjectEvent } from '../../family/watch.ts'
import { step, stepEvents, type TriggerReorgState, type TriggerTransition } from '../step.ts'
import type { ChangeBlock } from './change_message.ts'
import { mayChange, toApproximate } from './choose.ts'
import type { WatchedTrigger } from './watchlist.ts'

/** The confirmed figures of a subject, and the source they were read from. */
export interface ConfirmedRead {
  readonly confirmed: ConfirmedFigures | 'gone'
  readonly cited: () => Promise<readonly Citation[]>
}

/** The block of a change, and the source it was read from. */
export interface ChangeSource {
  readonly block: ChangeBlock
  readonly cited: () => Promise<readonly Citation[]>
  /** The wallet of a subject that need not name it. */
  readonly owner?: string | undefined
}

/** Called with the result of a block for a trigger. */
export type ApplyStep = (
  entry: WatchedTrigger,
  result: { readonly reorgState: TriggerReorgState; readonly transitions: readonly TriggerTransition[] },
  source: ChangeSource,
) => void

/**
 * Steps triggers of a subject by its confirmed figures, except triggers that they cannot change. `note` is called
 * with each trigger of a figure, and whether the figure is known: that of a subject that does not exist is.
 */
export function applyConfirmedRead(
  { entries }: { readonly entries: Iterable<WatchedTrigger> },
  options: {
    readonly confirmedRead: ConfirmedRead
    /** The previous confirmed figures. */
    readonly previous: ConfirmedFigures | 'gone' | undefined
    readonly block: ChangeBlock
    readonly apply: ApplyStep
    readonly note: (entry: WatchedTrigger, isKnown: boolean) => void
    /** True where only some blocks are read. @default {false} */
    readonly isSampled?: boolean
  },
): void {
  const { confirmedRead, previous, block, apply, note, isSampled = false } = options
  const { confirmed, cited } = confirmedRead
  const owner = confirmed === 'gone' ? undefined : confirmed.owner
  // Many triggers of a subject watch the same figure.
  let figure: string | undefined
  let value: FigureValue
  let approximate = Number.NaN
  for (const entry of entries) {
    const { clause } = entry.trigger
    if ('event' in clause) continue
    if (clause.figure !== figure) {
      figure = clause.figure
      value = confirmed === 'gone' ? undefined : confirmed.value(figure)
      approximate = toApproximate(value)
    }
    const isKnown = confirmed === 'gone' || value !== undefined
    note(entry, isKnown && entry.isRefused !== true)
    if (entry.isRefused === true || !mayChange(entry, approximate)) continue
    const result = step(entry.rule, entry.reorgState, {
      block: block.number,
      value,
      text: formatValue(confirmed, figure),
      isSampled,
    })
    // Prefer the previous confirmed value to the last notified one, which is older.
    const previousText = previous === undefined ? null : formatValue(previous, figure)
    const transitions = result.transitions.map((each) => ({ ...each, previous: previousText ?? each.previous }))
    apply(entry, { reorgState: result.reorgState, transitions }, { block, cited, owner })
  }
}

function formatValue(confirmed: ConfirmedFigures | 'gone', figure: string): string | null {
  const text = confirmed === 'gone' ? null : confirmed.text(figure)
  return text === null ? null : String(text)
}

/** Strangers can make events of a wallet, such as supplies of one unit, and each is a message that its owner pays. */
const BLOCK_EVENTS_MAX = 10

/**
 * Steps a trigger by events, block by block. Events before the trigger was created are ignored, and those of a block
 * beyond its first `BLOCK_EVENTS_MAX`.
 */
export function applyEvents(
  entry: WatchedTrigger,
  events: readonly SubjectEvent[],
  {
    block,
    getTime,
    apply,
  }: { readonly block: PinnedBlock; readonly getTime: (blockNumber: number) => bigint; readonly apply: ApplyStep },
): void {
  if (entry.isRefused === true) return
  const { clause } = entry.trigger
  const types = 'event' in clause ? clause.event : []
  const matching = events.filter(
    ({ type, blockNumber }) => types.includes(type) && entry.activeAtSec <= Number(getTime(blockNumber)),
  )
  const counts = new Map<string, number>()
  const namedEvents = matching.map((each) => {
    const key = `${each.transactionHash} ${each.type}`
    const nth = counts.get(key) ?? 0
    counts.set(key, nth + 1)
    return { ...each, name: `${key} ${nth}` }
  })
  const numbers = [...new Set([...namedEvents.map(({ blockNumber }) => blockNumber), Number(block.number)])]
  for (const number of numbers.sort((a, b) => a - b)) {
    const blockEvents = namedEvents.filter(({ blockNumber }) => blockNumber === number).slice(0, BLOCK_EVENTS_MAX)
    const isHead = number === Number(block.number)
    if (blockEvents.length === 0 && entry.reorgState.undecided.length === 0) continue
    const eventBlock = {
      number: BigInt(number),
      hash: toBlockHash(blockEvents[0]?.blockHash, block),
      timestampSec: getTime(number),
    }
    apply(entry, stepEvents(entry.reorgState, { block: eventBlock.number, events: blockEvents }), {
      block: isHead ? block : eventBlock,
      cited: async () => [],
    })
  }
}

function toBlockHash(hash: string | undefined, block: PinnedBlock): PinnedBlock['hash'] {
  return hash === undefined ? block.hash : `0x${hash.slice(2)}`
}
