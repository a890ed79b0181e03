import type { Hex } from 'viem'
import { UpstreamError } from '../../lib/error.ts'
import { type HistoryLog, IncompleteError } from '../stream.ts'
import type { Receipt } from './parse_logs.ts'
import type { FinalBlock, LearnedSource, LogsRequest } from './reader.ts'
import type { Range } from './window.ts'
import { type Comparison, compareReads, isHeld } from './witness.ts'

/** Logs of a range that at least two reads gave, all of them. */
interface ProvenLogs {
  readonly logs: readonly HistoryLog[]
  /** How many different endpoints gave all of them. */
  readonly witnesses: number
}

/** Reads of one range, as many as it takes. */
export interface Proof {
  /**
   * Reads until two reads gave every log that is known; a log that one endpoint alone gave is believed if a receipt
   * holds it. Throws `IncompleteError` if too many reads differ, `UpstreamError` if no endpoint can be read.
   */
  logs(signal: AbortSignal): Promise<ProvenLogs>
  /** Asks for further reads in the next call of `logs`; false if there were enough for anybody. */
  doubt(): boolean
  /** All logs of transactions that hold one of these logs, from their receipts. */
  receipts(
    transactions: ReadonlyMap<Hex, HistoryLog>,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<Hex, readonly HistoryLog[]>>
}

const NO_WITNESS = 'A second endpoint does not answer at the moment'
const READS_MIN = 2
/** Reads of one range before it is divided, and of one block before it is given up. */
const READS_MAX = 4
/** Reads of a range that a check keeps finding incomplete. */
const DOUBTS_READS_MAX = 6
/** A second witness takes at most this many times as many requests as the first. */
const NARROW = 16

interface Read {
  readonly source: LearnedSource
  readonly logs: readonly HistoryLog[]
}

/** Prepares the reads of a range. `healed` is told of logs that one of the reads lacked. */
export function createProof(
  request: Omit<LogsRequest, 'turn'>,
  { sources, healed }: { readonly sources: readonly LearnedSource[]; readonly healed: (logs: number) => void },
): Proof {
  const { range } = request
  const reads: Read[] = []
  let readsMin = READS_MIN
  let readsMax = READS_MAX

  async function readNext(turn: number, signal: AbortSignal): Promise<Read> {
    const ranked = rankedSources(sources, range)
    let failure: unknown = new UpstreamError('No endpoint can be asked for logs of these blocks')
    const first = turn % ranked.length
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

  /** Those of the disputed logs that no second endpoint gave and no receipt holds. */
  async function falseOnes(disputed: Comparison['disputed'], signal: AbortSignal): Promise<ReadonlySet<HistoryLog>> {
    const alone = disputed.filter(({ givers }) => new Set(givers.map((index) => reads[index]?.source)).size < 2)
    const hashes = [...new Set(alone.map(({ log }) => log.transactionHash))]
    const entries = hashes.map(async (hash) => [hash, await receiptsOf(hash, signal)] as const)
    const receipts = new Map(await Promise.all(entries))
    const wrong = new Set<HistoryLog>()
    for (const { log, givers } of alone) {
      if (receipts.get(log.transactionHash)?.some((receipt) => isHeld(log, receipt)) === true) continue
      wrong.add(log)
      for (const index of givers) reads[index]?.source.distrust()
    }
    return wrong
  }

  /** True if a second endpoint was asked, or there is none: one that only pauses is waited for. */
  function isWitnessed(): boolean {
    const asked = new Set(reads.map(({ source }) => source))
    return asked.size >= 2 || rankedSources(sources, range, 'mayServe').every((source) => asked.has(source))
  }

  /** The transaction's receipt from every endpoint that has it. */
  async function receiptsOf(hash: Hex, signal: AbortSignal): Promise<readonly Receipt[]> {
    const found: Receipt[] = []
    let failure: unknown
    for (const source of rankedSources(sources, range)) {
      try {
        const receipt = await source.ask((each) => each.receipt(hash, signal), signal)
        if (receipt !== undefined) found.push(receipt)
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error
        failure = error
      }
    }
    // Silence proves nothing.
    if (found.length === 0 && failure !== undefined) throw failure
    return found
  }

  /** Reads of a shorter range lose less: where all of them differ, each half is proven alone. */
  async function provenByHalves(signal: AbortSignal): Promise<ProvenLogs> {
    if (range.fromBlock === range.toBlock) throw new IncompleteError('second witness', range)
    const middle = Math.floor((range.fromBlock + range.toBlock) / 2)
    const proven = (half: Range) => createProof({ ...request, range: half }, { sources, healed }).logs(signal)
    const [older, newer] = await Promise.all([
      proven({ ...range, toBlock: middle }),
      proven({ ...range, fromBlock: middle + 1 }),
    ])
    return { logs: [...older.logs, ...newer.logs], witnesses: Math.min(older.witnesses, newer.witnesses) }
  }

  return {
    async logs(signal) {
      const missing = Math.max(0, readsMin - reads.length)
      reads.push(
        ...(await Promise.all(Array.from({ length: missing }, (_, index) => readNext(reads.length + index, signal)))),
      )
      for (;;) {
        const { union, disputed } = compareReads(reads.map(({ logs }) => logs))
        const wrong = disputed.length === 0 ? new Set<HistoryLog>() : await falseOnes(disputed, signal)
        const lacked = disputed.filter(({ log }) => !wrong.has(log))
        const whole = reads.filter((_, index) => lacked.every(({ givers }) => givers.includes(index)))
        if (whole.length >= READS_MIN && isWitnessed()) {
          if (lacked.length > 0) healed(lacked.length)
          const logs = wrong.size === 0 ? union : union.filter((log) => !wrong.has(log))
          return { logs, witnesses: new Set(whole.map(({ source }) => source)).size }
        }
        if (reads.length >= readsMax) {
          if (whole.length >= READS_MIN) throw new UpstreamError(NO_WITNESS)
          return await provenByHalves(signal)
        }
        reads.push(await readNext(reads.length, signal))
      }
    },
    doubt() {
      if (reads.length >= DOUBTS_READS_MAX) return false
      readsMin = reads.length + READS_MIN
      readsMax = readsMin
      return true
    },
    async receipts(transactions, signal) {
      const entries = await Promise.all(
        [...transactions].map(async ([hash, log]) => {
          const receipt = (await receiptsOf(hash, signal)).find((each) => isHeld(log, each))
          if (receipt === undefined) throw new IncompleteError('receipt', range)
          return [hash, receipt.logs] as const
        }),
      )
      return new Map(entries)
    },
  }
}

/** Endpoints that can be read, the widest first; without those that are so narrow that they would take for ever. */
export function rankedSources(
  sources: readonly LearnedSource[],
  range: Range,
  when: 'serves' | 'mayServe' = 'serves',
): readonly LearnedSource[] {
  const able = sources.filter((source) => source[when](range))
  const width = ({ cap }: LearnedSource) => cap ?? Number.POSITIVE_INFINITY
  const widest = Math.max(0, ...able.map(width))
  const blocks = range.toBlock - range.fromBlock + 1
  return able
    .filter((source) => width(source) >= Math.min(widest, blocks) / NARROW)
    .sort((a, b) => (width(a) === width(b) ? 0 : width(b) - width(a)) || a.source.index - b.source.index)
}

/**
 * The endpoints that have a final block: one that is behind or on a fork must not be believed about blocks below it.
 * Throws `UpstreamError` if as many have another block there, since nobody can say which of them is right.
 */
export async function followersOf(
  sources: readonly LearnedSource[],
  final: FinalBlock,
  signal: AbortSignal,
): Promise<readonly LearnedSource[]> {
  const able = sources.filter((source) => source.mayServe({ fromBlock: final.number, toBlock: final.number }))
  const verdicts = await Promise.all(able.map((source) => source.follows(final, signal)))
  const following = able.filter((_, index) => verdicts[index] === true)
  // One that is silent for a moment is waited for if it is the only witness.
  const isAlone = following.length === 1 && verdicts.includes(undefined)
  if (!isAlone && following.length > verdicts.filter((verdict) => verdict === false).length) return following
  if (isAlone) throw new UpstreamError(NO_WITNESS)
  throw new UpstreamError(
    following.length === 0
      ? 'No endpoint has the block that is final'
      : `The endpoints have different blocks ${final.number}, which is final`,
  )
}
