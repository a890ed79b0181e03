import type { SolanaClient, SolanaSession } from '../../../chain/solana/client.ts'
import { computeAnswerSlot, createSlotCache, getMaxSlotDistance } from '../../../chain/solana/slot_cache.ts'
import { listWalletTokens } from '../../../chain/solana/wallet_tokens.ts'
import { getScopePrices } from '../../../finance/price/scope.ts'
import type { PriceMarket } from '../../../finance/price/table/kamino.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { createLru } from '../../../lib/lru.ts'
import type {
  AccountList,
  AccountListQuery,
  AccountQuery,
  AccountRead,
  AccountReader,
} from '../../liquidity/protocol.ts'
import type { OrcaPosition, OrcaSpam } from '../math/figures.ts'
import { type AccountCache, createAccountCache } from './account_cache.ts'
import { createItemFinder, type ItemFinder, type OrcaAbsence } from './find.ts'
import { createHoldingsReader } from './holdings.ts'
import { comparePositions, type PositionItem, type ReadDepth } from './item.ts'
import { createItemsReader, type ItemRead, type ItemsRead, type ItemsReader } from './items.ts'
import { createAccountsCheck } from './layout.ts'
import { createNamedReader, type NamedReader } from './named.ts'
import { createTokenResolver, type TokenResolver } from './token_resolver.ts'

/** Time for one answer over all its steps and tries. */
export const BUDGET_MS = 6_000
/** Time for positions that no caller waits for. */
const NAMED_BUDGET_MS = 10_000
/** Reads that are cached until the next slot. */
const CACHE_ENTRIES_MAX = 2_000

/** Programs that hold positions, and the market whose prices tokens have. */
export interface OrcaSetting extends PriceMarket {
  readonly programs: readonly string[]
}

/** Reads positions. */
export interface OrcaReader extends AccountReader<OrcaPosition, OrcaAbsence> {
  readonly readNamed: NamedReader
}

/** Creates a reader, which caches the subjects of tokens, pools, and the positions of wallets. */
export function createOrcaReader({
  solana,
  programs,
  clock,
  ...priceMarket
}: OrcaSetting & { readonly solana: SolanaClient; readonly clock: Clock }): OrcaReader {
  const cache = createAccountCache(programs, clock)
  const prices = getScopePrices(solana, priceMarket)
  const check = createAccountsCheck(programs)
  const items = createItemsReader({ cache, prices, check })
  const resolver = createTokenResolver({ programs, cache, check })
  const readList = createWalletReader({ resolver, items, cache, slotsApartMax: getMaxSlotDistance(solana) })
  const find = createItemFinder({ programs, cache, check })
  const readSingle = createSingleReader({ items, find })
  const readNamed = createNamedReader({ items, find })
  const cacheOptions = { solana, clock, budgetMs: BUDGET_MS, entriesMax: CACHE_ENTRIES_MAX }
  const lists = createSlotCache<AccountList<OrcaPosition>>(cacheOptions)
  const singles = createSlotCache<SingleRead>(cacheOptions)
  return {
    holdings: createHoldingsReader({ resolver, items, check }),
    // Callers within the duration of a slot share a read.
    readWallet(query, work) {
      const { wallet, isActive, isFull, page, limit } = query
      const key = [wallet, isActive, isFull, page, limit].join(':')
      return lists(key, (session) => readList(session, query), work)
    },
    readOne(query, work) {
      const { id, wallet, isFull } = query
      return singles(`${wallet}:${id}:${isFull}`, (session) => readSingle(session, query), work)
    },
    readNamed: (targets, minSlot, work) =>
      solana.read((session) => readNamed(session, targets, minSlot), { work, budgetMs: NAMED_BUDGET_MS }),
  }
}

const TRIES_MAX = 3
const REMEMBERED_MAX = 50_000

type SingleRead = AccountRead<OrcaPosition, OrcaAbsence>

/** Creates a reader of single positions, which caches token accounts so that the next read takes one request. */
function createSingleReader({ items: reader, find }: { readonly items: ItemsReader; readonly find: ItemFinder }) {
  const rememberedItems = createLru<PositionItem>({ entriesMax: REMEMBERED_MAX })

  return async (session: SolanaSession, query: AccountQuery): Promise<SingleRead> => {
    const { id, wallet, isFull } = query
    const depth: ReadDepth = isFull ? 'full' : 'brief'
    const key = `${wallet}:${id}`
    let minSlot = 0n
    let reason = 'it changed while it was read'

    /** Reads the position; undefined if it changed or cannot be decoded. */
    async function readItem(item: PositionItem): Promise<SingleRead | undefined> {
      await reader.prepare(session, [item], minSlot)
      const read = await reader.read(session, [{ item, depth }], { wallet, minSlot })
      minSlot = read.newest
      const [interpretation] = read.interpreted
      if (interpretation?.kind === 'position') {
        rememberedItems.set(key, item)
        return { kind: 'found', position: interpretation.position }
      }
      if (interpretation?.kind === 'unreadable') reason = interpretation.reason
      return undefined
    }

    const remembered = rememberedItems.get(key)
    const isReady = remembered !== undefined && !(isFull && !reader.hasPrices())
    const early = isReady ? await readItem(remembered) : undefined
    if (early !== undefined) return early
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const [search] = await Promise.all([
        find(session, query, minSlot),
        isFull ? reader.learnPrices(session) : undefined,
      ])
      if ('absent' in search) return { kind: 'absent', reason: search.absent }
      minSlot = search.slot
      const read = search.item === 'changed' ? undefined : await readItem(search.item)
      if (read !== undefined) return read
    }
    throw new UpstreamError(`Cannot read position ${id}: ${reason}`)
  }
}

/** Attempts to list and read a wallet's positions without a change in between. */
const WALLET_TRIES_MAX = 3
/** Positions that a list has: others can give a wallet any number. */
const POSITIONS_MAX = 2_000
/** Cached wallets, and the positions of all of them together. */
const WALLETS_MAX = 5_000
const WALLETS_REMEMBERED_MAX = 200_000

/** Positions of a wallet at its last read. */
interface PreviousList {
  readonly items: readonly PositionItem[]
  /** Addresses of spam positions. */
  readonly spam: ReadonlySet<string>
}

/** Creates a reader of wallets' positions, which caches them so that the next read takes one request. */
function createWalletReader(options: {
  readonly resolver: TokenResolver
  readonly items: ItemsReader
  readonly cache: AccountCache
  /** Highest distance in slots between the list of tokens and the positions. */
  readonly slotsApartMax: bigint
}) {
  const { resolver, items: reader, cache, slotsApartMax } = options
  const wallets = createLru<PreviousList>({
    entriesMax: WALLETS_MAX,
    weightMax: WALLETS_REMEMBERED_MAX,
    getWeight: ({ items }) => items.length,
  })

  /** Chooses the depth of each position's read: `full` if the cache predicts that the page shows it. */
  function chooseDepths(
    items: readonly PositionItem[],
    spam: ReadonlySet<string>,
    query: AccountListQuery,
  ): ItemRead[] {
    const matching = items.filter(({ address }) => {
      const liquidity = cache.getPosition(address)?.liquidity
      return !spam.has(address) && liquidity !== undefined && liquidity > 0n === query.isActive
    })
    const shown = new Set(query.isFull ? slicePage(matching, query) : [])
    return items.map((item) => ({ item, depth: shown.has(item) ? 'full' : 'brief' }))
  }

  /** Makes the list of a read, or returns what to read again: positions shown but read in brief, or `changed`. */
  function createList(reads: readonly ItemRead[], read: ItemsRead, query: AccountListQuery): ListMade | UnfinishedList {
    const listed: { readonly position: OrcaPosition; readonly read: ItemRead }[] = []
    const spams: OrcaSpam[] = []
    const spamAddresses = new Set<string>()
    let unreadable = 0
    for (const [index, each] of read.interpreted.entries()) {
      const itemRead = reads[index]
      if (each.kind === 'changed' || itemRead === undefined) return 'changed'
      if (each.kind === 'unreadable') unreadable++
      else if (each.spam === undefined) listed.push({ position: each.position, read: itemRead })
      else {
        spams.push(each.spam)
        spamAddresses.add(each.position.address)
      }
    }
    const isActive = ({ position }: (typeof listed)[number]) => position.state.liquidity > 0n
    const active = listed.filter(isActive)
    const matching = query.isActive ? active : listed.filter((each) => !isActive(each))
    const shown = slicePage(matching, query)
    const brief = new Set(shown.filter((each) => each.read.depth === 'brief').map((each) => each.read.item))
    if (query.isFull && brief.size > 0) return { brief, spam: spamAddresses }
    return {
      spam: spamAddresses,
      list: {
        ...computeAnswerSlot(read.slots),
        positions: shown.map(({ position }) => position),
        totalActive: active.length,
        totalInactive: listed.length - active.length,
        spams,
        unreadable,
      },
    }
  }

  /** Reads the list; if an account changed meanwhile, returns the newest slot seen. */
  async function readCompleteList(
    session: SolanaSession,
    { items, spam }: PreviousList,
    {
      query,
      minSlot,
      early,
    }: { readonly query: AccountListQuery; readonly minSlot: bigint; readonly early?: EarlyRead | undefined },
  ): Promise<ReadList | { readonly newest: bigint }> {
    const { wallet } = query
    if (early === undefined) await reader.prepare(session, items, minSlot)
    let reads = early?.reads ?? chooseDepths(items, spam, query)
    let read = early?.read ?? (await reader.read(session, reads, { wallet, minSlot }))
    let result = createList(reads, read, query)
    if (result !== 'changed' && 'brief' in result) {
      const { brief } = result
      reads = reads.map((each) => (brief.has(each.item) ? { ...each, depth: 'full' } : each))
      read = await reader.read(session, reads, { wallet, minSlot: read.newest })
      result = createList(reads, read, query)
    }
    if (result === 'changed' || 'brief' in result) return { newest: read.newest }
    wallets.set(wallet, { items, spam: result.spam })
    return result.list
  }

  /** Reads the cached positions of a wallet; undefined without a cache, or if one request cannot ask for all. */
  async function readEarly(session: SolanaSession, query: AccountListQuery): Promise<EarlyRead | undefined> {
    const previous = wallets.get(query.wallet)
    if (previous === undefined || (query.isFull && !reader.hasPrices())) return undefined
    const reads = chooseDepths(previous.items, previous.spam, query)
    if (!reader.canReadAtOnce(reads)) return undefined
    return { reads, read: await reader.read(session, reads, { wallet: query.wallet, minSlot: 0n }) }
  }

  return async (session: SolanaSession, query: AccountListQuery): Promise<AccountList<OrcaPosition>> => {
    const { wallet } = query
    const [first, early] = await Promise.all([
      listWalletTokens(session, wallet, 0n),
      readEarly(session, query),
      query.isFull ? reader.learnPrices(session) : undefined,
    ])
    let listing = first
    for (let tries = 0; tries < WALLET_TRIES_MAX; tries++) {
      const resolved = await resolver.resolve(session, listing.tokens, { minSlot: listing.newestSlot })
      const firstItems = (await resolver.listItems(listing.tokens, POSITIONS_MAX)).slice(0, POSITIONS_MAX)
      const items = firstItems.sort(comparePositions)
      const omitted = resolver.countPositions(listing.tokens) - items.length
      const spam = wallets.get(wallet)?.spam ?? new Set()
      const isEarly = tries === 0 && early !== undefined && isSame(items, early)
      const outcome = await readCompleteList(
        session,
        { items, spam },
        { query, minSlot: resolved.newest, early: isEarly ? early : undefined },
      )
      const newest = 'newest' in outcome ? outcome.newest : outcome.slot
      // The list of tokens must be of a slot close to the answer's, or it may be of other positions.
      const isNear = newest - listing.oldestSlot <= slotsApartMax && listing.newestSlot - newest <= slotsApartMax
      if (!('newest' in outcome) && isNear) return { ...outcome, omitted }
      listing = await listWalletTokens(session, wallet, newest)
    }
    throw new UpstreamError(`Cannot read the positions of wallet ${wallet}: they changed while they were read`)
  }
}

/** A list of the positions that were read. */
type ReadList = Omit<AccountList<OrcaPosition>, 'omitted'>

interface ListMade {
  readonly list: ReadList
  readonly spam: ReadonlySet<string>
}

type UnfinishedList = 'changed' | { readonly brief: ReadonlySet<PositionItem>; readonly spam: ReadonlySet<string> }

/** Read of the cached positions of a wallet. */
interface EarlyRead {
  readonly reads: readonly ItemRead[]
  readonly read: ItemsRead
}

/** True if the wallet still has the positions that were read early, in the same accounts. */
function isSame(items: readonly PositionItem[], { reads }: EarlyRead): boolean {
  const isAsBefore = (item: PositionItem, index: number) => {
    const previous = reads[index]?.item
    return previous?.address === item.address && previous.held.address === item.held.address
  }
  return items.length === reads.length && items.every(isAsBefore)
}

function slicePage<T>(matching: readonly T[], { page, limit }: AccountListQuery): readonly T[] {
  return matching.slice((page - 1) * limit, page * limit)
}
