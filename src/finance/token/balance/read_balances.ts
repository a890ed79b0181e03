import { type Address, type Hex, size, toFunctionSelector, zeroAddress } from 'viem'
import type { Block, PinnedBlock } from '../../../chain/block.ts'
import { decodeLensPage, type LensCursor } from '../../../chain/call/cursor.ts'
import { getDeploylessCalldataMax } from '../../../chain/call/deployless.ts'
import { type LensAccess, readByLens } from '../../../chain/call/lens.ts'
import { type LensPage, type LensPages, readPages } from '../../../chain/call/pages.ts'
import { encodeBytes, encodeCall } from '../../../chain/call/words.ts'
import type { Endpoint } from '../../../chain/rpc/client.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { FinanceChain } from '../../chain.ts'
import { computeUsdPrice, type UsdAnswers, type UsdPriceOutcome } from '../../price/price.ts'
import {
  encodePriceSources,
  getPriceSources,
  PRICE_SOURCES_ARGUMENT,
  type PriceSources,
  readUsdAnswers,
} from '../../price/price_sources.ts'
import { packTokens, toTokenSet } from '../list/list.ts'
import { isNativeToken } from '../list/native.ts'
import type { SpamFilter } from '../spam.ts'
import { type RawToken, readToken, type Token, toNativeToken } from '../token.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'

/** This many tokens usually take some ten million gas; if they take more, the page ends early. */
const LIGHT_TOKENS_MAX = 1_500
/** Most tokens of a page: its records name a token by an index of two bytes. */
const PAGE_TOKENS_MAX = 65_535

/** A wallet's balance of one token. */
export interface Balance {
  /** The native token is the zero address. */
  readonly token: Token
  /** Why the token is spam, as a sentence; undefined if it is not. */
  readonly spam: string | undefined
  /** Smallest units, above zero. */
  readonly raw: bigint
  /** True for the native token, and for tokens on the chain's list. */
  readonly isListed: boolean
  readonly price: UsdPriceOutcome
}

/** A wallet's balances of a chain's native token and of other tokens, all at one block. */
export interface Balances {
  readonly block: Block
  /** The native token, listed tokens in the order of the list, then the additional ones. */
  readonly rows: readonly Balance[]
  /** Token contracts that return no balance for the wallet. */
  readonly silent: readonly Address[]
  /** Number of tokens whose balance was read, including the native one. */
  readonly tokensAsked: number
}

/** Which balances to read. */
export interface BalanceQuery {
  /** The chain; its native token and the tokens of its list are read. */
  readonly chain: FinanceChain
  readonly wallet: Address
  /** Additional tokens, checksummed. Listed tokens, and the native token under another name, are read once. */
  readonly additional: readonly Address[]
  /** Decodes and classifies the tokens that the wallet holds. */
  readonly classifyToken: SpamFilter['classify']
  readonly clock: Clock
}

/**
 * Reads a wallet's balances from one endpoint, in one `eth_call` if that holds all tokens; `block` is absent for the
 * newest. An address without code has no row. Sends the first call in the same event-loop turn, so that it can share
 * its `eth_call` with other reads. Throws like `readByLens`.
 */
export async function readBalances(
  { endpoint, block: at }: { readonly endpoint: Endpoint; readonly block?: PinnedBlock | undefined },
  { chain, wallet, additional, classifyToken, clock }: BalanceQuery,
  work: Work,
): Promise<Balances> {
  const { id, tokens } = chain
  const listed = toTokenSet(tokens.addresses)
  const unlisted = [...new Set(additional)].filter((token) => !listed.has(token) && !isNativeToken(chain, token))
  const query: BalancePages = {
    subject: { wallet, prices: getPriceSources(chain) },
    packed: packTokens(tokens.addresses) + packTokens(unlisted),
    count: tokens.addresses.length + unlisted.length,
  }
  const read = (access: LensAccess) => readAll(access, query)
  const lensQuery = { topic: 'balances', runtime: LENS_RUNTIME, chainId: id, at, clock, read } as const
  const pages = await readByLens(endpoint, lensQuery, work)
  return interpret(pages, { chain, classifyToken, tokens: [...tokens.addresses, ...unlisted] })
}

interface BalancePages {
  readonly subject: BalanceLensQuery
  readonly packed: string
  readonly count: number
}

function readAll(
  { mode: way, call, ...paging }: LensAccess,
  { subject, packed, count }: BalancePages,
): Promise<LensPages<RawBalances>> {
  const room =
    way === 'override' ? Number.POSITIVE_INFINITY : getDeploylessCalldataMax(LENS_RUNTIME) - countFixedBytes(subject)
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
  {
    chain,
    classifyToken,
    tokens,
  }: Pick<BalanceQuery, 'chain' | 'classifyToken'> & { readonly tokens: readonly Address[] },
): Balances {
  const [{ page: first }] = pages
  const { block, native } = first
  const getAddress = (index: number): Address => tokens[index] ?? zeroAddress
  const getPrice = (token: Address, answers: UsdAnswers) =>
    computeUsdPrice(token, { chain, answers, blockTimestampSec: block.timestampSec })
  const rows: Balance[] = []
  if (native.price !== undefined) {
    const price = getPrice(zeroAddress, native.price)
    rows.push({ token: toNativeToken(chain), spam: undefined, raw: native.balance, isListed: true, price })
  }
  for (const { start, page } of pages) {
    for (const { index, balance, token, price } of page.held) {
      if (token.address !== getAddress(start + index))
        throw new UpstreamError('Cannot decode the lens: it names another token')
      rows.push({
        ...classifyToken(token, chain),
        raw: balance,
        isListed: start + index < chain.tokens.addresses.length,
        price: getPrice(token.address, price),
      })
    }
  }
  const silent = pages.flatMap(({ start, page }) => page.silent.map((index) => getAddress(start + index)))
  return { block, rows, silent, tokensAsked: tokens.length + 1 }
}

const READ = toFunctionSelector(`read(address wallet, bytes tokens, ${PRICE_SOURCES_ARGUMENT})`)

/** The part of a query that all its pages share. */
interface BalanceLensQuery {
  readonly wallet: Address
  readonly prices: PriceSources
}

/** A token held by the wallet. */
interface RawTokenBalance {
  /** Index in the page's tokens. */
  readonly index: number
  readonly balance: bigint
  readonly token: RawToken
  readonly price: UsdAnswers
}

/** One page of an answer; `taken` counts tokens. */
interface RawBalances extends LensPage {
  /** The native balance; its price is undefined without a balance. */
  readonly native: { readonly balance: bigint; readonly price: UsdAnswers | undefined }
  readonly held: readonly RawTokenBalance[]
  /** Indexes of tokens that have code but do not answer. */
  readonly silent: readonly number[]
}

/** Bytes per token in the call data. */
const TOKEN_BYTES = 20

/** Encodes the call data; `packed` are tokens as `packTokens` returns them. */
export function encodeBalances({ wallet, prices }: BalanceLensQuery, packed: string): Hex {
  return encodeCall(READ, wallet, encodeBytes(packed), encodePriceSources(prices))
}

/** Counts the bytes of call data besides the tokens, padding included. */
function countFixedBytes(query: BalanceLensQuery): number {
  return size(encodeBalances(query, '')) + 32
}

/** Decodes one page. Throws `UpstreamError` if the stream is cut short or has an unknown layout. */
function decodeBalances(answer: Hex): RawBalances {
  const { from: cursor, block, taken } = decodeLensPage(answer)
  const balance = cursor.uint(32)
  const native = { balance, price: balance === 0n ? undefined : readUsdAnswers(cursor) }
  const held: RawTokenBalance[] = []
  const silent: number[] = []
  while (!cursor.isAtEnd()) {
    const tag = cursor.number(1)
    if (tag === 1) held.push(readHeld(cursor))
    else if (tag === 2) silent.push(cursor.number(2))
    else throw new UpstreamError(`Cannot decode the lens: unknown record ${tag}`)
  }
  if (held.some(({ index }) => index >= taken) || silent.some((index) => index >= taken)) {
    throw new UpstreamError('Cannot decode the lens: a record has an index beyond the tokens taken')
  }
  return { block, taken, native, held, silent }
}

function readHeld(cursor: LensCursor): RawTokenBalance {
  return { index: cursor.number(2), balance: cursor.uint(32), token: readToken(cursor), price: readUsdAnswers(cursor) }
}
