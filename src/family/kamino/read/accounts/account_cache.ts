import type { SolanaAccount } from '../../../../chain/solana/accounts.ts'
import { findScopeFeed } from '../../../../finance/price/scope.ts'
import type { KaminoProgram } from '../../../../finance/price/table/kamino.ts'
import { createLru } from '../../../../lib/lru.ts'
import { memoize } from '../../../../lib/memoize.ts'
import {
  decodeMarket,
  decodeObligation,
  decodeReserve,
  decodeTicket,
  isAccount,
  type Obligation,
  type Reserve,
} from './layout.ts'

/** Cached obligations and reserves; beyond the limit the oldest are evicted. */
const REMEMBERED_MAX = 50_000
/** Cached wallets, and the obligations of all of them together. */
const WALLETS_MAX = 20_000
const HELD_MAX = 100_000
/** Reserves of each market whose obligations are derived: a lookup table may name any number. */
const RESERVES_MAX = 256

/** Accounts of one slot, by address. */
export type Accounts = ReadonlyMap<string, SolanaAccount | null>

/** An obligation to read. The read is absent unless address, market and wallet belong together. */
export interface ObligationTarget extends MarketObligation {
  readonly wallet: string
}

/** An obligation of any wallet. */
export interface MarketObligation {
  readonly address: string
  readonly market: string
}

/** A ticket of a wallet to read. */
export interface TicketTarget {
  readonly address: string
  readonly reserve: string
}

/** Market and token of a reserve, and the address of its price feed; undefined without a feed. */
interface ReservePricing {
  readonly market: string
  readonly mint: string
  readonly feed: string | undefined
}

/** Fields of a reserve that the addresses of obligations are derived from. */
type PairedReserve = Pick<Reserve, 'mint' | 'groups'>

/** A configured market, with those of its reserves that were read. */
export interface KnownMarket {
  readonly market: string
  readonly reserves: ReadonlyMap<string, PairedReserve>
}

/** Cache of what earlier reads showed, so that one request can ask for all accounts of an answer. */
export type AccountCache = ReturnType<typeof createAccountCache>

/** Creates an empty cache of accounts of the program. */
export function createAccountCache({ programId }: Pick<KaminoProgram, 'programId'>) {
  const reservesByObligation = createLru<readonly string[]>({ entriesMax: REMEMBERED_MAX })
  const pricingByReserve = createLru<ReservePricing>({ entriesMax: REMEMBERED_MAX })
  const obligationsByWallet = createLru<readonly ObligationTarget[]>({
    entriesMax: WALLETS_MAX,
    weightMax: HELD_MAX,
    getWeight: ({ length }) => length,
  })
  const markets = new Map<string, Map<string, PairedReserve>>()
  let version = 0

  const decodeAccounts = (accounts: Accounts) =>
    [...accounts].flatMap(([address, account]) =>
      account?.owner === programId ? [{ address, ...decodeAccount(account) }] : [],
    )

  function learnSeeds(address: string, reserve: Reserve): void {
    const reserves = markets.get(reserve.market)
    if (reserves === undefined || reserves.has(address) || reserves.size >= RESERVES_MAX) return
    reserves.set(address, { mint: reserve.mint, groups: reserve.groups })
    version++
  }

  return {
    /** Lists the accounts that the figures of an obligation need, as far as it and its reserves were read. */
    listAddresses({ address, market }: MarketObligation): readonly string[] {
      const reserves = reservesByObligation.get(address) ?? []
      const feeds = reserves.map((reserve) => pricingByReserve.get(reserve)?.feed).filter((feed) => feed !== undefined)
      return [...new Set([address, market, ...reserves, ...feeds])]
    },
    /** Lists the accounts of an obligation to read before all its accounts are known; empty once they are. */
    listUnread({ address }: Pick<ObligationTarget, 'address'>): readonly string[] {
      return (
        reservesByObligation.get(address)?.filter((reserve) => pricingByReserve.get(reserve) === undefined) ?? [address]
      )
    },
    /** Lists the accounts that the figures of a ticket need, as far as its reserve was read. */
    listTicketAddresses({ address, reserve }: TicketTarget): readonly string[] {
      const { market, feed } = pricingByReserve.get(reserve) ?? {}
      return [address, reserve, market, feed].filter((each) => each !== undefined)
    },
    /** Gets what is known of a reserve; undefined if it was never read. */
    getReserve: pricingByReserve.get,
    /** Lists the mints of an obligation's reserves, as far as it and its reserves were read. */
    listMints({ address }: Pick<ObligationTarget, 'address'>): readonly string[] {
      const mints = (reservesByObligation.get(address) ?? []).map((reserve) => pricingByReserve.get(reserve)?.mint)
      return [...new Set(mints.filter((mint) => mint !== undefined))]
    },
    /** Gets the obligations that a wallet had at its last read; undefined if it was never read. */
    getObligations: obligationsByWallet.get,
    noteObligations: obligationsByWallet.set,
    /** Adds one obligation to those of its wallet. */
    noteObligation(target: ObligationTarget): void {
      const remembered = obligationsByWallet.get(target.wallet) ?? []
      if (remembered.every(({ address }) => address !== target.address))
        obligationsByWallet.set(target.wallet, [...remembered, target])
    },
    /** Lists the configured markets that were read, in the order of their rows. */
    markets: (): KnownMarket[] => [...markets].map(([market, reserves]) => ({ market, reserves })),
    /** Increases whenever a market or a reserve is added. */
    get version() {
      return version
    },
    /** Stores what accounts show of themselves. */
    learn(accounts: Accounts): void {
      for (const { address, obligation, reserve } of decodeAccounts(accounts)) {
        if (obligation !== undefined) reservesByObligation.set(address, listReserves(obligation))
        if (reserve !== undefined) {
          const { market, mint } = reserve
          pricingByReserve.set(address, { market, mint, feed: findScopeFeed(reserve) })
        }
      }
    },
    /**
     * Stores the markets and reserves from which obligations are derived for every caller. Only for accounts that the
     * configuration names: any wallet can make a market, and what callers ask about must not crowd out others.
     */
    learnMarkets(accounts: Accounts): void {
      const programAccounts = decodeAccounts(accounts)
      for (const { address, kind } of programAccounts) {
        if (kind !== 'market' || markets.has(address)) continue
        markets.set(address, new Map())
        version++
      }
      for (const { address, reserve } of programAccounts) if (reserve !== undefined) learnSeeds(address, reserve)
    },
  }
}

/** Lists every reserve of an obligation's deposits and borrows, once. */
export function listReserves({ deposits, borrows }: Obligation): readonly string[] {
  return [...new Set([...deposits, ...borrows].map(({ reserve }) => reserve))]
}

/** Decodes an account of the program. Memoized, because many obligations share reserves and markets. */
export const decodeAccount = memoize(({ data }: SolanaAccount) => {
  const isObligation = isAccount('obligation', data)
  const isReserve = isAccount('reserve', data)
  const isMarket = isAccount('market', data)
  const isTicket = isAccount('ticket', data)
  return {
    kind: isObligation ? 'obligation' : isReserve ? 'reserve' : isMarket ? 'market' : isTicket ? 'ticket' : 'other',
    obligation: isObligation ? decodeObligation(data) : undefined,
    reserve: isReserve ? decodeReserve(data) : undefined,
    market: isMarket ? decodeMarket(data) : undefined,
    ticket: isTicket ? decodeTicket(data) : undefined,
  } as const
})

/** How obligations were found: by a search of all accounts of the program, or by addresses in a number of markets. */
export type FoundBy = 'search' | { readonly markets: number }

/** A wallet's obligations, empty ones included, as they stood between two slots. */
export interface FoundObligations {
  readonly targets: readonly ObligationTarget[]
  readonly oldest: bigint
  readonly newest: bigint
  readonly by: FoundBy
}
