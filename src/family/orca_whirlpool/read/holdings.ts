import { createLru } from '../../../lib/lru.ts'
import type { AccountHoldings, AccountHoldingsReader, HoldingsPlan } from '../../holding.ts'
import { toHoldings } from '../present/holdings.ts'
import type { AccountsCheck } from './check.ts'
import type { PositionInterpretation } from './interpret.ts'
import { comparePositions, getTokenId, type PositionItem } from './item.ts'
import type { ItemRead, ItemsReader } from './items.ts'
import type { TokenResolver } from './token_resolver.ts'

/** Wallets that are remembered, and how many positions they may have together. */
const WALLETS_MAX = 5_000
const REMEMBERED_MAX = 200_000

/** Reads all positions of a wallet, empty ones that are owed something too, as rows of a portfolio. */
export function createHoldingsReader(options: {
  readonly namer: TokenResolver
  readonly items: ItemsReader
  readonly check: AccountsCheck
}): AccountHoldingsReader {
  const { namer, items: reader, check } = options
  const wallets = createLru<readonly PositionItem[]>({
    entriesMax: WALLETS_MAX,
    weightMax: REMEMBERED_MAX,
    weightOf: (items) => items.length,
  })

  function planOf(wallet: string, items: readonly PositionItem[]): Pick<HoldingsPlan, 'items' | 'check' | 'read'> {
    const reads = readsOf(items)
    return {
      items: reader.addressesOf(reads),
      check,
      async read(groups) {
        const interpreted = await reader.interpretAll(reads, groups, wallet)
        if (interpreted.some(({ kind }) => kind === 'changed')) return 'changed'
        wallets.set(wallet, items)
        return holdingsIn(reads, interpreted)
      },
    }
  }

  return {
    recall(wallet) {
      const items = wallets.get(wallet)
      if (items === undefined || !reader.hasPrices()) return undefined
      return reader.isPlanned(readsOf(items)) ? planOf(wallet, items) : undefined
    },
    async plan(session, { wallet, listed, positionsMax }) {
      const [{ tokens, oldest, newest: listedAt }] = await Promise.all([listed, reader.learnPrices(session)])
      const newest = await namer.name(session, tokens, listedAt)
      const positions = namer.count(tokens)
      const items = positions > positionsMax ? [] : (await namer.itemsOf(tokens, positionsMax)).sort(comparePositions)
      await reader.prepare(session, items, newest)
      return { positions, oldest, newest, ...planOf(wallet, items) }
    },
  }
}

function readsOf(items: readonly PositionItem[]): ItemRead[] {
  return items.map((item) => ({ item, depth: 'full' }))
}

function holdingsIn(reads: readonly ItemRead[], interpreted: readonly PositionInterpretation[]): AccountHoldings {
  const rows: AccountHoldings['rows'][number][] = []
  const notRead: string[] = []
  for (const [index, each] of interpreted.entries()) {
    const item = reads[index]?.item
    if (item === undefined || each.kind === 'changed') continue
    if (each.kind === 'unreadable') notRead.push(`position ${getTokenId(item)} of ${item.program}: ${each.because}`)
    else {
      const { position, spam } = each
      const { figured } = position
      if (figured !== undefined) rows.push(...toHoldings({ ...position, figured }, spam?.reason))
    }
  }
  return { rows, notRead, ownTokens: reads.map(({ item }) => item.held.mint) }
}
