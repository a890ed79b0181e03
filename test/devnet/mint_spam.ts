import { type Address, encodeFunctionData, parseAbi } from 'viem'
import { BANK, UNISWAP_V3 } from './addresses.ts'
import type { Builder } from './scenario.ts'
import { fullRange } from './ticks.ts'
import { mintCall, type Pool } from './uniswap_v3_calls.ts'
import { inWideBlocks } from './wide_blocks.ts'

const ABI = parseAbi(['function multicall(bytes[] data) payable returns (bytes[] results)'])
/** About ten million gas. */
const MINTS_PER_TRANSACTION = 50
/** More at once only make the node slower. */
const TRANSACTIONS_AT_ONCE = 40

/** Mints a wallet `count` (a multiple of 50) small full-range positions in one pool, cheaply, as spammers do. */
export async function mintSpamPositions(
  { send, rpc }: Pick<Builder, 'send' | 'rpc'>,
  { wallet, pool, count }: { readonly wallet: Address; readonly pool: Pool; readonly count: number },
): Promise<void> {
  if (count % MINTS_PER_TRANSACTION !== 0) throw new Error(`Cannot mail ${count} positions: expected a multiple of 50`)
  const mint = mintCall({ pool, ...fullRange(pool), amount0: 1_000n, amount1: 1_000n, recipient: wallet })
  const calls = Array.from({ length: MINTS_PER_TRANSACTION }, () => mint.data)
  const data = encodeFunctionData({ abi: ABI, functionName: 'multicall', args: [calls] })
  await inWideBlocks(rpc, async () => {
    for (let left = count / MINTS_PER_TRANSACTION; left > 0; left -= TRANSACTIONS_AT_ONCE) {
      const transactions = Array.from({ length: Math.min(left, TRANSACTIONS_AT_ONCE) }, () => ({
        from: BANK,
        to: UNISWAP_V3.manager,
        data,
      }))
      await send(transactions)
    }
  })
}
