import type { Address } from 'viem'
import type { PinnedBlock } from '../../../chain/block.ts'
import type { QuorumResult } from '../../../chain/past/quorum.ts'
import type { SnapshotMarket } from './market.ts'

/** Wallets in one call: one without movements costs about 300,000 gas in a market of 60 reserves. */
const WALLETS_MAX = 100

/** A call that has not been sent yet. */
interface Group {
  readonly wallets: Address[]
  readonly answer: Promise<QuorumResult<readonly boolean[]>>
}

/**
 * Creates a check whether a wallet ever had a token movement in a market, up to a past block or the newest one;
 * `witnesses` counts the endpoints that agree. Wallets of the same block and event-loop turn share a call. Throws as
 * `SnapshotMarket.readMovements`.
 */
export function createMovementCheck() {
  const groups = new Map<string, Group>()

  function startGroup(key: string, market: SnapshotMarket, block: PinnedBlock | undefined): Group {
    const wallets: Address[] = []
    const sent = new Promise<void>((resolve) => setImmediate(resolve))
    const answer = sent.then(() => {
      if (groups.get(key) === group) groups.delete(key)
      // A signal of its own: one caller's abort must not end the call of the others.
      return market.readMovements(block, wallets, new AbortController().signal)
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
    const openGroup = groups.get(key)
    const group =
      openGroup !== undefined && openGroup.wallets.length < WALLETS_MAX ? openGroup : startGroup(key, market, block)
    const at = group.wallets.push(wallet) - 1
    const { value, endpoints } = await group.answer
    return { hasMoved: value[at] === true, witnesses: endpoints.length }
  }
}
