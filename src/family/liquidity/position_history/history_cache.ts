import { runCooperatively, yieldIfLarge } from '../../../lib/async/cooperative.ts'
import type { Clock } from '../../../lib/clock.ts'
import { createLru } from '../../../lib/lru.ts'
import type { PositionFlow } from './position_flow.ts'
import { type ReplayedHistory, replayHistory } from './replay.ts'
import { type BlockFacts, type PnlSubject, pricedBlocks, type ValuedFlow, valueFlowsInSteps } from './valued_flows.ts'

/** A history read up to a final block. It expires soon, because stored history may be dropped and read anew. */
export interface CachedHistory {
  /** All rows up to `storedTo`. */
  readonly rows: readonly PositionFlow[]
  readonly storedTo: number
  /** See `Ensured`. */
  readonly version: string
  readonly facts: ReadonlyMap<number, BlockFacts>
  readonly replayed: ReplayedHistory
}

/** Time to live of a history, milliseconds; reads do not extend it. */
const TTL_MS = 60_000
const HISTORIES_MAX = 2_000
/** Most flows of all cached histories, about a kilobyte each. */
const FLOWS_MAX = 25_000

/** Caches recently read position histories with their replay. */
export function createPositionHistoryCache(clock: Clock) {
  const histories = createLru<CachedHistory & { readonly untilMs: number }>({
    entriesMax: HISTORIES_MAX,
    weightMax: FLOWS_MAX,
    getWeight: ({ rows }) => 1 + rows.length,
  })

  function find(key: string) {
    const cached = histories.get(key)
    if (cached === undefined || cached.untilMs > clock.monotonicMs()) return cached
    histories.delete(key)
    return undefined
  }

  return {
    find,
    store(key: string, history: CachedHistory): void {
      // A missing price may be there at the next read.
      const isMissing = ({ prices }: ValuedFlow) => prices !== undefined && 'because' in prices
      if (history.replayed.flows.some(isMissing)) return
      histories.set(key, { ...history, untilMs: find(key)?.untilMs ?? clock.monotonicMs() + TTL_MS })
    },
  }
}

/** Filters the rows of blocks that lack facts. `stored` is the stored part of `rows`. */
export function filterUnknownRows(
  { rows, stored }: { readonly rows: readonly PositionFlow[]; readonly stored: readonly PositionFlow[] },
  facts: ReadonlyMap<number, BlockFacts>,
): readonly PositionFlow[] {
  const priced = new Set([...pricedBlocks(rows), ...pricedBlocks(stored)])
  return rows.filter(({ block }) => {
    const blockFacts = facts.get(block)
    return blockFacts === undefined || (blockFacts.own === undefined && priced.has(block))
  })
}

/** Replays rows cooperatively, starting from the cached replay of the oldest ones. */
export async function replayFrom(
  cached: ReplayedHistory | undefined,
  { rows, ...input }: Pick<CachedHistory, 'rows' | 'facts'> & { readonly subject: PnlSubject },
): Promise<ReplayedHistory> {
  const { subject } = input
  const before = cached !== undefined && isSame(cached.subject, subject) ? cached : undefined
  const first = before?.flows.length ?? 0
  const isNext = before !== undefined && rows[first - 1] === before.flows[first - 1]?.row
  if (isNext && rows.length === first) return before
  const flows = await runCooperatively(valueFlowsInSteps(rows, input))
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
