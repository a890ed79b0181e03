import { yieldToEventLoop } from '../../lib/async/cooperative.ts'
import { maxBigint } from '../../lib/number/fixed_point.ts'
import type { SolanaAccount, SolanaAccounts } from './accounts.ts'

/** Accounts by address, all of one slot; null if an account does not exist. */
export interface AccountGroup extends Omit<SolanaAccounts, 'accounts'> {
  readonly accounts: ReadonlyMap<string, SolanaAccount | null>
}

/** How groups are read. */
interface GroupsRead {
  readonly max: number
  readonly minSlot: bigint
  readonly againMax: number
  /** Reads addresses, at most as many as fit one request, at a slot that is `minSlot` or later. */
  readonly ask: (addresses: readonly string[], minSlot: bigint) => Promise<SolanaAccounts>
}

/** The last requests, which are looked at for room: of thousands of items the first ones are full. */
const PACKS_TRIED = 8

/** Requests that are sent in one turn of the event loop; each after them has its own. */
const PACKS_IN_TURN = 2

/**
 * Reads items, each a list of addresses that belong together, in requests of at most `max` addresses; no item is split.
 * Requests that answered from different slots are asked again for the newest of them, `againMax` times. Gives one group
 * for each item, in order; items of one request share theirs. Throws `RangeError` for an item that is too long.
 */
export async function readGroups(
  items: readonly (readonly string[])[],
  { max, minSlot, againMax, ask }: GroupsRead,
): Promise<AccountGroup[]> {
  const { packs, packOf } = packed(items, max)
  if (packs.length > PACKS_IN_TURN) await yieldToEventLoop()
  const groups = await Promise.all(
    packs.map(async (pack, index) => {
      if (index >= PACKS_IN_TURN) await yieldToEventLoop()
      return await readPack(pack, minSlot)
    }),
  )
  for (let again = 0; again < againMax; again++) {
    const newest = groups.map(({ slot }) => slot).reduce(maxBigint, 0n)
    if (groups.every(({ slot }) => slot === newest)) break
    await Promise.all(
      packs.map(async (pack, index) => {
        if (groups[index]?.slot !== newest) groups[index] = await readPack(pack, newest)
      }),
    )
  }
  return packOf.map((index) => groups[index] as AccountGroup)

  async function readPack(addresses: ReadonlySet<string>, least: bigint): Promise<AccountGroup> {
    const asked = [...addresses]
    const { accounts, ...moment } = await ask(asked, least)
    return { ...moment, accounts: new Map(asked.map((address, index) => [address, accounts[index] ?? null])) }
  }
}

/** Fills requests with items in their order, each into the first that has room for what it adds. */
function packed(
  items: readonly (readonly string[])[],
  max: number,
): { readonly packs: readonly ReadonlySet<string>[]; readonly packOf: readonly number[] } {
  const packs: Set<string>[] = []
  const hasRoom = (pack: ReadonlySet<string>, own: ReadonlySet<string>): boolean => {
    let size = pack.size
    for (const address of own) {
      if (!pack.has(address)) size++
      if (size > max) return false
    }
    return true
  }
  const packOf = items.map((item) => {
    const own = new Set(item)
    if (own.size > max) throw new RangeError(`Cannot read ${own.size} accounts of one item: expected at most ${max}`)
    let index = Math.max(0, packs.length - PACKS_TRIED)
    while (index < packs.length && !hasRoom(packs[index] as Set<string>, own)) index++
    if (index === packs.length) packs.push(new Set())
    for (const address of own) packs[index]?.add(address)
    return index
  })
  return { packs, packOf }
}
