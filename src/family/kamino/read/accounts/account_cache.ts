import type { SolanaAccount } from '../../../../chain/solana/accounts.ts'
import { findScopeFeed } from '../../../../finance/price/scope/layout.ts'
import type { KaminoProgram } from '../../../../finance/price/table/kamino.ts'
import { createLru } from '../../../../lib/lru.ts'
import { memoize } from '../../../../lib/memoize.ts'
import { decodeMarket, decodeObligation, decodeReserve, isAccount, type Obligation, type Reserve } from './layout.ts'

/** Obligations and reserves that are remembered; beyond that the oldest are forgotten. */
const REMEMBERED_MAX = 50_000
/** Wallets that are remembered, and how many obligations they may have together. */
const WALLETS_MAX = 20_000
const HELD_MAX = 100_000
/** Markets whose obligations are looked for, and reserves of each: anybody may make more. */
const MARKETS_MAX = 64
const RESERVES_MAX = 256

/** Accounts of one slot, by address. */
export type Accounts = ReadonlyMap<string, SolanaAccount | null>

/** An obligation to read. It is answered only if all three belong together. */
export interface ObligationTarget extends MarketObligation {
  readonly wallet: string
}

/** The same, whoever's it is. */
export interface MarketObligation {
  readonly address: string
  readonly market: string
}

/** A reserve's token and where its price is; undefined without a feed. */
interface PricedBy {
  readonly mint: string
  readonly feed: string | undefined
}

/** A reserve of a market, as far as obligations are derived from it. */
type PairedReserve = Pick<Reserve, 'mint' | 'groups'>

/** A market that was read, and the reserves of it that were. */
export interface KnownMarket {
  readonly market: string
  readonly reserves: ReadonlyMap<string, PairedReserve>
}

/** What earlier readings have shown, to ask for all that an answer needs at once. */
export type AccountCache = ReturnType<typeof createAccountCache>

/** Makes an empty memory. */
export function createAccountCache({ programId }: Pick<KaminoProgram, 'programId'>) {
  const reservesOf = createLru<readonly string[]>({ entriesMax: REMEMBERED_MAX })
  const priced = createLru<PricedBy>({ entriesMax: REMEMBERED_MAX })
  const held = createLru<readonly ObligationTarget[]>({
    entriesMax: WALLETS_MAX,
    weightMax: HELD_MAX,
    weightOf: ({ length }) => length,
  })
  const markets = new Map<string, Map<string, PairedReserve>>()
  let version = 0

  function learnReserve(address: string, reserve: Reserve): void {
    priced.set(address, { mint: reserve.mint, feed: findScopeFeed(reserve) })
    const reserves = markets.get(reserve.market)
    if (reserves === undefined || reserves.has(address) || reserves.size >= RESERVES_MAX) return
    reserves.set(address, { mint: reserve.mint, groups: reserve.groups })
    version++
  }

  return {
    /** Accounts that the figures of an obligation need, as far as it and its reserves were read. */
    addressesFor({ address, market }: MarketObligation): readonly string[] {
      const reserves = reservesOf.get(address) ?? []
      const feeds = reserves.map((reserve) => priced.get(reserve)?.feed).filter((feed) => feed !== undefined)
      return [...new Set([address, market, ...reserves, ...feeds])]
    },
    /** Of these accounts those that must be read before all are known; empty once they are. */
    unreadFor({ address }: Pick<ObligationTarget, 'address'>): readonly string[] {
      return reservesOf.get(address)?.filter((reserve) => priced.get(reserve) === undefined) ?? [address]
    },
    /** Mints of what an obligation has and owes, as far as it and its reserves were read. */
    mintsOf({ address }: Pick<ObligationTarget, 'address'>): readonly string[] {
      const mints = (reservesOf.get(address) ?? []).map((reserve) => priced.get(reserve)?.mint)
      return [...new Set(mints.filter((mint) => mint !== undefined))]
    },
    /** Obligations that a wallet had when it was last asked about; undefined if it never was. */
    obligationsOf: held.get,
    noteObligations: held.set,
    /** Notes that an obligation is a wallet's, which may have others. */
    noteObligation(target: ObligationTarget): void {
      const before = held.get(target.wallet) ?? []
      if (before.every(({ address }) => address !== target.address)) held.set(target.wallet, [...before, target])
    },
    /** Markets that were read, those named first before others. */
    markets: (): KnownMarket[] => [...markets].map(([market, reserves]) => ({ market, reserves })),
    /** Grows when a market or a reserve becomes known. */
    get version() {
      return version
    },
    /** Notes what accounts show. */
    learn(accounts: Accounts): void {
      const own = [...accounts].flatMap(([address, account]) =>
        account?.owner === programId ? [{ address, ...decodeAccount(account) }] : [],
      )
      for (const { address, kind } of own) {
        if (kind !== 'market' || markets.has(address) || markets.size >= MARKETS_MAX) continue
        markets.set(address, new Map())
        version++
      }
      for (const { address, obligation, reserve } of own) {
        if (obligation !== undefined) reservesOf.set(address, listReserves(obligation))
        if (reserve !== undefined) learnReserve(address, reserve)
      }
    },
  }
}

/** Every reserve that an obligation holds or owes, once. */
export function listReserves({ deposits, borrows }: Obligation): readonly string[] {
  return [...new Set([...deposits, ...borrows].map(({ reserve }) => reserve))]
}

/** What an account of the program is. Read once, because many obligations share reserves and markets. */
export const decodeAccount = memoize(({ data }: SolanaAccount) => {
  const isObligation = isAccount('obligation', data)
  const isReserve = isAccount('reserve', data)
  const isMarket = isAccount('market', data)
  return {
    kind: isObligation ? 'obligation' : isReserve ? 'reserve' : isMarket ? 'market' : 'other',
    obligation: isObligation ? decodeObligation(data) : undefined,
    reserve: isReserve ? decodeReserve(data) : undefined,
    market: isMarket ? decodeMarket(data) : undefined,
  } as const
})
