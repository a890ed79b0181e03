import { readByQuorum } from '../../../../chain/past/quorum.ts'
import type { ChainClient, Endpoint } from '../../../../chain/rpc/client.ts'
import { isUnavailable } from '../../../../chain/rpc/client.ts'
import type { LogRange } from '../../../../history/logs/check_logs.ts'
import { LogsRefusedError } from '../../../../history/logs/refusal.ts'
import { createLogSource } from '../../../../history/logs/source.ts'
import type { HistoryLog, LogFilter } from '../../../../history/stream.ts'
import type { Work } from '../../../../lib/async/work.ts'
import { UnavailableError } from '../../../../lib/error.ts'

/** A query for logs, and how to decode them. */
interface LogsQuery<Row> {
  readonly client: ChainClient
  readonly filter: LogFilter
  readonly range: LogRange
  readonly decodeRows: (logs: readonly HistoryLog[]) => readonly Row[]
  readonly toText: (row: Row) => string
  /** For errors: `the moves of pool 0x…`. */
  readonly what: string
}

/** Rows of logs, and the number of different endpoints that returned them. */
export interface WitnessedLogs<Row> {
  readonly rows: readonly Row[]
  readonly witnesses: number
}

/** No endpoint accepts so long a range; `blocks` is the length to try next. */
interface RangeTooWide extends Pick<UnavailableError, 'message'> {
  readonly blocks: number
}

/** Reads logs from two endpoints. Throws as `readByQuorum`. */
export async function readWitnessedLogs<Row>(
  { client, filter, range, decodeRows, toText, what }: LogsQuery<Row>,
  work: Work,
): Promise<WitnessedLogs<Row> | RangeTooWide> {
  const half = 'blockHash' in range ? 1 : Math.ceil((range.toBlock - range.fromBlock + 1) / 2)
  let blocks: number | undefined
  const attempt = async (endpoint: Endpoint, within: Work) => {
    try {
      return decodeRows(await createLogSource(endpoint, client.chain.id).logs(filter, range, within))
    } catch (error) {
      const { reaction } = error instanceof LogsRefusedError ? error : {}
      if (reaction?.kind === 'late') blocks ??= half
      if (reaction?.kind === 'range' || reaction?.kind === 'results') {
        blocks = Math.min(blocks ?? half, reaction.blocks ?? half)
      }
      throw error
    }
  }
  try {
    const options = { work, what, toText: (rows: readonly Row[]) => rows.map(toText).join() }
    const { value: rows, endpoints } = await readByQuorum(client, attempt, options)
    return { rows, witnesses: endpoints.length }
  } catch (error) {
    if (blocks === undefined || !(error instanceof UnavailableError) || isUnavailable(error, 'disputed')) throw error
    return { blocks: Math.max(1, blocks), message: error.message }
  }
}
