import { type Address, zeroAddress } from 'viem'
import { type Block, isSameBlock, type PinnedBlock } from '../../chain/block.ts'
import { createBlockCache, type WithExpiry } from '../../chain/block_cache.ts'
import { readLatestBlock } from '../../chain/evm/read_block.ts'
import { type QuorumResult, readByQuorum } from '../../chain/past/quorum.ts'
import type { Endpoint } from '../../chain/rpc/client.ts'
import { isDebtOmitted } from '../../family/contract.ts'
import type { Holding, Holdings, HoldingsReader, HoldingsTarget, ReadHoldings } from '../../family/holding.ts'
import type { FinanceChain } from '../../finance/chain.ts'
import type { PoolPriceOutcome } from '../../finance/price/pool/pool_price.ts'
import { type QuotedToken, readPoolPrices } from '../../finance/price/pool/read_pool_prices.ts'
import type { UsdPrice, UsdPriceOutcome } from '../../finance/price/price.ts'
import { hasPriceSource } from '../../finance/price/price_sources.ts'
import { type Balance, type Balances, readBalances } from '../../finance/token/balance/read_balances.ts'
import { toTokenSet } from '../../finance/token/list/list.ts'
import { isNativeToken } from '../../finance/token/list/native.ts'
import { createSpamFilter, type SpamFilter } from '../../finance/token/spam.ts'
import { tellUnwitnessed, type Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { UpstreamError } from '../../lib/error.ts'
import { createLru } from '../../lib/lru.ts'
import { pow10 } from '../../lib/number/fixed_point.ts'
import { countDust } from '../sum/dust.ts'
import { CACHE_LIMITS, POSITIONS_MAX } from '../sum/limits.ts'
import type { AssetsRead, HeldAsset, Pricing } from '../sum/row.ts'
import type { BorrowedPrice, BorrowedPriceReader } from './borrowed_price.ts'

/** Time limit for one chain over all calls and attempts, milliseconds. */
const BUDGET_MS = 4_500
/** Contracts may answer differently each round; give up after this many. */
const ROUNDS_MAX = 5
/** Limits of the cache of unlisted tokens: wallets, and tokens in total. */
const WALLETS_CACHED_MAX = 5_000
const TOKENS_CACHED_MAX = 200_000

/** The wallet, chain and block of a read. */
interface ChainQuery extends HoldingsTarget {
  readonly wallet: Address
  /** Tokens that the caller names, checksummed. */
  readonly tokens: readonly Address[]
}

/** Assets and debts of a wallet on one chain, at one block. */
export interface ChainAssets extends AssetsRead {
  readonly block: Block
}

/** Reads a wallet's assets. */
export interface AssetReader {
  /**
   * Reads the assets on one chain: in one `eth_call` if that holds them, in two if prices by pools are needed that the
   * wallet's last read did not need, and in one more of another chain if that has the feed of what the wallet holds.
   * Throws `PendingError` while a family's history is incomplete, `UnavailableError`
   * if the chain cannot be read.
   */
  read(query: ChainQuery, work: Work): Promise<WithExpiry<ChainAssets>>
  /**
   * Reads the assets at a past block by quorum, with background priority: endpoints agree if `toText` returns the same
   * text. Throws like `read` and `readByQuorum`.
   */
  readAgreed(
    query: ChainQuery & { readonly block: PinnedBlock },
    options: { readonly toText: (assets: ChainAssets) => string; readonly work: Work },
  ): Promise<QuorumResult<ChainAssets>>
}

/** Creates a reader over the holdings of families. */
export function createAssetReader(options: {
  readonly families: readonly HoldingsReader[]
  readonly borrowedPrices: BorrowedPriceReader
  readonly clock: Clock
}): AssetReader {
  const { families, borrowedPrices, clock } = options
  const { classify: classifyToken } = createSpamFilter()
  const cache = createBlockCache<ChainAssets>({ clock, ...CACHE_LIMITS })
  /**
   * Unlisted tokens of positions by wallet, as of the last read: read together with the rest, they save a second call.
   */
  const unlistedByWallet = createLru<ReadonlySet<Address>>({
    entriesMax: WALLETS_CACHED_MAX,
    weightMax: TOKENS_CACHED_MAX,
    getWeight: (tokens) => tokens.size,
  })

  /** Creates the read of one endpoint, once families have resolved what to read. */
  async function createAttempt(query: ChainQuery, cachedTokens: ReadonlySet<Address>, work: Work) {
    const { client, wallet, tokens, block } = query
    const chainFamilies = families.filter(({ chainIds }) => chainIds.has(client.chain.id))
    const opened = await Promise.all(
      chainFamilies.map((family) => family.open(wallet, { client, named: tokens, ...(block && { block }) }, work)),
    )
    const holdingsReads = opened.filter((read) => read !== undefined)
    return (endpoint: Endpoint, within: Work) =>
      readAtOneBlock(endpoint, { query, holdingsReads, classifyToken, clock, cachedTokens }, within)
  }

  async function readUncached(query: ChainQuery, work: Work): Promise<ChainAssets> {
    const { client, wallet, block } = query
    const key = `${client.chain.id}:${wallet}`
    const cachedTokens = block === undefined ? unlistedByWallet.get(key) : undefined
    const attempt = await createAttempt(query, cachedTokens ?? NO_TOKENS, work)
    const { answers, unlisted } = await client.read(attempt, {
      work,
      budgetMs: BUDGET_MS,
      isBundled: true,
      ...(block && { past: block }),
    })
    if (block === undefined) unlistedByWallet.set(key, unlisted)
    const moment = { timeSec: answers.balances.block.timestampSec, isDated: block !== undefined }
    const borrowed = isBorrowedPriceNeeded(answers, client.chain)
      ? await borrowedPrices.read(client.chain, moment, work)
      : undefined
    return toChainAssets(answers, query, { hasBorrowedFeed: hasBorrowedFeed(client), borrowed })
  }

  function hasBorrowedFeed({ chain }: ChainQuery['client']): boolean {
    return borrowedPrices.describe(chain) !== ''
  }

  return {
    read(query, work) {
      const { client, wallet, tokens, block } = query
      const key = `portfolio:${block?.hash ?? ''}:${wallet}:${[...tokens].sort().join()}`
      return cache.reuse({ chain: client.chain, key, read: (shared) => readUncached(query, shared) }, work)
    },
    async readAgreed(query, { toText, work }) {
      const { client, wallet, block } = query
      const { value: agreed, unwitnessed } = await tellUnwitnessed(work, async (own) => {
        // Endpoints compare figures, so that prices are read before.
        const [attempt, borrowed] = await Promise.all([
          createAttempt(query, NO_TOKENS, own),
          borrowedPrices.read(client.chain, { timeSec: block.timestampSec, isDated: true }, own),
        ])
        const read = async (endpoint: Endpoint, within: Work) =>
          toChainAssets((await attempt(endpoint, within)).answers, query, {
            hasBorrowedFeed: hasBorrowedFeed(client),
            borrowed,
          })
        const result = await readByQuorum(client, read, {
          work: own,
          budgetMs: BUDGET_MS,
          isBundled: true,
          past: block,
          priority: 'background',
          what: `what wallet ${wallet} had at block ${block.number}`,
          toText,
        })
        return { ...result, borrowed }
      })
      const { value, endpoints, borrowed } = agreed
      // Figures are believed no more than the price that they rest on, and than what leaves a deployment out of them.
      return { value, endpoints: endpoints.slice(0, unwitnessed.has(client.chain.id) ? 1 : borrowed?.witnesses) }
    },
  }
}

function toChainAssets(
  answers: EndpointAnswers,
  { client: { chain }, tokens, block }: ChainQuery,
  { hasBorrowedFeed, borrowed }: { readonly hasBorrowedFeed: boolean; readonly borrowed: BorrowedPrice | undefined },
): ChainAssets {
  const { balances, holdings } = answers
  const query = { chain, tokens, borrowed: borrowed?.outcome }
  const { assets, notRead } = toHeldAssets(answers, query)
  const omitted = holdings.flatMap((each) => each.omitted ?? [])
  const dust = countDust(
    chain.id,
    omitted.map((each) => ({ ...each, max: POSITIONS_MAX })),
  )
  return {
    block: balances.block,
    tokensAsked: balances.tokensAsked - 1,
    isUnsourced: !hasPriceSource(chain) && !hasBorrowedFeed,
    notRead,
    omitted: dust.omitted,
    assets: [...assets, ...dust.assets],
    outlooks: () => holdings.flatMap(({ listOutlooks }) => listOutlooks?.() ?? []),
    exits: {
      block: { ...balances.block, ...(block && { hash: block.hash }) },
      ...(block && { past: block }),
      list: () => holdings.flatMap(({ listExits }) => listExits?.() ?? []),
      // Of few contracts each has the tokens of many; of many each has those of one.
      lenders: holdings
        .map(({ lenders = [] }) => lenders)
        .sort((a, b) => a.length - b.length)
        .flat(),
    },
    ...(holdings.some(({ itemize }) => itemize) && {
      async itemize(work) {
        const itemized = holdings.map(async (each) => ({ ...each, rows: (await each.itemize?.(work)) ?? each.rows }))
        const found = toHeldAssets({ ...answers, holdings: await Promise.all(itemized) }, query)
        return [...found.assets, ...dust.assets]
      },
    }),
  }
}

const NO_TOKENS: ReadonlySet<Address> = new Set()

interface AskedWallet {
  readonly query: ChainQuery
  readonly holdingsReads: readonly ReadHoldings[]
  readonly classifyToken: SpamFilter['classify']
  readonly clock: Clock
  readonly cachedTokens: ReadonlySet<Address>
}

/**
 * Reads everything from one endpoint at one block. The first call is at the newest block, with one more if it reveals
 * missing tokens; if the answers are still from different blocks, reads all of it at a block pinned by its hash.
 */
async function readAtOneBlock(
  endpoint: Endpoint,
  { query, holdingsReads, classifyToken, clock, cachedTokens }: AskedWallet,
  work: Work,
): Promise<{ readonly answers: EndpointAnswers; readonly unlisted: ReadonlySet<Address> }> {
  const { client, wallet, tokens } = query
  const { chain } = client
  const readAll = async (block: PinnedBlock | undefined, additional: ReadonlySet<Address>) => {
    const [balances, holdings] = await Promise.all([
      readBalances(
        { endpoint, block },
        { chain, wallet, additional: [...tokens, ...additional], classifyToken, clock },
        work,
      ),
      Promise.all(holdingsReads.map((read) => read({ endpoint, block, positionsMax: POSITIONS_MAX }, work))),
    ])
    return { balances, holdings }
  }

  const readPrices = async (
    answers: Pick<EndpointAnswers, 'balances' | 'holdings'>,
  ): Promise<EndpointAnswers['prices']> => {
    const unpriced = findUnpricedTokens(answers)
    const { block } = answers.balances
    const outcomes = await readPoolPrices({ endpoint, block }, { chain, tokens: unpriced, clock }, work)
    return new Map(
      outcomes.flatMap((outcome, index) => {
        const token = unpriced[index]?.address
        return token === undefined ? [] : [[token, outcome] as const]
      }),
    )
  }

  let unlisted = cachedTokens
  let { block } = query
  for (let round = 1; ; round++) {
    const answers = await readAll(block, unlisted)
    const isOneBlock = answers.holdings.every((each) => isSameBlock(each.block, answers.balances.block))
    if (isOneBlock) {
      const missing = findUnaskedTokens(answers, { chain, tokens })
      if ([...missing].every((token) => unlisted.has(token)) || round === ROUNDS_MAX) {
        return { answers: { ...answers, prices: await readPrices(answers) }, unlisted: missing }
      }
      unlisted = new Set([...unlisted, ...missing])
    } else if (block !== undefined) throw new UpstreamError('The endpoint answered from another block than requested')
    if (block === undefined && (round > 1 || !isOneBlock)) block = await readLatestBlock(endpoint, chain.id, work)
  }
}

/** Most unread tokens and positions that an answer names; more are only counted. */
const NAMED_MAX = 5

/** One endpoint's answers about a wallet, all at one block. */
interface EndpointAnswers {
  readonly balances: Balances
  readonly holdings: readonly Holdings[]
  /** Prices by pools, for tokens without another source. */
  readonly prices: ReadonlyMap<Address, PoolPriceOutcome>
}

/** The chain and the caller's tokens of a read. */
interface AssetQuery {
  readonly chain: FinanceChain
  /** Tokens that the caller names. */
  readonly tokens: readonly Address[]
  /** The price of the native token by the feed that the chain borrows; absent if it borrows none that is served. */
  readonly borrowed?: UsdPriceOutcome | undefined
}

/** Finds the tokens of positions whose wallet balances were not read yet. */
export function findUnaskedTokens(
  { holdings }: Pick<EndpointAnswers, 'holdings'>,
  { chain, tokens }: AssetQuery,
): ReadonlySet<Address> {
  const positionTokens = collectOwnTokens(holdings)
  const listed = toTokenSet(chain.tokens.addresses)
  const isAsked = (token: Address) => listed.has(token) || tokens.includes(token) || token === zeroAddress
  const inPositions = collectHeldTokens(holdings)
  return new Set([...inPositions].filter((token) => !isAsked(token) && !positionTokens.has(token)))
}

/** True if a wallet has or owes anything that a feed of another chain prices. */
function isBorrowedPriceNeeded(
  { balances, holdings }: Pick<EndpointAnswers, 'balances' | 'holdings'>,
  chain: FinanceChain,
): boolean {
  const rows = [...balances.rows, ...holdings.flatMap((each) => each.rows)]
  const isBorrower = ({ token: { address } }: Pick<Holding, 'token'>) =>
    isNative(chain, address) || chain.borrowedFeed?.stablecoins.includes(address)
  return chain.borrowedFeed !== undefined && rows.some(isBorrower)
}

/** True for the native token, its doubles and its wrapper. */
function isNative(chain: FinanceChain, token: Address): boolean {
  return isNativeToken(chain, token) || token === chain.nativeCurrency?.wrapped
}

/**
 * Returns the price of a token without a price of its own by the feed that its chain borrows: that of the native token,
 * and the dollar of a list where the feed answers, because a chain that prices one of the two alone makes false sums.
 */
function borrowPrice(
  { price, token: { address } }: Pick<Holding, 'token' | 'price'>,
  { chain, borrowed }: Pick<AssetQuery, 'chain' | 'borrowed'>,
): UsdPriceOutcome {
  const { borrowedFeed } = chain
  if (price.kind !== 'missing' || borrowed === undefined || borrowedFeed === undefined) return price
  if (isNative(chain, address)) {
    if (borrowed.kind === 'missing') return borrowed
    return { kind: 'price', price: { ...borrowed.price, chainId: borrowedFeed.chainId } }
  }
  const isDollar = borrowed.kind === 'price' && borrowedFeed.stablecoins.includes(address)
  return isDollar ? { kind: 'price', price: { units: 1n, scale: 0, source: 'stablecoin' } } : price
}

/** Finds the tokens without a configured price source, which pools may price; excludes spam. */
function findUnpricedTokens({ balances, holdings }: Omit<EndpointAnswers, 'prices'>): QuotedToken[] {
  const positionTokens = collectOwnTokens(holdings)
  const unsourced = [
    ...balances.rows.filter(({ price, spam }) => isUnsourced(price) && spam === undefined),
    ...holdings.flatMap(({ rows }) => rows.filter(({ price, refused }) => isUnsourced(price) && refused === undefined)),
  ]
  const decimals = new Map(unsourced.map(({ token }) => [token.address, token.decimals]))
  return [...decimals].flatMap(([address, digits]) =>
    digits === undefined || positionTokens.has(address) || address === zeroAddress ? [] : { address, decimals: digits },
  )
}

function isUnsourced(price: UsdPriceOutcome): boolean {
  return price.kind === 'missing' && !price.hasSource
}

/** Converts answers to assets, and lists the holdings that were not read. */
export function toHeldAssets(
  answers: EndpointAnswers,
  { chain, tokens, borrowed }: AssetQuery,
): { assets: HeldAsset[]; notRead: string[] } {
  const { balances, holdings, prices } = answers
  const positionTokens = collectOwnTokens(holdings)
  const rows = holdings.flatMap((each) => each.rows)
  const getPrice = (row: Pick<Holding, 'token' | 'price' | 'marketPrice'>): Pricing => {
    const { token, marketPrice } = row
    const price = borrowPrice(row, { chain, borrowed })
    if (!isUnsourced(price)) return price
    return raiseDebtPrice(toPricing(prices.get(token.address) ?? price), marketPrice)
  }
  // Memory may have asked for tokens of positions that are gone at this block: an answer depends on the block alone.
  const inPositions = collectHeldTokens(holdings)
  const isShown = ({ token: { address }, isListed }: Balance) =>
    !positionTokens.has(address) && (isListed || inPositions.has(address) || tokens.includes(address))
  const walletAssets = balances.rows.filter(isShown).map(
    ({ token, spam, raw, isListed, price }): HeldAsset => ({
      chainId: chain.id,
      kind: 'wallet',
      token,
      amount: raw,
      price: getPrice({ token, price }),
      // A position vouches for its own amounts only: a third party can give the wallet one.
      isUnlisted: !isListed,
      refused: spam === undefined ? undefined : { reason: 'spam', detail: spam },
      position: null,
    }),
  )
  const positionAssets = rows.map((row): HeldAsset => {
    const { kind, token, amount, refused, payable, sources, withdrawable, position, term, isCollateral } = row
    return {
      chainId: chain.id,
      kind,
      token,
      amount,
      price: getPrice(row),
      isUnlisted: false,
      refused,
      payable,
      sources,
      withdrawable,
      position,
      term,
      isCollateral,
    }
  })
  return { assets: [...walletAssets, ...positionAssets], notRead: listNotRead(answers, chain) }
}

/** Prices a debt at the greater of two prices: neither pools nor the oracle of a permissionless market lower it. */
function raiseDebtPrice(pricing: Pricing, marketPrice: UsdPrice | undefined): Pricing {
  if (marketPrice === undefined) return pricing
  if (pricing.kind === 'missing')
    return { kind: 'price', price: marketPrice, ...(pricing.marks && { marks: pricing.marks }) }
  const { price, debtPrice = price } = pricing
  const [own, other] = [debtPrice.units * pow10(marketPrice.scale), marketPrice.units * pow10(debtPrice.scale)]
  return other > own ? { ...pricing, debtPrice: marketPrice } : pricing
}

/** Converts a price, or the reason for none, to the terms of rows. */
function toPricing(outcome: PoolPriceOutcome | UsdPriceOutcome): Pricing {
  if (!('boundUsd' in outcome)) return outcome
  const { price, debtPrice, boundUsd, marks } = outcome
  return { kind: 'price', price, debtPrice, boundUsd, marks }
}

/** Collects the tokens of positions, also of those that are empty now. */
function collectHeldTokens(holdings: readonly Holdings[]): ReadonlySet<Address> {
  return new Set(holdings.flatMap(({ rows, emptied = [] }) => [...rows.map(({ token }) => token.address), ...emptied]))
}

function collectOwnTokens(holdings: readonly Holdings[]): ReadonlySet<Address> {
  return new Set(holdings.flatMap(({ ownTokens }) => ownTokens))
}

/** Lists what was not read: every debt, and so many others, because strangers can give a wallet any number of these. */
function listNotRead({ balances: { silent }, holdings }: EndpointAnswers, { id }: FinanceChain): string[] {
  const reasons = holdings.flatMap(({ notRead }) => notRead)
  const others = [
    ...silent.map((token) => `token ${token}, which does not say what the wallet has`),
    ...reasons.filter((each) => !isDebtOmitted(each)),
  ]
  const omitted = others.length - NAMED_MAX
  return [
    ...reasons.filter(isDebtOmitted).map((each) => `${each} (chain ${id})`),
    ...others.slice(0, NAMED_MAX).map((each) => `chain ${id}: ${each}`),
    ...(omitted > 0 ? [`chain ${id}: ${omitted} more tokens and positions that do not answer`] : []),
  ]
}
