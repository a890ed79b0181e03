import type { Address } from 'viem'
import { amounts, type Builder, type Scenario } from './scenario.ts'
import { rangeAround } from './ticks.ts'
import { inWideBlocks } from './wide_blocks.ts'

const WIDTHS = [120, 600, 2400, 9000]
const CENTRES = [0, -300, 300, -20_000, 20_000]

/** Mints a wallet `count` positions, spread over the demo's pools, in and out of range; returns their ids. */
export async function mintMany(
  { v3, rpc }: Builder,
  { scenario, wallet, count }: { readonly scenario: Scenario; readonly wallet: Address; readonly count: number },
): Promise<bigint[]> {
  const pools = Object.values(scenario.pools)
  const pick = <T>(values: readonly T[], index: number): T => values[index % values.length] as T
  const requests = Array.from({ length: count }, (_, index) => {
    const pool = pick(pools, index)
    const centre = pick(CENTRES, index)
    const width = pick(WIDTHS, index)
    const range = rangeAround(pool, centre - width, centre + width)
    return { pool, ...range, ...amounts(pool, 100 + index), recipient: wallet }
  })
  const minted = await inWideBlocks(rpc, () => v3.mintMany(requests))
  return minted.map(({ tokenId }) => tokenId)
}
