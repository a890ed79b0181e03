import type { SolanaAccount } from '../../../../chain/solana/accounts.ts'
import type { SolanaSession } from '../../../../chain/solana/client.ts'
import type { KaminoMarket } from '../../../../finance/price/table/kamino.ts'
import { yieldToEventLoop } from '../../../../lib/async/cooperative.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { UpstreamError } from '../../../../lib/error.ts'
import { createLru } from '../../../../lib/lru.ts'
import { maxBigint, minBigint } from '../../../../lib/number/fixed_point.ts'
import {
  type AccountCache,
  type Accounts,
  decodeAccount,
  type KnownMarket,
  type ObligationTarget,
} from '../accounts/account_cache.ts'
import type { AnswerCheck } from '../accounts/check.ts'
import { type Breadth, deriveUserAddress, deriveWalletAddresses } from './address.ts'
import type { FoundObligations } from './find_result.ts'
import { decodeLookupTable, decodeUserTable } from './table.ts'

/** Sequential requests: known addresses of a wallet, its lookup table, the addresses in the table. */
const WAVES_MAX = 3
/** Cached addresses, of all wallets together. */
const ADDRESSES_MAX = 200_000
const WALLETS_MAX = 20_000
/** Delay before markets' lookup tables are read again after a failure. */
const TABLES_RETRY_MS = 600_000

/** Addresses at which one wallet's obligations may be. */
interface WalletCandidates {
  readonly wallet: string
  readonly derived: readonly string[]
  readonly user: string
  readonly table: string | undefined
  readonly keys: readonly string[]
}

/** Derived addresses of a wallet, and the version of the cache that they were derived from. */
interface DerivedObligations {
  readonly version: number
  readonly addresses: readonly string[]
  readonly user: string
}

/** Creates a finder of wallets' obligations at addresses derived from usual seeds, for endpoints that cannot search. */
export function createDeriver(options: {
  readonly program: string
  readonly rows: readonly KaminoMarket[]
  readonly cache: AccountCache
  readonly check: AnswerCheck
  readonly clock: Clock
}) {
  const { program, rows, cache, check, clock } = options
  const derivations = createLru<DerivedObligations>({
    entriesMax: WALLETS_MAX,
    weightMax: ADDRESSES_MAX,
    getWeight: ({ addresses }) => addresses.length,
  })
  const tables = createLru<Pick<WalletCandidates, 'table' | 'keys'>>({
    entriesMax: WALLETS_MAX,
    weightMax: ADDRESSES_MAX,
    getWeight: ({ keys }) => keys.length + 1,
  })
  let hasReadRows = false
  let tablesRetryAtMs = Number.NEGATIVE_INFINITY

  /** Reads the built-in and configured markets, their reserves, and the accounts in their lookup tables. */
  async function learnMarkets(session: SolanaSession): Promise<void> {
    const nowMs = clock.monotonicMs()
    if (hasReadRows && nowMs < tablesRetryAtMs) return
    const addresses = rows.flatMap(({ market, reserves, lookupTable }) => [
      market,
      ...reserves,
      ...(lookupTable === undefined ? [] : [lookupTable]),
    ])
    const accounts = await readAccounts(session, addresses, 0n)
    cache.learn(accounts.all)
    cache.learnMarkets(accounts.all)
    hasReadRows = true
    const keys = rows.flatMap(({ lookupTable = '' }) => decodeLookupTable(accounts.all.get(lookupTable)))
    const unread = [...new Set(keys)].filter((key) => !accounts.all.has(key))
    try {
      const named = await readAccounts(session, unread, 0n)
      cache.learn(named.all)
      cache.learnMarkets(named.all)
      tablesRetryAtMs = Number.POSITIVE_INFINITY
    } catch (error) {
      // Optional: the tables only widen the search, and an account in them may be too long to read.
      if (!(error instanceof UpstreamError)) throw error
      tablesRetryAtMs = nowMs + TABLES_RETRY_MS
    }
  }

  /** Reads accounts, which may be of different slots. */
  async function readAccounts(session: SolanaSession, addresses: readonly string[], minSlot: bigint) {
    const items = addresses.map((address) => [address])
    const groups = [...new Set(await session.grouped(items, { minSlot, check, mayDiffer: true }))]
    const slots = groups.map(({ slot }) => slot)
    return { all: new Map(groups.flatMap(({ accounts }) => [...accounts])), slots }
  }

  async function deriveAddresses(
    wallet: string,
    breadth: Breadth,
    onlyMarket: string | undefined,
  ): Promise<DerivedObligations> {
    const key = `${wallet}:${breadth}:${onlyMarket ?? ''}`
    const cached = derivations.get(key)
    if (cached?.version === cache.version) return cached
    const { version } = cache
    await yieldToEventLoop()
    const addresses = await deriveWalletAddresses(program, wallet, { markets: listMarkets(onlyMarket), breadth })
    const derivation = { version, addresses, user: cached?.user ?? deriveUserAddress(program, wallet) }
    derivations.set(key, derivation)
    return derivation
  }

  /** Lists the requested market, known or not, or all known markets. */
  function listMarkets(onlyMarket: string | undefined): readonly KnownMarket[] {
    const markets = cache.markets()
    if (onlyMarket === undefined) return markets
    return [markets.find(({ market }) => market === onlyMarket) ?? { market: onlyMarket, reserves: new Map() }]
  }

  async function createCandidates(
    wallet: string,
    breadth: Breadth,
    onlyMarket: string | undefined,
  ): Promise<WalletCandidates> {
    const { addresses, user } = await deriveAddresses(wallet, breadth, onlyMarket)
    const remembered = cache.getObligations(wallet) ?? []
    const { table, keys } = tables.get(wallet) ?? { table: undefined, keys: [] }
    return { wallet, derived: [...remembered.map(({ address }) => address), ...addresses], user, table, keys }
  }

  /** Adds the lookup table that the accounts name, and the addresses in it. */
  function followLookupTable(candidates: WalletCandidates, accounts: Accounts): WalletCandidates {
    const table = decodeUserTable(accounts.get(candidates.user), program)
    const account = table === undefined ? undefined : accounts.get(table)
    const keys = account === undefined ? candidates.keys : decodeLookupTable(account)
    if (table !== undefined) tables.set(candidates.wallet, { table, keys })
    return { ...candidates, table, keys }
  }

  function toTargets({ wallet, derived, keys }: WalletCandidates, accounts: Accounts): ObligationTarget[] {
    return [...new Set([...derived, ...keys])].flatMap((address) => {
      const account = accounts.get(address)
      const obligation = account?.owner === program ? decodeAccount(account).obligation : undefined
      return obligation?.owner === wallet ? [{ address, market: obligation.market, wallet }] : []
    })
  }

  /** Finds the obligations of wallets at derived addresses, in the order of the wallets. */
  return async (
    session: SolanaSession,
    wallets: readonly string[],
    { breadth, market, minSlot }: DeriveOptions,
  ): Promise<FoundObligations[]> => {
    await learnMarkets(session)
    let candidates: WalletCandidates[] = []
    for (const wallet of wallets) candidates.push(await createCandidates(wallet, breadth, market))
    const accounts = new Map<string, SolanaAccount | null>()
    const slots: bigint[] = []
    for (let waves = 0; waves < WAVES_MAX; waves++) {
      const addresses = candidates.flatMap(({ derived, user, table, keys }) => [
        ...derived,
        user,
        ...(table === undefined ? [] : [table]),
        ...keys,
      ])
      const unread = [...new Set(addresses)].filter((address) => !accounts.has(address))
      if (unread.length === 0) break
      const read = await readAccounts(session, unread, minSlot)
      for (const [address, account] of read.all) accounts.set(address, account)
      slots.push(...read.slots)
      candidates = candidates.map((each) => followLookupTable(each, accounts))
    }
    cache.learn(accounts)
    const oldest = slots.reduce(minBigint)
    const newest = slots.reduce(maxBigint)
    const by = { markets: listMarkets(market).length }
    return candidates.map((each) => ({ targets: toTargets(each, accounts), oldest, newest, by }))
  }
}

interface DeriveOptions {
  readonly breadth: Breadth
  /** If given, only this market is searched. */
  readonly market: string | undefined
  readonly minSlot: bigint
}
