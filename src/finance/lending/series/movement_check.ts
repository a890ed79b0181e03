import type { Address } from 'viem'
import type { PinnedBlock } from '../../../chain/block.ts'
import type { QuorumResult } from '../../../chain/past/quorum.ts'
import type { SnapshotMarket } from './market.ts'

/** Wallets in one question: one that never moved anything costs about 300,000 gas, in a market of 60 reserves. */
const WALLETS_MAX = 100

/** A question that has not been sent yet. */
interface Group {
  readonly wallets: Address[]
  readonly answer: Promise<QuorumResult<readonly boolean[]>>
}

/**
 * Makes what tells whether a wallet ever had a token movement in a market, up to a past block or the newest one, and how
 * many different endpoints say so. It asks for all wallets at once that want to know about the same block in the same
 * turn. Throws as the market.
 */
export function createMovementCheck() {
  const groups = new Map<string, Group>()

  function begin(key: string, market: SnapshotMarket, block: PinnedBlock | undefined): Group {
    const wallets: Address[] = []
    const sent = new Promise<void>((resolve) => setTimeout(resolve, 0))
    const answer = sent.then(() => {
      if (groups.get(key) === group) groups.delete(key)
      // Not the signal of one of those who ask: the others still wait.
      return market.movedBy(block, wallets, new AbortController().signal)
    })
    const group: Group = { wallets, answer }
    groups.set(key, group)
    return group
  }

  return async (
    market: SnapshotMarket,
    { wallet, block }: { readonly wallet: Address; readonly block?: PinnedBlock },
  ): Promise<{ readonly hasMoved: boolean; readonly witnesses: number }> => {
    const key = `${market.chainId}:${market.name}:${block?.hash ?? ''}`
    const open = groups.get(key)
    const group = open !== undefined && open.wallets.length < WALLETS_MAX ? open : begin(key, market, block)
    const at = group.wallets.push(wallet) - 1
    const { value, endpoints } = await group.answer
    return { hasMoved: value[at] === true, witnesses: endpoints.length }
  }
}
