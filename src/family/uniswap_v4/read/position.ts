import { type Address, zeroAddress } from 'viem'
import type { Block } from '../../../chain/block.ts'
import type { FinanceChain } from '../../../finance/chain.ts'
import {
  type ClassifiedPositions,
  classifyPositions,
  type PositionParts,
} from '../../../finance/liquidity/list/classify.ts'
import { priceParts } from '../../../finance/liquidity/list/priced_parts.ts'
import { computePrices, type PricedToken } from '../../../finance/liquidity/priced_token.ts'
import { nativeToken } from '../../../finance/token/native_token.ts'
import type { FilteredToken, SpamFilter } from '../../../finance/token/spam_filter.ts'
import type { RawToken } from '../../../finance/token/token.ts'
import { type Steps, sortInSteps } from '../../../lib/async/cooperative.ts'
import { memoize } from '../../../lib/memoize.ts'
import type { Withdrawal } from '../math/figures.ts'
import type { UniswapV4Deployment } from '../table/deployments.ts'
import type { RawRead, RawV4Listed, RawV4Pool, RawV4Position } from './abi.ts'

/** What a list needs to sort and count a position. */
export interface BriefPosition {
  readonly chainId: number
  readonly tokenId: bigint
  readonly liquidity: bigint
  readonly pool: V4Pool
}

/** A position of a list. Most lists are longer than the page that is shown. */
export interface ListedPosition extends BriefPosition {
  whole(): Position
}

/** A position and everything that its figures depend on, at one block. */
export interface Position extends BriefPosition, Omit<RawV4Position, keyof BriefPosition> {
  readonly deployment: UniswapV4Deployment
  readonly owner: Address
  /** Currency 0 of the pool's key; the native token is the zero address. */
  readonly token0: PricedToken
  readonly token1: PricedToken
  /** Why its tokens are spam, as a sentence; absent if they are not. */
  readonly spam?: string
}

/** A pool as it is at that block, with what its key says beside the tokens. */
export type V4Pool = Omit<RawV4Pool, 'token0' | 'token1'>

/** A position with what a complete withdrawal pays, if its pool's hook sees withdrawals. */
export interface FullPosition {
  readonly position: Position
  readonly withdrawal: Withdrawal | undefined
}

/** What a reading of one chain means. Its positions are by id, ascending. */
export interface ChainRead<Listed extends BriefPosition = Position> extends ClassifiedPositions<Listed> {
  readonly block: Block
  /** Complete withdrawals that were executed in the same call, by id; absent if none were. */
  readonly withdrawals?: ReadonlyMap<bigint, Withdrawal>
}

interface InterpretOptions {
  readonly chain: FinanceChain
  readonly deployment: UniswapV4Deployment
  readonly judge: SpamFilter['judge']
  /** `included` if positions are answered even if their tokens are spam. */
  readonly spam: 'apart' | 'included'
  readonly owner: Address
}

const BROKEN_BECAUSE = {
  position: 'the manager does not answer about it',
  pool: 'its pool does not answer',
} as const

/** Interprets a reading: names and prices tokens, separates spam (unless it is included) and unreadable positions. */
export function* interpret(read: RawRead, options: InterpretOptions): Steps<ChainRead> {
  const { make } = makerOf(read, options)
  return yield* sortAll(read, options, make)
}

/** The same of a list, whose positions are made when they are shown. */
export function* interpretList(
  list: RawRead<RawV4Listed>,
  options: InterpretOptions,
): Steps<ChainRead<ListedPosition>> {
  const { make, partsOf } = makerOf(list, options)
  const { id: chainId } = options.chain
  return yield* sortAll(list, options, (raw, parts): ListedPosition => {
    const { tokenId, liquidity } = raw
    return { chainId, tokenId, liquidity, pool: partsOf(parts).pool, whole: () => make(raw.whole(), parts) }
  })
}

/** Makes positions of a reading. */
function makerOf(read: Pick<RawRead, 'tokens' | 'block'>, { chain, deployment, owner }: InterpretOptions) {
  const prices = computePrices(read.tokens, { chain, blockTimestampSec: read.block.timestampSec })
  const partsOf = priceParts(prices, ({ token0: _, token1: __, ...pool }: RawV4Pool): V4Pool => pool)
  const make = (raw: RawV4Position, parts: PositionParts<RawV4Pool>): Position => {
    const { spam } = parts
    const found = { ...raw, ...partsOf(parts), chainId: chain.id, deployment, owner }
    return spam === undefined ? found : { ...found, spam }
  }
  return { make, partsOf }
}

function* sortAll<Raw extends RawV4Listed | RawV4Position, Listed extends BriefPosition>(
  read: RawRead<Raw>,
  { deployment, judge, ...options }: InterpretOptions,
  make: (raw: Raw, parts: PositionParts<RawV4Pool>) => Listed,
): Steps<ChainRead<Listed>> {
  const { chain } = options
  const judgeAny = (raw: RawToken) => (raw.address === zeroAddress ? nativeOf(chain) : judge(raw, chain))
  const becauseOf = ({ part }: (typeof read.broken)[number]) => BROKEN_BECAUSE[part]
  const sorting = { ...options, judge: judgeAny, managerOf: () => deployment.positionManager, becauseOf }
  const sorted = yield* classifyPositions(read, sorting, make)
  const positions = yield* sortInSteps(sorted.positions, (a, b) => (a.tokenId < b.tokenId ? -1 : 1))
  return { ...sorted, block: read.block, positions }
}

/** No contract says what it is. */
const nativeOf = memoize((chain: FinanceChain): FilteredToken => ({ token: nativeToken(chain), spam: undefined }))
