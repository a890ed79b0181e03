import type { SolanaSession } from '../../../chain/solana/client.ts'
import type { AccountGroup } from '../../../chain/solana/groups.ts'
import type { ScopePrices } from '../../../finance/price/scope/prices.ts'
import { mapCooperatively } from '../../../lib/async/cooperative.ts'
import { maxBigint } from '../../../lib/number/fixed_point.ts'
import type { AccountCache } from './account_cache.ts'
import type { AccountsCheck } from './check.ts'
import { createInterpreter, type PositionInterpretation } from './interpret.ts'
import type { PositionItem, ReadDepth } from './item.ts'

/** A bundled position and then its pool: nothing else must be known before all of a position can be asked for. */
const FIRSTS_MAX = 2

/** Requests whose accounts are decoded, and positions whose figures are made, in one turn of the event loop. */
const GROUPS_IN_TURN = 1
const ITEMS_IN_TURN = 10

/** Accounts to read of a position; or the one that must be known first, to say which. */
type Plan = { readonly addresses: readonly string[] } | { readonly first: string }

/** A position to read, and how much of it. */
export interface ItemRead {
  readonly item: PositionItem
  readonly depth: ReadDepth
}

/** What was read of positions, in their order, and the newest slot that was seen. */
export interface ItemsRead {
  readonly interpreted: readonly PositionInterpretation[]
  /** Of each, in the same order; without positions the slot at which there are none. */
  readonly slots: readonly bigint[]
  readonly newest: bigint
}

/** Makes a reader of positions that were named. */
export function createItemsReader(options: {
  readonly known: AccountCache
  readonly prices: ScopePrices
  readonly check: AccountsCheck
}) {
  const { known, prices, check } = options
  const interpret = createInterpreter(options)

  /** What to read of a position, by what is known. */
  function planOf({ program, address, held, bundle }: PositionItem, depth: ReadDepth): Plan {
    const position = known.positionOf(address)
    if (position === undefined) return { first: address }
    const pool = known.poolOf(position.pool)
    if (pool === undefined) return { first: position.pool }
    const { mintA, mintB, rewards, tickSpacing } = pool
    const mints = depth === 'full' ? [mintA, mintB, ...rewards.map(({ mint }) => mint)] : [mintA, mintB]
    const brief = [
      ...[held.address, address, position.pool],
      ...(bundle === undefined ? [] : [bundle.address]),
      ...mints.flatMap(known.tokens.unread),
    ]
    if (depth === 'brief') return { addresses: brief }
    const arrayOf = (tick: number) => known.arrayOf(program, position.pool, { tickSpacing, tick })
    return {
      addresses: [
        ...brief,
        ...(position.liquidity > 0n ? [arrayOf(position.tickLower), arrayOf(position.tickUpper)] : []),
        ...rewards.map(({ vault }) => vault),
        ...mints.flatMap(prices.addressesFor),
      ],
    }
  }

  /** Whether all that these positions need can be asked for at once. */
  function isPlanned(reads: readonly ItemRead[]): boolean {
    return reads.every(({ item, depth }) => 'addresses' in planOf(item, depth))
  }

  /** Reads what must be known of positions before all that they need can be asked for. */
  async function prepare(session: SolanaSession, items: readonly PositionItem[], minSlot: bigint): Promise<void> {
    for (let firsts = 0; firsts < FIRSTS_MAX; firsts++) {
      const plans = items.map((item) => planOf(item, 'brief'))
      const missing = new Set(plans.flatMap((plan) => ('first' in plan ? [plan.first] : [])))
      if (missing.size === 0) return
      const each = [...missing].map((address) => [address])
      for (const { accounts } of new Set(await session.grouped(each, { minSlot, check, mayDiffer: true }))) {
        known.learn(accounts)
      }
    }
  }

  /** The accounts of each position, as far as is known which. */
  function addressesOf(reads: readonly ItemRead[]): string[][] {
    return reads.map(({ item, depth }) => {
      const plan = planOf(item, depth)
      return 'addresses' in plan ? [...plan.addresses] : [item.held.address, item.address, plan.first]
    })
  }

  /** What the accounts of each position mean, and what they show of others is noted. */
  async function interpretAll(
    reads: readonly ItemRead[],
    groups: readonly AccountGroup[],
    wallet: string,
  ): Promise<PositionInterpretation[]> {
    await mapCooperatively([...new Set(groups)], GROUPS_IN_TURN, ({ accounts }) => {
      known.learn(accounts)
      prices.learn(accounts)
    })
    return await mapCooperatively(reads, ITEMS_IN_TURN, ({ item, depth }, index): PositionInterpretation => {
      const group = groups[index]
      return group === undefined ? { kind: 'changed' } : interpret(item, group, { wallet, depth })
    })
  }

  /** Reads each position with all that it needs, at one slot not before `minSlot`. */
  async function read(
    session: SolanaSession,
    reads: readonly ItemRead[],
    { wallet, minSlot }: { readonly wallet: string; readonly minSlot: bigint },
  ): Promise<ItemsRead> {
    if (reads.length === 0) {
      // That there is nothing must be told as of a slot that is not old.
      const { slot } = await session.accounts([], { minSlot })
      return { interpreted: [], slots: [slot], newest: slot }
    }
    const groups = await session.grouped(addressesOf(reads), { minSlot, check })
    const interpreted = await interpretAll(reads, groups, wallet)
    const slots = groups.map(({ slot }) => slot)
    return { interpreted, slots, newest: slots.reduce(maxBigint, minSlot) }
  }

  return { isPlanned, prepare, addressesOf, interpretAll, read, learnPrices: prices.prepare, hasPrices: prices.isReady }
}

/** Reads positions that were named. */
export type ItemsReader = ReturnType<typeof createItemsReader>
