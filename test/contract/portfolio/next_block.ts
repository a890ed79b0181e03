import { type Address, type Hex, toHex } from 'viem'
import { UNISWAP_V3 } from '../../devnet/addresses.ts'
import type { Devnet } from '../../devnet/mod.ts'
import type { Transaction } from '../../devnet/transaction.ts'
import { collectCall, decreaseLiquidityCall, MANAGER_ABI, multicall } from '../../devnet/uniswap_v3_calls.ts'

/** Seconds between a block and the next. */
const BLOCK_SEC = 12n

/**
 * Reads at an empty block after the newest, which is undone: transactions in its place are in another block of the same
 * number and time.
 */
export async function readInNextBlock<T>(
  { rpc, client }: Pick<Devnet, 'rpc' | 'client'>,
  read: () => Promise<T>,
): Promise<{ readonly found: T; readonly timeSec: bigint }> {
  const before = await rpc.call<Hex>('evm_snapshot')
  const { timestamp } = await client.getBlock()
  const timeSec = timestamp + BLOCK_SEC
  await rpc.call('evm_setNextBlockTimestamp', toHex(timeSec))
  await rpc.call('evm_mine')
  const found = await read()
  await rpc.call('evm_revert', before)
  return { found, timeSec }
}

/** What the owner of a position of Uniswap V3 sends to collect what is owed, and to withdraw all, if it has liquidity. */
export async function listWithdrawals(
  { client }: Pick<Devnet, 'client'>,
  { owner, tokenId }: { readonly owner: Address; readonly tokenId: bigint },
): Promise<{ readonly collect: Transaction; readonly all: Transaction | undefined }> {
  const args = [tokenId] as const
  const address = UNISWAP_V3.manager
  const state = await client.readContract({ address, abi: MANAGER_ABI, functionName: 'positions', args })
  const [collect, liquidity] = [collectCall({ tokenId, owner }), state[7]]
  if (liquidity === 0n) return { collect, all: undefined }
  return { collect, all: multicall([decreaseLiquidityCall({ tokenId, owner, liquidity }), collect]) }
}
