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
import { CodedError, UpstreamError } from '../../lib/error.ts'
import { createLru } from '../../lib/lru.ts'
import { maxBigint, minBigint } from '../../lib/number/fixed_point.ts'
import { CACHE_LIMITS, POSITIONS_MAX } from '../sum/limits.ts'
import type { AssetsRead, HeldAsset } from '../sum/row.ts'
import { createOwnPlanner, type OwnPlan } from './own_tokens.ts'

/** Time for one answer over all its steps and tries. */
const BUDGET_MS = 6_000
/** So often a wallet is read again because something changed meanwhile. */
const TRIES_MAX = 3
/** Most token accounts of a wallet that hold something. */
const ACCOUNTS_MAX = 2_000
/** Wallets that are remembered, and how many token accounts they may have together. */
const WALLETS_MAX = 5_000
const REMEMBERED_MAX = 200_000

/** A family whose holdings on Solana are summed. */
export interface AccountFamily {
  readonly name: string
  readonly reader: AccountHoldingsReader
}

/** Reads all that wallets of Solana have and owe. */
export interface AccountAssetReader {
  /**
   * All of a wallet's assets at one slot; if they fill several requests and the slot goes on meanwhile, each at its own.
   * One request in a row if the wallet was read before and has the same accounts. Throws `CodedError` INVALID_PARAMETER
   * if it has too many token accounts or positions, `UpstreamError` if Solana cannot be read or changes meanwhile.
   */
  read(wallet: string, signal: AbortSignal): Promise<WithExpiry<AssetsRead>>
}

/** Makes a reader over what families hold. */
export function createAccountAssetReader(options: {
  readonly solana: SolanaClient
  readonly families: readonly AccountFamily[]
  /** Where prices come from. */
  readonly priceMarket: PriceMarket
  readonly clock: Clock
}): AccountAssetReader {
  const { solana, families, priceMarket, clock } = options
  const prices = getScopePrices(solana, priceMarket)
  const own = createOwnPlanner({ tokens: createSolanaTokens(clock), prices })
  const apartMax = getMaxSlotDistance(solana)
  const remembered = createLru<readonly ListedTokenAccount[]>({
    entriesMax: WALLETS_MAX,
    weightMax: REMEMBERED_MAX,
    weightOf: (tokens) => tokens.length,
  })
  const cache = createSlotCache<AssetsRead>({ solana, clock, budgetMs: BUDGET_MS, ...CACHE_LIMITS })

  async function list(session: SolanaSession, wallet: string, minSlot: bigint): Promise<WalletTokens> {
    const listed = await listWalletTokens(session, wallet, minSlot)
    const count = listed.tokens.length
    if (count <= ACCOUNTS_MAX) return listed
    const limit = `at most ${ACCOUNTS_MAX} that hold something can be summed`
    throw new CodedError('INVALID_PARAMETER', `Cannot sum ${count} token accounts of wallet ${wallet}: ${limit}`)
  }

  /** What the wallet needed when it was last read, and the answer to that; undefined if not all of it is known. */
  async function readEarly(session: SolanaSession, wallet: string): Promise<readonly AccountGroup[] | undefined> {
    const before = remembered.get(wallet)
    if (before === undefined || !prices.isReady()) return undefined
    const plans = families.map(({ reader }) => reader.recall(wallet))
    const known = plans.filter((plan) => plan !== undefined)
    if (known.length < plans.length) return undefined
    const { items, check } = wholeOf(await own.plan(wallet, before), known)
    return await session.grouped(items, { check })
  }

  /** All that the wallet has by the lists of its tokens; the newest slot that was seen if something changed. */
  async function readOnce(
    session: SolanaSession,
    wallet: string,
    { minSlot, isFirst }: { readonly minSlot: bigint; readonly isFirst: boolean },
  ): Promise<AssetsRead | bigint> {
    const listed = list(session, wallet, minSlot)
    const question = { wallet, minSlot, listed, positionsMax: POSITIONS_MAX }
    const [{ tokens, ...listedAt }, plans, early] = await Promise.all([
      listed,
      Promise.all(families.map(({ reader }) => reader.plan(session, question))),
      isFirst ? readEarly(session, wallet) : undefined,
      prices.prepare(session),
      listed.then((tokens) => own.prepare(session, tokens)),
    ])
    const positions = plans.reduce((sum, plan) => sum + plan.positions, 0)
    if (positions > POSITIONS_MAX) {
      const message = `Cannot sum ${positions} positions of wallet ${wallet}: at most ${POSITIONS_MAX} can be summed`
      throw new CodedError('INVALID_PARAMETER', message)
    }
    const itself = await own.plan(wallet, tokens)
    const { items, check } = wholeOf(itself, plans)
    const oldest = plans.map((plan) => plan.oldest).reduce(minBigint, listedAt.oldest)
    const named = plans.map((plan) => plan.newest).reduce(maxBigint, listedAt.newest)
    const groups = isAmong(items, early) ? early : await session.grouped(items, { minSlot: named, check })
    for (const { accounts } of new Set(groups)) prices.learn(accounts)
    const slots = groups.map(({ slot }) => slot)
    const [least, newest] = [slots.reduce(minBigint), slots.reduce(maxBigint)]
    const found = await assetsIn(groups, itself, plans)
    // A list that is much older, or much younger, says little about the slot of the answer.
    const isNear = newest - oldest <= apartMax && named - least <= apartMax
    if (found === 'changed' || !isNear) return maxBigint(newest, named)
    remembered.set(wallet, tokens)
    const block = { chainId: SOLANA_CHAIN_ID, number: least }
    const tokensAsked = new Set(tokens.map(({ mint }) => mint)).size
    return { block, tokensAsked, ...shownFrom(found, { isMixed: least !== newest }) }
  }

  async function assetsIn(
    groups: readonly AccountGroup[],
    itself: OwnPlan,
    plans: readonly HoldingsPlan[],
  ): Promise<FoundHoldings | 'changed'> {
    let at = itself.items.length
    const wallet = await itself.read(groups.slice(0, at))
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

  async function readIn(session: SolanaSession, wallet: string): Promise<AssetsRead> {
    let minSlot = 0n
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const read = await readOnce(session, wallet, { minSlot, isFirst: tries === 0 })
      if (typeof read !== 'bigint') return read
      minSlot = read
    }
    throw new UpstreamError(`Cannot read the assets of wallet ${wallet}: they changed while they were read`)
  }

  return {
    read(wallet, signal) {
      return cache(wallet, (session) => readIn(session, wallet), signal)
    },
  }
}

/** All that was found, not yet put together. */
interface FoundHoldings {
  readonly wallet: Exclude<Awaited<ReturnType<OwnPlan['read']>>, 'changed'>
  readonly held: readonly AccountHoldings[]
  readonly searches: NonNullable<AssetsRead['searches']>
}

/** All that must be read for an answer. */
function wholeOf(own: Pick<OwnPlan, 'items'>, plans: readonly Pick<HoldingsPlan, 'items' | 'check'>[]) {
  const items = [...own.items, ...plans.flatMap((plan) => plan.items)]
  const check = (answer: SolanaAccounts) => {
    for (const plan of plans) plan.check?.(answer)
  }
  return { items, check }
}

/** True if all accounts of each item were read. */
function isAmong(
  items: readonly (readonly string[])[],
  groups: readonly AccountGroup[] | undefined,
): groups is readonly AccountGroup[] {
  if (groups?.length !== items.length) return false
  return items.every((item, index) => item.every((address) => groups[index]?.accounts.has(address) === true))
}

/** Assets as answers show them; each says its slot if they are of several. */
function shownFrom(
  { wallet, held, searches }: FoundHoldings,
  { isMixed }: { readonly isMixed: boolean },
): Pick<AssetsRead, 'assets' | 'notRead' | 'nfts' | 'searches'> {
  const own = new Set(held.flatMap(({ ownTokens }) => ownTokens))
  const inPositions = held.flatMap(({ rows }) =>
    rows.map(({ refused, ...row }): HeldAsset => ({ ...row, chainId: SOLANA_CHAIN_ID, refused, isUnlisted: false })),
  )
  const assets = [...wallet.assets.filter(({ token }) => !own.has(token.address)), ...inPositions]
  return {
    assets: isMixed ? assets : assets.map(({ slot: _, ...asset }) => asset),
    notRead: held.flatMap(({ notRead }) => notRead),
    nfts: wallet.nfts.filter((mint) => !own.has(mint)).length,
    searches,
  }
}
