import { type Address, zeroAddress } from 'viem'
import type { Block } from '../../../chain/block.ts'
import type { FinanceChain } from '../../../finance/chain.ts'
import { type SortedOut, sent, sortOut } from '../../../finance/liquidity/list/sort_out.ts'
import { type PricedToken, pricesOf, UNPRICED } from '../../../finance/liquidity/priced_token.ts'
import { nativeToken } from '../../../finance/token/native_token.ts'
import type { JudgedToken, TokenJudge } from '../../../finance/token/spam/judge.ts'
import type { RawToken } from '../../../finance/token/token.ts'
import { type Steps, sortedInSteps } from '../../../lib/async/turns.ts'
import { onceEach } from '../../../lib/once_each.ts'
import type { Withdrawal } from '../math/figures.ts'
import type { UniswapV4Deployment } from '../table/deployments.ts'
import type { RawRead, RawV4Pool, RawV4Position } from './abi.ts'

/** A position and everything that its figures depend on, at one block. */
export interface Position extends Omit<RawV4Position, 'index' | 'pool'> {
  readonly chainId: number
  readonly deployment: UniswapV4Deployment
  readonly tokenId: bigint
  readonly owner: Address
  readonly pool: V4Pool
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
export interface ChainRead extends SortedOut<Position> {
  readonly block: Block
  /** Complete withdrawals that were executed in the same call, by id; absent if none were. */
  readonly withdrawals?: ReadonlyMap<bigint, Withdrawal>
}

interface InterpretOptions {
  readonly chain: FinanceChain
  readonly deployment: UniswapV4Deployment
  readonly judge: TokenJudge['judge']
  /** `included` where positions are answered even if their tokens are spam. */
  readonly spam: 'apart' | 'included'
  /** The ids that were asked about, in their order. */
  readonly ids: readonly bigint[]
  readonly owner: Address
}

const BROKEN_BECAUSE = {
  position: 'the manager does not answer about it',
  pool: 'its pool does not answer',
} as const

/** Interprets a reading: names and prices tokens, separates spam (unless it is included) and unreadable positions. */
export function* interpret(
  read: RawRead,
  { deployment, judge, ids, owner, ...options }: InterpretOptions,
): Steps<ChainRead> {
  const { chain } = options
  const manager = deployment.positionManager
  const prices = pricesOf(read.tokens, { chain, blockTimestampSec: read.block.timestampSec })
  const named = {
    tokens: read.tokens,
    pools: read.pools,
    positions: read.positions.map((each) => ({ ...each, tokenId: sent(ids, each.index) })),
  }
  const judgeAny = (raw: RawToken) => (raw.address === zeroAddress ? nativeOf(chain) : judge(raw, chain))
  const sorted = yield* sortOut(named, { ...options, judge: judgeAny, managerOf: () => manager }, (raw, parts) => {
    const { index: _, pool: __, ...position } = raw
    const { token0: index0, token1: index1, ...pool } = parts.pool
    const token0 = { ...parts.token0, ...(prices[index0] ?? UNPRICED) }
    const token1 = { ...parts.token1, ...(prices[index1] ?? UNPRICED) }
    const found = { ...position, chainId: chain.id, deployment, owner, pool, token0, token1 }
    return parts.spam === undefined ? found : { ...found, spam: parts.spam }
  })
  const broken = read.broken.map(({ index, part }) => ({
    chainId: chain.id,
    manager,
    tokenId: sent(ids, index),
    because: BROKEN_BECAUSE[part],
  }))
  return {
    block: read.block,
    positions: yield* sortedInSteps(sorted.positions, (a, b) => (a.tokenId < b.tokenId ? -1 : 1)),
    spams: sorted.spams,
    unreadable: [...broken, ...sorted.unreadable],
  }
}

/** No contract says what it is. */
const nativeOf = onceEach((chain: FinanceChain): JudgedToken => ({ token: nativeToken(chain), spam: undefined }))
