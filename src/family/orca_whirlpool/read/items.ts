import type { SolanaSession } from '../../../chain/solana/client.ts'
import type { AccountGroup } from '../../../chain/solana/groups.ts'
import type { ScopePrices } from '../../../finance/price/scope.ts'
import { mapCooperatively } from '../../../lib/async/cooperative.ts'
import { maxBigint, minBigint } from '../../../lib/number/fixed_point.ts'
import type { AccountCache } from './account_cache.ts'
import { createInterpreter, type PositionInterpretation } from './interpret.ts'
import type { PositionItem, ReadDepth } from './item.ts'
import type { AccountsCheck } from './layout.ts'

/** Rounds of reads before all accounts are known: first a bundled position, then its pool. */
const PREPARE_ROUNDS_MAX = 2

/** Requests whose accounts are decoded, and positions that are interpreted, in one turn of the event loop. */
const GROUPS_IN_TURN = 1
const ITEMS_IN_TURN = 10

/** Accounts of a position to read, or the account to read first because it determines the others. */
type Plan = { readonly addresses: readonly string[] } | { readonly first: string }

/** A position to read, and in which depth. */
export interface ItemRead {
  readonly item: PositionItem
  readonly depth: ReadDepth
}

/** Interpreted positions in the order of the request, and the newest slot seen. */
export interface ItemsRead {
  readonly interpreted: readonly PositionInterpretation[]
  /** Slot of each, in the same order; without positions, the slot of the empty answer. */
  readonly slots: readonly bigint[]
  readonly newest: bigint
  /** Time of the oldest slot by the cluster's clock, Unix seconds. */
  readonly timestampSec: bigint
}

/** The wallet that holds the positions of a read, or that of each. */
type Holders = { readonly wallet: string } | { readonly wallets: readonly string[] }

function getHolder(holders: Holders, index: number): string {
  return 'wallet' in holders ? holders.wallet : (holders.wallets[index] ?? '')
}

/** Creates a reader of listed positions. */
export function createItemsReader(options: {
  readonly cache: AccountCache
  readonly prices: ScopePrices
  readonly check: AccountsCheck
}) {
  const { cache, prices, check } = options
  const interpret = createInterpreter(options)

  /** Chooses the accounts of a position to read, from the cache. */
  function createPlan({ program, address, held, bundle }: PositionItem, depth: ReadDepth): Plan {
    const position = cache.getPosition(address)
    if (position === undefined) return { first: address }
    const pool = cache.getPool(position.pool)
    if (pool === undefined) return { first: position.pool }
    const { mintA, mintB, rewards, tickSpacing } = pool
    const mints = depth === 'full' ? [mintA, mintB, ...rewards.map(({ mint }) => mint)] : [mintA, mintB]
    const briefAddresses = [
      ...[held.address, address, position.pool],
      ...(bundle === undefined ? [] : [bundle.address]),
      ...mints.flatMap(cache.tokens.listUnread),
    ]
    if (depth === 'brief') return { addresses: briefAddresses }
    const getArrayAddress = (tick: number) => cache.getTickArrayAddress(program, position.pool, { tickSpacing, tick })
    return {
      addresses: [
        ...briefAddresses,
        ...(position.liquidity > 0n ? [getArrayAddress(position.tickLower), getArrayAddress(position.tickUpper)] : []),
        ...rewards.map(({ vault }) => vault),
        ...mints.flatMap(prices.listPriceAccounts),
      ],
    }
  }

  /** True if one request can ask for all accounts of these positions. */
  function canReadAtOnce(reads: readonly ItemRead[]): boolean {
    return reads.every(({ item, depth }) => 'addresses' in createPlan(item, depth))
  }

  /** Reads positions and pools that must be known before the accounts of the positions can be listed. */
  async function prepare(session: SolanaSession, items: readonly PositionItem[], minSlot: bigint): Promise<void> {
    for (let round = 0; round < PREPARE_ROUNDS_MAX; round++) {
      const plans = items.map((item) => createPlan(item, 'brief'))
      const missing = new Set(plans.flatMap((plan) => ('first' in plan ? [plan.first] : [])))
      if (missing.size === 0) return
      const groups = [...missing].map((address) => [address])
      for (const { accounts } of new Set(await session.grouped(groups, { minSlot, check, mayDiffer: true }))) {
        cache.learn(accounts)
      }
    }
  }

  /** Lists the accounts of each position, as far as they are known. */
  function listAddresses(reads: readonly ItemRead[]): string[][] {
    return reads.map(({ item, depth }) => {
      const plan = createPlan(item, depth)
      return 'addresses' in plan ? [...plan.addresses] : [item.held.address, item.address, plan.first]
    })
  }

  /** Interprets the accounts of each position, and caches what they show. */
  async function interpretAll(
    reads: readonly ItemRead[],
    groups: readonly AccountGroup[],
    holders: Holders,
  ): Promise<PositionInterpretation[]> {
    await mapCooperatively([...new Set(groups)], GROUPS_IN_TURN, ({ accounts }) => {
      cache.learn(accounts)
      prices.learn(accounts)
    })
    return await mapCooperatively(reads, ITEMS_IN_TURN, ({ item, depth }, index): PositionInterpretation => {
      const group = groups[index]
      return group === undefined
        ? { kind: 'changed' }
        : interpret(item, group, { wallet: getHolder(holders, index), depth })
    })
  }

  /** Reads each position with all its accounts, at one slot not before `minSlot`. */
  async function read(
    session: SolanaSession,
    reads: readonly ItemRead[],
    { minSlot, ...holders }: Holders & { readonly minSlot: bigint },
  ): Promise<ItemsRead> {
    if (reads.length === 0) {
      // An empty answer needs a recent slot too.
      const { slot, timestampSec } = await session.accounts([], { minSlot })
      return { interpreted: [], slots: [slot], newest: slot, timestampSec }
    }
    const groups = await session.grouped(listAddresses(reads), { minSlot, check })
    const interpreted = await interpretAll(reads, groups, holders)
    const slots = groups.map(({ slot }) => slot)
    const timestampSec = groups.map((group) => group.timestampSec).reduce(minBigint)
    return { interpreted, slots, newest: slots.reduce(maxBigint, minSlot), timestampSec }
  }

  return {
    canReadAtOnce,
    prepare,
    listAddresses,
    interpretAll,
    read,
    learnPrices: prices.prepare,
    hasPrices: prices.isReady,
  }
}

/** Reads listed positions. */
export type ItemsReader = ReturnType<typeof createItemsReader>
