import type { SolanaSession } from '../../../chain/solana/client.ts'
import { computeAnswerSlot } from '../../../chain/solana/slot_cache.ts'
import { listWalletTokens } from '../../../chain/solana/token/wallet_tokens.ts'
import { CodedError, UpstreamError } from '../../../lib/error.ts'
import { createLru } from '../../../lib/lru.ts'
import type { OrcaPosition, OrcaSpam } from '../math/position.ts'
import type { AccountCache } from './account_cache.ts'
import { comparePositions, type PositionItem } from './item.ts'
import type { ItemRead, ItemsRead, ItemsReader } from './items.ts'
import type { TokenResolver } from './token_resolver.ts'

/** So often a list is read again because something changed meanwhile. */
const TRIES_MAX = 3
const POSITIONS_MAX = 2_000
/** Wallets that are remembered, and how many positions they may have together. */
const WALLETS_MAX = 5_000
const REMEMBERED_MAX = 200_000

/** Which of a wallet's positions an answer shows. */
export interface WalletQuery {
  readonly wallet: string
  readonly isActive: boolean
  readonly isFull: boolean
  readonly page: number
  readonly limit: number
}

/** A wallet's positions as of a slot. */
export interface OrcaList extends ReturnType<typeof computeAnswerSlot> {
  /** Those of the page, in the order of answers. */
  readonly positions: readonly OrcaPosition[]
  readonly totalActive: number
  readonly totalInactive: number
  readonly spams: readonly OrcaSpam[]
  readonly unreadable: number
}

/** What a wallet had when it was last asked about. */
interface PreviousList {
  readonly items: readonly PositionItem[]
  /** Addresses of positions that were left out as spam. */
  readonly spam: ReadonlySet<string>
}

/** Makes a reader of wallets' positions, which remembers them to ask for all at once. */
export function createWalletReader(options: {
  readonly namer: TokenResolver
  readonly items: ItemsReader
  readonly known: AccountCache
  /** How many slots a list of tokens may be older than what is then read. */
  readonly slotsApartMax: bigint
}) {
  const { namer, items: reader, known, slotsApartMax } = options
  const wallets = createLru<PreviousList>({
    entriesMax: WALLETS_MAX,
    weightMax: REMEMBERED_MAX,
    weightOf: ({ items }) => items.length,
  })

  /** Positions with how much of each to read, by what was last seen of them. */
  function depthsOf(items: readonly PositionItem[], spam: ReadonlySet<string>, query: WalletQuery): ItemRead[] {
    const matching = items.filter(({ address }) => {
      const liquidity = known.positionOf(address)?.liquidity
      return !spam.has(address) && liquidity !== undefined && liquidity > 0n === query.isActive
    })
    const shown = new Set(query.isFull ? pageIn(matching, query) : [])
    return items.map((item) => ({ item, depth: shown.has(item) ? 'full' : 'brief' }))
  }

  /** The list that a reading makes; or what of it must be read again, because it is shown or because it changed. */
  function listOf(reads: readonly ItemRead[], read: ItemsRead, query: WalletQuery): ListMade | UnfinishedList {
    const found: { readonly position: OrcaPosition; readonly read: ItemRead }[] = []
    const spams: OrcaSpam[] = []
    const spamAt = new Set<string>()
    let unreadable = 0
    for (const [index, each] of read.interpreted.entries()) {
      const asked = reads[index]
      if (each.kind === 'changed' || asked === undefined) return 'changed'
      if (each.kind === 'unreadable') unreadable++
      else if (each.spam === undefined) found.push({ position: each.position, read: asked })
      else {
        spams.push(each.spam)
        spamAt.add(each.position.address)
      }
    }
    const isActive = ({ position }: (typeof found)[number]) => position.state.liquidity > 0n
    const active = found.filter(isActive)
    const matching = query.isActive ? active : found.filter((each) => !isActive(each))
    const shown = pageIn(matching, query)
    const brief = new Set(shown.filter((each) => each.read.depth === 'brief').map((each) => each.read.item))
    if (query.isFull && brief.size > 0) return { brief, spam: spamAt }
    return {
      spam: spamAt,
      list: {
        ...computeAnswerSlot(read.slots),
        positions: shown.map(({ position }) => position),
        totalActive: active.length,
        totalInactive: found.length - active.length,
        spams,
        unreadable,
      },
    }
  }

  /** The list if nothing changed while it was read; the newest slot that was seen if something did. */
  async function settle(
    session: SolanaSession,
    { items, spam }: PreviousList,
    {
      query,
      minSlot,
      early,
    }: { readonly query: WalletQuery; readonly minSlot: bigint; readonly early?: EarlyRead | undefined },
  ): Promise<OrcaList | { readonly newest: bigint }> {
    const { wallet } = query
    if (early === undefined) await reader.prepare(session, items, minSlot)
    let reads = early?.reads ?? depthsOf(items, spam, query)
    let read = early?.read ?? (await reader.read(session, reads, { wallet, minSlot }))
    let made = listOf(reads, read, query)
    if (made !== 'changed' && 'brief' in made) {
      const { brief } = made
      reads = reads.map((each) => (brief.has(each.item) ? { ...each, depth: 'full' } : each))
      read = await reader.read(session, reads, { wallet, minSlot: read.newest })
      made = listOf(reads, read, query)
    }
    if (made === 'changed' || 'brief' in made) return { newest: read.newest }
    wallets.set(wallet, { items, spam: made.spam })
    return made.list
  }

  /** Reads all that a wallet had before; undefined if it was never asked about or not all can be asked for at once. */
  async function readEarly(session: SolanaSession, query: WalletQuery): Promise<EarlyRead | undefined> {
    const before = wallets.get(query.wallet)
    if (before === undefined || (query.isFull && !reader.hasPrices())) return undefined
    const reads = depthsOf(before.items, before.spam, query)
    if (!reader.isPlanned(reads)) return undefined
    return { reads, read: await reader.read(session, reads, { wallet: query.wallet, minSlot: 0n }) }
  }

  return async (session: SolanaSession, query: WalletQuery): Promise<OrcaList> => {
    const { wallet } = query
    const [first, early] = await Promise.all([
      listWalletTokens(session, wallet, 0n),
      readEarly(session, query),
      query.isFull ? reader.learnPrices(session) : undefined,
    ])
    let listing = first
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const named = await namer.name(session, listing.tokens, listing.newest)
      const items = (await namer.itemsOf(listing.tokens, POSITIONS_MAX)).sort(comparePositions)
      if (items.length > POSITIONS_MAX) {
        const message = `Cannot list the positions of wallet ${wallet}: it has more than ${POSITIONS_MAX}`
        throw new CodedError('INVALID_PARAMETER', message)
      }
      const spam = wallets.get(wallet)?.spam ?? new Set()
      const isEarly = tries === 0 && early !== undefined && isSame(items, early)
      const settled = await settle(
        session,
        { items, spam },
        { query, minSlot: named, early: isEarly ? early : undefined },
      )
      const newest = 'newest' in settled ? settled.newest : settled.slot
      // A list that is much older, or much younger, says little about the slot of the answer.
      const isNear = newest - listing.oldest <= slotsApartMax && listing.newest - newest <= slotsApartMax
      if (!('newest' in settled) && isNear) return settled
      listing = await listWalletTokens(session, wallet, newest)
    }
    throw new UpstreamError(`Cannot read the positions of wallet ${wallet}: they changed while they were read`)
  }
}

interface ListMade {
  readonly list: OrcaList
  readonly spam: ReadonlySet<string>
}

type UnfinishedList = 'changed' | { readonly brief: ReadonlySet<PositionItem>; readonly spam: ReadonlySet<string> }

/** A reading of what a wallet had before. */
interface EarlyRead {
  readonly reads: readonly ItemRead[]
  readonly read: ItemsRead
}

/** True if a wallet still has what was read early, in the same accounts. */
function isSame(items: readonly PositionItem[], { reads }: EarlyRead): boolean {
  const isAsBefore = (item: PositionItem, index: number) => {
    const before = reads[index]?.item
    return before?.address === item.address && before.held.address === item.held.address
  }
  return items.length === reads.length && items.every(isAsBefore)
}

function pageIn<T>(matching: readonly T[], { page, limit }: WalletQuery): readonly T[] {
  return matching.slice((page - 1) * limit, page * limit)
}
