import type { FinanceClient } from '../finance/chain.ts'
import { type LogRange, mergeLogs } from '../history/logs/check_logs.ts'
import { createLogSource } from '../history/logs/source.ts'
import type { HistoryLog, LogFilter } from '../history/stream.ts'
import { mapChunks } from '../lib/async/chunk.ts'

export type WatchedLogs = readonly HistoryLog[]
/** A block by its hash, or several by their numbers. */
export type WatchedRange = LogRange

/** Time for the logs of a block, over all endpoints. */
const BUDGET_MS = 10_000
/** Blocks that every endpoint accepts in one request, and concurrent requests. */
const BLOCKS_MAX = 1_000
const PIECES = { size: 1, runningMax: 4 } as const

/**
 * The logs of a block or a range that match any of these filters, in their order, with one request for 1,000 blocks if
 * the merged filters are narrow. Throws as `ChainClient.read`.
 */
export async function readWatchedLogs(
  client: FinanceClient,
  { filters, range }: { readonly filters: readonly LogFilter[]; readonly range: WatchedRange },
  signal: AbortSignal,
): Promise<WatchedLogs> {
  // A filter with an empty address list would match all contracts, although none is known yet.
  const merged = mergeFilters(filters.filter(({ addresses }) => addresses === null || addresses.length > 0))
  if (merged.length === 0) return []
  const read = (one: LogRange, shared: AbortSignal) =>
    client.read(
      async (endpoint, within) => {
        const source = createLogSource(endpoint, client.chain.id)
        return mergeLogs(await Promise.all(merged.map((filter) => source.logs(filter, one, within))))
      },
      { signal: shared, budgetMs: BUDGET_MS, priority: 'background' },
    )
  const readPiece = (piece: readonly LogRange[], shared: AbortSignal) =>
    Promise.all(piece.map((one) => read(one, shared)))
  return (await mapChunks(splitRange(range), PIECES, readPiece, signal)).flat()
}

function splitRange(range: LogRange): readonly LogRange[] {
  if (!('fromBlock' in range)) return [range]
  const { fromBlock, toBlock } = range
  return Array.from({ length: Math.ceil((toBlock - fromBlock + 1) / BLOCKS_MAX) }, (_, index) => {
    const from = fromBlock + index * BLOCKS_MAX
    return { fromBlock: from, toBlock: Math.min(toBlock, from + BLOCKS_MAX - 1) }
  })
}

/** Merges the filters with addresses into one, which matches slightly more; the others stay as they are. */
function mergeFilters(filters: readonly LogFilter[]): readonly LogFilter[] {
  const named = filters.filter(({ addresses }) => addresses !== null)
  const [first] = named
  if (named.length < 2 || first === undefined) return filters
  const joined = named.slice(1).reduce<LogFilter>(
    (a, b) => ({
      addresses: [...new Set([...(a.addresses ?? []), ...(b.addresses ?? [])])],
      topics: a.topics.slice(0, b.topics.length).map((each, index) => {
        const other = b.topics[index] ?? null
        return each === null || other === null ? null : [...new Set([...each, ...other])]
      }),
    }),
    first,
  )
  return [...filters.filter(({ addresses }) => addresses === null), joined]
}
