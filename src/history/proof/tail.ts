import type { Hex } from 'viem'
import type { PinnedBlock } from '../../chain/block.ts'
import { type ChainClient, type Endpoint, RpcRefusedError } from '../../chain/rpc/client.ts'
import { createCache } from '../../lib/async/cache.ts'
import type { Clock } from '../../lib/clock.ts'
import { UnavailableError, UpstreamError } from '../../lib/error.ts'
import type { LogRange } from '../logs/check_logs.ts'
import { HASHED_BLOCKS, readNewestHashes } from '../logs/newest_blocks.ts'
import type { AdaptiveLogSource } from '../logs/reader.ts'
import { LogsRefusedError } from '../logs/refusal.ts'
import { createLogSource } from '../logs/source.ts'
import { compareReads, withAgreedTimes } from '../logs/witness.ts'
import { type Range, splitRange } from '../range.ts'
import {
  type HistoryLog,
  IncompleteError,
  type LogFilter,
  SECOND_WITNESS_CHECK,
  type Stream,
  type StreamTarget,
  toBlockRange,
} from '../stream.ts'
import type { ExpectedTip } from '../tip.ts'
import { decodeWithReceipts } from './cover.ts'
import { createEvidence, type Witness } from './evidence.ts'
import type { Proof } from './proof.ts'

/** Everybody's rows after the finalized block, and the block that they end at: undefined if at the finalized one. */
export interface Tail<Row> {
  readonly block: PinnedBlock | undefined
  readonly rows: readonly Row[]
}

/** Which end is read. */
interface TailRequest<Row, Place extends StreamTarget> {
  readonly client: ChainClient
  readonly stream: Stream<Row, Place>
  readonly place: Place
  /** Whose end is read, if nothing is ever read for everybody. */
  readonly subject: Hex
  readonly tip: ExpectedTip
  /** Every endpoint, with what was learned about it: another one than the first is asked as well. */
  readonly witnesses: readonly AdaptiveLogSource[]
}

/** Requests for the logs of an end: so many in all, but by each filter at least what an end takes that no cap divides. */
const REQUESTS_MAX = 8
const REQUESTS_LEAST = HASHED_BLOCKS + 3
/** Blocks that are proven because the second endpoint lacks logs of theirs; if there are more, it is not a witness. */
const PROOFS_MAX = 8
const TAILS_MAX = 200
/** Logs and rows of all tails that are kept. */
const LOGS_KEPT_MAX = 100_000

/** An end is the same as long as its blocks are, but is kept no longer than somebody may ask for it again. */
const KEPT_MS = 30_000

/** The unfinalized ends of histories, each read once per newest block while somebody asks, and never stored. */
export function createTailReader(clock: Clock) {
  const cache = createCache<Tail<never>>({
    clock,
    entriesMax: TAILS_MAX,
    bytesMax: LOGS_KEPT_MAX,
    bytesOf: ({ rows }) => rows.length,
  })

  return {
    /**
     * Rows after `tip.finalized`. Ends at that block, without rows, if the end would take too many requests. Throws
     * `UnavailableError`, naming the check if logs are missing wherever they are asked for.
     */
    async read<Row, Place extends StreamTarget>(
      request: TailRequest<Row, Place>,
      signal: AbortSignal,
    ): Promise<Tail<Row>> {
      const { stream, place, tip } = request
      const whose = subjectsOf(request)?.join() ?? ''
      // An end depends on the number of the final block, and not on its hash.
      const key = `${place.chainId}:${stream.name}:${place.contract}:${whose}:${tip.finalized.number}:${tip.block.hash}`
      const read = async (shared: AbortSignal) => {
        // Rows of one stream have one type, so whoever finds them under its key may take them for theirs.
        const value = (await readTail(request, shared)) as Tail<never>
        // One that is too long to be read at the moment is not kept.
        return { value, lifeMs: value.block === undefined ? 0 : KEPT_MS }
      }
      return await cache.get({ key, read }, signal)
    },
  }
}

/** Whose logs the end is made of; null: everybody's. */
function subjectsOf<Row, Place extends StreamTarget>({
  stream,
  subject,
}: TailRequest<Row, Place>): readonly Hex[] | null {
  return stream.subjectsOnly === true ? [subject] : null
}

async function readTail<Row, Place extends StreamTarget>(
  request: TailRequest<Row, Place>,
  signal: AbortSignal,
): Promise<Tail<Row>> {
  const { client, tip } = request
  if (tip.block.number === tip.finalized.number) return { block: tip.block, rows: [] }
  let incomplete: IncompleteError | undefined
  let isTooLong = false
  let { grandparent } = tip
  try {
    return await client.read(
      async (endpoint, within) => {
        try {
          const known = grandparent?.holder === endpoint.index ? grandparent.hash : undefined
          // Only once: if the hash is false, headers tell the next time.
          grandparent = undefined
          return await readTailFrom(endpoint, { ...request, grandparent: known }, within)
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
    if (isTooLong && error instanceof UnavailableError) return { block: undefined, rows: [] }
    if (incomplete === undefined) throw error
    throw new UnavailableError(`The newest history of ${client.chain.name} is not complete: ${incomplete.message}`, {
      cause: error,
    })
  }
}

/** Refusals of an end that is too long, ours among them. */
const TOO_LONG: ReadonlySet<string> = new Set(['range', 'results', 'late'])
const TOO_LONG_FOR_US = { kind: 'range', blocks: undefined } as const

async function readTailFrom<Row, Place extends StreamTarget>(
  endpoint: Endpoint,
  request: TailRequest<Row, Place> & { readonly grandparent: Hex | undefined },
  signal: AbortSignal,
): Promise<Tail<Row>> {
  const { client, stream, place, tip, witnesses, grandparent } = request
  const source = createLogSource(endpoint, client.chain.id)
  const first: Witness = { source, ask: (task) => task(source) }
  const subjects = subjectsOf(request)
  const filters = stream.filters(place, subjects)
  const last = Number(tip.block.number)
  const fromBlock = Math.max(Number(tip.finalized.number) + 1, place.startBlock)
  const hashedFrom = Math.max(fromBlock, last - HASHED_BLOCKS + 1)
  const asked = { fromBlock, toBlock: hashedFrom - 1, hashedBlocks: last - hashedFrom + 1 }
  const cap = witnesses.find((each) => each.source.index === endpoint.index)?.cap
  const others = witnesses.filter((each) => each.source.index !== endpoint.index && each.serves(asked))
  const requests = Math.max(REQUESTS_LEAST, Math.floor(REQUESTS_MAX / filters.length))
  const alone = piecesFor(asked, { requests, caps: [cap, cap] })
  const hashes = await readNewestHashes(endpoint, { client, tip, grandparent, fromBlock: hashedFrom }, signal)

  /** The second read, by the first endpoint of the others that can; else by the same one, with other edges. */
  async function second(): Promise<{ readonly other?: AdaptiveLogSource; readonly logs: readonly HistoryLog[] }> {
    for (const other of others) {
      const ranges = [...piecesFor(asked, { requests, caps: [cap, other.cap] })[1], ...hashes]
      try {
        return { other, logs: await readAll(other, { filters, ranges }, signal) }
      } catch (error) {
        // It may be behind, or fail; or have other blocks, and nobody can say whose are right.
        if (!(error instanceof UpstreamError || error instanceof RpcRefusedError)) throw error
        const number = await differing(other, hashes, signal)
        if (number !== undefined)
          throw new IncompleteError(SECOND_WITNESS_CHECK, { fromBlock: number, toBlock: number })
      }
    }
    return { logs: await readAll(first, { filters, ranges: alone[1] }, signal) }
  }

  const [older, newer, again] = await Promise.all([
    readAll(first, { filters, ranges: alone[0] }, signal),
    readAll(first, { filters, ranges: hashes }, signal),
    second(),
  ])
  const { other } = again
  const end: End = {
    first,
    other,
    reads: [[...older, ...newer], other === undefined ? [...again.logs, ...newer] : again.logs],
  }
  const logs = await agreed(end, signal)
  const proof: Pick<Proof, 'receipts'> = {
    receipts: async (wanted) => (await evidenceOf(end).receipts(wanted, signal)).logs,
  }
  const { rows } = await decodeWithReceipts({ stream, place, subjects, logs, proof }, signal)
  return { block: tip.block, rows }
}

/**
 * The pieces of two reads of a range, divided at different blocks. Throws `LogsRefusedError` if they and the blocks that
 * are asked for by their hash would be too many requests.
 */
function piecesFor(
  range: Range & { readonly hashedBlocks: number },
  { caps, requests }: { readonly caps: readonly [number | undefined, number | undefined]; readonly requests: number },
): readonly [readonly Range[], readonly Range[]] {
  const blocks = range.toBlock - range.fromBlock + 1
  if (blocks <= 0) return [[], []]
  const [first, second] = caps.map((cap) => Math.min(cap ?? blocks, blocks))
  const reads = [splitRange(range, first ?? blocks, false), splitRange(range, second ?? blocks, true)] as const
  if (reads.flat().length + range.hashedBlocks > requests) throw new LogsRefusedError(0, TOO_LONG_FOR_US)
  return reads
}

/** The number of one of these blocks that the endpoint has with another hash. */
async function differing(
  other: AdaptiveLogSource,
  blocks: readonly LogRange[],
  signal: AbortSignal,
): Promise<number | undefined> {
  for (const block of blocks) {
    if (!('blockHash' in block)) continue
    try {
      const header = await other.ask((each) => each.header(BigInt(block.number), signal), signal)
      if (header !== undefined && header.hash !== block.blockHash) return block.number
    } catch (error) {
      if (!(error instanceof UpstreamError || error instanceof RpcRefusedError)) throw error
    }
  }
  return undefined
}

async function readAll(
  witness: Witness,
  { filters, ranges }: { readonly filters: readonly LogFilter[]; readonly ranges: readonly LogRange[] },
  signal: AbortSignal,
): Promise<readonly HistoryLog[]> {
  const lists = await Promise.all(
    ranges.flatMap((range) =>
      filters.map((filter) => witness.ask((source) => source.logs(filter, range, signal), signal)),
    ),
  )
  return compareReads(lists).union
}

/** Two reads of the end, by two endpoints or by one that nobody else can bear witness for. */
interface End {
  readonly first: Witness
  readonly other: AdaptiveLogSource | undefined
  readonly reads: readonly [readonly HistoryLog[], readonly HistoryLog[]]
}

function evidenceOf({ first, other }: End) {
  return createEvidence(() => (other === undefined ? [first] : [first, other]))
}

/**
 * Logs of two reads. One that only one of them gave is believed if the other endpoint's receipt or a proof shows it.
 * Throws `IncompleteError` if nothing does, `UpstreamError` if the first endpoint gave what is not so.
 */
async function agreed(end: End, signal: AbortSignal): Promise<readonly HistoryLog[]> {
  const { first, other, reads } = end
  const { union, disputed } = compareReads(reads)
  const evidence = evidenceOf(end)
  const proven = new Set<number>()
  for (const { log, givers } of disputed) {
    const giver = givers[0] === 0 || other === undefined ? first : other
    if (await evidence.isVouched(log, new Set([giver.source.index]), signal)) continue
    const verdict = await evidence.isProven(log, signal)
    if (verdict === undefined) throw new IncompleteError(SECOND_WITNESS_CHECK, toBlockRange(log))
    if (verdict) proven.add(log.blockNumber)
    if (verdict && proven.size < PROOFS_MAX) continue
    // One that gave what is not so, or lacks too much, is not a witness.
    const wrong = (giver === first) === verdict ? other : first
    if (wrong === first) throw new UpstreamError('The logs of the endpoint are not those of their blocks')
    if (wrong === undefined) continue
    other?.distrust()
    return reads[0]
  }
  return other === undefined ? union : withAgreedTimes(union, reads)
}
