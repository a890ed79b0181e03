import { type Hex, toHex } from 'viem'
import type { Endpoint } from '../../chain/rpc/client.ts'
import { parseQuantity } from '../../chain/rpc/value.ts'
import { type Finding, good, lacking } from '../../lib/finding.ts'

/** No key has this address, and no contract emits from it: questions about it are cheap. */
export const UNUSED_ADDRESS: Hex = '0x77616c6c657473636f70652d2d2d2d2d2d6e6f6e'
/** How many blocks back state is asked for; then the first block. */
const DEPTHS = [100n, 1_000n, 10_000n, 100_000n, 1_000_000n] as const
const FIRST_BLOCK = 1n
/** How many blocks of logs are asked for at once, most first. */
const WIDTHS = [100_000n, 10_000n, 2_000n, 500n, 100n, 10n, 1n] as const
const WIDTH_WANTED = 10_000n
const STATE_COST =
  'at_block, at_time, daily snapshots and prices of older blocks are 503 unless another endpoint has them'
const LOGS_COST = 'events and profit and loss cannot be indexed from it'

/** How far back the endpoint keeps state. Doubts count as no. */
export async function examineState(endpoint: Endpoint, head: bigint, signal: AbortSignal): Promise<Finding> {
  const has = (block: bigint) =>
    answers(
      endpoint.request(
        { method: 'eth_getBalance', params: [UNUSED_ADDRESS, toHex(block)], parse: parseQuantity },
        signal,
      ),
      signal,
    )
  const depth = await depthOf(head, has)
  if (depth === 'all') return good('past state', 'of every block')
  const found = depth === 0n ? 'none' : `of the last ${grouped(depth)} blocks, or some more`
  return lacking('past state', found, STATE_COST)
}

/** How many blocks back something holds, the newest not asked; `all` if it holds at the first block. */
export async function depthOf(head: bigint, holds: (block: bigint) => Promise<boolean>): Promise<bigint | 'all'> {
  if (await holds(FIRST_BLOCK < head ? FIRST_BLOCK : head)) return 'all'
  let deepest = 0n
  for (const depth of DEPTHS) {
    if (depth >= head || !(await holds(head - depth))) break
    deepest = depth
  }
  return deepest
}

/** How many blocks of logs the endpoint gives at once, near the newest. */
export async function examineLogs(endpoint: Endpoint, head: bigint, signal: AbortSignal): Promise<Finding> {
  for (const width of WIDTHS) {
    const fromBlock = head > width ? head - width + 1n : 0n
    if (!(await answers(readLogs(endpoint, { fromBlock, toBlock: head }, signal), signal))) continue
    const asked = head - fromBlock + 1n
    const found = `${grouped(asked)} blocks at once${width === WIDTHS[0] ? ', or more' : ''}`
    if (width >= WIDTH_WANTED) return good('logs', found)
    return lacking('logs', found, `indexing takes about ${grouped(WIDTH_WANTED / width)} times the requests`)
  }
  return lacking('logs', 'none', LOGS_COST)
}

/** Whether the endpoint still has logs of the first blocks. */
export async function examineOldLogs(endpoint: Endpoint, signal: AbortSignal): Promise<Finding> {
  const asked = readLogs(endpoint, { fromBlock: FIRST_BLOCK, toBlock: FIRST_BLOCK }, signal)
  if (await answers(asked, signal)) return good('old logs', 'yes')
  return lacking('old logs', 'no', `what happened before it begins: ${LOGS_COST}`)
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
  return (await answerOf(question, signal)) !== undefined
}

/** Undefined if the endpoint gives no answer, for whatever reason. */
export async function answerOf<T>(question: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  try {
    return await question
  } catch (error) {
    if (signal.aborted) throw error
    return undefined
  }
}

/** A number with a comma between thousands. */
export function grouped(count: bigint): string {
  return count.toLocaleString('en')
}
