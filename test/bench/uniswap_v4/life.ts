import { askAbout, createLifeProcesses } from '../../contract/family/uniswap_v4/pnl/scene.ts'
import { toWalletAddress } from '../../devnet/addresses.ts'
import type { Devnet } from '../../devnet/mod.ts'
import { rangeAround } from '../../devnet/ticks.ts'
import { collectCall, decreaseCall, increaseCall, swapCall } from '../../devnet/uniswap_v4/calls.ts'
import { liquidityWorth, usdToRaw } from '../../devnet/uniswap_v4/pools.ts'
import type { FaultyRpc } from '../../support/rpc.ts'
import { printTable } from '../table.ts'

/** Blocks between two flows: so near that logs of all are asked for at once, and so far that those of each are. */
const GAPS = [40, 700] as const
const USD = 5_000
const FINAL_BLOCKS = 8

/** What profit and loss of ten flows takes the first time, and after. */
export async function benchLife(
  devnet: Devnet,
  { faulty, awayMs }: { readonly faulty: FaultyRpc; readonly awayMs: number },
): Promise<void> {
  const v4 = await devnet.uniswapV4()
  const owner = toWalletAddress('v4 bench life')
  await v4.fund([owner])
  const pool = v4.pools.plain
  const range = rangeAround(pool, -1_200, 1_200)
  const liquidity = liquidityWorth(pool, { ...range, usd: USD })
  const swap = (zeroForOne: boolean) =>
    swapCall({ pool, zeroForOne, amountIn: usdToRaw(pool.currencies[zeroForOne ? 0 : 1], 4 * USD) })
  const pass = (blocks: number) => devnet.rpc.call('anvil_mine', `0x${blocks.toString(16)}`)
  const rows: string[][] = []
  for (const gap of GAPS) {
    const tokenId = await v4.mint({ pool, ...range, liquidity, recipient: owner })
    const change = { tokenId, pool, owner }
    for (let round = 0; round < 3; round++) {
      await devnet.send([swap(true), swap(false)])
      for (const act of [
        increaseCall({ ...change, liquidity: liquidity / 9n }),
        decreaseCall({ ...change, liquidity: liquidity / 10n }),
        collectCall(change),
      ]) {
        await devnet.send([act])
        await pass(gap)
      }
    }
    await pass(FINAL_BLOCKS)
    const processes = createLifeProcesses(devnet)
    const { pnl } = await processes.start({ chain: { rpcUrls: [faulty.url] } })
    for (const when of ['the first time', 'after']) {
      faulty.reset()
      faulty.rule(() => ({ kind: 'delay', ms: awayMs }))
      const startedMs = performance.now()
      await askAbout(pnl, tokenId)
      const tookMs = performance.now() - startedMs
      faulty.rule(() => undefined)
      const goal = when === 'after' ? '0 of history' : '≤ 35, ≤ 1,000'
      rows.push([`${gap} blocks apart, ${when}`, String(faulty.seen.length), tookMs.toFixed(0), goal])
    }
    await processes.close()
  }
  printTable(['profit and loss of 10 flows', 'requests', 'ms', 'goal'], rows)
}
