import { type Hex, toHex } from 'viem'
import { type BlockId, readHeader } from '../../chain/evm/read_block.ts'
import { type BlockClaim, parseBlockClaim } from '../../chain/receipt/header.ts'
import { type BackgroundEndpoint, type Endpoint, RevertError, RpcRefusedError } from '../../chain/rpc/client.ts'
import { EndpointError, hasFault } from '../../chain/rpc/error.ts'
import { yieldIfLarge } from '../../lib/async/cooperative.ts'
import type { Work } from '../../lib/async/work.ts'
import type { HistoryLog, LogFilter } from '../stream.ts'
import { type NumberedClaim, readBlockLogs } from './block_logs.ts'
import { checkLogs, type LogRange, orderLogs } from './check_logs.ts'
import { parseLogs, parseReceipt } from './parse_logs.ts'
import { classifyRefusal, LogsRefusedError } from './refusal.ts'
import { takeWritten, toWritten, unwrapList, type WrittenLogs } from './written.ts'

/** One endpoint as a source of logs. Every answer is checked; every request has a time limit. */
export type LogSource = ReturnType<typeof createLogSource>

/** Time limits of a request for logs of a range, and of the small requests, milliseconds. */
const LOGS_MS = 10_000
const SMALL_MS = 3_000
/** A filter with more topics than this may be divided if the endpoint refuses the request as too long. */
const DIVISIBLE_TOPICS = 8

/** Creates a source over an endpoint: a background endpoint, or one that a caller reads from. */
export function createLogSource(
  endpoint: Pick<Endpoint, 'index' | 'request'> & Partial<Pick<BackgroundEndpoint, 'usable'>>,
  chainId: number,
) {
  return {
    index: endpoint.index,
    /** False while the endpoint must not receive requests. */
    get usable(): boolean {
      return endpoint.usable ?? true
    },
    /** Logs in order, of the right shape. Throws `LogsRefusedError`, and `UpstreamError` for everything else. */
    logs: async (filter: LogFilter, range: LogRange, work: Work) =>
      await (await readLogs(endpoint, { filter, range }, work)).read(),
    /** The same, and how the endpoint wrote them. */
    written: (query: LogsQuery, work: Work) => readLogs(endpoint, query, work),
    /** Undefined if the endpoint does not have the block. */
    header: (at: BlockId, work: Work) => readHeader(endpoint, { chainId, at }, work),
    /** The logs of a transaction's receipt; undefined if the endpoint does not know the transaction. */
    receipt: (hash: Hex, work: Work) =>
      endpoint.request(
        { method: 'eth_getTransactionReceipt', params: [hash], parse: parseReceipt, timeoutMs: SMALL_MS },
        work,
      ),
    /** The endpoint's claim about a block; undefined if it lacks the block. */
    claim(number: number, work: Work): Promise<BlockClaim | undefined> {
      const parse = (result: unknown) => parseBlockClaim(result, number)
      const params = [toHex(number), false]
      return endpoint.request({ method: 'eth_getBlockByNumber', params, parse, timeoutMs: SMALL_MS }, work)
    },
    /** All logs of a block with these transactions; undefined if the endpoint does not return all their receipts. */
    blockLogs: (block: NumberedClaim, work: Work) => readBlockLogs(endpoint, block, work),
  }
}

interface LogsQuery {
  readonly filter: LogFilter
  readonly range: LogRange
  /** True to parse them when they are asked for. @default {false} */
  readonly isUnread?: boolean
}

async function readLogs(
  endpoint: Pick<Endpoint, 'request'>,
  { filter, range, isUnread = false }: LogsQuery,
  work: Work,
): Promise<WrittenLogs> {
  const check = (answer: readonly HistoryLog[]) => {
    const logs = orderLogs(answer)
    checkLogs(logs, filter, range)
    return logs
  }
  let text: string | undefined
  const requested = {
    ...('blockHash' in range ? { fromBlock: range.number, toBlock: range.number } : range),
    divisible: filter.topics.some((each) => (each?.length ?? 0) > DIVISIBLE_TOPICS),
  }
  try {
    const answer = await endpoint.request<WrittenLogs | readonly HistoryLog[]>(
      {
        method: 'eth_getLogs',
        params: [toParams(filter, range)],
        parse: parseLogs,
        takeText(result) {
          text = unwrapList(result)
          return isUnread ? takeWritten(result, check) : undefined
        },
        timeoutMs: LOGS_MS,
        mapRefusal(refusal) {
          const reaction = classifyRefusal(refusal, requested)
          if (reaction?.kind === 'rate')
            return new EndpointError('busy', 'The endpoint limits its rate', { retryAfterMs: reaction.pauseMs })
          return reaction === undefined ? undefined : new LogsRefusedError(refusal.code, reaction)
        },
      },
      work,
    )
    if ('read' in answer) return answer
    await yieldIfLarge(answer)
    return toWritten(check(answer), answer.length === 0 ? '' : text)
  } catch (error) {
    if (hasFault(error, 'late')) throw new LogsRefusedError(0, { kind: 'late' })
    // An answer beyond our own limit is handled like one beyond the endpoint's.
    if (hasFault(error, 'too_large')) throw new LogsRefusedError(0, { kind: 'results', blocks: undefined })
    // A refusal too long to be read, or a "revert" of a request that calls nothing.
    const isRefused = error instanceof RpcRefusedError || error instanceof RevertError
    if (isRefused && !(error instanceof LogsRefusedError)) throw new LogsRefusedError(0, { kind: 'unknown' })
    throw error
  }
}

function toParams({ addresses, topics }: LogFilter, range: LogRange): object {
  const blocks =
    'blockHash' in range
      ? { blockHash: range.blockHash }
      : { fromBlock: toHex(range.fromBlock), toBlock: toHex(range.toBlock) }
  const address = addresses === null ? {} : { address: addresses }
  return { ...address, topics: topics.map((each) => (each?.length === 1 ? each[0] : each)), ...blocks }
}
