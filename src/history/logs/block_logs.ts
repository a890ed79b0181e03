import { type Hex, toHex } from 'viem'
import type { BlockClaim } from '../../chain/receipt/header.ts'
import {
  computeReceiptsRoot,
  parseRawTransactionReceipt,
  type RawTransactionReceipt,
} from '../../chain/receipt/receipts_root.ts'
import { type Endpoint, RpcRefusedError } from '../../chain/rpc/client.ts'
import { hasFault } from '../../chain/rpc/error.ts'
import { allOrAbort } from '../../lib/async/parallel.ts'
import type { Work } from '../../lib/async/work.ts'
import type { HistoryLog } from '../stream.ts'

/** All logs of a block, and the root of the receipts that hold them. */
export interface BlockLogs {
  readonly root: Hex
  readonly logs: readonly HistoryLog[]
}

/** An endpoint's claim about the block with this number. */
export type NumberedClaim = BlockClaim & { readonly number: number }

/** Time limits of the receipts of a block and of one transaction, milliseconds. */
const BLOCK_MS = 10_000
const RECEIPT_MS = 3_000
/** Maximum number of receipts read one by one, if a block's receipts are not served at once, and how many at a time. */
const RECEIPTS_MAX = 400
const RECEIPTS_AT_ONCE = 8

/**
 * Reads the receipts of a block's transactions. The fields of a log that the receipts' root does not cover are derived
 * from its position in the block. Undefined if the endpoint does not return all receipts, or they are too many. Throws
 * as `Endpoint.request`.
 */
export async function readBlockLogs(
  endpoint: Pick<Endpoint, 'request'>,
  block: NumberedClaim,
  work: Work,
): Promise<BlockLogs | undefined> {
  const { transactions } = block
  const receipts =
    (await readBlockReceipts(endpoint, block.number, work)) ??
    (await readReceiptsOneByOne(endpoint, transactions, work))
  if (receipts === undefined || receipts.length !== transactions.length) return undefined
  const logs: HistoryLog[] = []
  for (const [transactionIndex, receipt] of receipts.entries()) {
    for (const { address, topics, data } of receipt.logs) {
      const transactionHash = transactions[transactionIndex] ?? '0x'
      logs.push({
        address,
        topics,
        data,
        blockNumber: block.number,
        blockHash: block.hash,
        transactionHash,
        transactionIndex,
        logIndex: logs.length,
        timestampSec: null,
      })
    }
  }
  return { root: computeReceiptsRoot(receipts), logs }
}

async function readBlockReceipts(
  endpoint: Pick<Endpoint, 'request'>,
  number: number,
  work: Work,
): Promise<readonly RawTransactionReceipt[] | undefined> {
  const parse = (result: unknown) => (Array.isArray(result) ? result.map(parseRawTransactionReceipt) : undefined)
  const request = { method: 'eth_getBlockReceipts', params: [toHex(number)], parse, timeoutMs: BLOCK_MS }
  try {
    return await endpoint.request(request, work)
  } catch (error) {
    if (error instanceof RpcRefusedError || hasFault(error, 'too_large')) return undefined
    throw error
  }
}

async function readReceiptsOneByOne(
  endpoint: Pick<Endpoint, 'request'>,
  transactions: readonly Hex[],
  work: Work,
): Promise<readonly RawTransactionReceipt[] | undefined> {
  if (transactions.length > RECEIPTS_MAX) return undefined
  const parse = (result: unknown) => (result === null ? undefined : parseRawTransactionReceipt(result))
  const receipts: RawTransactionReceipt[] = []
  for (let offset = 0; offset < transactions.length; offset += RECEIPTS_AT_ONCE) {
    const chunk = await allOrAbort(
      transactions.slice(offset, offset + RECEIPTS_AT_ONCE).map((hash) => (within: Work) => {
        const request = { method: 'eth_getTransactionReceipt', params: [hash], parse, timeoutMs: RECEIPT_MS }
        return endpoint.request(request, within)
      }),
      work,
    )
    for (const receipt of chunk) {
      if (receipt === undefined) return undefined
      receipts.push(receipt)
    }
  }
  return receipts
}
