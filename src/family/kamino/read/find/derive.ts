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

/** Requests in a row: what is known of a wallet, its lookup table, what that names. */
const WAVES_MAX = 3
/** Addresses that are remembered, of all wallets together. */
const ADDRESSES_MAX = 200_000
const WALLETS_MAX = 20_000
/** How long markets' lookup tables are left alone after they could not be read. */
const TABLES_AGAIN_MS = 600_000

/** Where one wallet's obligations may be. */
interface WalletCandidates {
  readonly wallet: string
  readonly derived: readonly string[]
  readonly user: string
  readonly table: string | undefined
  readonly keys: readonly string[]
}

/** The addresses of a wallet that were derived, and by what was known then. */
interface DerivedObligations {
  readonly version: number
  readonly addresses: readonly string[]
  readonly user: string
}

/** Finds obligations of wallets at addresses that are derived from usual seeds, for endpoints that cannot search. */
export function createDeriver(options: {
  readonly program: string
  readonly rows: readonly KaminoMarket[]
  readonly known: AccountCache
  readonly check: AnswerCheck
  readonly clock: Clock
}) {
  const { program, rows, known, check, clock } = options
  const derivations = createLru<DerivedObligations>({
    entriesMax: WALLETS_MAX,
    weightMax: ADDRESSES_MAX,
    weightOf: ({ addresses }) => addresses.length,
  })
  const tables = createLru<Pick<WalletCandidates, 'table' | 'keys'>>({
    entriesMax: WALLETS_MAX,
    weightMax: ADDRESSES_MAX,
    weightOf: ({ keys }) => keys.length + 1,
  })
  let rowsRead = false
  let tablesAtMs = Number.NEGATIVE_INFINITY

  /** Reads the markets of the table and of the configuration, their reserves, and what their lookup tables name. */
  async function learnMarkets(session: SolanaSession): Promise<void> {
    const nowMs = clock.monotonicMs()
    if (rowsRead && nowMs < tablesAtMs) return
    const named = rows.flatMap(({ market, reserves, lookupTable }) => [
      market,
      ...reserves,
      ...(lookupTable === undefined ? [] : [lookupTable]),
    ])
    const accounts = await readApart(session, named, 0n)
    known.learn(accounts.all)
    rowsRead = true
    const keys = rows.flatMap(({ lookupTable = '' }) => decodeLookupTable(accounts.all.get(lookupTable)))
    const unread = [...new Set(keys)].filter((key) => !accounts.all.has(key))
    try {
      known.learn((await readApart(session, unread, 0n)).all)
      tablesAtMs = Number.POSITIVE_INFINITY
    } catch (error) {
      // They only add to what is found: an account among them may be too long to be read.
      if (!(error instanceof UpstreamError)) throw error
      tablesAtMs = nowMs + TABLES_AGAIN_MS
    }
  }

  /** Accounts, each of the slot at which it was read. */
  async function readApart(session: SolanaSession, addresses: readonly string[], minSlot: bigint) {
    const items = addresses.map((address) => [address])
    const groups = [...new Set(await session.grouped(items, { minSlot, check, mayDiffer: true }))]
    const slots = groups.map(({ slot }) => slot)
    return { all: new Map(groups.flatMap(({ accounts }) => [...accounts])), slots }
  }

  async function derivedOf(wallet: string, breadth: Breadth, only: string | undefined): Promise<DerivedObligations> {
    const key = `${wallet}:${breadth}:${only ?? ''}`
    const before = derivations.get(key)
    if (before?.version === known.version) return before
    const { version } = known
    await yieldToEventLoop()
    const addresses = await deriveWalletAddresses(program, wallet, { markets: marketsOf(only), breadth })
    const made = { version, addresses, user: before?.user ?? deriveUserAddress(program, wallet) }
    derivations.set(key, made)
    return made
  }

  /** The market that was asked for, known or not, or all that are known. */
  function marketsOf(only: string | undefined): readonly KnownMarket[] {
    const markets = known.markets()
    if (only === undefined) return markets
    return [markets.find(({ market }) => market === only) ?? { market: only, reserves: new Map() }]
  }

  async function trailOf(wallet: string, breadth: Breadth, only: string | undefined): Promise<WalletCandidates> {
    const { addresses, user } = await derivedOf(wallet, breadth, only)
    const before = known.obligationsOf(wallet) ?? []
    const { table, keys } = tables.get(wallet) ?? { table: undefined, keys: [] }
    return { wallet, derived: [...before.map(({ address }) => address), ...addresses], user, table, keys }
  }

  /** What a wallet's lookup table is now known to name. */
  function followed(trail: WalletCandidates, accounts: Accounts): WalletCandidates {
    const table = decodeUserTable(accounts.get(trail.user), program)
    const account = table === undefined ? undefined : accounts.get(table)
    const keys = account === undefined ? trail.keys : decodeLookupTable(account)
    if (table !== undefined) tables.set(trail.wallet, { table, keys })
    return { ...trail, table, keys }
  }

  function targetsIn({ wallet, derived, keys }: WalletCandidates, accounts: Accounts): ObligationTarget[] {
    return [...new Set([...derived, ...keys])].flatMap((address) => {
      const account = accounts.get(address)
      const obligation = account?.owner === program ? decodeAccount(account).obligation : undefined
      return obligation?.owner === wallet ? [{ address, market: obligation.market, wallet }] : []
    })
  }

  /** What wallets have at addresses that can be derived, in the order of the wallets. */
  return async (
    session: SolanaSession,
    wallets: readonly string[],
    { breadth, market, minSlot }: DeriveOptions,
  ): Promise<FoundObligations[]> => {
    await learnMarkets(session)
    let trails: WalletCandidates[] = []
    for (const wallet of wallets) trails.push(await trailOf(wallet, breadth, market))
    const accounts = new Map<string, SolanaAccount | null>()
    const slots: bigint[] = []
    for (let waves = 0; waves < WAVES_MAX; waves++) {
      const wanted = trails.flatMap(({ derived, user, table, keys }) => [
        ...derived,
        user,
        ...(table === undefined ? [] : [table]),
        ...keys,
      ])
      const unread = [...new Set(wanted)].filter((address) => !accounts.has(address))
      if (unread.length === 0) break
      const read = await readApart(session, unread, minSlot)
      for (const [address, account] of read.all) accounts.set(address, account)
      slots.push(...read.slots)
      trails = trails.map((trail) => followed(trail, accounts))
    }
    known.learn(accounts)
    const oldest = slots.reduce(minBigint)
    const newest = slots.reduce(maxBigint)
    const by = { markets: marketsOf(market).length }
    return trails.map((trail) => ({ targets: targetsIn(trail, accounts), oldest, newest, by }))
  }
}

interface DeriveOptions {
  readonly breadth: Breadth
  /** Looks in this market alone. */
  readonly market: string | undefined
  readonly minSlot: bigint
}
