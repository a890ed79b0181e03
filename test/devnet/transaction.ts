import type { Address, Hex } from 'viem'
import type { Rpc } from './rpc.ts'

/** Above what any of our calls needs, below what a block holds. */
const GAS_LIMIT = 15_000_000
const BLOCKS_MAX = 2_000

export interface Transaction {
  readonly from: Address
  /** Absent: creates a contract. */
  readonly to?: Address
  readonly data: Hex
  /** Wei. @default 0 */
  readonly value?: bigint
}

export interface Log {
  readonly address: Address
  readonly topics: readonly Hex[]
  readonly data: Hex
}

export interface Receipt {
  readonly transactionHash: Hex
  readonly blockNumber: Hex
  readonly contractAddress: Address | null
  readonly status: Hex
  readonly logs: readonly Log[]
}

/**
 * Sends transactions in the order given, as few blocks as they fit in; throws the first revert, with its reason, unless
 * they may revert: the receipt then shows which did.
 */
export type Send = (
  transactions: readonly Transaction[],
  options?: { readonly mayRevert?: boolean },
) => Promise<Receipt[]>

/** Groups of concurrent callers are mined one after another, so transactions of different callers never mix. */
export function createSend(rpc: Rpc): Send {
  let last: Promise<unknown> = Promise.resolve()
  return (transactions, { mayRevert = false } = {}) => {
    const result = last.then(() => sendAll(rpc, transactions, mayRevert))
    last = result.catch(() => undefined)
    return result
  }
}

async function sendAll(rpc: Rpc, transactions: readonly Transaction[], mayRevert: boolean): Promise<Receipt[]> {
  if (transactions.length === 0) return []
  const nonces = await readNonces(rpc, transactions)
  await rpc.call('evm_setAutomine', false)
  try {
    const hashes = await rpc.batch<Hex>(
      transactions.map(({ from, to, data, value = 0n }) => {
        const nonce = nonces.get(from) ?? 0
        nonces.set(from, nonce + 1)
        const request = { from, to, data, value: quantity(value), gas: quantity(GAS_LIMIT), gasPrice: '0x0' }
        return { method: 'eth_sendTransaction', params: [{ ...request, nonce: quantity(nonce) }] }
      }),
    )
    const receipts = await mine(rpc, hashes)
    const failed = receipts.findIndex((receipt) => receipt.status !== '0x1')
    if (failed >= 0 && !mayRevert)
      throw await revertReason(rpc, receipts[failed]?.transactionHash, transactions[failed])
    return receipts
  } finally {
    await rpc.call('evm_setAutomine', true)
  }
}

async function readNonces(rpc: Rpc, transactions: readonly Transaction[]): Promise<Map<Address, number>> {
  const senders = [...new Set(transactions.map(({ from }) => from))]
  const counts = await rpc.batch<Hex>(
    senders.map((sender) => ({ method: 'eth_getTransactionCount', params: [sender, 'pending'] })),
  )
  return new Map(senders.map((sender, index) => [sender, Number(counts[index])]))
}

async function mine(rpc: Rpc, hashes: readonly Hex[]): Promise<Receipt[]> {
  const mined = new Map<Hex, Receipt>()
  for (let blocks = 0; blocks < BLOCKS_MAX; blocks++) {
    await rpc.call('evm_mine')
    const receipts = await rpc.call<Receipt[]>('eth_getBlockReceipts', 'latest')
    for (const receipt of receipts) mined.set(receipt.transactionHash, receipt)
    const wanted = hashes.map((hash) => mined.get(hash))
    if (wanted.every((receipt) => receipt !== undefined)) return wanted
  }
  throw new Error(`Cannot mine ${hashes.length} transactions: not done within ${BLOCKS_MAX} blocks`)
}

async function revertReason(rpc: Rpc, hash: Hex | undefined, transaction: Transaction | undefined): Promise<Error> {
  const trace = await rpc.call<{ readonly returnValue?: string }>('debug_traceTransaction', hash, {
    disableStorage: true,
    disableStack: true,
    disableMemory: true,
  })
  const reason = Buffer.from((trace.returnValue ?? '').replace(/^0x/, ''), 'hex')
    .toString('latin1')
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
  return new Error(
    `Cannot send ${transaction?.data.slice(0, 10)} from ${transaction?.from} to ${transaction?.to}: reverted "${reason}"`,
  )
}

function quantity(value: bigint | number): Hex {
  return `0x${value.toString(16)}`
}
