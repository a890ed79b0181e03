import type { Hex } from 'viem'
import type { PinnedBlock } from '../../chain/block.ts'
import { readHeader } from '../../chain/evm/read_block.ts'
import { type ChainClient, type Endpoint, RpcRefusedError } from '../../chain/rpc/client.ts'
import { createCache } from '../../lib/async/cache.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { UnavailableError, UpstreamError } from '../../lib/error.ts'
import type { LogRange } from '../logs/check_logs.ts'
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
import type { Tip } from '../tip.ts'
import { decodeWithReceipts } from './cover.ts'
import { createEvidence, type Witness } from './evidence.ts'
import type { Proof } from './proof.ts'

/** The newest blocks are read by hash: a node that lacks one fails, whereas it returns no logs for a range. */
const HASHED_BLOCKS = 3

/** Reads the hashes of the newest blocks, each the parent of the next, so that all belong to the chain of the tip. */
export async function readNewestHashes(
  endpoint: Endpoint,
  options: {
    readonly client: ChainClient
    readonly tip: Pick<Tip, 'block'>
    readonly grandparent: Hex | undefined
    readonly fromBlock: number
  },
  work: Work,
): Promise<readonly LogRange[]> {
  const { client, tip, grandparent, fromBlock } = options
  const hashes: LogRange[] = []
  let block: Pick<PinnedBlock, 'number' | 'hash' | 'parentHash'> = tip.block
  for (;;) {
    hashes.unshift({ blockHash: block.hash, number: Number(block.number) })
    if (Number(block.number) - 1 < fromBlock) return hashes
    if (hashes.length === HASHED_BLOCKS - 1) {
      return [{ blockHash: block.parentHash, number: Number(block.number) - 1 }, ...hashes]
    }
    const { parentHash: hash, number } = block
    if (grandparent !== undefined && block === tip.block) {
      block = { number: number - 1n, hash, parentHash: grandparent }
      continue
    }
    const parent = await readHeader(endpoint, { chainId: client.chain.id, at: { hash } }, work)
    if (parent === undefined) throw new UpstreamError('The endpoint does not have the parent of a block')
    block = parent
  }
}

/** The rows of all subjects after the finalized block. `block` is their last block; undefined if the finalized one. */
export interface Tail<Row> {
  readonly block: PinnedBlock | undefined
  readonly rows: readonly Row[]
}

/** The tail to read. */
interface TailRequest<Row, Target extends StreamTarget> {
  readonly client: ChainClient
  readonly stream: Stream<Row, Target>
  readonly target: Target
  /** The subject of the tail, if the stream has no global scans. */
  readonly subject: Hex
  readonly tip: Tip
  /** All endpoints with their learned limits; one other than the first is the second witness. */
  readonly witnesses: readonly AdaptiveLogSource[]
}

/** Maximum requests for a tail over all filters, and the minimum per filter: an undivided tail needs that many. */
const REQUESTS_MAX = 8
const REQUESTS_LEAST = HASHED_BLOCKS + 3
/** Maximum blocks proven because the second endpoint lacks their logs; an endpoint that lacks more is no witness. */
const PROOFS_MAX = 8
const TAILS_MAX = 200
/** Maximum rows of all cached tails. */
const LOGS_KEPT_MAX = 100_000

/** Cached until its blocks change, and no longer than a retry may take. */
const KEPT_MS = 30_000

/** Creates the reader of the unfinalized tails of histories, each read once per newest block and never stored. */
export function createTailReader(clock: Clock) {
  const cache = createCache<Tail<never>>({
    clock,
    entriesMax: TAILS_MAX,
    bytesMax: LOGS_KEPT_MAX,
    getSize: ({ rows }) => rows.length,
  })

  return {
    /**
     * Reads the rows after `tip.finalized`. Returns no rows if the tail would take too many requests. Throws
     * `UnavailableError`, naming the check if logs are missing at every endpoint.
     */
    async read<Row, Target extends StreamTarget>(request: TailRequest<Row, Target>, work: Work): Promise<Tail<Row>> {
      const { stream, target, tip } = request
      const subjectKey = toSubjects(request)?.join() ?? ''
      // A tail depends on the number of the final block, not on its hash.
      const key = `${target.chainId}:${stream.name}:${target.contract}:${subjectKey}:${tip.finalized.number}:${tip.block.hash}`
      const read = async (shared: Work) => {
        // The key contains the stream, and all rows of a stream have one type.
        const value = (await readTail(request, shared)) as Tail<never>
        // A tail that is too long to read now is not cached.
        return { value, lifeMs: value.block === undefined ? 0 : KEPT_MS }
      }
      return await cache.get({ key, read }, work)
    },
  }
}

/** The subjects of the tail; null: all. */
function toSubjects<Row, Target extends StreamTarget>({
  stream,
  subject,
}: TailRequest<Row, Target>): readonly Hex[] | null {
  return stream.subjectsOnly === true ? [subject] : null
}

async function readTail<Row, Target extends StreamTarget>(
  request: TailRequest<Row, Target>,
  work: Work,
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
          const grandparentHash = grandparent?.holder === endpoint.index ? grandparent.hash : undefined
          // Use the hash only once: if it is false, the next attempt reads headers.
          grandparent = undefined
          return await readTailFrom(endpoint, { ...request, grandparent: grandparentHash }, within)
        } catch (error) {
          if (error instanceof LogsRefusedError) isTooLong ||= TOO_LONG.has(error.reaction.kind)
          if (!(error instanceof IncompleteError)) throw error
          incomplete = error
          throw new LogsRefusedError(0, { kind: 'behind' })
        }
      },
      { work },
    )
  } catch (error) {
    if (isTooLong && error instanceof UnavailableError) return { block: undefined, rows: [] }
    if (incomplete === undefined) throw error
    throw new UnavailableError(`The newest history of ${client.chain.name} is not complete: ${incomplete.message}`, {
      cause: error,
    })
  }
}

/** Refusals of a tail that is too long, including our own. */
const TOO_LONG: ReadonlySet<string> = new Set(['range', 'results', 'late'])
const TOO_LONG_FOR_US = { kind: 'range', blocks: undefined } as const

async function readTailFrom<Row, Target extends StreamTarget>(
  endpoint: Endpoint,
  request: TailRequest<Row, Target> & { readonly grandparent: Hex | undefined },
  work: Work,
): Promise<Tail<Row>> {
  const { client, stream, target, tip, witnesses, grandparent } = request
  const source = createLogSource(endpoint, client.chain.id)
  const first: Witness = { source, ask: (task) => task(source) }
  const subjects = toSubjects(request)
  const filters = stream.filters(target, subjects)
  const last = Number(tip.block.number)
  const fromBlock = Math.max(Number(tip.finalized.number) + 1, target.startBlock)
  const hashedFrom = Math.max(fromBlock, last - HASHED_BLOCKS + 1)
  const requestedRange = { fromBlock, toBlock: hashedFrom - 1, hashedBlocks: last - hashedFrom + 1 }
  const cap = witnesses.find((each) => each.source.index === endpoint.index)?.cap
  const otherSources = witnesses.filter((each) => each.source.index !== endpoint.index && each.serves(requestedRange))
  const requests = Math.max(REQUESTS_LEAST, Math.floor(REQUESTS_MAX / filters.length))
  const ownPieces = splitForReads(requestedRange, { requests, caps: [cap, cap] })
  const hashedRanges = await readNewestHashes(endpoint, { client, tip, grandparent, fromBlock: hashedFrom }, work)

  /** The second read: from the first other endpoint that succeeds, else from the same one with other edges. */
  async function readSecond(): Promise<{ readonly other?: AdaptiveLogSource; readonly logs: readonly HistoryLog[] }> {
    for (const other of otherSources) {
      const ranges = [...splitForReads(requestedRange, { requests, caps: [cap, other.cap] })[1], ...hashedRanges]
      try {
        return { other, logs: await readAll(other, { filters, ranges }, work) }
      } catch (error) {
        // The endpoint may lag or fail; if it has other blocks, the dispute is undecided.
        if (!(error instanceof UpstreamError || error instanceof RpcRefusedError)) throw error
        const number = await findDifferingBlock(other, hashedRanges, work)
        if (number !== undefined)
          throw new IncompleteError(SECOND_WITNESS_CHECK, { fromBlock: number, toBlock: number })
      }
    }
    return { logs: await readAll(first, { filters, ranges: ownPieces[1] }, work) }
  }

  const [older, newer, secondRead] = await Promise.all([
    readAll(first, { filters, ranges: ownPieces[0] }, work),
    readAll(first, { filters, ranges: hashedRanges }, work),
    readSecond(),
  ])
  const { other } = secondRead
  const endReads: End = {
    first,
    other,
    reads: [[...older, ...newer], other === undefined ? [...secondRead.logs, ...newer] : secondRead.logs],
  }
  const logs = await settleLogs(endReads, work)
  const proof: Pick<Proof, 'receipts'> = {
    receipts: async (transactions) => (await createEndEvidence(endReads).receipts(transactions, work)).logs,
  }
  const { rows } = await decodeWithReceipts({ stream, target, subjects, logs, proof }, work)
  return { block: tip.block, rows }
}

/**
 * Divides a range for two reads, at different blocks. Throws `LogsRefusedError` if the pieces and the blocks read by
 * hash would be too many requests.
 */
function splitForReads(
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

/** The number of a block that the endpoint has with another hash; undefined if there is none. */
async function findDifferingBlock(
  other: AdaptiveLogSource,
  blocks: readonly LogRange[],
  work: Work,
): Promise<number | undefined> {
  for (const block of blocks) {
    if (!('blockHash' in block)) continue
    try {
      const header = await other.ask((each) => each.header(BigInt(block.number), work), work.signal)
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
  work: Work,
): Promise<readonly HistoryLog[]> {
  const lists = await Promise.all(
    ranges.flatMap((range) =>
      filters.map((filter) => witness.ask((source) => source.logs(filter, range, work), work.signal)),
    ),
  )
  return compareReads(lists).union
}

/** Two reads of the tail: from two endpoints, or both from the only one. */
interface End {
  readonly first: Witness
  readonly other: AdaptiveLogSource | undefined
  readonly reads: readonly [readonly HistoryLog[], readonly HistoryLog[]]
}

function createEndEvidence({ first, other }: End) {
  return createEvidence(() => (other === undefined ? [first] : [first, other]))
}

/**
 * Merges the logs of two reads. A log in only one of them is trusted if the other endpoint's receipt or a proof
 * contains it. Throws `IncompleteError` if neither decides, `UpstreamError` if the first endpoint gave false logs.
 */
async function settleLogs(endReads: End, work: Work): Promise<readonly HistoryLog[]> {
  const { first, other, reads } = endReads
  const { union, disputed } = compareReads(reads)
  const evidence = createEndEvidence(endReads)
  const proven = new Set<number>()
  for (const { log, givers } of disputed) {
    const giver = givers[0] === 0 || other === undefined ? first : other
    if (await evidence.isVouched(log, new Set([giver.source.index]), work)) continue
    const verdict = await evidence.isProven(log, work)
    if (verdict === undefined) throw new IncompleteError(SECOND_WITNESS_CHECK, toBlockRange(log))
    if (verdict) proven.add(log.blockNumber)
    if (verdict && proven.size < PROOFS_MAX) continue
    // An endpoint that gave a false log, or lacks too many, is no witness.
    const wrongWitness = (giver === first) === verdict ? other : first
    if (wrongWitness === first) throw new UpstreamError('The logs of the endpoint are not those of their blocks')
    if (wrongWitness === undefined) continue
    other?.distrust()
    return reads[0]
  }
  return other === undefined ? union : withAgreedTimes(union, reads)
}
