import { type Hex, toHex } from 'viem'
import type { PinnedBlock } from '../../src/chain/block.ts'
import type { ConfirmedFigures, FigureValue, Watcher, WatchSubject, WatchTarget } from '../../src/family/watch.ts'
import type { FinanceClient } from '../../src/finance/chain.ts'
import type { HistoryLog, LogFilter } from '../../src/history/stream.ts'
import { createWork } from '../../src/lib/async/work.ts'
import { compareRational, type Rational, rational } from '../../src/lib/number/rational.ts'
import type { Rpc } from '../devnet/rpc.ts'
import type { RpcLog } from './rpc_log.ts'

/** What is asked of a subject's figure: that it is below a number, or that it is true. */
export interface WatchedClause {
  readonly subject: WatchSubject
  readonly figure: string
  /** Absent: the figure is true or false by itself. */
  readonly below?: Rational
}

/** One block as the forecast evaluated it, and by an exact reading of all subjects. */
export interface ForecastBlock {
  /** Clauses that were confirmed because of the forecast. */
  readonly confirmed: number
  /** What each clause was last confirmed to be, and what it is; undefined without a figure. */
  readonly screened: readonly (boolean | undefined)[]
  readonly exact: readonly (boolean | undefined)[]
}

/** A subject this near to a threshold is confirmed regardless of its forecast. */
const NEAR = rational(1n, 100n)

/**
 * Watches clauses block by block as triggers do. Confirms subjects the forecast cannot decide, those near or across a
 * threshold, and those touched by a log; keeps the last confirmation of others. There is no sweep. `dropsLog` loses
 * logs.
 */
export function createForecastWatcher(options: {
  readonly watcher: Watcher
  readonly client: FinanceClient
  readonly rpc: Rpc
  readonly clauses: readonly WatchedClause[]
  readonly dropsLog?: (log: HistoryLog) => boolean
}) {
  const { watcher, client, rpc, clauses, dropsLog = () => false } = options
  const { forecaster: screen } = watcher
  if (screen === undefined) throw new Error('Cannot screen a family that has no screen')
  const chainId = client.chain.id
  const subjects = clauses.map(({ subject }) => subject)
  const states: (boolean | undefined)[] = clauses.map(() => undefined)
  const memos: (ConfirmedFigures | 'gone' | undefined)[] = clauses.map(() => undefined)

  let last: bigint | undefined

  async function isNamed(place: WatchTarget): Promise<boolean[]> {
    const known = memos.flatMap((memo) => (memo === undefined || memo === 'gone' ? [] : [memo.memo]))
    const foresight = await screen?.readShared(known, place, patient)
    const filters = screen?.filters(chainId) ?? []
    const logs = await readBlockLogs(rpc, { filters, block: place.block, after: last })
    last = place.block.number
    const kept = logs.filter((log) => !dropsLog(log))
    const isTouched = screen?.toTouchedCheck(kept, chainId)
    return clauses.map(({ subject, figure, below }, index) => {
      const memo = memos[index]
      if (memo === undefined || isTouched?.(subject) === true) return true
      if (memo === 'gone') return false
      const estimate = foresight?.estimate(memo.memo, figure)
      if (estimate === undefined || isNear(estimate, below)) return true
      return compareValue(estimate, below) !== states[index]
    })
  }

  return {
    /** Goes on to a block, which must be the newest. */
    async step(block: PinnedBlock): Promise<ForecastBlock> {
      const place = { client, block }
      const named = await isNamed(place)
      const asked = subjects.filter((_, index) => named[index])
      const confirmed = await watcher.confirm(asked, place, patient)
      let next = 0
      for (const [index, clause] of clauses.entries()) {
        if (named[index] !== true) continue
        const found = confirmed[next++]
        memos[index] = found
        states[index] = toState(found, clause) ?? states[index]
      }
      const all = await watcher.confirm(subjects, place, patient)
      const exact = clauses.map((clause, index) => toState(all[index], clause))
      return { confirmed: asked.length, screened: [...states], exact }
    },
  }
}

/** A signal that never fires. */
const patient = createWork(new AbortController().signal)

function toState(found: ConfirmedFigures | 'gone' | undefined, { figure, below }: WatchedClause): boolean | undefined {
  return found === undefined || found === 'gone' ? undefined : compareValue(found.value(figure), below)
}

function compareValue(value: FigureValue, below: Rational | undefined): boolean | undefined {
  if (value === undefined || typeof value === 'boolean') return value
  if (below === undefined) throw new Error('Cannot compare a number with nothing')
  return value !== 'MAX' && compareRational(value, below) < 0
}

function isNear(value: FigureValue, below: Rational | undefined): boolean {
  if (below === undefined || value === undefined || value === 'MAX' || typeof value === 'boolean') return false
  const apart = value.numerator * below.denominator - below.numerator * value.denominator
  const band = below.numerator * value.denominator * NEAR.numerator
  return (apart < 0n ? -apart : apart) * NEAR.denominator <= (band < 0n ? -band : band)
}

interface LogsQuestion {
  readonly filters: readonly LogFilter[]
  readonly block: PinnedBlock
  /** The block before the first. @default {the one before} */
  readonly after?: bigint | undefined
}

/** All logs of a block, or of those after another one, that one of the filters finds, each once and in order. */
export async function readBlockLogs(
  rpc: Rpc,
  { filters, block, after = block.number - 1n }: LogsQuestion,
): Promise<HistoryLog[]> {
  const answers = await rpc.batch<readonly RpcLog[]>(
    filters.map(({ addresses, topics }) => {
      const where = addresses === null ? {} : { address: addresses }
      const range = { fromBlock: toHex(after + 1n), toBlock: toHex(block.number) }
      return { method: 'eth_getLogs', params: [{ ...where, topics, ...range }] }
    }),
  )
  const logs = new Map(answers.flat().map((log) => [`${log.blockNumber}:${log.logIndex}`, toHistoryLog(log)]))
  return [...logs.values()].sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex)
}

function toHistoryLog(log: RpcLog): HistoryLog {
  return {
    address: log.address.toLowerCase() as Hex,
    topics: log.topics,
    data: log.data,
    blockNumber: Number(log.blockNumber),
    blockHash: log.blockHash,
    transactionHash: log.transactionHash,
    transactionIndex: Number(log.transactionIndex),
    logIndex: Number(log.logIndex),
    timestampSec: null,
  }
}

/** The newest block. */
export async function readNewestBlock(rpc: Rpc, chainId: number): Promise<PinnedBlock> {
  const { number, hash, parentHash, timestamp } = await rpc.call<Readonly<Record<string, Hex>>>(
    'eth_getBlockByNumber',
    'latest',
    false,
  )
  if (number === undefined || hash === undefined || parentHash === undefined || timestamp === undefined) {
    throw new Error('Cannot read the newest block')
  }
  return { chainId, number: BigInt(number), hash, parentHash, timestampSec: BigInt(timestamp) }
}
