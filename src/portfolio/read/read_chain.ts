import type { Address } from 'viem'
import { type Block, isSameBlock, type PinnedBlock } from '../../chain/block.ts'
import { createBlockCache, type WithExpiry } from '../../chain/block_cache.ts'
import { readLatestBlock } from '../../chain/evm/read_block.ts'
import { type QuorumResult, readByQuorum } from '../../chain/past/quorum.ts'
import type { Endpoint } from '../../chain/rpc/client.ts'
import type { HoldingsReader, HoldingsTarget, ReadHoldings } from '../../family/holding.ts'
import { readPoolPrices } from '../../finance/price/pool/read_pool_prices.ts'
import { hasPriceSource } from '../../finance/price/price_sources.ts'
import { readBalances } from '../../finance/token/balance/read_balances.ts'
import { createSpamFilter, type SpamFilter } from '../../finance/token/spam_filter.ts'
import { tellUnwitnessed } from '../../lib/async/unwitnessed.ts'
import type { Clock } from '../../lib/clock.ts'
import { UpstreamError } from '../../lib/error.ts'
import { createLru } from '../../lib/lru.ts'
import { countDust } from '../sum/dust.ts'
import { CACHE_LIMITS, POSITIONS_MAX } from '../sum/limits.ts'
import type { AssetsRead } from '../sum/row.ts'
import {
  type EndpointAnswers,
  findUnaskedTokens,
  findUnpricedTokens,
  isBorrowedPriceNeeded,
  toHeldAssets,
} from './assets.ts'
import type { BorrowedPrice, BorrowedPriceReader } from './borrowed_price.ts'

/** Time limit for one chain over all calls and attempts, milliseconds. */
const BUDGET_MS = 4_500
/** Contracts may answer differently each round; give up after this many. */
const ROUNDS_MAX = 5
/** Limits of the cache of unlisted tokens: wallets, and tokens in total. */
const WALLETS_CACHED_MAX = 5_000
const TOKENS_CACHED_MAX = 200_000

/** The wallet, chain and block of a read. */
export interface ChainQuery extends HoldingsTarget {
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
  read(query: ChainQuery, signal: AbortSignal): Promise<WithExpiry<ChainAssets>>
  /**
   * Reads the assets at a past block by quorum, with background priority: endpoints agree if `toText` returns the same
   * text. Throws like `read` and `readByQuorum`.
   */
  readAgreed(
    query: ChainQuery & { readonly block: PinnedBlock },
    options: { readonly toText: (assets: ChainAssets) => string; readonly signal: AbortSignal },
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
  async function createAttempt(query: ChainQuery, cachedTokens: ReadonlySet<Address>, signal: AbortSignal) {
    const { client, wallet, block } = query
    const chainFamilies = families.filter(({ chainIds }) => chainIds.has(client.chain.id))
    const opened = await Promise.all(
      chainFamilies.map((family) => family.open(wallet, { client, ...(block && { block }) }, signal)),
    )
    const holdingsReads = opened.filter((read) => read !== undefined)
    return (endpoint: Endpoint, within: AbortSignal) =>
      readAtOneBlock(endpoint, { query, holdingsReads, classifyToken, clock, cachedTokens }, within)
  }

  async function readUncached(query: ChainQuery, signal: AbortSignal): Promise<ChainAssets> {
    const { client, wallet, block } = query
    const key = `${client.chain.id}:${wallet}`
    const cachedTokens = block === undefined ? unlistedByWallet.get(key) : undefined
    const attempt = await createAttempt(query, cachedTokens ?? NO_TOKENS, signal)
    const { answers, unlisted } = await client.read(attempt, {
      signal,
      budgetMs: BUDGET_MS,
      isBundled: true,
      ...(block && { past: block }),
    })
    if (block === undefined) unlistedByWallet.set(key, unlisted)
    const moment = { timeSec: answers.balances.block.timestampSec, isDated: block !== undefined }
    const borrowed = isBorrowedPriceNeeded(answers, client.chain)
      ? await borrowedPrices.read(client.chain, moment, signal)
      : undefined
    return toChainAssets(answers, query, { hasBorrowedFeed: hasBorrowedFeed(client), borrowed })
  }

  function hasBorrowedFeed({ chain }: ChainQuery['client']): boolean {
    return borrowedPrices.describe(chain) !== ''
  }

  return {
    read(query, signal) {
      const { client, wallet, tokens, block } = query
      const key = `portfolio:${block?.hash ?? ''}:${wallet}:${[...tokens].sort().join()}`
      return cache.reuse({ chain: client.chain, key, read: (shared) => readUncached(query, shared) }, signal)
    },
    async readAgreed(query, { toText, signal }) {
      const { client, wallet, block } = query
      const { value: agreed, unwitnessed } = await tellUnwitnessed(signal, async (own) => {
        // Endpoints compare figures, so that prices are read before.
        const [attempt, borrowed] = await Promise.all([
          createAttempt(query, NO_TOKENS, own),
          borrowedPrices.read(client.chain, { timeSec: block.timestampSec, isDated: true }, own),
        ])
        const read = async (endpoint: Endpoint, within: AbortSignal) =>
          toChainAssets((await attempt(endpoint, within)).answers, query, {
            hasBorrowedFeed: hasBorrowedFeed(client),
            borrowed,
          })
        const result = await readByQuorum(client, read, {
          signal: own,
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
  { client: { chain }, tokens }: ChainQuery,
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
    ...(holdings.some(({ itemize }) => itemize) && {
      async itemize(signal) {
        const itemized = holdings.map(async (each) => ({ ...each, rows: (await each.itemize?.(signal)) ?? each.rows }))
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
  signal: AbortSignal,
): Promise<{ readonly answers: EndpointAnswers; readonly unlisted: ReadonlySet<Address> }> {
  const { client, wallet, tokens } = query
  const { chain } = client
  const readAll = async (block: PinnedBlock | undefined, additional: ReadonlySet<Address>) => {
    const [balances, holdings] = await Promise.all([
      readBalances(
        { endpoint, block },
        { chain, wallet, additional: [...tokens, ...additional], classifyToken, clock },
        signal,
      ),
      Promise.all(holdingsReads.map((read) => read({ endpoint, block, positionsMax: POSITIONS_MAX }, signal))),
    ])
    return { balances, holdings }
  }

  const readPrices = async (
    answers: Pick<EndpointAnswers, 'balances' | 'holdings'>,
  ): Promise<EndpointAnswers['prices']> => {
    const unpriced = findUnpricedTokens(answers)
    const { block } = answers.balances
    const outcomes = await readPoolPrices({ endpoint, block }, { chain, tokens: unpriced, clock }, signal)
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
    if (block === undefined && (round > 1 || !isOneBlock)) block = await readLatestBlock(endpoint, chain.id, signal)
  }
}
