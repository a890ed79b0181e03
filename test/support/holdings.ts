import type { Address } from 'viem'
import type { PinnedBlock } from '../../src/chain/block.ts'
import type { Holdings, HoldingsReader } from '../../src/family/holding.ts'
import type { FinanceClient } from '../../src/finance/chain.ts'
import { createWork } from '../../src/lib/async/work.ts'

/** What a wallet holds in a family on one chain, as a portfolio asks for it; undefined if nothing stood there. */
export async function readHoldings(
  reader: HoldingsReader,
  client: FinanceClient,
  { wallet, block, positionsMax = 2_000 }: HoldingsAsked,
): Promise<Holdings | undefined> {
  const work = createWork(new AbortController().signal)
  const ask = await reader.open(wallet, { client, ...(block && { block }) }, work)
  if (ask === undefined) return undefined
  return await client.read((endpoint, within) => ask({ endpoint, block, positionsMax }, within), {
    work,
    budgetMs: 60_000,
    ...(block && { past: block }),
  })
}

interface HoldingsAsked {
  readonly wallet: Address
  readonly block?: PinnedBlock
  readonly positionsMax?: number
}
