import { type Address, encodeFunctionData, type Hex, parseAbi, zeroAddress } from 'viem'
import { toWalletAddress } from '../addresses.ts'
import type { RpcCall } from '../rpc.ts'
import { burnCall, type V4Change } from './calls.ts'
import type { Node } from './place.ts'

/** Raw units of currency 0 and 1. */
export interface Paid {
  readonly amount0: bigint
  readonly amount1: bigint
}

const ABI = parseAbi(['function balanceOf(address owner) view returns (uint256)'])

/** Each burn pays an address of its own, so that what arrived is what it paid. */
export async function realBurns(
  { rpc, send }: Node,
  changes: readonly V4Change[],
  toCall: typeof burnCall = burnCall,
): Promise<(Paid | null)[]> {
  const snapshot = await rpc.call<Hex>('evm_snapshot')
  try {
    const receipts = await send(
      changes.map((change) => toCall({ ...change, to: getReceiver(change) })),
      { mayRevert: true },
    )
    const balances = await rpc.batch<Hex>(
      changes.flatMap((change) =>
        [change.pool.key.currency0, change.pool.key.currency1].map((currency) =>
          balanceCall(currency, getReceiver(change)),
        ),
      ),
    )
    return receipts.map(({ status }, index) =>
      status === '0x1'
        ? { amount0: BigInt(balances[2 * index] ?? 0), amount1: BigInt(balances[2 * index + 1] ?? 0) }
        : null,
    )
  } finally {
    await rpc.call('evm_revert', snapshot)
  }
}

function getReceiver({ tokenId }: V4Change): Address {
  return toWalletAddress(`v4 receiver of ${tokenId}`)
}

function balanceCall(currency: Address, holder: Address): RpcCall {
  if (currency === zeroAddress) return { method: 'eth_getBalance', params: [holder, 'latest'] }
  const data = encodeFunctionData({ abi: ABI, functionName: 'balanceOf', args: [holder] })
  return { method: 'eth_call', params: [{ to: currency, data }, 'latest'] }
}
