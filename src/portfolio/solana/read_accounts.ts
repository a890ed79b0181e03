import type { WithExpiry } from '../../chain/block_cache.ts'
import type { SolanaAccounts } from '../../chain/solana/accounts.ts'
import { SOLANA_CHAIN_ID, type SolanaClient, type SolanaSession } from '../../chain/solana/client.ts'
import type { AccountGroup } from '../../chain/solana/groups.ts'
import type { ListedTokenAccount } from '../../chain/solana/searches.ts'
import { createSlotCache, getMaxSlotDistance } from '../../chain/solana/slot_cache.ts'
import { listWalletTokens, type WalletTokens } from '../../chain/solana/token/wallet_tokens.ts'
import type { AccountHoldings, AccountHoldingsReader, HoldingsPlan } from '../../family/holding.ts'
import { getScopePrices } from '../../finance/price/scope/prices.ts'
import type { PriceMarket } from '../../finance/price/table/kamino.ts'
import { createSolanaTokens } from '../../finance/token/solana_tokens.ts'
import type { Clock } from '../../lib/clock.ts'
import { UpstreamError } from '../../lib/error.ts'
import { createLru } from '../../lib/lru.ts'
import { maxBigint, minBigint } from '../../lib/number/fixed_point.ts'
import { countDust } from '../sum/dust.ts'
import { CACHE_LIMITS, POSITIONS_MAX } from '../sum/limits.ts'
import type { AssetsRead, HeldAsset } from '../sum/row.ts'
import { ACCOUNTS_MAX, type LimitedTokens, limitTokens } from './limit_tokens.ts'
import { createOwnPlanner, type OwnPlan } from './own_tokens.ts'

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
  read(wallet: string, signal: AbortSignal): Promise<WithExpiry<AssetsRead>>
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
    read(wallet, signal) {
      return cache(wallet, (session) => readWithRetries(session, wallet), signal)
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
): Pick<AssetsRead, 'assets' | 'notRead' | 'nfts' | 'searches'> {
  const own = new Set(held.flatMap(({ ownTokens }) => ownTokens))
  const positionAssets = held.flatMap(({ rows }) =>
    rows.map(({ refused, ...row }): HeldAsset => ({ ...row, chainId: SOLANA_CHAIN_ID, refused, isUnlisted: false })),
  )
  const assets = [...wallet.assets.filter(({ token }) => !own.has(token.address)), ...positionAssets]
  return {
    assets: isMixed ? assets : assets.map(({ slot: _, ...asset }) => asset),
    notRead: held.flatMap(({ notRead }) => notRead),
    nfts: wallet.nfts.filter((mint) => !own.has(mint)).length,
    searches,
  }
}
