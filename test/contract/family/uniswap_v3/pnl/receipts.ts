import { type Address, decodeEventLog, type Hex, parseAbi } from 'viem'
import { UNISWAP_V3 } from '../../../../devnet/addresses.ts'
import type { Rpc } from '../../../../devnet/rpc.ts'

/** One of the manager's events about a position, decoded by viem from a receipt. */
export interface ReceiptFlow {
  readonly tokenId: bigint
  readonly kind: 'increase' | 'decrease' | 'collect'
  readonly blockNumber: number
  readonly logIndex: number
  readonly transactionHash: Hex
  readonly timestampSec: bigint
  readonly liquidity: bigint
  readonly amount0: bigint
  readonly amount1: bigint
}

interface Receipt {
  readonly transactionHash: Hex
  readonly logs: readonly {
    readonly address: Address
    readonly topics: [Hex, ...Hex[]]
    readonly data: Hex
    readonly logIndex: Hex
  }[]
}

const ABI = parseAbi([
  'event IncreaseLiquidity(uint256 indexed tokenId, uint128 liquidity, uint256 amount0, uint256 amount1)',
  'event DecreaseLiquidity(uint256 indexed tokenId, uint128 liquidity, uint256 amount0, uint256 amount1)',
  'event Collect(uint256 indexed tokenId, address recipient, uint256 amount0, uint256 amount1)',
])
const KINDS = { IncreaseLiquidity: 'increase', DecreaseLiquidity: 'decrease', Collect: 'collect' } as const

/** All flows of a manager from the receipts of every block up to `toBlock`, by token id, in order. */
export async function flowsFromReceipts(
  rpc: Rpc,
  { toBlock, manager = UNISWAP_V3.manager }: { readonly toBlock: bigint; readonly manager?: Address },
): Promise<ReadonlyMap<bigint, readonly ReceiptFlow[]>> {
  const numbers = Array.from({ length: Number(toBlock) + 1 }, (_, number) => number)
  const ask = <T>(method: string, ...rest: readonly unknown[]) =>
    rpc.batch<T>(numbers.map((number) => ({ method, params: [`0x${number.toString(16)}`, ...rest] })))
  const blocks = await ask<Receipt[]>('eth_getBlockReceipts')
  const headers = await ask<{ readonly timestamp: Hex }>('eth_getBlockByNumber', false)
  const flows = new Map<bigint, ReceiptFlow[]>()
  for (const blockNumber of numbers) {
    const timestampSec = BigInt(headers[blockNumber]?.timestamp ?? 0)
    for (const { transactionHash, logs } of blocks[blockNumber] ?? []) {
      for (const { address, topics, data, logIndex } of logs) {
        if (address.toLowerCase() !== manager.toLowerCase()) continue
        const event = decoded(topics, data)
        if (event === undefined) continue
        const { tokenId, amount0, amount1 } = event.args
        const flow = {
          tokenId,
          kind: KINDS[event.eventName],
          blockNumber,
          logIndex: Number(logIndex),
          transactionHash,
          timestampSec,
          amount0,
          amount1,
          liquidity: 'liquidity' in event.args ? event.args.liquidity : 0n,
        }
        flows.set(tokenId, [...(flows.get(tokenId) ?? []), flow])
      }
    }
  }
  return flows
}

function decoded(topics: [Hex, ...Hex[]], data: Hex) {
  try {
    return decodeEventLog({ abi: ABI, topics, data })
  } catch {
    // A transfer or an approval.
    return undefined
  }
}
