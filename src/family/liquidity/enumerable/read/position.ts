import type { Block } from '../../../../chain/block.ts'
import type { FinanceChain } from '../../../../finance/chain.ts'
import {
  computePrices,
  describeMissingDecimals,
  hasDecimals,
  type PricedToken,
  UNPRICED,
} from '../../../../finance/token/priced_token.ts'
import type { SpamFilter } from '../../../../finance/token/spam.ts'
import { type Steps, sortInSteps } from '../../../../lib/async/cooperative.ts'
import { UpstreamError } from '../../../../lib/error.ts'
import { type ClassifiedPositions, classifyPositions, type PositionParts, resolveIndex } from '../../list/classify.ts'
import { priceParts } from '../../list/records.ts'
import type { Custodian } from '../../protocol.ts'
import type { EnumerableDeployment, PositionHolder } from '../exchange.ts'
import type { BrokenPosition, RawBrief, RawListed, RawPool, RawPosition, RawRead, RawReward } from './abi.ts'

/** Fields that a list sorts and counts positions by. */
export interface BriefPosition {
  readonly chainId: number
  readonly deployment: EnumerableDeployment
  /** What holds it for its owner; undefined if the owner does. */
  readonly custodian?: Custodian | undefined
  readonly tokenId: bigint
  readonly liquidity: bigint
}

/** A position and all inputs of its figures, at one block. */
export interface Position
  extends BriefPosition,
    Omit<RawPosition, 'manager' | 'pool' | 'rewards' | keyof BriefPosition> {
  readonly pool: Omit<RawPool, 'manager' | 'token0' | 'token1'>
  readonly token0: PricedToken
  readonly token1: PricedToken
  /** What its custodian pays for it, as the lens' words; absent if nothing. */
  readonly rewards?: readonly { readonly token: PricedToken; readonly words: readonly bigint[] }[]
  /** Why its tokens are spam, as a sentence; undefined if they are not. */
  readonly spam: string | undefined
}

/** A position of a list that was read whole, decoded on demand: most lists are longer than the page shown. */
export interface ListedPosition extends BriefPosition {
  whole(): Position
}

/** Interpreted read of one chain. Positions are sorted by manager and id, ascending. */
export interface ChainRead<Listed extends BriefPosition = Position> extends ClassifiedPositions<Listed> {
  readonly block: Block
}

interface InterpretOptions {
  readonly chain: FinanceChain
  readonly holders: readonly PositionHolder[]
  readonly classifyToken: SpamFilter['classify']
  /** False if the lens read no prices. */
  readonly isPriced: boolean
  /** `included` if positions of spam tokens are returned as others are. */
  readonly spam: 'apart' | 'included'
}

const BROKEN_REASONS = {
  id: 'the manager does not say its id',
  position: 'the manager does not answer about it',
  pool: 'its pool does not answer',
  tick: 'its pool does not answer about its range',
  owner: 'its manager or custodian does not say who owns it',
  reward: 'its custodian does not answer about its rewards',
} as const

/** Interprets a read: names and prices tokens, separates spam (unless it is included) and unreadable positions. */
export function* interpret(read: RawRead, options: InterpretOptions): Steps<ChainRead> {
  return yield* sortPositions(yield* classifyAll(read, options, createPositionFactory(read, options)))
}

/** Interprets a list, whose positions are decoded when they are shown. Those read in brief stay so. */
export function* interpretList(
  list: RawRead<RawListed>,
  options: InterpretOptions,
): Steps<ChainRead<BriefPosition | ListedPosition>> {
  const make = createPositionFactory(list, options)
  const toBrief = createBriefFactory(options)
  const sorted = yield* classifyAll(list, options, (raw, parts): BriefPosition | ListedPosition => {
    const { whole, rewards } = raw
    const brief = toBrief(raw)
    return whole ? { ...brief, whole: () => make({ ...whole(), ...(rewards && { rewards }) }, parts) } : brief
  })
  return yield* sortPositions(sorted)
}

/** Creates a function that makes positions of a read. */
function createPositionFactory(
  read: Pick<RawRead, 'tokens' | 'block'>,
  { chain, holders, isPriced, classifyToken }: InterpretOptions,
) {
  const prices = isPriced ? computePrices(read.tokens, { chain, blockTimestampSec: read.block.timestampSec }) : []
  const getParts = priceParts(prices, ({ manager: _, token0: __, token1: ___, ...pool }: RawPool) => pool)
  const toReward = ({ token: index, words }: RawReward) => {
    const { token } = classifyToken(resolveIndex(read.tokens, index), chain)
    if (!hasDecimals(token)) throw new UpstreamError(`Cannot use the answer: ${describeMissingDecimals(token)}`)
    return { token: { ...token, ...(prices[index] ?? UNPRICED) }, words }
  }
  // Copies field by field: rest and spread take several times as long.
  return (raw: RawPosition, parts: PositionParts<RawPool>): Position => {
    const { tokenId, owner, tickLower, tickUpper, insideLast, owed, shared, liquidity, outside, rewards } = raw
    const { pool, token0, token1 } = getParts(parts)
    const { deployment, custodian } = resolveIndex(holders, raw.manager)
    return {
      chainId: chain.id,
      deployment,
      custodian,
      tokenId,
      owner,
      tickLower,
      tickUpper,
      insideLast,
      owed,
      shared,
      liquidity,
      outside,
      pool,
      token0,
      token1,
      ...(rewards && { rewards: rewards.map(toReward) }),
      spam: parts.spam,
    }
  }
}

function createBriefFactory({ chain, holders }: InterpretOptions) {
  return ({ manager, tokenId, liquidity }: RawBrief): BriefPosition => {
    const { deployment, custodian } = resolveIndex(holders, manager)
    return { chainId: chain.id, deployment, custodian, tokenId, liquidity }
  }
}

/** Interprets a page of a long list as `interpret` does, but keeps the order of the list. */
export function* interpretScan(scan: RawRead<RawBrief>, options: InterpretOptions): Steps<ChainRead<BriefPosition>> {
  return yield* classifyAll(scan, options, createBriefFactory(options))
}

/** Joins the interpreted pages of a long list and sorts their positions. */
export function* joinScans(block: Block, pages: readonly ChainRead<BriefPosition>[]): Steps<ChainRead<BriefPosition>> {
  const positions = pages.flatMap((page) => page.positions)
  yield
  const spams = pages.flatMap((page) => page.spams)
  const unreadable = pages.flatMap((page) => page.unreadable)
  return yield* sortPositions({ block, positions, spams, unreadable })
}

function* sortPositions<Listed extends BriefPosition>(read: ChainRead<Listed>): Steps<ChainRead<Listed>> {
  return { ...read, positions: yield* sortInSteps(read.positions, comparePositions) }
}

/** Compares positions of a chain in the order of answers. */
function comparePositions(a: BriefPosition, b: BriefPosition): number {
  const { manager: managerA } = a.deployment
  const { manager: managerB } = b.deployment
  if (managerA !== managerB) return managerA.toLowerCase() < managerB.toLowerCase() ? -1 : 1
  return a.tokenId < b.tokenId ? -1 : 1
}

function* classifyAll<Raw extends RawBrief, Listed extends BriefPosition>(
  read: RawRead<Raw>,
  { holders, ...options }: InterpretOptions,
  make: (raw: Raw, parts: PositionParts<RawPool>) => Listed,
): Steps<ChainRead<Listed>> {
  const getManager = ({ manager }: { readonly manager: number }) => resolveIndex(holders, manager).deployment.manager
  const getReason = ({ part }: BrokenPosition) => BROKEN_REASONS[part]
  return { ...(yield* classifyPositions(read, { ...options, getManager, getReason }, make)), block: read.block }
}
