import { createLru } from '../../../lib/lru.ts'
import type { AccountHoldings, AccountHoldingsReader, HoldingsPlan } from '../../holding.ts'
import { holdingsOf } from '../present/holdings.ts'
import type { AccountsCheck } from './check.ts'
import type { Interpreted } from './interpret.ts'
import { type Item, inOrder, tokenIdOf } from './item.ts'
import type { ItemRead, ItemsReader } from './items.ts'
import type { Namer } from './naming.ts'

/** Wallets that are remembered, and how many positions they may have together. */
const WALLETS_MAX = 5_000
const REMEMBERED_MAX = 200_000

/** Reads all positions of a wallet, empty ones that are owed something too, as rows of a portfolio. */
export function createHoldingsReader(options: {
  readonly namer: Namer
  readonly items: ItemsReader
  readonly check: AccountsCheck
}): AccountHoldingsReader {
  const { namer, items: reader, check } = options
  const wallets = createLru<readonly Item[]>({
    entriesMax: WALLETS_MAX,
    weightMax: REMEMBERED_MAX,
    weightOf: (items) => items.length,
  })

  function planOf(wallet: string, items: readonly Item[]): Pick<HoldingsPlan, 'items' | 'check' | 'read'> {
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
      const items = positions > positionsMax ? [] : (await namer.itemsOf(tokens, positionsMax)).sort(inOrder)
      await reader.prepare(session, items, newest)
      return { positions, oldest, newest, ...planOf(wallet, items) }
    },
  }
}

function readsOf(items: readonly Item[]): ItemRead[] {
  return items.map((item) => ({ item, depth: 'full' }))
}

function holdingsIn(reads: readonly ItemRead[], interpreted: readonly Interpreted[]): AccountHoldings {
  const rows: AccountHoldings['rows'][number][] = []
  const notRead: string[] = []
  for (const [index, each] of interpreted.entries()) {
    const item = reads[index]?.item
    if (item === undefined || each.kind === 'changed') continue
    if (each.kind === 'unreadable') notRead.push(`position ${tokenIdOf(item)} of ${item.program}: ${each.because}`)
    else {
      const { position, spam } = each
      const { figured } = position
      if (figured !== undefined) rows.push(...holdingsOf({ ...position, figured }, spam?.reason))
    }
  }
  return { rows, notRead, ownTokens: reads.map(({ item }) => item.held.mint) }
}
