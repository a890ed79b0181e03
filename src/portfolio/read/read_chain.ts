import type { Address } from 'viem'
import { type Block, isSameBlock, type PinnedBlock } from '../../chain/block.ts'
import { createBlockCache, type WithExpiry } from '../../chain/block_cache.ts'
import { readLatestBlock } from '../../chain/evm/read_block.ts'
import { type QuorumResult, readByQuorum } from '../../chain/past/quorum.ts'
import type { Endpoint } from '../../chain/rpc/client.ts'
import type { HoldingsReader, HoldingsTarget, ReadHoldings } from '../../family/holding.ts'
import { readPoolPrices } from '../../finance/price/pool/read_pool_prices.ts'
import { readBalances } from '../../finance/token/balance/read_balances.ts'
import { createSpamFilter, type SpamFilter } from '../../finance/token/spam_filter.ts'
import type { Clock } from '../../lib/clock.ts'
import { CodedError, UpstreamError } from '../../lib/error.ts'
import { createLru } from '../../lib/lru.ts'
import { CACHE_LIMITS, POSITIONS_MAX } from '../sum/limits.ts'
import type { AssetsRead } from '../sum/row.ts'
import { type EndpointAnswers, findUnaskedTokens, findUnpricedTokens, toHeldAssets } from './assets.ts'

/** Time for one chain over all its calls and tries. */
const BUDGET_MS = 4_500
/** Contracts may answer otherwise each time: what is missing after so many rounds stays so. */
const ROUNDS_MAX = 5
/** Wallets of which it is remembered what they have beyond the lists, and how many tokens that is together. */
const FURTHER_MAX = 5_000
const FURTHER_TOKENS_MAX = 200_000

/** Whose assets are asked for, where and when. */
export interface ChainQuery extends HoldingsTarget {
  readonly wallet: Address
  /** Tokens that the caller names, checksummed. */
  readonly tokens: readonly Address[]
}

/** All that a wallet has and owes on one chain, at one block. */
export interface ChainAssets extends AssetsRead {
  readonly block: Block
}

/** Reads a wallet's assets. */
export interface AssetReader {
  /**
   * Those on one chain, in one `eth_call` if that holds them, in two if prices of pools are needed that were not needed
   * when the wallet was last read. Throws `CodedError` INVALID_PARAMETER if it has too many positions, `PendingError`
   * until a family knows where to look, `UnavailableError` if the chain cannot be read.
   */
  read(question: ChainQuery, signal: AbortSignal): Promise<WithExpiry<ChainAssets>>
  /**
   * Those at a past block, as different endpoints agree on them, read in the background: answers are the same if `textOf`
   * them is. Throws as `read` and `readByQuorum`.
   */
  readAgreed(
    question: ChainQuery & { readonly block: PinnedBlock },
    options: { readonly textOf: (assets: ChainAssets) => string; readonly signal: AbortSignal },
  ): Promise<QuorumResult<ChainAssets>>
}

/** Makes a reader over what families hold. */
export function createAssetReader(options: {
  readonly families: readonly HoldingsReader[]
  readonly clock: Clock
}): AssetReader {
  const { families, clock } = options
  const { judge } = createSpamFilter()
  const cache = createBlockCache<ChainAssets>({ clock, ...CACHE_LIMITS })
  /** Tokens of positions that are on no list, as wallets were last read: asked at once, they need no second call. */
  const remembered = createLru<ReadonlySet<Address>>({
    entriesMax: FURTHER_MAX,
    weightMax: FURTHER_TOKENS_MAX,
    weightOf: (tokens) => tokens.size,
  })

  /** How one endpoint is asked, once families know where to look. */
  async function attemptFor(question: ChainQuery, before: ReadonlySet<Address>, signal: AbortSignal) {
    const { client, wallet, block } = question
    const { chain } = client
    const here = families.filter(({ chainIds }) => chainIds.has(chain.id))
    const opened = await Promise.all(
      here.map((family) => family.open(wallet, { client, ...(block && { block }) }, signal)),
    )
    const asks = opened.filter((ask) => ask !== undefined)
    return async (endpoint: Endpoint, within: AbortSignal) => {
      const { answers, further } = await askChain(endpoint, { question, asks, judge, clock, before }, within)
      const positions = positionsIn(answers)
      if (positions > POSITIONS_MAX) {
        throw new CodedError(
          'INVALID_PARAMETER',
          `Cannot sum ${positions} positions on chain ${chain.id} (${chain.name}): at most ${POSITIONS_MAX} can be summed`,
        )
      }
      const { balances } = answers
      const read = { block: balances.block, tokensAsked: balances.asked - 1, ...toHeldAssets(answers, chain) }
      return { read, further }
    }
  }

  async function readAnew(question: ChainQuery, signal: AbortSignal): Promise<ChainAssets> {
    const { client, wallet, block } = question
    const key = `${client.chain.id}:${wallet}`
    const before = block === undefined ? remembered.get(key) : undefined
    const attempt = await attemptFor(question, before ?? NONE, signal)
    const { read, further } = await client.read(attempt, {
      signal,
      budgetMs: BUDGET_MS,
      together: true,
      ...(block && { past: block }),
    })
    if (block === undefined) remembered.set(key, further)
    return read
  }

  return {
    read(question, signal) {
      const { client, wallet, tokens, block } = question
      const key = `portfolio:${block?.hash ?? ''}:${wallet}:${[...tokens].sort().join()}`
      return cache.reuse({ chain: client.chain, key, read: (shared) => readAnew(question, shared) }, signal)
    },
    async readAgreed(question, { textOf, signal }) {
      const { client, wallet, block } = question
      const attempt = await attemptFor(question, NONE, signal)
      return await readByQuorum(client, async (endpoint, within) => (await attempt(endpoint, within)).read, {
        signal,
        budgetMs: BUDGET_MS,
        together: true,
        past: block,
        priority: 'background',
        what: `what wallet ${wallet} had at block ${block.number}`,
        textOf,
      })
    },
  }
}

const NONE: ReadonlySet<Address> = new Set()

interface AskedWallet {
  readonly question: ChainQuery
  readonly asks: readonly ReadHoldings[]
  readonly judge: SpamFilter['judge']
  readonly clock: Clock
  readonly before: ReadonlySet<Address>
}

/**
 * Asks one endpoint everything at one block. At the newest block all of it is one call, or it is asked once more with
 * what was found to be missing; if that too does not show one block, all is asked at a block that is pinned by its hash.
 */
async function askChain(
  endpoint: Endpoint,
  { question, asks, judge, clock, before }: AskedWallet,
  signal: AbortSignal,
): Promise<{ readonly answers: EndpointAnswers; readonly further: ReadonlySet<Address> }> {
  const { client, wallet, tokens } = question
  const { chain } = client
  const askAll = async (block: PinnedBlock | undefined, further: ReadonlySet<Address>) => {
    const [balances, holdings] = await Promise.all([
      readBalances({ endpoint, block }, { chain, wallet, others: [...tokens, ...further], judge, clock }, signal),
      Promise.all(asks.map((ask) => ask({ endpoint, block, positionsMax: POSITIONS_MAX }, signal))),
    ])
    return { balances, holdings }
  }

  const pricesByPools = async (
    answers: Pick<EndpointAnswers, 'balances' | 'holdings'>,
  ): Promise<EndpointAnswers['prices']> => {
    const asked = findUnpricedTokens(answers)
    const { block } = answers.balances
    const outcomes = await readPoolPrices({ endpoint, block }, { chain, tokens: asked, clock }, signal)
    return new Map(
      outcomes.flatMap((outcome, index) => {
        const token = asked[index]?.address
        return token === undefined ? [] : [[token, outcome] as const]
      }),
    )
  }

  let further = before
  let { block } = question
  for (let round = 1; ; round++) {
    const answers = await askAll(block, further)
    const isOneBlock = answers.holdings.every((each) => isSameBlock(each.block, answers.balances.block))
    if (isOneBlock) {
      const missing = positionsIn(answers) > POSITIONS_MAX ? NONE : findUnaskedTokens(answers, { chain, tokens })
      if ([...missing].every((token) => further.has(token)) || round === ROUNDS_MAX) {
        return { answers: { ...answers, prices: await pricesByPools(answers) }, further: missing }
      }
      further = new Set([...further, ...missing])
    } else if (block !== undefined) throw new UpstreamError('The endpoint answers from another block than it was asked')
    if (block === undefined && (round > 1 || !isOneBlock)) block = await readLatestBlock(endpoint, chain.id, signal)
  }
}

function positionsIn({ holdings }: Pick<EndpointAnswers, 'holdings'>): number {
  return holdings.reduce((sum, { positions }) => sum + positions, 0)
}
