import { hasFault } from '../../../chain/rpc/error.ts'
import type { SolanaAccount } from '../../../chain/solana/accounts.ts'
import { type AccountKind, createByteReader } from '../../../chain/solana/bytes.ts'
import type { SolanaSession } from '../../../chain/solana/client.ts'
import { deriveProgramAddress } from '../../../chain/solana/program_address.ts'
import type { KaminoMarket } from '../../../finance/price/table/kamino.ts'
import { mapCooperatively, yieldToEventLoop } from '../../../lib/async/cooperative.ts'
import type { Clock } from '../../../lib/clock.ts'
import { CodedError, UpstreamError } from '../../../lib/error.ts'
import { createLru } from '../../../lib/lru.ts'
import { maxBigint, minBigint } from '../../../lib/number/fixed_point.ts'
import { decodeBase58Address } from '../../../lib/text/base58.ts'
import {
  type AccountCache,
  type Accounts,
  decodeAccount,
  type FoundObligations,
  type KnownMarket,
  type ObligationTarget,
  type TicketTarget,
} from './accounts/account_cache.ts'
import type { AnswerCheck } from './accounts/check.ts'
import { ACCOUNT_KINDS, OBLIGATION_OWNER_OFFSET, TICKET_OWNER_OFFSET } from './accounts/layout.ts'

/** Highest number of obligations of a wallet. Only the owner opens them, so spam cannot reach it. */
const OBLIGATIONS_MAX = 500

/** Creates a finder of wallets' obligations: by a search if an endpoint offers it, else at derived addresses. */
export function createFinder(options: Parameters<typeof createDeriver>[0]) {
  const { program, cache } = options
  const derive = createDeriver(options)

  /** Finds all accounts of a kind that a wallet owns; undefined if no endpoint searches the program's accounts. */
  async function searchOwned(
    session: SolanaSession,
    wallet: string,
    { kind, ownerAt, minSlot }: { readonly kind: AccountKind; readonly ownerAt: number; readonly minSlot: bigint },
  ) {
    const { size, discriminator } = kind
    const holds = [
      { at: 0, bytes: new Uint8Array(Buffer.from(discriminator, 'hex')) },
      { at: ownerAt, bytes: decodeBase58Address(wallet) },
    ]
    try {
      return await session.programAccounts({ program, size, holds }, { minSlot })
    } catch (error) {
      if (hasFault(error, 'unsupported')) return undefined
      throw error
    }
  }

  /** Finds all obligations of a wallet by a search of the program's accounts; undefined if no endpoint offers it. */
  async function search(
    session: SolanaSession,
    wallet: string,
    minSlot: bigint,
  ): Promise<FoundObligations | undefined> {
    const kind = ACCOUNT_KINDS.obligation
    const found = await searchOwned(session, wallet, { kind, ownerAt: OBLIGATION_OWNER_OFFSET, minSlot })
    if (found === undefined) return undefined
    const { slot, accounts } = found
    cache.learn(new Map(accounts.map((account) => [account.address, account])))
    const targets = accounts.flatMap((account) => {
      const { obligation } = decodeAccount(account)
      return obligation === undefined ? [] : [{ address: account.address, market: obligation.market, wallet }]
    })
    return checkCount(wallet, { targets, oldest: slot, newest: slot, by: 'search' })
  }

  return {
    search,
    /** Finds all tickets of a wallet with collateral; undefined if no endpoint searches the program's accounts. */
    async searchTickets(session: SolanaSession, wallet: string, minSlot: bigint): Promise<FoundTickets | undefined> {
      const found = await searchOwned(session, wallet, {
        kind: ACCOUNT_KINDS.ticket,
        ownerAt: TICKET_OWNER_OFFSET,
        minSlot,
      })
      const tickets = found?.accounts.flatMap((account) => {
        const { ticket } = decodeAccount(account)
        const isEmpty = ticket === undefined || ticket.collateralAmount === 0n
        return isEmpty ? [] : [{ address: account.address, reserve: ticket.reserve }]
      })
      return found && tickets && { tickets, slot: found.slot }
    },
    /** Finds obligations of many wallets, in their order, at addresses of the most usual seeds only. */
    derive: (
      session: SolanaSession,
      wallets: readonly string[],
      query: MarketNarrowing & { readonly minSlot: bigint },
    ) => derive(session, wallets, { breadth: 'brief', ...query }),
    /** Finds obligations of one wallet at a slot not before `minSlot`, by a search if an endpoint offers it. */
    async find(
      session: SolanaSession,
      { wallet, market }: MarketNarrowing & { readonly wallet: string },
      minSlot: bigint,
    ): Promise<FoundObligations> {
      const searched = await search(session, wallet, minSlot)
      if (searched !== undefined) return searched
      const [derived] = await derive(session, [wallet], { breadth: 'whole', market, minSlot })
      return checkCount(wallet, derived as FoundObligations)
    },
  }
}

/** A wallet's tickets as they stood at a slot. */
export interface FoundTickets {
  readonly tickets: readonly TicketTarget[]
  readonly slot: bigint
}

/** Restricts derived addresses to one market; undefined: all known markets. A search always covers all markets. */
interface MarketNarrowing {
  readonly market: string | undefined
}

function checkCount(wallet: string, obligations: FoundObligations): FoundObligations {
  if (obligations.targets.length <= OBLIGATIONS_MAX) return obligations
  const message = `Cannot read the obligations of wallet ${wallet}: it has more than ${OBLIGATIONS_MAX}`
  throw new CodedError('INVALID_PARAMETER', message)
}

/** Finds wallets' obligations. */
export type Finder = ReturnType<typeof createFinder>

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
function createDeriver(options: {
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

const TABLE_OWNER = 'AddressLookupTab1e1111111111111111111111111'
const TABLE_KIND = 1
const KEYS_AT = 56
const KEY_BYTES = 32
/** Highest number of addresses in a lookup table. */
const KEYS_MAX = 256
const USER_BYTES = 1032
const USER_TABLE_AT = 48

/** Decodes the addresses in a lookup table; empty if the account is no lookup table. */
function decodeLookupTable(account: SolanaAccount | null | undefined): string[] {
  if (account?.owner !== TABLE_OWNER || account.data.length < KEYS_AT) return []
  const bytes = createByteReader(account.data)
  if (bytes.u32(0) !== TABLE_KIND) return []
  const count = Math.min(KEYS_MAX, Math.floor((account.data.length - KEYS_AT) / KEY_BYTES))
  return Array.from({ length: count }, (_, index) => bytes.key(KEYS_AT + index * KEY_BYTES))
}

/** Decodes the lookup table that a wallet's metadata account names; undefined without one. */
function decodeUserTable(account: SolanaAccount | null | undefined, program: string): string | undefined {
  if (account?.owner !== program || account.data.length !== USER_BYTES) return undefined
  return createByteReader(account.data).key(USER_TABLE_AT)
}

/** Addresses that are derived in one turn of the event loop, at 0.1 ms each. */
const ADDRESSES_IN_TURN = 20
/** Highest number of derived addresses of a wallet, its lookup table not counted. */
const DERIVED_MAX = 280
/** Share of the first market's tokens and pairs in them: most obligations are in the main market. */
const FIRST_SHARE = 120
/** How many plain obligations of a wallet in a market are derived, numbered from 0. */
const NUMBERS = { brief: 1, whole: 5 } as const
const KEY_NONE = new Uint8Array(32)

/** Kinds of obligations whose seeds are known, as the program numbers them. */
const TAG = { plain: 0, multiply: 1, lending: 2, leverage: 3 } as const

/** `brief`: only plain obligations of number 0, for many wallets at once. */
type Breadth = keyof typeof NUMBERS

/** Seeds of an obligation's address besides the wallet. */
interface Seeds {
  readonly market: string
  readonly tag: (typeof TAG)[keyof typeof TAG]
  readonly number: number
  /** Mints of collateral and debt, or zeros. */
  readonly keys: readonly [Uint8Array, Uint8Array]
}

/** Derives the address of an obligation. Source: klend `handler_init_obligation.rs`. */
export function deriveObligationAddress(program: string, wallet: string, { market, tag, number, keys }: Seeds): string {
  return deriveProgramAddress(program, [
    Uint8Array.of(tag),
    Uint8Array.of(number),
    decodeBase58Address(wallet),
    decodeBase58Address(market),
    ...keys,
  ])
}

/** Derives the address of a wallet's metadata account, which names its lookup table. */
function deriveUserAddress(program: string, wallet: string): string {
  return deriveProgramAddress(program, ['user_meta', decodeBase58Address(wallet)])
}

/**
 * Derives the addresses at which a wallet may have obligations in these markets: plain ones and, if `whole`, one for
 * each token and those of pairs of tokens, pairs of one elevation group first. The first market has a share of its own,
 * however many others there are.
 */
async function deriveWalletAddresses(
  program: string,
  wallet: string,
  { markets, breadth }: { readonly markets: readonly KnownMarket[]; readonly breadth: Breadth },
): Promise<string[]> {
  const first = breadth === 'whole' ? pairedSeeds(markets.slice(0, 1)) : []
  const others = breadth === 'whole' ? pairedSeeds(markets.slice(1)) : []
  const share = first.slice(0, FIRST_SHARE)
  const plain = plainSeeds(markets, NUMBERS[breadth]).slice(0, DERIVED_MAX - share.length)
  const seeds = [...plain, ...share, ...others, ...first.slice(FIRST_SHARE)]
  return await mapCooperatively(seeds.slice(0, DERIVED_MAX), ADDRESSES_IN_TURN, (each) =>
    deriveObligationAddress(program, wallet, each),
  )
}

function plainSeeds(markets: readonly KnownMarket[], numbers: number): Seeds[] {
  return Array.from({ length: numbers }, (_, number) => number).flatMap((number) =>
    markets.map(({ market }): Seeds => ({ market, tag: TAG.plain, number, keys: [KEY_NONE, KEY_NONE] })),
  )
}

function pairedSeeds(markets: readonly KnownMarket[]): Seeds[] {
  const tokens = markets.flatMap(({ market, reserves }) =>
    [...reserves.values()].map(({ mint, groups }) => ({ market, key: decodeBase58Address(mint), groups })),
  )
  const single = tokens.map(({ market, key }): Seeds => ({ market, tag: TAG.lending, number: 0, keys: [key, key] }))
  const pairs = tokens.flatMap((collateral) =>
    tokens
      .filter((debt) => debt !== collateral && debt.market === collateral.market)
      .map((debt) => ({
        market: collateral.market,
        keys: [collateral.key, debt.key] as const,
        isGrouped: collateral.groups.some((group) => debt.groups.includes(group)),
      })),
  )
  const ordered = [...pairs.filter(({ isGrouped }) => isGrouped), ...pairs.filter(({ isGrouped }) => !isGrouped)]
  return [
    ...single,
    ...ordered.flatMap(({ market, keys }) =>
      [TAG.multiply, TAG.leverage].map((tag): Seeds => ({ market, tag, number: 0, keys })),
    ),
  ]
}
