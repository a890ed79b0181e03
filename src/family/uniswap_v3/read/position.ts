import type { Address } from 'viem'
import type { Block } from '../../../chain/block.ts'
import type { FinanceChain } from '../../../finance/chain.ts'
import { type NoPrice, type UsdPrice, usdPriceOf } from '../../../finance/price/price.ts'
import type { JudgedToken, TokenJudge } from '../../../finance/token/spam/judge.ts'
import type { Token } from '../../../finance/token/token.ts'
import { type Steps, sortedInSteps } from '../../../lib/async/turns.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { onceEach } from '../../../lib/once_each.ts'
import type { UniswapV3Deployment } from '../table/deployments.ts'
import type { RawBrief, RawPool, RawPosition, RawRead, RawScan } from './abi.ts'

interface KnownToken extends Token {
  readonly decimals: number
}

/** A token of a pool with known decimals and, if it has one, its price at the block of the reading. */
export interface PricedToken extends KnownToken {
  readonly price: UsdPrice | undefined
  /** Why it has none. */
  readonly noPrice?: NoPrice
}

/** What a list needs to sort and count a position. */
export interface BriefPosition {
  readonly chainId: number
  readonly deployment: UniswapV3Deployment
  readonly tokenId: bigint
  readonly liquidity: bigint
}

/** A position and everything that its figures depend on, at one block. */
export interface Position extends BriefPosition, Omit<RawPosition, 'manager' | 'pool' | keyof BriefPosition> {
  readonly pool: Omit<RawPool, 'manager' | 'token0' | 'token1'>
  readonly token0: PricedToken
  readonly token1: PricedToken
  /** Why its tokens are spam, as a sentence; absent if they are not. */
  readonly spam?: string
}

/** A position that is left out because of what its tokens are. */
export interface SpamPosition {
  readonly chainId: number
  readonly manager: Address
  readonly tokenId: bigint
  readonly reason: string
}

/** A position that could not be decoded in full. */
export interface UnreadablePosition {
  readonly chainId: number
  readonly manager: Address
  readonly tokenId: bigint
  /** What is wrong, in words that follow "because". */
  readonly because: string
}

/** What a reading of one chain means. Every entry of the list is in exactly one of the three. */
export interface ChainRead<Listed extends BriefPosition = Position> {
  readonly block: Block
  /** By manager and id, ascending. */
  readonly positions: readonly Listed[]
  /** In the order of the wallet's list, as `unreadable` is too. */
  readonly spams: readonly SpamPosition[]
  readonly unreadable: readonly UnreadablePosition[]
}

interface InterpretOptions {
  readonly chain: FinanceChain
  readonly deployments: readonly UniswapV3Deployment[]
  readonly judge: TokenJudge['judge']
  /** `included` where positions are answered even if their tokens are spam. */
  readonly spam: 'apart' | 'included'
}

const BROKEN_BECAUSE = {
  id: 'the manager does not say its id',
  position: 'the manager does not answer about it',
  pool: 'its pool does not answer',
  tick: 'its pool does not answer about its range',
  owner: 'the manager does not say who owns it',
} as const

/** Tokens or positions that are interpreted in one step. */
const STEP_TOKENS = 32
const STEP_POSITIONS = 500

/** Interprets a reading: names and prices tokens, separates spam (unless it is included) and unreadable positions. */
export function* interpret(read: RawRead, options: InterpretOptions): Steps<ChainRead> {
  const prices = pricesOf(read, options.chain)
  const sorted = yield* sortOut(read, options, ({ manager: _, pool: __, ...position }, parts) => {
    const { manager: ___, token0: index0, token1: index1, ...pool } = parts.pool
    const token0 = { ...parts.token0, ...(prices[index0] ?? UNPRICED) }
    const token1 = { ...parts.token1, ...(prices[index1] ?? UNPRICED) }
    const { deployment, spam } = parts
    const found = { ...position, chainId: options.chain.id, deployment, pool, token0, token1 }
    return spam === undefined ? found : { ...found, spam }
  })
  return { ...sorted, positions: yield* sortedInSteps(sorted.positions, inOrder) }
}

/** Interprets a page of a long list as `interpret` would. Its positions keep the order of the list. */
export function* interpretScan(scan: RawScan, options: InterpretOptions): Steps<ChainRead<BriefPosition>> {
  return yield* sortOut(scan, options, ({ tokenId, liquidity }, { deployment }) => ({
    chainId: options.chain.id,
    deployment,
    tokenId,
    liquidity,
  }))
}

/** Joins the interpreted pages of a long list, in their order. */
export function* joinScans(block: Block, pages: readonly ChainRead<BriefPosition>[]): Steps<ChainRead<BriefPosition>> {
  const positions = pages.flatMap((page) => page.positions)
  yield
  return {
    block,
    positions: yield* sortedInSteps(positions, inOrder),
    spams: pages.flatMap(({ spams }) => spams),
    unreadable: pages.flatMap(({ unreadable }) => unreadable),
  }
}

/** The order of a chain's positions in answers. */
function inOrder(a: BriefPosition, b: BriefPosition): number {
  const [managerA, managerB] = [a.deployment.manager, b.deployment.manager]
  if (managerA !== managerB) return managerA.toLowerCase() < managerB.toLowerCase() ? -1 : 1
  return a.tokenId < b.tokenId ? -1 : 1
}

/** The pool and tokens of a position that is neither spam nor unreadable. */
interface Parts {
  readonly deployment: UniswapV3Deployment
  readonly pool: RawPool
  readonly token0: KnownToken
  readonly token1: KnownToken
  readonly spam: string | undefined
}

function* sortOut<Raw extends RawBrief, Listed extends BriefPosition>(
  read: Omit<RawScan, 'positions'> & { readonly positions: readonly Raw[] },
  { chain, deployments, judge, spam }: InterpretOptions,
  make: (raw: Raw, parts: Parts) => Listed,
): Steps<ChainRead<Listed>> {
  const tokens: JudgedToken[] = []
  for (const [index, raw] of read.tokens.entries()) {
    if (index % STEP_TOKENS === STEP_TOKENS - 1) yield
    tokens.push(judge(raw, chain))
  }
  const positions: Listed[] = []
  const spams: SpamPosition[] = []
  const unreadable: UnreadablePosition[] = read.broken.map(({ manager, tokenId, part }) => ({
    chainId: chain.id,
    manager: at(deployments, manager).manager,
    tokenId,
    because: BROKEN_BECAUSE[part],
  }))
  for (const [index, raw] of read.positions.entries()) {
    if (index % STEP_POSITIONS === STEP_POSITIONS - 1) yield
    const deployment = at(deployments, raw.manager)
    const pool = at(read.pools, raw.pool)
    const [first, second] = [at(tokens, pool.token0), at(tokens, pool.token1)]
    const [token0, token1] = [first.token, second.token]
    const reason = first.spam ?? second.spam
    const place = { chainId: chain.id, manager: deployment.manager, tokenId: raw.tokenId }
    if (reason !== undefined && spam === 'apart') spams.push({ ...place, reason })
    else if (isKnown(token0) && isKnown(token1)) {
      positions.push(make(raw, { deployment, pool, token0, token1, spam: reason }))
    } else unreadable.push({ ...place, because: withoutDecimals(isKnown(token0) ? token1 : token0) })
  }
  return { block: read.block, positions, spams, unreadable }
}

function isKnown(token: Token): token is KnownToken {
  return token.decimals !== undefined
}

/** One sentence for all positions of a token, because there may be very many. */
const withoutDecimals = onceEach(({ address }: Token) => `token ${address} has no usable decimals`)

const UNPRICED: Pick<PricedToken, 'price' | 'noPrice'> = { price: undefined }

/** The price of every token of the reading that has one, in their order. */
function pricesOf({ tokens, block }: RawRead, chain: FinanceChain): (typeof UNPRICED)[] {
  return tokens.map(({ address, usd }) => {
    const outcome = usdPriceOf(address, { chain, answers: usd, blockTimestampSec: block.timestampSec })
    if (outcome.kind === 'price') return { price: outcome.price }
    return { price: undefined, noPrice: outcome }
  })
}

function at<T>(list: readonly T[], index: number): T {
  const item = list[index]
  if (item === undefined) throw new UpstreamError('Cannot decode the lens: it refers to what it did not send')
  return item
}
