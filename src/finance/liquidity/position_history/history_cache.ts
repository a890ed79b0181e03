import { runCooperatively, yieldIfLarge } from '../../../lib/async/cooperative.ts'
import type { Clock } from '../../../lib/clock.ts'
import { createLru } from '../../../lib/lru.ts'
import type { PositionFlow } from './position_flow.ts'
import { type ReplayedHistory, replayHistory } from './replay.ts'
import { type BlockFacts, type PnlSubject, pricedBlocks, type ValuedFlow, valueFlowsInSteps } from './valued_flows.ts'

/** What was read of a life up to a final block. Not for long: what is stored may be forgotten and read anew. */
export interface CachedHistory {
  /** All rows up to `storedTo`. */
  readonly rows: readonly PositionFlow[]
  readonly storedTo: number
  /** See `Ensured`. */
  readonly version: string
  readonly facts: ReadonlyMap<number, BlockFacts>
  readonly counted: ReplayedHistory
}

/** A life is kept so long, milliseconds, however often it is asked for. */
const KEPT_MS = 60_000
const LIVES_MAX = 2_000
/** Flows of all lives that are kept, about a kilobyte each. */
const FLOWS_MAX = 25_000

/** Keeps lives that were read lately, so that one that is asked for again is neither read nor replayed again. */
export function createPositionHistoryCache(clock: Clock) {
  const lives = createLru<CachedHistory & { readonly untilMs: number }>({
    entriesMax: LIVES_MAX,
    weightMax: FLOWS_MAX,
    weightOf: ({ rows }) => 1 + rows.length,
  })

  function find(key: string) {
    const kept = lives.get(key)
    if (kept === undefined || kept.untilMs > clock.monotonicMs()) return kept
    lives.delete(key)
    return undefined
  }

  return {
    find,
    keep(key: string, life: CachedHistory): void {
      // A price that is missing now may be there when it is asked for again.
      const isMissing = ({ prices }: ValuedFlow) => prices !== undefined && 'because' in prices
      if (life.counted.flows.some(isMissing)) return
      lives.set(key, { ...life, untilMs: find(key)?.untilMs ?? clock.monotonicMs() + KEPT_MS })
    },
  }
}

/** Rows of which something must be read: all rows of their blocks. `stored` are those of them that are kept. */
export function unknownRows(
  { rows, stored }: { readonly rows: readonly PositionFlow[]; readonly stored: readonly PositionFlow[] },
  facts: ReadonlyMap<number, BlockFacts>,
): readonly PositionFlow[] {
  const priced = new Set([...pricedBlocks(rows), ...pricedBlocks(stored)])
  return rows.filter(({ block }) => {
    const known = facts.get(block)
    return known === undefined || (known.own === undefined && priced.has(block))
  })
}

/** Counts rows, in turns with other work; what was counted of the oldest of them is not counted again. */
export async function replayFrom(
  kept: ReplayedHistory | undefined,
  { rows, ...known }: Pick<CachedHistory, 'rows' | 'facts'> & { readonly subject: PnlSubject },
): Promise<ReplayedHistory> {
  const { subject } = known
  const before = kept !== undefined && isSame(kept.subject, subject) ? kept : undefined
  const first = before?.flows.length ?? 0
  const isNext = before !== undefined && rows[first - 1] === before.flows[first - 1]?.row
  if (isNext && rows.length === first) return before
  const flows = await runCooperatively(valueFlowsInSteps(rows, known))
  await yieldIfLarge(flows)
  return replayHistory(flows, { subject, before: isNext ? before : undefined })
}

function isSame(a: PnlSubject, b: PnlSubject): boolean {
  return (
    a.tickLower === b.tickLower &&
    a.tickUpper === b.tickUpper &&
    a.tokens.every(({ address, decimals }, index) => {
      const other = b.tokens[index]
      return other?.address === address && other.decimals === decimals
    })
  )
}
