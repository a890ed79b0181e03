import { createLru } from '../../../lib/lru.ts'
import { type AccountHoldings, type AccountHoldingsReader, countOmitted, type HoldingsPlan } from '../../holding.ts'
import type { PositionOutlook } from '../../outlook.ts'
import { outlookBroken, outlookPosition, toHoldings } from '../present.ts'
import type { PositionInterpretation } from './interpret.ts'
import { comparePositions, getTokenId, type PositionItem } from './item.ts'
import type { ItemRead, ItemsReader } from './items.ts'
import type { AccountsCheck } from './layout.ts'
import type { TokenResolver } from './token_resolver.ts'

/** Cached wallets, and the positions of all of them together. */
const WALLETS_MAX = 5_000
const REMEMBERED_MAX = 200_000

/** Creates a reader of a wallet's positions, including empty ones with amounts owed, as rows of a portfolio. */
export function createHoldingsReader(options: {
  readonly resolver: TokenResolver
  readonly items: ItemsReader
  readonly check: AccountsCheck
}): AccountHoldingsReader {
  const { resolver, items: reader, check } = options
  const wallets = createLru<readonly PositionItem[]>({
    entriesMax: WALLETS_MAX,
    weightMax: REMEMBERED_MAX,
    getWeight: (items) => items.length,
  })

  function createPlan(
    wallet: string,
    items: readonly PositionItem[],
    unresolved = 0,
  ): Pick<HoldingsPlan, 'items' | 'check' | 'read'> {
    const reads = toReads(items)
    return {
      items: reader.listAddresses(reads),
      check,
      async read(groups) {
        const interpreted = await reader.interpretAll(reads, groups, { wallet })
        if (interpreted.some(({ kind }) => kind === 'changed')) return 'changed'
        wallets.set(wallet, items)
        const holdings = collectHoldings(reads, interpreted)
        if (unresolved === 0) return holdings
        const words = `${unresolved} tokens of one unit that may be positions of orca-whirlpool`
        return { ...holdings, notRead: [words, ...holdings.notRead] }
      },
    }
  }

  return {
    recall(wallet) {
      const items = wallets.get(wallet)
      if (items === undefined || !reader.hasPrices()) return undefined
      return reader.canReadAtOnce(toReads(items)) ? createPlan(wallet, items) : undefined
    },
    async plan(session, { wallet, listed, positionsMax }) {
      const [{ tokens, oldestSlot: oldest, newestSlot: listedSlot }] = await Promise.all([
        listed,
        reader.learnPrices(session),
      ])
      // Strangers can give a wallet any number of such tokens.
      const limits = { minSlot: listedSlot, max: positionsMax }
      const { newest, unresolved } = await resolver.resolve(session, tokens, limits)
      const count = resolver.countPositions(tokens)
      const items = (await resolver.listItems(tokens, positionsMax)).slice(0, positionsMax).sort(comparePositions)
      await reader.prepare(session, items, newest)
      const omitted = countOmitted({ family: 'orca-whirlpool', kind: 'liquidity', count }, positionsMax)
      return { ...omitted, oldest, newest, ...createPlan(wallet, items, unresolved) }
    },
  }
}

function toReads(items: readonly PositionItem[]): ItemRead[] {
  return items.map((item) => ({ item, depth: 'full' }))
}

function collectHoldings(reads: readonly ItemRead[], interpreted: readonly PositionInterpretation[]): AccountHoldings {
  const rows: AccountHoldings['rows'][number][] = []
  const notRead: string[] = []
  const outlooks: PositionOutlook[] = []
  for (const [index, each] of interpreted.entries()) {
    const item = reads[index]?.item
    if (item === undefined || each.kind === 'changed') continue
    if (each.kind === 'unreadable') {
      notRead.push(`position ${getTokenId(item)} of ${item.program}: ${each.reason}`)
      outlooks.push(outlookBroken({ ...item, tokenId: getTokenId(item) }, each.reason))
    } else {
      const { position } = each
      const { figureState } = position
      if (figureState === undefined) continue
      rows.push(...toHoldings({ ...position, figureState }))
      outlooks.push(outlookPosition({ ...position, figureState }))
    }
  }
  return { rows, notRead, listOutlooks: () => outlooks, ownTokens: reads.map(({ item }) => item.held.mint) }
}
