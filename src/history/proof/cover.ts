import type { Hex } from 'viem'
import type { Database } from '../../db/database.ts'
import { untilAborted } from '../../lib/async/abort.ts'
import { yieldIfLarge } from '../../lib/async/cooperative.ts'
import type { AdaptiveLogSource } from '../logs/reader.ts'
import type { Range } from '../range.ts'
import {
  classifyFailedCheck,
  type DecodedRows,
  type HistoryLog,
  IncompleteError,
  SECOND_WITNESS_CHECK,
  type Stream,
  type StreamTarget,
} from '../stream.ts'
import { createProof, type Proof, type ProvenLogs, rankSources } from './proof.ts'

interface CoverRequest<Row, Place extends StreamTarget> {
  readonly stream: Stream<Row, Place>
  readonly place: Place
  /** Null: everybody. */
  readonly subjects: readonly Hex[] | null
  readonly range: Range
  readonly sources: readonly AdaptiveLogSource[]
  /** Of the chain's history; nothing is stored if it was taken back meanwhile. */
  readonly epoch: number
  /** In whose turn; absent: it serves everybody. */
  readonly asker?: string | undefined
  readonly db: Database
  /** Told after each part that was stored. */
  readonly onStored: (range: Range) => void
  /** Told of logs that one read lacked and another gave. */
  readonly onHealed: (logs: number) => void
  /** Asked before each part; what is under way is still stored. */
  readonly mayGoOn: () => boolean
  /** What `Stream.continuity` gave for the range above this one. */
  readonly later: unknown
  /** What was begun of a part; undefined if nothing was. */
  readonly begun?: (range: Range) => Promise<PrefetchedPart | undefined>
}

/** A part that was read before it was known whether its last block is final, and which endpoints have that block. */
export interface PrefetchedPart {
  readonly proof: Proof
  readonly proven: ProvenLogs
  /** The endpoints that may have given it. */
  readonly sources: readonly AdaptiveLogSource[]
}

/** Parts that are read at the same time; they are stored in order. */
const PARTS_AT_ONCE = 3
/** Ranges of an endpoint's length that one part takes. */
const WINDOWS_A_PART = 4
/**
 * The first range that is asked for; what an endpoint takes is learned from it. For everybody it is short: on a dense
 * chain answers that are too long cost more than the few short ones from which ranges grow on a sparse chain.
 */
const FIRST_BLOCKS = { subject: 1_000_000, everybody: 100 } as const
/** Checks of what endpoints have, which do not concern the stream. */
const OF_READING: readonly string[] = [SECOND_WITNESS_CHECK, 'receipt']
/** Times that transactions may need further receipts. */
const RECEIPT_ROUNDS = 2

/**
 * Reads the logs of a range, proves them, and stores what they mean with the blocks that are complete: part by part,
 * the newest first. Gives what `Stream.continuity` gave last. Throws `IncompleteError` naming the check that failed for
 * every endpoint, `UpstreamError` if none can be read, and as `Database.run`; what was stored until then stays.
 */
export async function storeProvenRange<Row, Place extends StreamTarget>(
  request: CoverRequest<Row, Place>,
  signal: AbortSignal,
): Promise<unknown> {
  const failing = new AbortController()
  const within = AbortSignal.any([signal, failing.signal])
  const { fromBlock } = request.range
  let toBlock = request.range.toBlock
  let decoded: Promise<DecodedPart<Row>> = Promise.resolve({ rows: [], witnesses: 0, next: request.later })
  let stored: Promise<unknown> = Promise.resolve()
  const underWay = new Set<Promise<unknown>>()
  try {
    while (toBlock >= fromBlock && request.mayGoOn()) {
      const blocks = WINDOWS_A_PART * getBlocksPerRequest(request, toBlock)
      const range = { fromBlock: Math.max(fromBlock, toBlock - blocks + 1), toBlock }
      decoded = decodeAfter(decoded, request, range, within)
      // It is awaited later, and may have failed by then.
      decoded.catch(() => {})
      stored = storeAfter(stored, request, range, decoded)
      const part: Promise<unknown> = stored.then(() => underWay.delete(part))
      underWay.add(part)
      toBlock = range.fromBlock - 1
      if (underWay.size >= PARTS_AT_ONCE) await Promise.race(underWay)
    }
    await stored
    return (await decoded).next
  } finally {
    failing.abort()
    await Promise.allSettled(underWay)
  }
}

/** Reads and proves the logs of a part. */
export async function prefetchPart<Row, Place extends StreamTarget>(
  request: Pick<CoverRequest<Row, Place>, 'stream' | 'place' | 'subjects' | 'range' | 'sources' | 'asker' | 'onHealed'>,
  signal: AbortSignal,
): Promise<PrefetchedPart> {
  const { stream, place, subjects, range, sources, asker, onHealed } = request
  const filters = stream.filters(place, subjects)
  const proof = createProof({ ...kindOf(request), filters, range, asker }, { sources, healed: onHealed })
  return { proof, proven: await proof.logs(signal), sources }
}

/** What the logs of a range mean. */
interface DecodedPart<Row> {
  readonly rows: readonly Row[]
  readonly witnesses: number
  /** What `Stream.continuity` gave. */
  readonly next: unknown
}

/**
 * Reads and proves a part at once; decodes and checks it when the part before it, which is newer, is decoded. What a
 * check finds missing is read again, elsewhere and otherwise divided.
 */
async function decodeAfter<Row, Place extends StreamTarget>(
  before: Promise<DecodedPart<Row>>,
  request: CoverRequest<Row, Place>,
  range: Range,
  signal: AbortSignal,
): Promise<DecodedPart<Row>> {
  const { stream, place, subjects, sources } = request
  const begun = request.begun && (await untilAborted(request.begun(range), signal))
  // One that has another final block may have given logs of another chain.
  const isUsable = begun?.sources.every((source) => sources.includes(source)) === true
  const part = isUsable ? begun : await prefetchPart({ ...request, range }, signal)
  const { proof } = part
  let { proven } = part
  const later = (await before).next
  let failed: IncompleteError | undefined
  for (;;) {
    try {
      const { rows } = await decodeWithReceipts({ stream, place, subjects, logs: proven.logs, proof }, signal)
      const next = subjects === null ? stream.continuity?.(place, proven.logs, later) : undefined
      return { rows, witnesses: Math.min(proven.witnesses, proof.receiptWitnesses), next }
    } catch (error) {
      if (!(error instanceof IncompleteError)) throw error
      const { witnesses } = proven
      if (!proof.doubt())
        throw OF_READING.includes(error.check) ? error : classifyFailedCheck(error, { before: failed, witnesses })
      failed = error
      proven = await proof.logs(signal)
    }
  }
}

/** Stores a part when the part before it is stored. */
async function storeAfter<Row, Place extends StreamTarget>(
  before: Promise<unknown>,
  request: CoverRequest<Row, Place>,
  range: Range,
  decoded: Promise<DecodedPart<Row>>,
): Promise<void> {
  await before
  const { stream, place, subjects, epoch, db } = request
  const { rows, witnesses } = await decoded
  await yieldIfLarge(rows)
  const wanted = new Set(subjects)
  const mine = subjects === null ? rows : rows.filter((row) => wanted.has(stream.table.subjectOf(row)))
  await stream.table.store(db, { place, stream: stream.name, subjects, ...range, witnesses, epoch, rows: mine })
  request.onStored(range)
}

/** Decodes logs, and gets the receipts of transactions that cannot be understood without. */
export async function decodeWithReceipts<Row, Place extends StreamTarget>(
  what: Pick<CoverRequest<Row, Place>, 'stream' | 'place' | 'subjects'> & {
    readonly logs: readonly HistoryLog[]
    readonly proof: Pick<Proof, 'receipts'>
  },
  signal: AbortSignal,
): Promise<DecodedRows<Row>> {
  const { stream, place, subjects, logs, proof } = what
  let receipts: ReadonlyMap<Hex, readonly HistoryLog[]> = new Map()
  for (let round = 0; ; round++) {
    await yieldIfLarge(logs)
    const decoded = stream.decode(place, logs, { subjects, receipts })
    if (decoded.unsettled.length === 0) return decoded
    const missing = new Set(decoded.unsettled)
    const first = new Map<Hex, HistoryLog>()
    for (const log of logs) if (missing.delete(log.transactionHash)) first.set(log.transactionHash, log)
    if (round === RECEIPT_ROUNDS || missing.size > 0) {
      throw new Error(
        `Cannot decode stream ${stream.name}: it leaves transactions unsettled that it has the receipts of`,
      )
    }
    receipts = new Map([...receipts, ...(await proof.receipts(first, signal))])
  }
}

/** What was learned about lengths is kept by stream, and apart for subjects and for everybody. */
function kindOf<Row, Place extends StreamTarget>({
  stream,
  subjects,
}: Pick<CoverRequest<Row, Place>, 'stream' | 'subjects'>) {
  const kind = subjects === null ? 'everybody' : 'subject'
  return { key: `${stream.name}:${kind}`, firstBlocks: FIRST_BLOCKS[kind] }
}

/** Blocks up to this one that one request may be for. */
export function getBlocksPerRequest<Row, Place extends StreamTarget>(
  request: Pick<CoverRequest<Row, Place>, 'stream' | 'subjects' | 'sources'>,
  toBlock: number,
): number {
  const [first] = rankSources(request.sources, { fromBlock: toBlock, toBlock })
  return first?.blocksOf(kindOf(request)) ?? 1
}
