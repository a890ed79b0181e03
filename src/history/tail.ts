import type { Hex } from 'viem'
import type { PinnedBlock } from '../chain/block.ts'
import { type BlockCache, createBlockCache } from '../chain/block_cache.ts'
import { readHeader } from '../chain/read_block.ts'
import type { ChainClient, Endpoint } from '../chain/rpc/client.ts'
import type { Clock } from '../lib/clock.ts'
import { UnavailableError, UpstreamError } from '../lib/error.ts'
import { decodeSettled } from './cover.ts'
import type { Tip } from './finality.ts'
import { LogsRefusedError } from './logs/refusal.ts'
import { createLogSource, type LogSource } from './logs/source.ts'
import { piecesOf, type Range } from './logs/window.ts'
import { compareReads, isSameLog } from './logs/witness.ts'
import { type HistoryLog, IncompleteError, type LogFilter, type Stream, type StreamPlace } from './stream.ts'

/** Everybody's rows after the finalized block, and the block that they end at. */
export interface Tail<Row> {
  readonly block: PinnedBlock
  readonly rows: readonly Row[]
}

/** The unfinalized end of histories, read once per block while somebody asks, and never stored. */
export interface Tails {
  /**
   * Rows after `tip.finalized`. Ends at that block, without rows, if the end would take too many requests. Throws
   * `UnavailableError`, naming the check if logs are missing wherever they are asked for.
   */
  read<Row, Place extends StreamPlace>(
    request: {
      readonly client: ChainClient
      readonly stream: Stream<Row, Place>
      readonly place: Place
      readonly tip: Tip
      /** The longest range that an endpoint takes, so far as is known; by its position. */
      readonly capOf: (endpoint: number) => number | undefined
    },
    signal: AbortSignal,
  ): Promise<Tail<Row>>
}

/** The newest blocks are asked for by their hash: a node that lacks one says so, but gives nothing for a range. */
const HASHED_BLOCKS = 3
const REQUESTS_MAX = 8
const TAILS_MAX = 200
/** Logs and rows of all tails that are kept. */
const LOGS_KEPT_MAX = 100_000

interface Kept {
  readonly block: PinnedBlock
  readonly rows: readonly unknown[]
}

/** Keeps the ends of all histories until the next block. */
export function createTails({ clock }: { readonly clock: Clock }): Tails {
  const cache: BlockCache<Kept> = createBlockCache({
    clock,
    entriesMax: TAILS_MAX,
    bytesMax: LOGS_KEPT_MAX,
    bytesOf: ({ rows }) => rows.length,
  })

  return {
    async read<Row, Place extends StreamPlace>(
      request: Parameters<Tails['read']>[0] & { readonly stream: Stream<Row, Place>; readonly place: Place },
      signal: AbortSignal,
    ): Promise<Tail<Row>> {
      const { client, stream, place, tip } = request
      const key = `${stream.name}:${place.contract}:${tip.finalized.hash}:${tip.block.hash}`
      const read = (shared: AbortSignal) => readTail({ ...request, stream, place }, shared)
      // Rows of one stream have one type.
      return (await cache.reuse({ chain: client.chain, key, read }, signal)) as Tail<Row>
    },
  }
}

interface TailRequest<Row, Place extends StreamPlace> {
  readonly client: ChainClient
  readonly stream: Stream<Row, Place>
  readonly place: Place
  readonly tip: Tip
  readonly capOf: (endpoint: number) => number | undefined
}

async function readTail<Row, Place extends StreamPlace>(
  request: TailRequest<Row, Place>,
  signal: AbortSignal,
): Promise<Tail<Row>> {
  const { client, tip } = request
  if (tip.block.number === tip.finalized.number) return { block: tip.block, rows: [] }
  let incomplete: IncompleteError | undefined
  let isTooLong = false
  try {
    return await client.read(
      async (endpoint, within) => {
        try {
          return await readTailFrom(endpoint, request, within)
        } catch (error) {
          if (error instanceof LogsRefusedError) isTooLong ||= TOO_LONG.has(error.reaction.kind)
          if (!(error instanceof IncompleteError)) throw error
          incomplete = error
          throw new LogsRefusedError(0, { kind: 'behind' })
        }
      },
      { signal },
    )
  } catch (error) {
    if (isTooLong && error instanceof UnavailableError) return { block: tip.finalized, rows: [] }
    if (incomplete === undefined) throw error
    throw new UnavailableError(`The newest history of ${client.chain.name} is not complete: ${incomplete.message}`, {
      cause: error,
    })
  }
}

/** Refusals of an end that is too long, ours among them. */
const TOO_LONG: ReadonlySet<string> = new Set(['range', 'results'])

async function readTailFrom<Row, Place extends StreamPlace>(
  endpoint: Endpoint,
  { client, stream, place, tip, capOf }: TailRequest<Row, Place>,
  signal: AbortSignal,
): Promise<Tail<Row>> {
  const source = createLogSource(endpoint, client.chain.id)
  const filters = stream.filters(place, null)
  const last = Number(tip.block.number)
  const fromBlock = Math.max(Number(tip.finalized.number) + 1, place.startBlock)
  const hashedFrom = Math.max(fromBlock, last - HASHED_BLOCKS + 1)
  const ranged = { fromBlock, toBlock: hashedFrom - 1 }
  const reads = readsOf(ranged, {
    cap: capOf(endpoint.index),
    requests: Math.floor(REQUESTS_MAX / filters.length) - Math.max(0, last - hashedFrom + 1),
  })
  const hashes = await hashesOf(endpoint, { client, tip, fromBlock: hashedFrom }, signal)
  const [older, newer] = await Promise.all([
    Promise.all(reads.map((pieces) => readAll(source, { filters, ranges: pieces }, signal))),
    readAll(source, { filters, ranges: hashes }, signal),
  ])
  const logs = [...(await agreed(source, older, signal)), ...newer]
  const proof = { receipts: (wanted: ReadonlyMap<Hex, HistoryLog>) => receiptsOf(source, wanted, signal) }
  const { rows } = await decodeSettled({ stream, place, subjects: null, logs, proof }, signal)
  return { block: tip.block, rows }
}

/** Two reads of a range, divided at different blocks. Throws `LogsRefusedError` if they would be too many requests. */
function readsOf(
  range: Range,
  { cap = Number.POSITIVE_INFINITY, requests }: { readonly cap: number | undefined; readonly requests: number },
): readonly (readonly Range[])[] {
  const blocks = range.toBlock - range.fromBlock + 1
  if (blocks <= 0) return []
  const size = Math.min(cap, blocks)
  const reads = [piecesOf(range, size, false), piecesOf(range, size, true)]
  if (reads.flat().length > requests) throw new LogsRefusedError(0, { kind: 'range', blocks: undefined })
  return reads
}

/** The newest blocks by their hashes, each the parent of the next, so that all are of the chain that ends at the tip. */
async function hashesOf(
  endpoint: Endpoint,
  { client, tip, fromBlock }: { readonly client: ChainClient; readonly tip: Tip; readonly fromBlock: number },
  signal: AbortSignal,
): Promise<readonly { readonly blockHash: Hex; readonly number: number }[]> {
  const hashes: { readonly blockHash: Hex; readonly number: number }[] = []
  let block: PinnedBlock = tip.block
  for (;;) {
    hashes.unshift({ blockHash: block.hash, number: Number(block.number) })
    if (Number(block.number) - 1 < fromBlock) return hashes
    if (hashes.length === HASHED_BLOCKS - 1) {
      hashes.unshift({ blockHash: block.parentHash, number: Number(block.number) - 1 })
      return hashes
    }
    const parent = await readHeader(endpoint, { chainId: client.chain.id, at: { hash: block.parentHash } }, signal)
    if (parent === undefined) throw new UpstreamError('The endpoint does not have the parent of a block')
    block = parent
  }
}

async function readAll(
  source: LogSource,
  {
    filters,
    ranges,
  }: {
    readonly filters: readonly LogFilter[]
    readonly ranges: readonly (Range | { readonly blockHash: Hex; readonly number: number })[]
  },
  signal: AbortSignal,
): Promise<readonly HistoryLog[]> {
  const lists = await Promise.all(
    ranges.flatMap((range) => filters.map((filter) => source.logs(filter, range, signal))),
  )
  return compareReads(lists).union
}

/** Logs of two reads; one that only one of them gave is believed if its receipt holds it. */
async function agreed(
  source: LogSource,
  reads: readonly (readonly HistoryLog[])[],
  signal: AbortSignal,
): Promise<readonly HistoryLog[]> {
  const { union, disputed } = compareReads(reads)
  const wrong = new Set<HistoryLog>()
  for (const { log } of disputed) {
    const receipt = await source.receipt(log.transactionHash, signal)
    if (receipt?.logs.some((each) => isSameLog(each, log)) !== true) wrong.add(log)
  }
  return wrong.size === 0 ? union : union.filter((log) => !wrong.has(log))
}

async function receiptsOf(
  source: LogSource,
  wanted: ReadonlyMap<Hex, HistoryLog>,
  signal: AbortSignal,
): Promise<ReadonlyMap<Hex, readonly HistoryLog[]>> {
  const entries = await Promise.all(
    [...wanted].map(async ([hash, log]) => {
      const receipt = await source.receipt(hash, signal)
      if (receipt?.logs.some((each) => isSameLog(each, log)) !== true) {
        throw new IncompleteError('receipt', { fromBlock: log.blockNumber, toBlock: log.blockNumber })
      }
      return [hash, receipt.logs] as const
    }),
  )
  return new Map(entries)
}
