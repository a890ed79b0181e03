import { toHex } from 'viem'
import { readStateDepth, UNUSED_ADDRESS } from '../../chain/past/state_canary.ts'
import type { Endpoint } from '../../chain/rpc/client.ts'
import type { Work } from '../../lib/async/work.ts'
import { type Finding, okFinding, warningFinding } from '../../lib/finding.ts'

/** Numbers of blocks of logs to request at once, largest first. */
const WIDTHS = [100_000n, 10_000n, 2_000n, 500n, 100n, 10n, 1n] as const
const WIDTH_RECOMMENDED = 10_000n
/** The first block that can have logs. */
const FIRST_BLOCK = 1n
const STATE_COST =
  'at_block, at_time, daily snapshots and prices of older blocks are 503 unless another endpoint has them'
const LOGS_COST = 'events and profit and loss cannot be indexed from it'

/** Examines how far back the endpoint keeps state. Unclear results count as no. */
export async function examineState(endpoint: Endpoint, head: bigint, work: Work): Promise<Finding> {
  const depth = await readStateDepth(endpoint, head, work)
  if (depth === 'all') return okFinding('past state', 'all blocks (archive)')
  const found = depth === 0n ? 'none' : `at least ${formatThousands(depth)} blocks`
  return warningFinding('past state', found, STATE_COST)
}

/** Examines how many blocks of logs the endpoint returns at once, near the newest block. */
export async function examineLogs(endpoint: Endpoint, head: bigint, work: Work): Promise<Finding> {
  for (const width of WIDTHS) {
    const fromBlock = head > width ? head - width + 1n : 0n
    if (!(await isAnswered(readLogs(endpoint, { fromBlock, toBlock: head }, work), work.signal))) continue
    const blocks = head - fromBlock + 1n
    const found = `${formatThousands(blocks)} blocks at once${width === WIDTHS[0] ? ', or more' : ''}`
    if (width >= WIDTH_RECOMMENDED) return okFinding('logs', found)
    return warningFinding(
      'logs',
      found,
      `indexing takes about ${formatThousands(WIDTH_RECOMMENDED / width)} times the requests`,
    )
  }
  return warningFinding('logs', 'none', LOGS_COST)
}

/** Examines whether the endpoint still has logs of the first blocks. */
export async function examineOldLogs(endpoint: Endpoint, work: Work): Promise<Finding> {
  const request = readLogs(endpoint, { fromBlock: FIRST_BLOCK, toBlock: FIRST_BLOCK }, work)
  if (await isAnswered(request, work.signal)) return okFinding('old logs', 'yes')
  return warningFinding('old logs', 'no', `older events are unavailable: ${LOGS_COST}`)
}

function readLogs(
  endpoint: Endpoint,
  { fromBlock, toBlock }: { readonly fromBlock: bigint; readonly toBlock: bigint },
  work: Work,
): Promise<number> {
  const filter = { address: UNUSED_ADDRESS, fromBlock: toHex(fromBlock), toBlock: toHex(toBlock) }
  return endpoint.request({ method: 'eth_getLogs', params: [filter], parse: countItems }, work)
}

function countItems(result: unknown): number {
  if (!Array.isArray(result)) throw new TypeError('Cannot read the logs: expected a list')
  return result.length
}

async function isAnswered(request: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  return (await tryAnswer(request, signal)) !== undefined
}

/** Awaits a request; undefined if it fails, for any reason but an abort. */
export async function tryAnswer<T>(request: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  try {
    return await request
  } catch (error) {
    if (signal.aborted) throw error
    return undefined
  }
}

/** Formats a number with a comma between thousands. */
export function formatThousands(count: bigint): string {
  return count.toLocaleString('en')
}
