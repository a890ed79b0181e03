import type { Block } from '../../../chain/block.ts'
import type { FinanceChain } from '../../../finance/chain.ts'
import {
  type ClassifiedPositions,
  classifyPositions,
  type PositionParts,
  resolveIndex,
} from '../../../finance/liquidity/list/classify.ts'
import { priceParts } from '../../../finance/liquidity/list/priced_parts.ts'
import { computePrices, type PricedToken } from '../../../finance/liquidity/priced_token.ts'
import type { SpamFilter } from '../../../finance/token/spam_filter.ts'
import { type Steps, sortInSteps } from '../../../lib/async/cooperative.ts'
import type { UniswapV3Deployment } from '../table/deployments.ts'
import type { BrokenPosition, RawBrief, RawListed, RawPool, RawPosition, RawRead } from './abi.ts'

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
  /** Why its tokens are spam, as a sentence; undefined if they are not. */
  readonly spam: string | undefined
}

/** A position of a list that was read whole. Most lists are longer than the page that is shown. */
export interface ListedPosition extends BriefPosition {
  whole(): Position
}

/** What a reading of one chain means. Its positions are by manager and id, ascending. */
export interface ChainRead<Listed extends BriefPosition = Position> extends ClassifiedPositions<Listed> {
  readonly block: Block
}

interface InterpretOptions {
  readonly chain: FinanceChain
  readonly deployments: readonly UniswapV3Deployment[]
  readonly judge: SpamFilter['judge']
  /** False if tokens were not asked for what prices them. */
  readonly isPriced: boolean
  /** `included` if positions are answered even if their tokens are spam. */
  readonly spam: 'apart' | 'included'
}

const BROKEN_BECAUSE = {
  id: 'the manager does not say its id',
  position: 'the manager does not answer about it',
  pool: 'its pool does not answer',
  tick: 'its pool does not answer about its range',
  owner: 'the manager does not say who owns it',
} as const

/** Interprets a reading: names and prices tokens, separates spam (unless it is included) and unreadable positions. */
export function* interpret(read: RawRead, options: InterpretOptions): Steps<ChainRead> {
  return yield* ordered(yield* sortAll(read, options, makerOf(read, options)))
}

/** The same of a list, whose positions are made when they are shown. */
export function* interpretList(list: RawRead<RawListed>, options: InterpretOptions): Steps<ChainRead<ListedPosition>> {
  const make = makerOf(list, options)
  const briefOf = brieferOf(options)
  const sorted = yield* sortAll(list, options, (raw, parts): ListedPosition => {
    return { ...briefOf(raw), whole: () => make(raw.whole(), parts) }
  })
  return yield* ordered(sorted)
}

/** Makes positions of a reading. */
function makerOf(read: Pick<RawRead, 'tokens' | 'block'>, { chain, deployments, isPriced }: InterpretOptions) {
  const prices = isPriced ? computePrices(read.tokens, { chain, blockTimestampSec: read.block.timestampSec }) : []
  const partsOf = priceParts(prices, ({ manager: _, token0: __, token1: ___, ...pool }: RawPool) => pool)
  // Field by field: to copy all but some fields of an object takes several times as long.
  return (raw: RawPosition, parts: PositionParts<RawPool>): Position => {
    const { tokenId, owner, tickLower, tickUpper, insideLast, owed, liquidity, outside } = raw
    const { pool, token0, token1 } = partsOf(parts)
    return {
      chainId: chain.id,
      deployment: resolveIndex(deployments, raw.manager),
      tokenId,
      owner,
      tickLower,
      tickUpper,
      insideLast,
      owed,
      liquidity,
      outside,
      pool,
      token0,
      token1,
      spam: parts.spam,
    }
  }
}

function brieferOf({ chain, deployments }: InterpretOptions) {
  return ({ manager, tokenId, liquidity }: RawBrief): BriefPosition => ({
    chainId: chain.id,
    deployment: resolveIndex(deployments, manager),
    tokenId,
    liquidity,
  })
}

/** Interprets a page of a long list as `interpret` would. Its positions keep the order of the list. */
export function* interpretScan(scan: RawRead<RawBrief>, options: InterpretOptions): Steps<ChainRead<BriefPosition>> {
  return yield* sortAll(scan, options, brieferOf(options))
}

/** Joins the interpreted pages of a long list, in their order. */
export function* joinScans(block: Block, pages: readonly ChainRead<BriefPosition>[]): Steps<ChainRead<BriefPosition>> {
  const positions = pages.flatMap((page) => page.positions)
  yield
  const spams = pages.flatMap((page) => page.spams)
  const unreadable = pages.flatMap((page) => page.unreadable)
  return yield* ordered({ block, positions, spams, unreadable })
}

function* ordered<Listed extends BriefPosition>(read: ChainRead<Listed>): Steps<ChainRead<Listed>> {
  return { ...read, positions: yield* sortInSteps(read.positions, inOrder) }
}

/** The order of a chain's positions in answers. */
function inOrder(a: BriefPosition, b: BriefPosition): number {
  const { manager: managerA } = a.deployment
  const { manager: managerB } = b.deployment
  if (managerA !== managerB) return managerA.toLowerCase() < managerB.toLowerCase() ? -1 : 1
  return a.tokenId < b.tokenId ? -1 : 1
}

function* sortAll<Raw extends RawBrief, Listed extends BriefPosition>(
  read: RawRead<Raw>,
  { deployments, ...options }: InterpretOptions,
  make: (raw: Raw, parts: PositionParts<RawPool>) => Listed,
): Steps<ChainRead<Listed>> {
  const managerOf = ({ manager }: { readonly manager: number }) => resolveIndex(deployments, manager).manager
  const becauseOf = ({ part }: BrokenPosition) => BROKEN_BECAUSE[part]
  return { ...(yield* classifyPositions(read, { ...options, managerOf, becauseOf }, make)), block: read.block }
}
