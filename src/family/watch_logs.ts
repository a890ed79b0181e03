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
/** Blocks that every endpoint takes in one question, and questions at the same time. */
const BLOCKS_MAX = 1_000
const PIECES = { size: 1, running: 4 } as const

/**
 * The logs of a block, or of a range, that any of these filters wants, in their order, with one request for 1,000 blocks
 * if the filters together are narrow. Throws as `ChainClient.read`.
 */
export async function readWatchedLogs(
  client: FinanceClient,
  { filters, range }: { readonly filters: readonly LogFilter[]; readonly range: WatchedRange },
  signal: AbortSignal,
): Promise<WatchedLogs> {
  // Without an address a filter would want all contracts: none is known yet.
  const asked = unionOf(filters.filter(({ addresses }) => addresses === null || addresses.length > 0))
  if (asked.length === 0) return []
  const read = (one: LogRange, shared: AbortSignal) =>
    client.read(
      async (endpoint, within) => {
        const source = createLogSource(endpoint, client.chain.id)
        return mergeLogs(await Promise.all(asked.map((filter) => source.logs(filter, one, within))))
      },
      { signal: shared, budgetMs: BUDGET_MS, priority: 'background' },
    )
  const readPiece = (piece: readonly LogRange[], shared: AbortSignal) =>
    Promise.all(piece.map((one) => read(one, shared)))
  return (await mapChunks(piecesOf(range), PIECES, readPiece, signal)).flat()
}

function piecesOf(range: LogRange): readonly LogRange[] {
  if (!('fromBlock' in range)) return [range]
  const { fromBlock, toBlock } = range
  return Array.from({ length: Math.ceil((toBlock - fromBlock + 1) / BLOCKS_MAX) }, (_, index) => {
    const from = fromBlock + index * BLOCKS_MAX
    return { fromBlock: from, toBlock: Math.min(toBlock, from + BLOCKS_MAX - 1) }
  })
}

/** Filters that all want logs of named contracts as one, which wants a little more; the others as they are. */
function unionOf(filters: readonly LogFilter[]): readonly LogFilter[] {
  const named = filters.filter(({ addresses }) => addresses !== null)
  const [first] = named
  if (named.length < 2 || first === undefined) return filters
  const joined = named.slice(1).reduce<LogFilter>(
    (a, b) => ({
      addresses: [...new Set([...(a.addresses ?? []), ...(b.addresses ?? [])])],
      topics: a.topics.slice(0, b.topics.length).map((each, at) => {
        const other = b.topics[at] ?? null
        return each === null || other === null ? null : [...new Set([...each, ...other])]
      }),
    }),
    first,
  )
  return [...filters.filter(({ addresses }) => addresses === null), joined]
}
