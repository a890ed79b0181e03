import type { WithExpiry } from '../../chain/block_cache.ts'
import type { SolanaAccounts } from '../../chain/solana/accounts.ts'
import { SOLANA_CHAIN_ID, type SolanaClient, type SolanaSession } from '../../chain/solana/client.ts'
import type { AccountGroup } from '../../chain/solana/groups.ts'
import type { ListedTokenAccount } from '../../chain/solana/searches.ts'
import { createSlotCache, getMaxSlotDistance } from '../../chain/solana/slot_cache.ts'
import { decodeMint, decodeTokenAccount } from '../../chain/solana/token.ts'
import { listWalletTokens, type WalletTokens } from '../../chain/solana/wallet_tokens.ts'
import type { AccountHoldings, AccountHoldingsReader, HoldingsPlan } from '../../family/holding.ts'
import { getScopePrices, type ScopePrices } from '../../finance/price/scope.ts'
import type { PriceMarket } from '../../finance/price/table/kamino.ts'
import {
  createSolanaTokens,
  type SolanaToken,
  type SolanaTokens,
  solanaSpamReason,
  toFallbackSymbol,
} from '../../finance/token/solana_tokens.ts'
import { mapCooperatively } from '../../lib/async/cooperative.ts'
import { chunk } from '../../lib/async/parallel.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { UpstreamError } from '../../lib/error.ts'
import { groupBy } from '../../lib/group_by.ts'
import { createLru } from '../../lib/lru.ts'
import { maxBigint, minBigint } from '../../lib/number/fixed_point.ts'
import { countDust } from '../sum/dust.ts'
import { CACHE_LIMITS, POSITIONS_MAX } from '../sum/limits.ts'
import type { AssetsRead, HeldAsset } from '../sum/row.ts'

/** Time limit for one answer over all steps and attempts, milliseconds. */
const BUDGET_MS = 6_000
/** Most attempts to read a wallet that changes during the read. */
const ATTEMPTS_MAX = 3
/** Limits of the cache of token accounts: wallets, and token accounts in total. */
const WALLETS_CACHED_MAX = 5_000
const ACCOUNTS_CACHED_MAX = 200_000

/** A family with holdings on Solana. */
export interface AccountFamily {
  readonly name: string
  readonly reader: AccountHoldingsReader
}

/** Reads the assets and debts of Solana wallets. */
export interface AccountAssetReader {
  /**
   * Reads all of a wallet's assets at one slot, or each request at its own slot if several are needed and the slot
   * advances. Takes one sequential request if the wallet was read before and has the same accounts. Throws
   * `UpstreamError` if Solana cannot be read or the wallet keeps changing.
   */
  read(wallet: string, work: Work): Promise<WithExpiry<AssetsRead>>
}

/** Creates a reader over the holdings of families. */
export function createAccountAssetReader(options: {
  readonly solana: SolanaClient
  readonly families: readonly AccountFamily[]
  /** Source of prices. */
  readonly priceMarket: PriceMarket
  readonly clock: Clock
}): AccountAssetReader {
  const { solana, families, priceMarket, clock } = options
  const prices = getScopePrices(solana, priceMarket)
  const ownPlanner = createOwnPlanner({ tokens: createSolanaTokens(clock), prices })
  const slotDistanceMax = getMaxSlotDistance(solana)
  const accountsByWallet = createLru<readonly ListedTokenAccount[]>({
    entriesMax: WALLETS_CACHED_MAX,
    weightMax: ACCOUNTS_CACHED_MAX,
    getWeight: (tokens) => tokens.length,
  })
  const cache = createSlotCache<AssetsRead>({ solana, clock, budgetMs: BUDGET_MS, ...CACHE_LIMITS })

  async function limitListed(session: SolanaSession, listed: WalletTokens): Promise<LimitedTokens> {
    if (listed.tokens.length > ACCOUNTS_MAX) await prices.prepare(session)
    return limitTokens(listed, ({ mint }) => prices.listPriceAccounts(mint).length > 0)
  }

  /** Reads the accounts that the wallet's last read needed; undefined if not all of them are cached. */
  async function readEarly(session: SolanaSession, wallet: string): Promise<readonly AccountGroup[] | undefined> {
    const cached = accountsByWallet.get(wallet)
    if (cached === undefined || !prices.isReady()) return undefined
    const plans = families.map(({ reader }) => reader.recall(wallet))
    const cachedPlans = plans.filter((plan) => plan !== undefined)
    if (cachedPlans.length < plans.length) return undefined
    const { items, check } = mergePlans(await ownPlanner.plan(wallet, cached), cachedPlans)
    return await session.grouped(items, { check })
  }

  /** Reads the wallet's assets by its lists of tokens; returns the newest slot seen if something changed. */
  async function readOnce(
    session: SolanaSession,
    wallet: string,
    { minSlot, isFirst }: { readonly minSlot: bigint; readonly isFirst: boolean },
  ): Promise<AssetsRead | bigint> {
    const listed = listWalletTokens(session, wallet, minSlot)
    const limited = listed.then((all) => limitListed(session, all))
    const query = { wallet, minSlot, listed, positionsMax: POSITIONS_MAX }
    const [{ tokens, omitted, ...slotRange }, plans, early] = await Promise.all([
      limited,
      Promise.all(families.map(({ reader }) => reader.plan(session, query))),
      isFirst ? readEarly(session, wallet) : undefined,
      prices.prepare(session),
      limited.then((tokens) => ownPlanner.prepare(session, tokens)),
    ])
    const ownPlan = await ownPlanner.plan(wallet, tokens)
    const { items, check } = mergePlans(ownPlan, plans)
    const oldest = plans.map((plan) => plan.oldest).reduce(minBigint, slotRange.oldestSlot)
    const newestListed = plans.map((plan) => plan.newest).reduce(maxBigint, slotRange.newestSlot)
    const groups = isCovered(items, early) ? early : await session.grouped(items, { minSlot: newestListed, check })
    for (const { accounts } of new Set(groups)) prices.learn(accounts)
    const slots = groups.map(({ slot }) => slot)
    const [oldestRead, newest] = [slots.reduce(minBigint), slots.reduce(maxBigint)]
    const holdings = await readHoldings(groups, ownPlan, plans)
    // A list from a distant slot does not describe the slot of the answer.
    const isNear = newest - oldest <= slotDistanceMax && newestListed - oldestRead <= slotDistanceMax
    if (holdings === 'changed' || !isNear) return maxBigint(newest, newestListed)
    accountsByWallet.set(wallet, tokens)
    const block = { chainId: SOLANA_CHAIN_ID, number: oldestRead }
    const tokensAsked = new Set(tokens.map(({ mint }) => mint)).size
    const own = new Set(holdings.held.flatMap(({ ownTokens }) => ownTokens))
    const unread = omitted.filter(({ mint }) => !own.has(mint)).length
    const dust = countDust(SOLANA_CHAIN_ID, [
      ...plans.flatMap((plan) => (plan.omitted === undefined ? [] : { ...plan.omitted, max: POSITIONS_MAX })),
      ...(unread === 0 ? [] : [{ kind: 'wallet' as const, count: unread, max: ACCOUNTS_MAX }]),
    ])
    const answer = toAnswer(holdings, { isMixed: oldestRead !== newest })
    const assets = [...answer.assets, ...dust.assets]
    return { block, tokensAsked, isUnsourced: false, ...answer, assets, omitted: dust.omitted }
  }

  async function readHoldings(
    groups: readonly AccountGroup[],
    ownPlan: OwnPlan,
    plans: readonly HoldingsPlan[],
  ): Promise<FoundHoldings | 'changed'> {
    let at = ownPlan.items.length
    const wallet = await ownPlan.read(groups.slice(0, at))
    const held: AccountHoldings[] = []
    for (const plan of plans) {
      const end = at + plan.items.length
      const holdings = await plan.read(groups.slice(at, end))
      at = end
      if (holdings === 'changed') return holdings
      held.push(holdings)
    }
    if (wallet === 'changed') return wallet
    const searches = held.flatMap(({ search }, index) => {
      const family = families[index]?.name
      return search === undefined || family === undefined ? [] : { family, ...search }
    })
    return { wallet, held, searches }
  }

  async function readWithRetries(session: SolanaSession, wallet: string): Promise<AssetsRead> {
    let minSlot = 0n
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const result = await readOnce(session, wallet, { minSlot, isFirst: attempt === 0 })
      if (typeof result !== 'bigint') return result
      minSlot = result
    }
    throw new UpstreamError(`Cannot read the assets of wallet ${wallet}: they changed while they were read`)
  }

  return {
    read(wallet, work) {
      return cache(wallet, (session) => readWithRetries(session, wallet), work)
    },
  }
}

/** Holdings read from accounts, not merged yet. */
interface FoundHoldings {
  readonly wallet: Exclude<Awaited<ReturnType<OwnPlan['read']>>, 'changed'>
  readonly held: readonly AccountHoldings[]
  readonly searches: NonNullable<AssetsRead['searches']>
}

/** Merges plans: all accounts to read, and one check of the answer. */
function mergePlans(own: Pick<OwnPlan, 'items'>, plans: readonly Pick<HoldingsPlan, 'items' | 'check'>[]) {
  const items = [...own.items, ...plans.flatMap((plan) => plan.items)]
  const check = (answer: SolanaAccounts) => {
    for (const plan of plans) plan.check?.(answer)
  }
  return { items, check }
}

/** True if the groups contain all accounts of each item. */
function isCovered(
  items: readonly (readonly string[])[],
  groups: readonly AccountGroup[] | undefined,
): groups is readonly AccountGroup[] {
  if (groups?.length !== items.length) return false
  return items.every((item, index) => item.every((address) => groups[index]?.accounts.has(address) === true))
}

/** Merges holdings for an answer; assets keep their slot only if the slots differ. */
function toAnswer(
  { wallet, held, searches }: FoundHoldings,
  { isMixed }: { readonly isMixed: boolean },
): Pick<AssetsRead, 'assets' | 'notRead' | 'nfts' | 'searches' | 'outlooks'> {
  const own = new Set(held.flatMap(({ ownTokens }) => ownTokens))
  const positionAssets = held.flatMap(({ rows }) =>
    rows.map(({ refused, ...row }): HeldAsset => ({ ...row, chainId: SOLANA_CHAIN_ID, refused, isUnlisted: false })),
  )
  const assets = [...wallet.assets.filter(({ token }) => !own.has(token.address)), ...positionAssets]
  return {
    assets: isMixed ? assets : assets.map(({ slot: _, ...asset }) => asset),
    notRead: held.flatMap(({ notRead }) => notRead),
    outlooks: () => held.flatMap(({ listOutlooks }) => listOutlooks?.() ?? []),
    nfts: wallet.nfts.filter((mint) => !own.has(mint)).length,
    searches,
  }
}

/** Most token accounts with a balance that are read. */
export const ACCOUNTS_MAX = 2_000

/** The tokens of a wallet that are read, and the others. */
interface LimitedTokens extends WalletTokens {
  readonly omitted: readonly ListedTokenAccount[]
}

/**
 * Takes the accounts to read. Strangers can give a wallet any number of them, so those of tokens with a price come
 * first, and of these the greatest one of each token: units of one token say nothing beside those of another.
 */
export function limitTokens(
  listed: WalletTokens,
  isPriced: (token: Pick<ListedTokenAccount, 'mint'>) => boolean,
): LimitedTokens {
  const { tokens } = listed
  if (tokens.length <= ACCOUNTS_MAX) return { ...listed, omitted: [] }
  const ranked = [...groupBy(tokens, ({ mint }) => mint).values()].flatMap(([first, ...others]) => {
    if (first === undefined) return []
    const accounts = [first, ...others].sort((a, b) => compareAmounts(b, a))
    const hasPrice = isPriced(first)
    return accounts.map((token, place) => ({ token, place, hasPrice }))
  })
  ranked.sort(
    (a, b) => Number(b.hasPrice) - Number(a.hasPrice) || a.place - b.place || compareAmounts(b.token, a.token),
  )
  const inOrder = ranked.map(({ token }) => token)
  return { ...listed, tokens: inOrder.slice(0, ACCOUNTS_MAX), omitted: inOrder.slice(ACCOUNTS_MAX) }
}

type Amount = Pick<ListedTokenAccount, 'amount'>

function compareAmounts({ amount: a }: Amount, { amount: b }: Amount): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** Stands for native SOL, which has no mint: the address of the system program. */
const NATIVE = {
  address: '11111111111111111111111111111111',
  symbol: 'SOL',
  name: 'Solana',
  decimals: 9,
}
/** Mint of wrapped SOL, whose price is the price of SOL. */
const WRAPPED = 'So11111111111111111111111111111111111111112'
/** Most token accounts of one token in an item, besides the accounts that describe and price the token. */
const ACCOUNTS_PER_ITEM = 80
/** Mints whose addresses are derived, and tokens that are decoded, in one event-loop turn. */
const MINTS_PER_TURN = 25
/** Most cached decimals of mints. */
const MINTS_MAX = 200_000

/** SOL and tokens of a wallet, as of the slots of its rows; single-unit tokens as of the lists. */
interface OwnTokens {
  readonly assets: readonly HeldAsset[]
  /** Mints of single-unit tokens without decimals. */
  readonly nfts: readonly string[]
}

/** The accounts that a wallet's own tokens need, and their decoder. */
interface OwnPlan {
  /** Lists of addresses, each to be read at one slot. */
  readonly items: readonly (readonly string[])[]
  /** Decodes the accounts; `changed` if other accounts must be read. */
  read(groups: readonly AccountGroup[]): Promise<OwnTokens | 'changed'>
}

/** One token of a wallet in all of its accounts. */
interface Holder {
  readonly mint: string
  /** Token accounts by item. */
  readonly accounts: readonly (readonly ListedTokenAccount[])[]
}

/** Creates a planner of reads of a wallet's SOL and tokens, by its list of token accounts. */
function createOwnPlanner({ tokens, prices }: { readonly tokens: SolanaTokens; readonly prices: ScopePrices }) {
  const decimals = createLru<number>({ entriesMax: MINTS_MAX })

  /** Converts a token to a row, or returns why it has none; `groups` are the reads of its items. */
  function toRow(wallet: string, holder: Holder, groups: readonly AccountGroup[]): HeldAsset | NoRowReason {
    const [group, ...otherGroups] = groups
    // A sum over several slots may be a balance that the wallet never had.
    if (group === undefined || otherGroups.some(({ slot }) => slot !== group.slot)) return 'changed'
    const { mint } = holder
    const balances = holder.accounts.flatMap((accounts, index) =>
      accounts.map((account) => decodeBalance(groups[index] ?? group, { account, wallet })),
    )
    if (balances.includes('changed')) return 'changed'
    const amounts = balances.filter((each) => each !== 'changed').filter(({ amount }) => amount > 0n)
    const amount = amounts.reduce((sum, each) => sum + each.amount, 0n)
    if (amount === 0n) return 'nothing'
    const token = tokens.getToken(group.accounts, mint)
    if (token?.decimals === 0 && amount === 1n) return 'nft'
    const frozenAmount = amounts.reduce((sum, each) => sum + (each.isFrozen ? each.amount : 0n), 0n)
    return { ...toAsset(mint, token, group), amount, ...(frozenAmount > 0n ? { frozenAmount } : {}) }
  }

  function toAsset(mint: string, token: SolanaToken | undefined, group: AccountGroup): Omit<HeldAsset, 'amount'> {
    const { accounts, timestampSec, slot } = group
    const isScaled = token?.mint.isScaled === true
    const spam = token === undefined ? undefined : solanaSpamReason(token).reason
    return {
      ...IN_WALLET,
      slot,
      token: token ?? { address: mint, symbol: toFallbackSymbol(mint), name: '', decimals: undefined },
      price: prices.getPrice(accounts, { address: mint, isScaled }, timestampSec),
      refused: spam === undefined ? undefined : { reason: 'spam', detail: spam },
    }
  }

  function toNativeRows(wallet: string, { accounts, slot, timestampSec }: AccountGroup): HeldAsset[] {
    const amount = accounts.get(wallet)?.lamports ?? 0n
    if (amount === 0n) return []
    const price = prices.getPrice(accounts, { address: WRAPPED, isScaled: false }, timestampSec)
    return [{ ...IN_WALLET, token: NATIVE, amount, price, slot, refused: undefined }]
  }

  /**
   * Looks up which single-unit tokens have no decimals, so that nothing else about them is read, and derives the
   * metadata addresses of the other tokens, which are cached.
   */
  async function prepare(
    session: SolanaSession,
    { tokens: tokenAccounts, newestSlot: newest }: WalletTokens,
  ): Promise<void> {
    const undecoded = tokenAccounts.filter(({ amount, mint }) => amount === 1n && decimals.get(mint) === undefined)
    const items = [...new Set(undecoded.map(({ mint }) => mint))].map((mint) => [mint])
    for (const { accounts } of new Set(await session.grouped(items, { minSlot: newest, mayDiffer: true }))) {
      for (const [mint, account] of accounts) {
        const decoded = account === null ? undefined : decodeMint(account.data)
        if (decoded !== undefined) decimals.set(mint, decoded.decimals)
      }
    }
    const described = new Set(tokenAccounts.filter(({ mint }) => decimals.get(mint) !== 0).map(({ mint }) => mint))
    await mapCooperatively([...described], MINTS_PER_TURN, tokens.listUnread)
  }

  async function plan(wallet: string, tokenAccounts: readonly ListedTokenAccount[]): Promise<OwnPlan> {
    const units: string[] = []
    const holders: Holder[] = []
    for (const [mint, accounts] of groupBy(tokenAccounts, (each) => each.mint)) {
      const sum = accounts.reduce((total, { amount }) => total + amount, 0n)
      if (sum === 1n && decimals.get(mint) === 0) units.push(mint)
      else holders.push({ mint, accounts: chunk(accounts, ACCOUNTS_PER_ITEM) })
    }
    // Sort priced tokens first, so that few requests include the feed.
    holders.sort((a, b) => prices.listPriceAccounts(b.mint).length - prices.listPriceAccounts(a.mint).length)
    const native = [wallet, ...prices.listPriceAccounts(WRAPPED)]
    const toItems = ({ mint, accounts }: Holder) => {
      const shared = [...tokens.listUnread(mint), ...prices.listPriceAccounts(mint)]
      return accounts.map((chunkAccounts) => [...chunkAccounts.map(({ address }) => address), ...shared])
    }
    const items = (await mapCooperatively(holders, MINTS_PER_TURN, toItems)).flat()
    return {
      items: [native, ...items],
      async read([first, ...groups]) {
        if (first === undefined) return 'changed'
        let at = 0
        const rows = await mapCooperatively(holders, MINTS_PER_TURN, (holder) => {
          const from = at
          at += holder.accounts.length
          return toRow(wallet, holder, groups.slice(from, at))
        })
        if (rows.includes('changed')) return 'changed'
        const nfts = holders.filter((_, index) => rows[index] === 'nft').map(({ mint }) => mint)
        const assets = rows.filter((row) => typeof row === 'object')
        return { assets: [...toNativeRows(wallet, first), ...assets], nfts: [...units, ...nfts] }
      },
    }
  }
  return { prepare, plan }
}

type NoRowReason = 'changed' | 'nothing' | 'nft'

const IN_WALLET = { chainId: SOLANA_CHAIN_ID, kind: 'wallet', isUnlisted: false, position: null } as const

/** Decodes the wallet's balance in a listed token account: zero if it was closed or has another owner. */
function decodeBalance(
  { accounts }: AccountGroup,
  { account, wallet }: { readonly account: ListedTokenAccount; readonly wallet: string },
): { readonly amount: bigint; readonly isFrozen: boolean } | 'changed' {
  const tokenAccount = accounts.get(account.address)
  if (tokenAccount === undefined) return 'changed'
  const decoded = tokenAccount?.owner === account.program ? decodeTokenAccount(tokenAccount.data) : undefined
  if (decoded?.owner !== wallet) return { amount: 0n, isFrozen: false }
  return decoded.mint === account.mint ? decoded : 'changed'
}
