import type { Hex } from 'viem'
import type { Database } from '../../db/database.ts'
import { yieldIfLarge } from '../../lib/async/cooperative.ts'
import { limitWork, type Work } from '../../lib/async/work.ts'
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
import { createProof, type Proof, rankSources } from './proof.ts'

interface CoverRequest<Row, Target extends StreamTarget> {
  readonly stream: Stream<Row, Target>
  readonly target: Target
  /** Null: all subjects. */
  readonly subjects: readonly Hex[] | null
  readonly range: Range
  readonly sources: readonly AdaptiveLogSource[]
  /** Epoch of the chain's history; nothing is stored if the history is rolled back meanwhile. */
  readonly epoch: number
  /** The requester whose turn is used; absent for global scans. */
  readonly requester?: string | undefined
  readonly db: Database
  /** Called after each stored part. */
  readonly onStored: (range: Range) => void
  /** Called with the number of logs that one read lacked and another gave. */
  readonly onHealed: (logs: number) => void
  /** Called before each part; parts under way are still stored. */
  readonly canContinue: () => boolean
  /** The result of `Stream.checkContinuity` for the range above this one. */
  readonly later: unknown
}

/** Parts that are read concurrently; they are stored in order. */
const PARTS_AT_ONCE = 3
/** Ranges of one request's length in one part. */
const WINDOWS_A_PART = 4
/**
 * Length of the first range, from which an endpoint's limits are learned. Short for all subjects: on a dense chain,
 * answers that are too long cost more than the few short answers from which ranges grow on a sparse chain.
 */
const FIRST_BLOCKS = { subject: 1_000_000, global: 100 } as const
/** Checks of the endpoints' answers, which do not concern the stream. */
const READ_CHECKS: readonly string[] = [SECOND_WITNESS_CHECK, 'receipt']
/** Maximum number of rounds in which transactions may need further receipts. */
const RECEIPT_ROUNDS = 2

/**
 * Reads and proves the logs of a range, and stores the decoded rows and their coverage part by part, newest first.
 * Returns the last result of `Stream.checkContinuity`. Throws `IncompleteError` naming the check that failed for every
 * endpoint, `UpstreamError` if none can be read, and as `Database.run`; stored parts stay.
 */
export async function storeProvenRange<Row, Target extends StreamTarget>(
  request: CoverRequest<Row, Target>,
  work: Work,
): Promise<unknown> {
  const failController = new AbortController()
  const within = limitWork(work, failController.signal)
  const { fromBlock } = request.range
  let toBlock = request.range.toBlock
  let decoded: Promise<DecodedPart<Row>> = Promise.resolve({ rows: [], witnesses: 0, next: request.later })
  let stored: Promise<unknown> = Promise.resolve()
  const pendingParts = new Set<Promise<unknown>>()
  try {
    while (toBlock >= fromBlock && request.canContinue()) {
      const blocks = WINDOWS_A_PART * getBlocksPerRequest(request, toBlock)
      const range = { fromBlock: Math.max(fromBlock, toBlock - blocks + 1), toBlock }
      decoded = decodeAfter(decoded, request, range, within)
      // The promise is awaited later, and may have failed by then.
      decoded.catch(() => {})
      stored = storeAfter(stored, request, range, decoded)
      const part: Promise<unknown> = stored.then(() => pendingParts.delete(part))
      pendingParts.add(part)
      toBlock = range.fromBlock - 1
      if (pendingParts.size >= PARTS_AT_ONCE) await Promise.race(pendingParts)
    }
    await stored
    return (await decoded).next
  } finally {
    failController.abort()
    await Promise.allSettled(pendingParts)
  }
}

/** The decoded logs of a range. */
interface DecodedPart<Row> {
  readonly rows: readonly Row[]
  readonly witnesses: number
  /** The result of `Stream.checkContinuity`. */
  readonly next: unknown
}

/**
 * Reads and proves a part at once; decodes and checks it when the previous, newer part is decoded. If a check finds
 * missing logs, the part is read again from other endpoints and with other edges.
 */
async function decodeAfter<Row, Target extends StreamTarget>(
  previousPart: Promise<DecodedPart<Row>>,
  request: CoverRequest<Row, Target>,
  range: Range,
  work: Work,
): Promise<DecodedPart<Row>> {
  const { stream, target, subjects, sources, requester, onHealed } = request
  const filters = stream.filters(target, subjects)
  const proof = createProof({ ...toLengthOptions(request), filters, range, requester }, { sources, onHealed })
  let proven = await proof.logs(work)
  const later = (await previousPart).next
  let failedCheck: IncompleteError | undefined
  for (;;) {
    try {
      const { rows } = await decodeWithReceipts({ stream, target, subjects, logs: proven.logs, proof }, work)
      const next = subjects === null ? stream.checkContinuity?.(target, proven.logs, later) : undefined
      return { rows, witnesses: Math.min(proven.witnesses, proof.receiptWitnesses), next }
    } catch (error) {
      if (!(error instanceof IncompleteError)) throw error
      const { witnesses } = proven
      if (!proof.requestMoreReads())
        throw READ_CHECKS.includes(error.check) ? error : classifyFailedCheck(error, { before: failedCheck, witnesses })
      failedCheck = error
      proven = await proof.logs(work)
    }
  }
}

/** Stores a part when the previous part is stored. */
async function storeAfter<Row, Target extends StreamTarget>(
  previousPart: Promise<unknown>,
  request: CoverRequest<Row, Target>,
  range: Range,
  decoded: Promise<DecodedPart<Row>>,
): Promise<void> {
  await previousPart
  const { stream, target, subjects, epoch, db } = request
  const { rows, witnesses } = await decoded
  await yieldIfLarge(rows)
  const subjectSet = new Set(subjects)
  const ownRows = subjects === null ? rows : rows.filter((row) => subjectSet.has(stream.table.toSubject(row)))
  await stream.table.store(db, { target, stream: stream.name, subjects, ...range, witnesses, epoch, rows: ownRows })
  request.onStored(range)
}

/** Decodes logs, and reads the receipts of transactions that need them. */
export async function decodeWithReceipts<Row, Target extends StreamTarget>(
  request: Pick<CoverRequest<Row, Target>, 'stream' | 'target' | 'subjects'> & {
    readonly logs: readonly HistoryLog[]
    readonly proof: Pick<Proof, 'receipts'>
  },
  work: Work,
): Promise<DecodedRows<Row>> {
  const { stream, target, subjects, logs, proof } = request
  let receipts: ReadonlyMap<Hex, readonly HistoryLog[]> = new Map()
  for (let round = 0; ; round++) {
    await yieldIfLarge(logs)
    const decoded = stream.decode(target, logs, { subjects, receipts })
    if (decoded.unsettled.length === 0) return decoded
    const missing = new Set(decoded.unsettled)
    const first = new Map<Hex, HistoryLog>()
    for (const log of logs) if (missing.delete(log.transactionHash)) first.set(log.transactionHash, log)
    if (round === RECEIPT_ROUNDS || missing.size > 0) {
      throw new Error(
        `Cannot decode stream ${stream.name}: it leaves transactions unsettled although it has their receipts`,
      )
    }
    receipts = new Map([...receipts, ...(await proof.receipts(first, work))])
  }
}

/** The key of learned lengths: the stream, separately for one subject and for all. */
function toLengthOptions<Row, Target extends StreamTarget>({
  stream,
  subjects,
}: Pick<CoverRequest<Row, Target>, 'stream' | 'subjects'>) {
  const kind = subjects === null ? 'global' : 'subject'
  return { key: `${stream.name}:${kind}`, firstBlocks: FIRST_BLOCKS[kind] }
}

/** Number of blocks up to `toBlock` that one request may cover. */
function getBlocksPerRequest<Row, Target extends StreamTarget>(
  request: Pick<CoverRequest<Row, Target>, 'stream' | 'subjects' | 'sources'>,
  toBlock: number,
): number {
  const [first] = rankSources(request.sources, { fromBlock: toBlock, toBlock })
  return first?.getNextBlocks(toLengthOptions(request)) ?? 1
}
