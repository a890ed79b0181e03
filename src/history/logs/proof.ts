import type { Hex } from 'viem'
import { UpstreamError } from '../../lib/error.ts'
import { type HistoryLog, IncompleteError } from '../stream.ts'
import type { Receipt } from './parse_logs.ts'
import type { LearnedSource, LogsRequest } from './reader.ts'
import type { Range } from './window.ts'
import { compareReads, holdsAll, isSameLog } from './witness.ts'

/** Logs of a range that at least two reads gave, all of them. */
export interface ProvenLogs {
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

const READS_MAX = 6
const READS_MIN = 2
/** A second witness takes at most this many times as many requests as the first. */
const NARROW = 4

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

  async function readNext(turn: number, signal: AbortSignal): Promise<Read> {
    const ranked = rankedSources(sources, range)
    let failure: unknown = new UpstreamError('No endpoint can be asked for logs of these blocks')
    for (let tried = 0; tried < ranked.length; tried++) {
      const source = ranked[(turn + tried) % ranked.length]
      if (source === undefined) break
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
  async function falseOnes(disputed: readonly HistoryLog[], signal: AbortSignal): Promise<ReadonlySet<HistoryLog>> {
    const alone = disputed.filter((log) => givers(log).size < 2)
    const receipts = new Map<Hex, readonly Receipt[]>()
    await Promise.all(
      [...new Set(alone.map(({ transactionHash }) => transactionHash))].map(async (hash) => {
        receipts.set(hash, await receiptsOf(hash, signal))
      }),
    )
    return new Set(
      alone.filter((log) => {
        const held = receipts.get(log.transactionHash) ?? []
        return !held.some(({ logs }) => logs.some((each) => isSameLog(each, log)))
      }),
    )
  }

  function givers(log: HistoryLog): ReadonlySet<LearnedSource> {
    return new Set(reads.filter(({ logs }) => holdsAll(logs, [log])).map(({ source }) => source))
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

  return {
    async logs(signal) {
      const missing = Math.max(0, readsMin - reads.length)
      reads.push(
        ...(await Promise.all(Array.from({ length: missing }, (_, index) => readNext(reads.length + index, signal)))),
      )
      for (;;) {
        const { union, disputed } = compareReads(reads.map(({ logs }) => logs))
        const wrong = disputed.length === 0 ? new Set<HistoryLog>() : await falseOnes(disputed, signal)
        const logs = wrong.size === 0 ? union : union.filter((log) => !wrong.has(log))
        for (const { source, logs: given } of reads) {
          if (wrong.size > 0 && [...wrong].some((log) => holdsAll(given, [log]))) source.distrust()
        }
        const whole = reads.filter((read) => holdsAll(read.logs, logs))
        if (whole.length >= READS_MIN) {
          if (disputed.length > wrong.size) healed(disputed.length - wrong.size)
          return { logs, witnesses: new Set(whole.map(({ source }) => source)).size }
        }
        if (reads.length >= READS_MAX) throw new IncompleteError('second witness', range)
        reads.push(await readNext(reads.length, signal))
      }
    },
    doubt() {
      if (reads.length + READS_MIN > READS_MAX) return false
      readsMin = reads.length + READS_MIN
      return true
    },
    async receipts(transactions, signal) {
      const entries = await Promise.all(
        [...transactions].map(async ([hash, log]) => {
          const receipt = (await receiptsOf(hash, signal)).find(({ logs }) => logs.some((each) => isSameLog(each, log)))
          if (receipt === undefined) throw new IncompleteError('receipt', range)
          return [hash, receipt.logs] as const
        }),
      )
      return new Map(entries)
    },
  }
}

/** Endpoints that can be read, the widest first; without those that are so narrow that they would take for ever. */
export function rankedSources(sources: readonly LearnedSource[], range: Range): readonly LearnedSource[] {
  const able = sources.filter((source) => source.serves(range))
  const width = ({ cap }: LearnedSource) => cap ?? Number.POSITIVE_INFINITY
  const widest = Math.max(0, ...able.map(width))
  const blocks = range.toBlock - range.fromBlock + 1
  return able
    .filter((source) => width(source) >= Math.min(widest, blocks) / NARROW)
    .sort((a, b) => (width(a) === width(b) ? 0 : width(b) - width(a)) || a.source.index - b.source.index)
}
