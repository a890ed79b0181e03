import { type Address, zeroAddress } from 'viem'
import type { Block, PinnedBlock } from '../../../chain/block.ts'
import { getDeploylessCalldataMax } from '../../../chain/call/deployless.ts'
import { type LensAccess, readByLens } from '../../../chain/call/lens.ts'
import { type LensPages, readPages } from '../../../chain/call/pages.ts'
import type { Endpoint } from '../../../chain/rpc/client.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { FinanceChain } from '../../chain.ts'
import { computeUsdPrice, type UsdAnswers, type UsdPriceOutcome } from '../../price/price.ts'
import { getPriceSources } from '../../price/price_sources.ts'
import { packedTokens, toTokenSet } from '../list/list.ts'
import { isNativeToken } from '../list/native.ts'
import { nativeToken } from '../native_token.ts'
import type { SpamFilter } from '../spam_filter.ts'
import type { Token } from '../token.ts'
import {
  type BalanceLensQuery,
  decodeBalances,
  encodeBalances,
  fixedBytes,
  type RawBalances,
  TOKEN_BYTES,
} from './abi.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'

/** So many tokens take some ten million gas, as a rule; if they take more, the page ends early. */
const LIGHT_TOKENS_MAX = 1_500
/** A page says which token it means in two bytes. */
const PAGE_TOKENS_MAX = 65_535

/** A token that a wallet has some of. */
export interface Balance {
  /** The native token is the zero address. */
  readonly token: Token
  /** Why the token is spam, as a sentence; undefined if it is not. */
  readonly spam: string | undefined
  /** Smallest units, above zero. */
  readonly raw: bigint
  /** True for the native token, and for those on the chain's list. */
  readonly isListed: boolean
  readonly price: UsdPriceOutcome
}

/** What a wallet has of a chain's native token and of others, all at one block. */
export interface Balances {
  readonly block: Block
  /** The native token, those of the list in its order, then the others. */
  readonly rows: readonly Balance[]
  /** Contracts that do not say what the wallet has of them. */
  readonly silent: readonly Address[]
  /** How many tokens were asked, the native one counted. */
  readonly asked: number
}

/** Whose balances are asked for. */
export interface BalanceQuery {
  /** The tokens of its list are asked, and the native one. */
  readonly chain: FinanceChain
  readonly wallet: Address
  /** Further tokens, checksummed. One that is on the list, or the native token under another name, is asked once. */
  readonly others: readonly Address[]
  /** Interprets the tokens that the wallet has. */
  readonly judge: SpamFilter['judge']
  readonly clock: Clock
}

/**
 * Asks one endpoint what a wallet has, in one `eth_call` if that holds all tokens; `block` is absent for the newest. An
 * address without code has no row. The first call leaves before anything is awaited that takes a turn of the event loop,
 * so that it can share its `eth_call` with others. Throws as `readByLens`.
 */
export async function readBalances(
  { endpoint, block: at }: { readonly endpoint: Endpoint; readonly block?: PinnedBlock | undefined },
  { chain, wallet, others, judge, clock }: BalanceQuery,
  signal: AbortSignal,
): Promise<Balances> {
  const { id, tokens } = chain
  const listed = toTokenSet(tokens.addresses)
  const further = [...new Set(others)].filter((token) => !listed.has(token) && !isNativeToken(id, token))
  const question: Asked = {
    subject: { wallet, prices: getPriceSources(chain) },
    packed: packedTokens(tokens.addresses) + packedTokens(further),
    count: tokens.addresses.length + further.length,
  }
  const read = (lens: LensAccess) => readAll(lens, question)
  const reading = { topic: 'balances', runtime: LENS_RUNTIME, chainId: id, at, clock, read } as const
  const pages = await readByLens(endpoint, reading, signal)
  return interpret(pages, { chain, judge, asked: [...tokens.addresses, ...further] })
}

interface Asked {
  readonly subject: BalanceLensQuery
  readonly packed: string
  readonly count: number
}

function readAll(
  { way, call, ...paging }: LensAccess,
  { subject, packed, count }: Asked,
): Promise<LensPages<RawBalances>> {
  const room =
    way === 'override' ? Number.POSITIVE_INFINITY : getDeploylessCalldataMax(LENS_RUNTIME) - fixedBytes(subject)
  return readPages<RawBalances>({
    ...paging,
    pageSize: Math.min(PAGE_TOKENS_MAX, Math.floor(room / TOKEN_BYTES)),
    countMin: count,
    async read({ start, end, block }) {
      const data = encodeBalances(subject, packed.slice(2 * TOKEN_BYTES * start, 2 * TOKEN_BYTES * end))
      return decodeBalances(await call({ data, block, isLight: Math.min(end, count) - start <= LIGHT_TOKENS_MAX }))
    },
    count: () => count,
  })
}

function interpret(
  pages: LensPages<RawBalances>,
  { chain, judge, asked }: Pick<BalanceQuery, 'chain' | 'judge'> & { readonly asked: readonly Address[] },
): Balances {
  const [{ page: first }] = pages
  const { block, native } = first
  const at = (index: number): Address => asked[index] ?? zeroAddress
  const priceOf = (token: Address, answers: UsdAnswers) =>
    computeUsdPrice(token, { chain, answers, blockTimestampSec: block.timestampSec })
  const rows: Balance[] = []
  if (native.price !== undefined) {
    const price = priceOf(zeroAddress, native.price)
    rows.push({ token: nativeToken(chain), spam: undefined, raw: native.balance, isListed: true, price })
  }
  for (const { start, page } of pages) {
    for (const { index, balance, token, price } of page.held) {
      if (token.address !== at(start + index)) throw new UpstreamError('Cannot decode the lens: it names another token')
      rows.push({
        ...judge(token, chain),
        raw: balance,
        isListed: start + index < chain.tokens.addresses.length,
        price: priceOf(token.address, price),
      })
    }
  }
  const silent = pages.flatMap(({ start, page }) => page.silent.map((index) => at(start + index)))
  return { block, rows, silent, asked: asked.length + 1 }
}
