import type { Address } from 'viem'
import type { PinnedBlock } from '../../../chain/block.ts'
import { StatePrunedError } from '../../../chain/rpc/client.ts'
import { readInHalves } from '../../../lib/async/halves.ts'
import type { SnapshotMarket } from './market.ts'

/** Wallets in one call: one without movements costs about 300,000 gas in a market of 60 reserves. */
const WALLETS_MAX = 100

interface WalletMovement {
  readonly hasMoved: boolean
  readonly witnesses: number
}

/** A call that has not been sent yet. */
interface Group {
  readonly wallets: Address[]
  readonly answers: Promise<readonly PromiseSettledResult<WalletMovement>[]>
}

/**
 * Creates a check whether a wallet ever had a token movement in a market, up to a past block or the newest one;
 * `witnesses` counts the endpoints that agree. Wallets of the same block and event-loop turn share a call, and one that
 * makes it fail fails alone. Throws as `SnapshotMarket.readMovements`.
 */
export function createMovementCheck() {
  const groups = new Map<string, Group>()

  function startGroup(key: string, market: SnapshotMarket, block: PinnedBlock | undefined): Group {
    const wallets: Address[] = []
    const sent = new Promise<void>((resolve) => setImmediate(resolve))
    const answers = sent.then(() => {
      if (groups.get(key) === group) groups.delete(key)
      return readInHalves(wallets, readPart, (error) => error instanceof StatePrunedError)
    })
    async function readPart(part: readonly Address[]): Promise<readonly WalletMovement[]> {
      // A signal of its own: one caller's abort must not end the call of the others.
      const { value, endpoints } = await market.readMovements(block, part, new AbortController().signal)
      return part.map((_, index) => ({ hasMoved: value[index] === true, witnesses: endpoints.length }))
    }
    const group: Group = { wallets, answers }
    groups.set(key, group)
    return group
  }

  return async (
    market: SnapshotMarket,
    { wallet, block }: { readonly wallet: Address; readonly block?: PinnedBlock },
  ): Promise<WalletMovement> => {
    const key = `${market.chainId}:${market.name}:${block?.hash ?? ''}`
    const openGroup = groups.get(key)
    const group =
      openGroup !== undefined && openGroup.wallets.length < WALLETS_MAX ? openGroup : startGroup(key, market, block)
    const at = group.wallets.push(wallet) - 1
    const answer = (await group.answers)[at]
    if (answer?.status !== 'fulfilled') throw answer?.reason
    return answer.value
  }
}
