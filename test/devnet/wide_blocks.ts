import type { Rpc } from './rpc.ts'

const GAS = 60_000_000
const WIDE_GAS = 1_000_000_000

/**
 * Does `work` while a block holds many times what one of mainnet holds: the node works out its whole state for each
 * block, so that many transactions cost a fraction in one.
 */
export async function inWideBlocks<T>(rpc: Rpc, work: () => Promise<T>): Promise<T> {
  const set = (gas: number) => rpc.call('evm_setBlockGasLimit', `0x${gas.toString(16)}`)
  await set(WIDE_GAS)
  return work().finally(() => set(GAS))
}
