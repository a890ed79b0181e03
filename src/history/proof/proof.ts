import type { Hex } from 'viem'
import { hasFault } from '../../chain/rpc/error.ts'
import type { Work } from '../../lib/async/work.ts'
import { UpstreamError } from '../../lib/error.ts'
import type { AdaptiveLogSource, FinalBlock, LogsRequest } from '../logs/reader.ts'
import { compareReads, type LogComparison, withAgreedTimes } from '../logs/witness.ts'
import { isSameText, readWritten, type WrittenLogs } from '../logs/written.ts'
import type { Range } from '../range.ts'
import { type HistoryLog, IncompleteError, NoWitnessError, SECOND_WITNESS_CHECK, toBlockRange } from '../stream.ts'
import { createEvidence } from './evidence.ts'

/** The complete logs of a range, as at least two reads gave them. */
export interface ProvenLogs {
  readonly logs: readonly HistoryLog[]
  /** Number of endpoints that gave all of the logs. */
  readonly witnesses: number
}

/** The reads of one range that prove its logs. */
export type Proof = ReturnType<typeof createProof>

const READS_MIN = 2
/** Maximum reads of a range before it is divided, and of a single block before the proof fails. */
const READS_MAX = 4
/** Maximum reads of a range that a check keeps finding incomplete. */
const DOUBTED_READS_MAX = 6
/** Maximum blocks proven because an endpoint lacks their logs; an endpoint that lacks more is no witness. */
const PROOFS_MAX = 8
/** A second witness takes at most this many times as many requests as the first. */
const NARROW = 16

/** A read whose logs may not have been parsed yet. */
interface UnreadRead {
  readonly source: AdaptiveLogSource
  readonly parts: readonly WrittenLogs[]
}

interface Read {
  readonly source: AdaptiveLogSource
  readonly logs: readonly HistoryLog[]
}

/** The ruling on logs that a single endpoint gave. */
type LogRuling =
  | { readonly kind: 'settled' }
  /** Undecided: no evidence confirms or refutes this log. */
  | { readonly kind: 'open'; readonly log: HistoryLog }
  /** These endpoints gave false logs, or lack too many logs to be witnesses. */
  | { readonly kind: 'wrong'; readonly sources: ReadonlySet<AdaptiveLogSource> }

/** Prepares the reads of a range. `onHealed` is called with the number of logs that one of the reads lacked. */
export function createProof(
  request: Omit<LogsRequest, 'turn'>,
  { sources, onHealed }: { readonly sources: readonly AdaptiveLogSource[]; readonly onHealed: (logs: number) => void },
) {
  const { range } = request
  const evidence = createEvidence(() => sources.filter((source) => source.mayServe(range)))
  let reads: Read[] = []
  let turnCount = 0
  let readsMin = READS_MIN
  let readsMax = READS_MAX
  let receiptWitnesses = Number.POSITIVE_INFINITY

  async function readNext(work: Work, { isUnread = false } = {}): Promise<UnreadRead> {
    const turn = turnCount++
    const ranked = rankSources(sources, range)
    let failure: unknown = new UpstreamError('No endpoint can be asked for logs of these blocks')
    const first = turn % Math.max(1, ranked.length)
    for (const source of [...ranked.slice(first), ...ranked.slice(0, first)]) {
      try {
        return { source, parts: await source.read({ ...request, turn, isUnread }, work) }
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error
        failure = error
      }
    }
    throw failure
  }

  /** Reads what is missing at once. Only the first of these reads is parsed if the others have the same text. */
  async function readMissing(work: Work): Promise<void> {
    const missing = Math.max(0, readsMin - reads.length)
    const [first, ...others] = await Promise.all(
      Array.from({ length: missing }, (_, index) => readNext(work, { isUnread: index > 0 })),
    )
    if (first === undefined) return
    const logs = await addRead(first)
    for (const read of others) {
      if (logs !== undefined && isSameText(first.parts, read.parts)) reads.push({ source: read.source, logs })
      else await addRead(read)
    }
  }

  /** Adds a read; undefined if its logs cannot be parsed, and then it does not count. */
  async function addRead({ source, parts }: UnreadRead): Promise<readonly HistoryLog[] | undefined> {
    try {
      const logs = await readWritten(parts)
      reads.push({ source, logs })
      return logs
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error
      // A broken text says nothing of its endpoint, which is asked again.
      if (hasFault(error, 'false_logs')) source.distrust()
      return undefined
    }
  }

  /** Decides logs that a single endpoint gave: by another endpoint's receipt, otherwise by proof. */
  async function settleDisputed(disputed: LogComparison['disputed'], work: Work): Promise<LogRuling> {
    const singleSourceLogs = disputed.flatMap(({ log, givers }) => {
      const by = new Set(givers.flatMap((index) => reads[index]?.source ?? []))
      return by.size < 2 ? { log, by } : []
    })
    const vouched = await Promise.all(
      singleSourceLogs.map(({ log, by }) =>
        evidence.isVouched(log, new Set([...by].map(({ source }) => source.index)), work),
      ),
    )
    const proven = new Set<number>()
    for (const { log, by } of singleSourceLogs.filter((_, index) => !vouched[index])) {
      const verdict = await evidence.isProven(log, work)
      if (verdict === undefined) return { kind: 'open', log }
      if (!verdict) return { kind: 'wrong', sources: by }
      proven.add(log.blockNumber)
      if (proven.size === PROOFS_MAX) {
        const lacking = reads.flatMap(({ source }) => (by.has(source) ? [] : source))
        if (lacking.length > 0) return { kind: 'wrong', sources: new Set(lacking) }
      }
    }
    return { kind: 'settled' }
  }

  /** True if a second endpoint was read, or there is none. A pausing endpoint counts, so the read waits for it. */
  function isWitnessed(): boolean {
    const askedSources = new Set(reads.map(({ source }) => source))
    return askedSources.size >= 2 || rankSources(sources, range, 'mayServe').every((source) => askedSources.has(source))
  }

  /** Proves each half separately after all reads differed: reads of a shorter range lose fewer logs. */
  async function proveHalves(work: Work): Promise<ProvenLogs> {
    if (range.fromBlock === range.toBlock) throw new IncompleteError(SECOND_WITNESS_CHECK, range)
    const middle = Math.floor((range.fromBlock + range.toBlock) / 2)
    const proveHalf = (half: Range) => createProof({ ...request, range: half }, { sources, onHealed }).logs(work)
    const [older, newer] = await Promise.all([
      proveHalf({ ...range, toBlock: middle }),
      proveHalf({ ...range, fromBlock: middle + 1 }),
    ])
    return { logs: [...older.logs, ...newer.logs], witnesses: Math.min(older.witnesses, newer.witnesses) }
  }

  return {
    /**
     * Reads until two reads have every known log, from two endpoints if two may serve. A log from a single endpoint is
     * trusted if another endpoint's receipt or the proven receipts of its block contain it. Throws `IncompleteError` if
     * too many reads differ or their differences stay undecided, `UpstreamError` if no endpoint can be read.
     */
    async logs(work: Work): Promise<ProvenLogs> {
      for (;;) {
        await readMissing(work)
        const { union, disputed } = compareReads(reads.map(({ logs }) => logs))
        const ruling = await settleDisputed(disputed, work)
        if (ruling.kind === 'wrong') {
          for (const source of ruling.sources) source.distrust()
          reads = reads.filter(({ source }) => !ruling.sources.has(source))
          continue
        }
        const completeReads = reads.filter((_, index) => disputed.every(({ givers }) => givers.includes(index)))
        const isSettled = ruling.kind === 'settled'
        if (isSettled && completeReads.length >= READS_MIN && isWitnessed()) {
          if (disputed.length > 0) onHealed(disputed.length)
          const witnesses = new Set(reads.map(({ source }) => source)).size
          const bySource = new Map(reads.map((read) => [read.source, read.logs]))
          return { logs: withAgreedTimes(union, [...bySource.values()]), witnesses }
        }
        if (reads.length >= readsMax) {
          if (!isSettled) throw new IncompleteError(SECOND_WITNESS_CHECK, toBlockRange(ruling.log))
          if (completeReads.length >= READS_MIN) throw new NoWitnessError()
          return await proveHalves(work)
        }
        await addRead(await readNext(work))
      }
    },
    /** Requires additional reads in the next call of `logs`; false if the maximum is reached. */
    requestMoreReads(): boolean {
      if (reads.length >= DOUBTED_READS_MAX) return false
      readsMin = reads.length + READS_MIN
      readsMax = readsMin
      return true
    },
    /** All logs of the transactions of these logs, from their receipts. */
    async receipts(
      transactions: ReadonlyMap<Hex, HistoryLog>,
      work: Work,
    ): Promise<ReadonlyMap<Hex, readonly HistoryLog[]>> {
      const { logs, witnesses } = await evidence.receipts(transactions, work)
      receiptWitnesses = Math.min(receiptWitnesses, witnesses)
      return logs
    },
    /** Number of endpoints that confirmed all results of `receipts` so far; infinite before the first. */
    get receiptWitnesses(): number {
      return receiptWitnesses
    },
  }
}

/** Readable endpoints, widest first; without endpoints whose ranges are too short to be practical. */
export function rankSources(
  sources: readonly AdaptiveLogSource[],
  range: Range,
  readiness: 'serves' | 'mayServe' = 'serves',
): readonly AdaptiveLogSource[] {
  const servingSources = sources.filter((source) => source[readiness](range))
  const width = ({ cap }: AdaptiveLogSource) => cap ?? Number.POSITIVE_INFINITY
  const widest = Math.max(0, ...servingSources.map(width))
  const blocks = range.toBlock - range.fromBlock + 1
  return servingSources
    .filter((source) => width(source) >= Math.min(widest, blocks) / NARROW)
    .sort((a, b) => (width(a) === width(b) ? 0 : width(b) - width(a)) || a.source.index - b.source.index)
}

/**
 * The endpoints that have a final block: an endpoint that lags or is on a fork is not trusted about blocks below it.
 * Throws `NoWitnessError` if as many endpoints have another block there, because no majority decides.
 */
export async function findSourcesWithBlock(
  sources: readonly AdaptiveLogSource[],
  final: FinalBlock,
  work: Work,
): Promise<readonly AdaptiveLogSource[]> {
  const servingSources = sources.filter((source) => source.mayServe({ fromBlock: final.number, toBlock: final.number }))
  const verdicts = await Promise.all(servingSources.map((source) => source.hasFinalBlock(final, work)))
  const sourcesWithBlock = servingSources.filter((_, index) => verdicts[index] === true)
  // Wait for a silent endpoint if it is the only possible witness.
  const isAlone = sourcesWithBlock.length === 1 && verdicts.includes(undefined)
  if (!isAlone && sourcesWithBlock.length > verdicts.filter((verdict) => verdict === false).length)
    return sourcesWithBlock
  if (isAlone) throw new NoWitnessError()
  throw new NoWitnessError(
    sourcesWithBlock.length === 0
      ? 'No endpoint has the final block'
      : `The endpoints have different final blocks ${final.number}`,
  )
}
