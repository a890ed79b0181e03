import type { Address } from 'viem'
import type { Agreed } from '../../../../chain/past/quorum.ts'
import type { LendingReader, Place } from '../read.ts'
import { marketOf } from './take.ts'

/** Wallets in one question: one that never moved anything costs about 300,000 gas, in a market of 60 reserves. */
const WALLETS_MAX = 100

/**
 * Whether the wallet ever had a token movement in the only market of a place, up to its block, and how many different
 * endpoints say so.
 */
export type HasMoved = (
  place: Place,
  wallet: Address,
) => Promise<{ readonly hasMoved: boolean; readonly witnesses: number }>

/** A question that has not been sent yet. */
interface Group {
  readonly wallets: Address[]
  readonly answer: Promise<Agreed<readonly boolean[]>>
}

/** Asks for all wallets at once that want to know about the same block in the same turn. Throws as the reader. */
export function createHasMoved(reader: () => LendingReader): HasMoved {
  const groups = new Map<string, Group>()

  function begin(key: string, place: Place): Group {
    const wallets: Address[] = []
    const sent = new Promise<void>((resolve) => setTimeout(resolve, 0))
    const answer = sent.then(() => {
      if (groups.get(key) === group) groups.delete(key)
      // Not the signal of one of those who ask: the others still wait.
      return reader().touched(wallets, place, new AbortController().signal)
    })
    const group: Group = { wallets, answer }
    groups.set(key, group)
    return group
  }

  return async (place, wallet) => {
    const { chainId, provider } = marketOf(place)
    const key = `${chainId}:${provider}:${place.block?.hash ?? ''}`
    const open = groups.get(key)
    const group = open !== undefined && open.wallets.length < WALLETS_MAX ? open : begin(key, place)
    const at = group.wallets.push(wallet) - 1
    const { value, endpoints } = await group.answer
    return { hasMoved: value[at] === true, witnesses: endpoints.length }
  }
}
