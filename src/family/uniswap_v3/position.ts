import type { Address } from 'viem'
import type { Chain } from '../../chain/chain.ts'
import { type UsdPrice, usdPriceOf } from '../../chain/price.ts'
import type { ReadBlock } from '../../chain/read_block.ts'
import { UpstreamError } from '../../lib/error.ts'
import type { UniswapV3Deployment } from './deployments.ts'
import { spamReason } from './spam.ts'
import type { RawPool, RawPosition, RawRead } from './state.ts'
import { type Token, tokenFrom } from './token.ts'

/** A token of a pool, its decimals known, with its price at the block of the reading where it has one. */
export interface PricedToken extends Token {
  readonly decimals: number
  readonly price: UsdPrice | undefined
}

/** A position and all that its figures depend on, at one block. */
export interface Position extends Omit<RawPosition, 'manager' | 'pool'> {
  readonly chainId: number
  readonly deployment: UniswapV3Deployment
  readonly pool: Omit<RawPool, 'manager' | 'token0' | 'token1'>
  readonly token0: PricedToken
  readonly token1: PricedToken
}

/** A position that is left out because of what its tokens are. */
export interface SpamPosition {
  readonly chainId: number
  readonly manager: Address
  readonly tokenId: bigint
  readonly reason: string
}

/** A position of which something could not be decoded. */
export interface UnreadablePosition {
  readonly chainId: number
  readonly manager: Address
  readonly tokenId: bigint
  /** What is wrong, in words that follow "because". */
  readonly because: string
}

/** What a reading of one chain means. Every entry of the list is in exactly one of the three. */
export interface ChainRead {
  readonly block: ReadBlock
  readonly positions: readonly Position[]
  readonly spams: readonly SpamPosition[]
  readonly unreadable: readonly UnreadablePosition[]
}

const BROKEN_BECAUSE = {
  id: 'the manager does not say its id',
  position: 'the manager does not answer about it',
  pool: 'its pool does not answer',
  tick: 'its pool does not answer about its range',
  owner: 'the manager does not say who owns it',
} as const

/** Makes sense of a reading: names and prices tokens, sorts out spam (unless it is wanted) and what is unreadable. */
export function interpret(
  read: RawRead,
  options: {
    readonly chain: Chain
    readonly deployments: readonly UniswapV3Deployment[]
    /** A position that is asked for by its id is answered whatever its tokens say. */
    readonly spam: 'apart' | 'included'
  },
): ChainRead {
  const { chain, deployments } = options
  const listed = new Set(options.spam === 'apart' ? chain.spamTokens : [])
  const tokens = read.tokens.map((raw) => {
    const token = tokenFrom(raw)
    return { token, spam: options.spam === 'apart' ? spamReason(token, listed) : undefined }
  })
  const prices = pricesOf(read, chain)
  const positions: Position[] = []
  const spams: SpamPosition[] = []
  const unreadable: UnreadablePosition[] = read.broken.map(({ manager, tokenId, part }) => ({
    chainId: chain.id,
    manager: at(deployments, manager).manager,
    tokenId,
    because: BROKEN_BECAUSE[part],
  }))
  for (const { manager, pool: poolIndex, ...position } of read.positions) {
    const deployment = at(deployments, manager)
    const { manager: _, token0: index0, token1: index1, ...pool } = at(read.pools, poolIndex)
    const [first, second] = [at(tokens, index0), at(tokens, index1)]
    const spam = first.spam ?? second.spam
    const [token0, token1] = [priced(first.token, prices[index0]), priced(second.token, prices[index1])]
    const place = { chainId: chain.id, manager: deployment.manager, tokenId: position.tokenId }
    if (spam !== undefined) spams.push({ ...place, reason: spam })
    else if (token0 === undefined || token1 === undefined) {
      const { address } = token0 === undefined ? first.token : second.token
      unreadable.push({ ...place, because: `token ${address} has no usable decimals` })
    } else positions.push({ ...position, chainId: chain.id, deployment, pool, token0, token1 })
  }
  return { block: read.block, positions, spams, unreadable }
}

function priced(token: Token, price: UsdPrice | undefined): PricedToken | undefined {
  return token.decimals === undefined ? undefined : { ...token, decimals: token.decimals, price }
}

/** The price of every token of the reading that has one, in their order. */
function pricesOf({ tokens, feeds, aave, block }: RawRead, { prices }: Chain): (UsdPrice | undefined)[] {
  const rounds = new Map(feeds.map(({ token, round }) => [token, round]))
  const aaves = new Map(aave.map((each) => [each.token, each]))
  return tokens.map(({ address }, index) => {
    const answers = { round: rounds.get(index), aave: aaves.get(index), blockTimestampSec: block.timestampSec }
    const outcome = usdPriceOf(address, { prices, answers })
    return outcome.kind === 'price' ? outcome.price : undefined
  })
}

function at<T>(list: readonly T[], index: number): T {
  const item = list[index]
  if (item === undefined) throw new UpstreamError('Cannot decode the lens: it refers to what it did not send')
  return item
}
