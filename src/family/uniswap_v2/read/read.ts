import type { Address } from 'viem'
import type { Block, PinnedBlock } from '../../../chain/block.ts'
import { readByLens } from '../../../chain/call/lens.ts'
import { readPages } from '../../../chain/call/pages.ts'
import type { Endpoint } from '../../../chain/rpc/client.ts'
import type { FinanceChain } from '../../../finance/chain.ts'
import { computeUsdPrice } from '../../../finance/price/price.ts'
import { getPriceSources } from '../../../finance/price/price_sources.ts'
import { hasDecimals, type PricedToken } from '../../../finance/token/priced_token.ts'
import { getKnownTokens, spamReason } from '../../../finance/token/spam.ts'
import { toToken } from '../../../finance/token/token.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { PairState } from '../math.ts'
import { decodeLens, encodeRead, type PairsQuery, type RawPage, type RawPair } from './abi.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'

/** Tokens in one call, of which a caller may name a hundred: one that is no pair takes some 10,000 gas. */
const PAGE_SIZE = 100
/** Tokens of a light call. */
const LIGHT_TOKENS_MAX = 20
/** Longest answer of one page, bytes. */
const PAGE_BYTES_MAX = 500_000

/** Liquidity of a wallet in a pair. */
export interface HeldPair extends PairState {
  readonly pair: Address
  readonly token0: PricedToken
  readonly token1: PricedToken
}

/** What a wallet has in the pairs among some tokens, at one block. */
export interface PairsRead {
  readonly block: Block
  readonly pairs: readonly HeldPair[]
  /** Pairs of tokens without usable decimals. */
  readonly unreadable: readonly Address[]
}

/** Reads them from one endpoint. Throws as `readByLens`. */
export async function readPairs(
  {
    endpoint,
    chain,
    block: at,
    clock,
  }: {
    readonly endpoint: Endpoint
    readonly chain: FinanceChain
    readonly block: PinnedBlock | undefined
    readonly clock: Clock
  },
  query: PairsQuery,
  work: Work,
): Promise<PairsRead> {
  const { tokens } = query
  const reading = {
    topic: 'uniswap_v2',
    runtime: LENS_RUNTIME,
    chainId: chain.id,
    at,
    clock,
    async read({ mode: _, call, ...paging }: Parameters<Parameters<typeof readByLens<PairsRead>>[1]['read']>[0]) {
      const pages = await readPages<RawPage>({
        ...paging,
        pageSize: PAGE_SIZE,
        countMin: tokens.length,
        async read({ start, end, block }) {
          const asked = { ...query, tokens: tokens.slice(start, end) }
          const data = encodeRead(asked, PAGE_BYTES_MAX, getPriceSources(chain))
          return decodeLens(await call({ data, block, isLight: asked.tokens.length <= LIGHT_TOKENS_MAX }))
        },
        count: () => tokens.length,
      })
      const [
        {
          page: { block },
        },
      ] = pages
      const raw = pages.flatMap(({ start, page }) => page.pairs.map((each) => ({ ...each, index: each.index + start })))
      return { block, ...interpret(raw, { chain, block, tokens }) }
    },
  } as const
  return await readByLens<PairsRead>(endpoint, reading, work)
}

function interpret(
  raw: readonly RawPair[],
  {
    chain,
    block,
    tokens,
  }: { readonly chain: FinanceChain; readonly block: Block; readonly tokens: readonly Address[] },
): Omit<PairsRead, 'block'> {
  const pairs: HeldPair[] = []
  const unreadable: Address[] = []
  for (const { index, tokens: inside, ...state } of raw) {
    const pair = tokens[index]
    if (pair === undefined) throw new UpstreamError('Cannot decode the lens: it answers what was not asked')
    const [token0, token1] = inside.map((each) => toPricedToken(each, { chain, block }))
    if (token0 === undefined || token1 === undefined) unreadable.push(pair)
    else pairs.push({ ...state, pair, token0, token1 })
  }
  return { pairs, unreadable }
}

/** A token of a pair with its own price; pools say nothing of it, because any wallet can make a pair of any token. */
function toPricedToken(
  { token: rawToken, usd }: RawPair['tokens'][number],
  { chain, block }: { readonly chain: FinanceChain; readonly block: Block },
): PricedToken | undefined {
  const token = toToken(rawToken)
  if (!hasDecimals(token)) return undefined
  const outcome = computeUsdPrice(token.address, { chain, answers: usd, blockTimestampSec: block.timestampSec })
  const spam = spamReason(token, getKnownTokens(chain))
  return {
    ...token,
    ...(spam !== undefined && { spam }),
    ...(outcome.kind === 'price'
      ? { price: outcome.price }
      : { price: undefined, noPrice: { ...outcome, hasSource: true } }),
  }
}
