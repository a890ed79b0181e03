import { yieldToEventLoop } from '../../lib/async/cooperative.ts'
import { maxBigint } from '../../lib/number/fixed_point.ts'
import type { SolanaAccount, SolanaAccounts } from './accounts.ts'

/** Accounts by address, all of one slot; null if an account does not exist. */
export interface AccountGroup extends Omit<SolanaAccounts, 'accounts'> {
  readonly accounts: ReadonlyMap<string, SolanaAccount | null>
}

/** Options of a read of groups. */
interface GroupsRead {
  readonly max: number
  readonly minSlot: bigint
  readonly retriesMax: number
  /** Reads at most `max` addresses at a slot that is `minSlot` or later. */
  readonly ask: (addresses: readonly string[], minSlot: bigint) => Promise<SolanaAccounts>
}

/** Number of latest requests that are tried for room: with thousands of items the earlier ones are full. */
const PACKS_TRIED = 8

/** Requests sent in the first turn of the event loop; each later request has its own turn. */
const PACKS_IN_TURN = 2

/**
 * Reads items, each a list of addresses, in requests of at most `max` addresses; no item is split. Requests answered
 * from older slots are repeated for the newest one, `retriesMax` times. Returns one group for each item, in order;
 * items of one request share a group. Throws `RangeError` for an item that is too long.
 */
export async function readGroups(
  items: readonly (readonly string[])[],
  { max, minSlot, retriesMax, ask }: GroupsRead,
): Promise<AccountGroup[]> {
  const { packs, packIndexByItem } = packItems(items, max)
  if (packs.length > PACKS_IN_TURN) await yieldToEventLoop()
  const groups = await Promise.all(
    packs.map(async (pack, index) => {
      if (index >= PACKS_IN_TURN) await yieldToEventLoop()
      return await readPack(pack, minSlot)
    }),
  )
  for (let retry = 0; retry < retriesMax; retry++) {
    const newest = groups.map(({ slot }) => slot).reduce(maxBigint, 0n)
    if (groups.every(({ slot }) => slot === newest)) break
    await Promise.all(
      packs.map(async (pack, index) => {
        if (groups[index]?.slot !== newest) groups[index] = await readPack(pack, newest)
      }),
    )
  }
  return packIndexByItem.map((index) => groups[index] as AccountGroup)

  async function readPack(addresses: ReadonlySet<string>, least: bigint): Promise<AccountGroup> {
    const addressList = [...addresses]
    const { accounts, ...moment } = await ask(addressList, least)
    return { ...moment, accounts: new Map(addressList.map((address, index) => [address, accounts[index] ?? null])) }
  }
}

/** Packs items into requests in order, each into the first of the latest requests that has room. */
function packItems(
  items: readonly (readonly string[])[],
  max: number,
): { readonly packs: readonly ReadonlySet<string>[]; readonly packIndexByItem: readonly number[] } {
  const packs: Set<string>[] = []
  const hasRoom = (pack: ReadonlySet<string>, own: ReadonlySet<string>): boolean => {
    let size = pack.size
    for (const address of own) {
      if (!pack.has(address)) size++
      if (size > max) return false
    }
    return true
  }
  const packIndexByItem = items.map((item) => {
    const own = new Set(item)
    if (own.size > max) throw new RangeError(`Cannot read ${own.size} accounts of one item: expected at most ${max}`)
    let index = Math.max(0, packs.length - PACKS_TRIED)
    while (index < packs.length && !hasRoom(packs[index] as Set<string>, own)) index++
    if (index === packs.length) packs.push(new Set())
    for (const address of own) packs[index]?.add(address)
    return index
  })
  return { packs, packIndexByItem }
}
