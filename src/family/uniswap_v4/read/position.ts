import { type Address, zeroAddress } from 'viem'
import type { Block } from '../../../chain/block.ts'
import type { FinanceChain } from '../../../finance/chain.ts'
import { computePrices, type PricedToken } from '../../../finance/token/priced_token.ts'
import type { FilteredToken, SpamFilter } from '../../../finance/token/spam.ts'
import { type RawToken, toNativeToken } from '../../../finance/token/token.ts'
import { type Steps, sortInSteps } from '../../../lib/async/cooperative.ts'
import { memoize } from '../../../lib/memoize.ts'
import { type ClassifiedPositions, classifyPositions, type PositionParts } from '../../liquidity/list/classify.ts'
import { priceParts } from '../../liquidity/list/records.ts'
import type { Withdrawal } from '../math/figures.ts'
import type { UniswapV4Deployment } from '../table.ts'
import type { RawRead, RawV4Listed, RawV4Pool, RawV4Position } from './abi.ts'

/** The part of a position that sorting and counting a list need. */
interface BriefPosition {
  readonly chainId: number
  readonly tokenId: bigint
  readonly liquidity: bigint
  readonly pool: V4Pool
}

/** A position of a list, decoded in full on demand: most lists are longer than the page that is shown. */
export interface ListedPosition extends BriefPosition {
  whole(): Position
}

/** A position with all inputs of its figures, at one block. */
export interface Position extends BriefPosition, Omit<RawV4Position, keyof BriefPosition | 'owner'> {
  readonly deployment: UniswapV4Deployment
  readonly owner: Address
  /** Currency 0 of the pool's key; the native token is the zero address. */
  readonly token0: PricedToken
  readonly token1: PricedToken
  /** Why its tokens are spam, as a sentence; absent if they are not. */
  readonly spam?: string
}

/** A pool at that block, with the fields of its key except the tokens. */
type V4Pool = Omit<RawV4Pool, 'token0' | 'token1'>

/** The interpreted read of one chain. Its positions are sorted by id, ascending. */
export interface ChainRead<Listed extends BriefPosition = Position> extends ClassifiedPositions<Listed> {
  readonly block: Block
  /** Complete withdrawals executed in the same call, by id; absent if there were none. */
  readonly withdrawals?: ReadonlyMap<bigint, Withdrawal>
}

interface InterpretOptions {
  readonly chain: FinanceChain
  readonly deployment: UniswapV4Deployment
  readonly classifyToken: SpamFilter['classify']
  /** `included` lists positions even if their tokens are spam. */
  readonly spam: 'apart' | 'included'
  /** Of positions that were read without their own. */
  readonly owner: Address
}

const BROKEN_REASONS = {
  position: 'the manager does not answer about it',
  pool: 'its pool does not answer',
} as const

/** Interprets a reading: names and prices tokens, separates spam (unless it is included) and unreadable positions. */
export function* interpret(read: RawRead, options: InterpretOptions): Steps<ChainRead> {
  const { make } = createPositionFactory(read, options)
  return yield* classifyAll(read, options, make)
}

/** Interprets a list, whose positions are decoded in full when they are shown. */
export function* interpretList(
  list: RawRead<RawV4Listed>,
  options: InterpretOptions,
): Steps<ChainRead<ListedPosition>> {
  const { make, partsOf: getParts } = createPositionFactory(list, options)
  const { id: chainId } = options.chain
  return yield* classifyAll(list, options, (raw, parts): ListedPosition => {
    const { tokenId, liquidity } = raw
    return { chainId, tokenId, liquidity, pool: getParts(parts).pool, whole: () => make(raw.whole(), parts) }
  })
}

/** Creates a factory of a read's positions. */
function createPositionFactory(
  read: Pick<RawRead, 'tokens' | 'block'>,
  { chain, deployment, owner }: InterpretOptions,
) {
  const prices = computePrices(read.tokens, { chain, blockTimestampSec: read.block.timestampSec })
  const getParts = priceParts(prices, ({ token0: _, token1: __, ...pool }: RawV4Pool): V4Pool => pool)
  const make = (raw: RawV4Position, parts: PositionParts<RawV4Pool>): Position => {
    const { spam } = parts
    const position = { ...raw, ...getParts(parts), chainId: chain.id, deployment, owner: raw.owner ?? owner }
    return spam === undefined ? position : { ...position, spam }
  }
  return { make, partsOf: getParts }
}

function* classifyAll<Raw extends RawV4Listed | RawV4Position, Listed extends BriefPosition>(
  read: RawRead<Raw>,
  { deployment, classifyToken, ...options }: InterpretOptions,
  make: (raw: Raw, parts: PositionParts<RawV4Pool>) => Listed,
): Steps<ChainRead<Listed>> {
  const { chain } = options
  const classifyAnyToken = (raw: RawToken) =>
    raw.address === zeroAddress ? getNativeToken(chain) : classifyToken(raw, chain)
  const getReason = ({ part }: (typeof read.broken)[number]) => BROKEN_REASONS[part]
  const classifyOptions = {
    ...options,
    classifyToken: classifyAnyToken,
    getManager: () => deployment.positionManager,
    getReason,
  }
  const sorted = yield* classifyPositions(read, classifyOptions, make)
  const positions = yield* sortInSteps(sorted.positions, (a, b) => (a.tokenId < b.tokenId ? -1 : 1))
  return { ...sorted, block: read.block, positions }
}

/** Returns the native token, which no contract describes. */
const getNativeToken = memoize(
  (chain: FinanceChain): FilteredToken => ({ token: toNativeToken(chain), spam: undefined }),
)
