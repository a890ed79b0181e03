import type { SolanaSession } from '../../../chain/solana/client.ts'
import type { Work } from '../../../lib/async/work.ts'
import { createLru } from '../../../lib/lru.ts'
import { minBigint } from '../../../lib/number/fixed_point.ts'
import type { OrcaPosition } from '../math/figures.ts'
import type { ItemFinder } from './find.ts'
import type { PositionItem } from './item.ts'
import type { ItemsReader } from './items.ts'

/** Positions whose token accounts are cached. */
const REMEMBERED_MAX = 50_000
/** Reads of positions that change meanwhile. */
const TRIES_MAX = 3

/** A position of a wallet, by its address. */
export interface NamedPosition {
  readonly address: string
  readonly wallet: string
}

/** A position, or why there is none: the wallet has no such position, or its accounts cannot be decoded. */
type NamedRead = OrcaPosition | 'absent' | 'unreadable'

interface NamedPositions {
  /** All positions were read at this slot or later. */
  readonly slot: bigint
  /** Time of that slot by the cluster's clock, Unix seconds. */
  readonly timestampSec: bigint
  /** In the order of the request. */
  readonly positions: readonly NamedRead[]
}

/**
 * Reads positions with all inputs of their figures, at a slot not before `minSlot`; without positions the slot alone.
 * Throws `UpstreamError` if Solana cannot be read.
 */
export type NamedReader = (targets: readonly NamedPosition[], minSlot: bigint, work: Work) => Promise<NamedPositions>

/**
 * Creates a reader of positions of any wallets. A position is looked up once, and again when its accounts changed; else
 * a dozen positions take one request.
 */
export function createNamedReader({ items: reader, find }: { readonly items: ItemsReader; readonly find: ItemFinder }) {
  const rememberedItems = createLru<PositionItem>({ entriesMax: REMEMBERED_MAX })
  const getKey = ({ address, wallet }: NamedPosition) => `${wallet}:${address}`

  /** Finds the accounts of a position; undefined if the wallet has none, or if they keep changing. */
  async function findItem(session: SolanaSession, target: NamedPosition, minSlot: bigint) {
    const key = getKey(target)
    const remembered = rememberedItems.get(key)
    if (remembered !== undefined) return remembered
    const search = await find(session, { id: target.address, wallet: target.wallet }, minSlot)
    if ('absent' in search) return 'absent'
    if (search.item === 'changed') return 'unreadable'
    rememberedItems.set(key, search.item)
    return search.item
  }

  return async (
    session: SolanaSession,
    targets: readonly NamedPosition[],
    minSlot: bigint,
  ): Promise<NamedPositions> => {
    const results = new Map<NamedPosition, NamedRead>()
    let clock: Pick<NamedPositions, 'slot' | 'timestampSec'> | undefined
    let pending = targets
    let newest = minSlot
    await reader.learnPrices(session)
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const found: { readonly target: NamedPosition; readonly item: PositionItem }[] = []
      for (const target of pending) {
        const item = await findItem(session, target, newest)
        if (typeof item === 'string') results.set(target, item)
        else found.push({ target, item })
      }
      const items = found.map(({ item }) => item)
      await reader.prepare(session, items, newest)
      const reads = items.map((item) => ({ item, depth: 'full' as const }))
      const wallets = found.map(({ target }) => target.wallet)
      const read = await reader.read(session, reads, { wallets, minSlot: newest })
      newest = read.newest
      const slot = read.slots.reduce(minBigint)
      if (clock === undefined || slot < clock.slot) clock = { slot, timestampSec: read.timestampSec }
      pending = found.flatMap(({ target }, index) => {
        const interpretation = read.interpreted[index]
        if (interpretation?.kind === 'position') results.set(target, interpretation.position)
        else if (interpretation?.kind === 'unreadable') results.set(target, 'unreadable')
        else {
          rememberedItems.delete(getKey(target))
          return [target]
        }
        return []
      })
      if (pending.length === 0) break
    }
    return {
      slot: clock?.slot ?? newest,
      timestampSec: clock?.timestampSec ?? 0n,
      positions: targets.map((target) => results.get(target) ?? 'unreadable'),
    }
  }
}
