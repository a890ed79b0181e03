import type { Hex } from 'viem'
import { UpstreamError } from '../../lib/error.ts'
import type { AdaptiveLogSource, FinalBlock, LogsRequest } from '../logs/reader.ts'
import { compareReads, type LogComparison, withAgreedTimes } from '../logs/witness.ts'
import type { Range } from '../range.ts'
import { type HistoryLog, IncompleteError, NoWitnessError, SECOND_WITNESS_CHECK, toBlockRange } from '../stream.ts'
import { createEvidence } from './evidence.ts'

/** Logs of a range that at least two reads gave, all of them. */
export interface ProvenLogs {
  readonly logs: readonly HistoryLog[]
  /** How many different endpoints gave all of them. */
  readonly witnesses: number
}

/** Reads of one range, as many as it takes. */
export type Proof = ReturnType<typeof createProof>

const READS_MIN = 2
/** Reads of one range before it is divided, and of one block before it is given up. */
const READS_MAX = 4
/** Reads of a range that a check keeps finding incomplete. */
const DOUBTS_READS_MAX = 6
/** Blocks that are proven because an endpoint lacks logs of theirs; if there are more, it is not a witness here. */
const PROOFS_MAX = 8
/** A second witness takes at most this many times as many requests as the first. */
const NARROW = 16

interface Read {
  readonly source: AdaptiveLogSource
  readonly logs: readonly HistoryLog[]
}

/** What became of logs that one endpoint alone gave. */
type LogRuling =
  | { readonly kind: 'settled' }
  /** Nobody can say whether this log is true. */
  | { readonly kind: 'open'; readonly log: HistoryLog }
  /** These endpoints gave what is not so, or lack so much that they are no witnesses. */
  | { readonly kind: 'wrong'; readonly sources: ReadonlySet<AdaptiveLogSource> }

/** Prepares the reads of a range. `healed` is told of logs that one of the reads lacked. */
export function createProof(
  request: Omit<LogsRequest, 'turn'>,
  { sources, healed }: { readonly sources: readonly AdaptiveLogSource[]; readonly healed: (logs: number) => void },
) {
  const { range } = request
  const evidence = createEvidence(() => sources.filter((source) => source.mayServe(range)))
  let reads: Read[] = []
  let turns = 0
  let readsMin = READS_MIN
  let readsMax = READS_MAX
  let receiptWitnesses = Number.POSITIVE_INFINITY

  async function readNext(signal: AbortSignal): Promise<Read> {
    const turn = turns++
    const ranked = rankSources(sources, range)
    let failure: unknown = new UpstreamError('No endpoint can be asked for logs of these blocks')
    const first = turn % Math.max(1, ranked.length)
    for (const source of [...ranked.slice(first), ...ranked.slice(0, first)]) {
      try {
        return { source, logs: await source.read({ ...request, turn }, signal) }
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error
        failure = error
      }
    }
    throw failure
  }

  async function readMissing(signal: AbortSignal): Promise<void> {
    const missing = Math.max(0, readsMin - reads.length)
    reads.push(...(await Promise.all(Array.from({ length: missing }, () => readNext(signal)))))
  }

  /** Settles logs that one endpoint alone gave: by another's receipt, and if that is not there by proof. */
  async function judge(disputed: LogComparison['disputed'], signal: AbortSignal): Promise<LogRuling> {
    const alone = disputed.flatMap(({ log, givers }) => {
      const by = new Set(givers.flatMap((index) => reads[index]?.source ?? []))
      return by.size < 2 ? { log, by } : []
    })
    const vouched = await Promise.all(
      alone.map(({ log, by }) => evidence.isVouched(log, new Set([...by].map(({ source }) => source.index)), signal)),
    )
    const proven = new Set<number>()
    for (const { log, by } of alone.filter((_, index) => !vouched[index])) {
      const verdict = await evidence.isProven(log, signal)
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

  /** True if a second endpoint was asked, or there is none: one that only pauses is waited for. */
  function isWitnessed(): boolean {
    const asked = new Set(reads.map(({ source }) => source))
    return asked.size >= 2 || rankSources(sources, range, 'mayServe').every((source) => asked.has(source))
  }

  /** Reads of a shorter range lose less: if all of them differ, each half is proven alone. */
  async function provenByHalves(signal: AbortSignal): Promise<ProvenLogs> {
    if (range.fromBlock === range.toBlock) throw new IncompleteError(SECOND_WITNESS_CHECK, range)
    const middle = Math.floor((range.fromBlock + range.toBlock) / 2)
    const proven = (half: Range) => createProof({ ...request, range: half }, { sources, healed }).logs(signal)
    const [older, newer] = await Promise.all([
      proven({ ...range, toBlock: middle }),
      proven({ ...range, fromBlock: middle + 1 }),
    ])
    return { logs: [...older.logs, ...newer.logs], witnesses: Math.min(older.witnesses, newer.witnesses) }
  }

  return {
    /**
     * Reads until two reads gave every log that is known, of two different endpoints if two may serve. A log that one
     * endpoint alone gave is believed if the receipt of another holds it, or the proven receipts of its block. Throws
     * `IncompleteError` if too many reads differ or what they differ in cannot be settled, `UpstreamError` if no endpoint
     * can be read.
     */
    async logs(signal: AbortSignal): Promise<ProvenLogs> {
      for (;;) {
        await readMissing(signal)
        const { union, disputed } = compareReads(reads.map(({ logs }) => logs))
        const ruling = await judge(disputed, signal)
        if (ruling.kind === 'wrong') {
          for (const source of ruling.sources) source.distrust()
          reads = reads.filter(({ source }) => !ruling.sources.has(source))
          continue
        }
        const whole = reads.filter((_, index) => disputed.every(({ givers }) => givers.includes(index)))
        const isSettled = ruling.kind === 'settled'
        if (isSettled && whole.length >= READS_MIN && isWitnessed()) {
          if (disputed.length > 0) healed(disputed.length)
          const witnesses = new Set(reads.map(({ source }) => source)).size
          const bySource = new Map(reads.map((read) => [read.source, read.logs]))
          return { logs: withAgreedTimes(union, [...bySource.values()]), witnesses }
        }
        if (reads.length >= readsMax) {
          if (!isSettled) throw new IncompleteError(SECOND_WITNESS_CHECK, toBlockRange(ruling.log))
          if (whole.length >= READS_MIN) throw new NoWitnessError()
          return await provenByHalves(signal)
        }
        reads.push(await readNext(signal))
      }
    },
    /** Asks for further reads in the next call of `logs`; false if there were enough for anybody. */
    doubt(): boolean {
      if (reads.length >= DOUBTS_READS_MAX) return false
      readsMin = reads.length + READS_MIN
      readsMax = readsMin
      return true
    },
    /** All logs of transactions that hold one of these logs, from their receipts. */
    async receipts(
      transactions: ReadonlyMap<Hex, HistoryLog>,
      signal: AbortSignal,
    ): Promise<ReadonlyMap<Hex, readonly HistoryLog[]>> {
      const { logs, witnesses } = await evidence.receipts(transactions, signal)
      receiptWitnesses = Math.min(receiptWitnesses, witnesses)
      return logs
    },
    /** How many different endpoints gave all that `receipts` has given so far; infinite if that is nothing. */
    get receiptWitnesses(): number {
      return receiptWitnesses
    },
  }
}

/** Endpoints that can be read, the widest first; without those that are so narrow that they would take for ever. */
export function rankSources(
  sources: readonly AdaptiveLogSource[],
  range: Range,
  when: 'serves' | 'mayServe' = 'serves',
): readonly AdaptiveLogSource[] {
  const able = sources.filter((source) => source[when](range))
  const width = ({ cap }: AdaptiveLogSource) => cap ?? Number.POSITIVE_INFINITY
  const widest = Math.max(0, ...able.map(width))
  const blocks = range.toBlock - range.fromBlock + 1
  return able
    .filter((source) => width(source) >= Math.min(widest, blocks) / NARROW)
    .sort((a, b) => (width(a) === width(b) ? 0 : width(b) - width(a)) || a.source.index - b.source.index)
}

/**
 * The endpoints that have a final block: one that is behind or on a fork must not be believed about blocks below it.
 * Throws `NoWitnessError` if as many have another block there, since nobody can say which of them is right.
 */
export async function findSourcesWithBlock(
  sources: readonly AdaptiveLogSource[],
  final: FinalBlock,
  signal: AbortSignal,
): Promise<readonly AdaptiveLogSource[]> {
  const able = sources.filter((source) => source.mayServe({ fromBlock: final.number, toBlock: final.number }))
  const verdicts = await Promise.all(able.map((source) => source.follows(final, signal)))
  const following = able.filter((_, index) => verdicts[index] === true)
  // One that is silent for a moment is waited for if it is the only witness.
  const isAlone = following.length === 1 && verdicts.includes(undefined)
  if (!isAlone && following.length > verdicts.filter((verdict) => verdict === false).length) return following
  if (isAlone) throw new NoWitnessError()
  throw new NoWitnessError(
    following.length === 0
      ? 'No endpoint has the block that is final'
      : `The endpoints have different blocks ${final.number}, which is final`,
  )
}
