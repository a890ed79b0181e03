import { toHex } from 'viem'
import { readStateDepth, UNUSED_ADDRESS } from '../../chain/past/state_depth.ts'
import type { Endpoint } from '../../chain/rpc/client.ts'
import { type Finding, okFinding, warningFinding } from '../../lib/finding.ts'

/** How many blocks of logs are asked for at once, most first. */
const WIDTHS = [100_000n, 10_000n, 2_000n, 500n, 100n, 10n, 1n] as const
const WIDTH_WANTED = 10_000n
/** The first block that has logs. */
const FIRST_BLOCK = 1n
const STATE_COST =
  'at_block, at_time, daily snapshots and prices of older blocks are 503 unless another endpoint has them'
const LOGS_COST = 'events and profit and loss cannot be indexed from it'

/** How far back the endpoint keeps state. Doubts count as no. */
export async function examineState(endpoint: Endpoint, head: bigint, signal: AbortSignal): Promise<Finding> {
  const depth = await readStateDepth(endpoint, head, signal)
  if (depth === 'all') return okFinding('past state', 'of every block')
  const found = depth === 0n ? 'none' : `of the last ${formatThousands(depth)} blocks, or some more`
  return warningFinding('past state', found, STATE_COST)
}

/** How many blocks of logs the endpoint gives at once, near the newest. */
export async function examineLogs(endpoint: Endpoint, head: bigint, signal: AbortSignal): Promise<Finding> {
  for (const width of WIDTHS) {
    const fromBlock = head > width ? head - width + 1n : 0n
    if (!(await answers(readLogs(endpoint, { fromBlock, toBlock: head }, signal), signal))) continue
    const asked = head - fromBlock + 1n
    const found = `${formatThousands(asked)} blocks at once${width === WIDTHS[0] ? ', or more' : ''}`
    if (width >= WIDTH_WANTED) return okFinding('logs', found)
    return warningFinding(
      'logs',
      found,
      `indexing takes about ${formatThousands(WIDTH_WANTED / width)} times the requests`,
    )
  }
  return warningFinding('logs', 'none', LOGS_COST)
}

/** Whether the endpoint still has logs of the first blocks. */
export async function examineOldLogs(endpoint: Endpoint, signal: AbortSignal): Promise<Finding> {
  const asked = readLogs(endpoint, { fromBlock: FIRST_BLOCK, toBlock: FIRST_BLOCK }, signal)
  if (await answers(asked, signal)) return okFinding('old logs', 'yes')
  return warningFinding('old logs', 'no', `what happened before it begins: ${LOGS_COST}`)
}

function readLogs(
  endpoint: Endpoint,
  { fromBlock, toBlock }: { readonly fromBlock: bigint; readonly toBlock: bigint },
  signal: AbortSignal,
): Promise<number> {
  const filter = { address: UNUSED_ADDRESS, fromBlock: toHex(fromBlock), toBlock: toHex(toBlock) }
  return endpoint.request({ method: 'eth_getLogs', params: [filter], parse: lengthOf }, signal)
}

function lengthOf(result: unknown): number {
  if (!Array.isArray(result)) throw new TypeError('Cannot read the logs: expected a list')
  return result.length
}

async function answers(question: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  return (await tryAnswer(question, signal)) !== undefined
}

/** Undefined if the endpoint gives no answer, for whatever reason. */
export async function tryAnswer<T>(question: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  try {
    return await question
  } catch (error) {
    if (signal.aborted) throw error
    return undefined
  }
}

/** A number with a comma between thousands. */
export function formatThousands(count: bigint): string {
  return count.toLocaleString('en')
}
