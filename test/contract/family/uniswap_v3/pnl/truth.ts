import { TickMath } from '@pancakeswap/v3-sdk'
import { type Address, decodeFunctionResult, encodeFunctionData, type Hex, parseAbi } from 'viem'
import type { Valuation } from '../../../../../src/finance/math/pnl/figures.ts'
import type { Flow, Pair, Prices } from '../../../../../src/finance/math/pnl/flow.ts'
import { UNISWAP_V3 } from '../../../../devnet/addresses.ts'
import type { Devnet } from '../../../../devnet/mod.ts'
import type { Amounts } from '../../../../devnet/uniswap_v3.ts'
import type { RandomPool, RandomPoolToken } from '../../../../devnet/uniswap_v3_random/pools.ts'
import { secondOpinion } from '../../../../support/finance/math/pnl/second_opinion.ts'
import type { ReceiptFlow } from './receipts.ts'

/** Expected profit and loss of a position, from receipts and from the contracts' answers. */
export interface Truth {
  readonly pnl: Readonly<Record<string, unknown>>
  readonly flows: readonly Flow[]
}

/** A position whose expected profit and loss is computed. */
export interface ExpectedPnl {
  readonly tokenId: bigint
  readonly pool: RandomPool
  readonly isBurned: boolean
}

type Asked = Pick<Devnet, 'v3' | 'rpc' | 'client'>

const ABI = parseAbi([
  'function latestRoundData() view returns (uint80, int256 answer, uint256, uint256, uint80)',
  'function positions(uint256) view returns (uint96, address, address, address, uint24, int24 tickLower, int24 tickUpper, uint128 liquidity, uint256, uint256, uint128, uint128)',
])
const FEED_DECIMALS = 8

/** Amounts that the contracts would pay for a position. */
export interface Payable {
  readonly principal: Pair<bigint>
  readonly collectable: Pair<bigint>
}

const NOTHING: Payable = { principal: [0n, 0n], collectable: [0n, 0n] }

/** Computes the truth about positions of the devnet's manager at a block. `flows`: from receipts, by token id. */
export async function computeTruths(
  devnet: Asked,
  wanted: readonly ExpectedPnl[],
  { flows, block }: { readonly flows: ReadonlyMap<bigint, readonly ReceiptFlow[]>; readonly block: bigint },
): Promise<Truth[]> {
  const held = wanted.filter(({ isBurned }) => !isBurned).map(({ tokenId }) => tokenId)
  const paid = await devnet.v3.staticDecreaseMany(held, block)
  const owed = await devnet.v3.staticCollectMany(held, block)
  const payable = new Map(
    held.map((tokenId, index) => [tokenId, { principal: both(paid[index]), collectable: both(owed[index]) }]),
  )
  return Promise.all(
    wanted.map((each) =>
      computeTruth(devnet, each, { block, flows: flows.get(each.tokenId) ?? [], payable: payable.get(each.tokenId) }),
    ),
  )
}

function both(amounts: Amounts | undefined): Pair<bigint> {
  return amounts === undefined ? [0n, 0n] : [amounts.amount0, amounts.amount1]
}

/** Computes the truth about one position of any manager; without `payable` it was burned. */
export async function computeTruth(
  devnet: Asked,
  { tokenId, pool }: Pick<ExpectedPnl, 'tokenId' | 'pool'>,
  at: {
    readonly flows: readonly ReceiptFlow[]
    readonly block: bigint
    readonly payable: Payable | undefined
    readonly manager?: Address
  },
): Promise<Truth> {
  const { block, manager = UNISWAP_V3.manager } = at
  const { principal, collectable } = at.payable ?? NOTHING
  const prices = pricesOfFeeds(devnet)
  const { timestamp: timestampSec } = await devnet.client.getBlock({ blockNumber: block })
  const all = at.flows.filter(({ blockNumber }) => BigInt(blockNumber) <= block)
  const [first] = all
  if (first === undefined) throw new Error(`Cannot find flows of position ${tokenId}`)
  const asked = encodeFunctionData({ abi: ABI, functionName: 'positions', args: [tokenId] })
  const data = await call(devnet, { to: manager, data: asked, block: BigInt(first.blockNumber) })
  const stored = decodeFunctionResult({ abi: ABI, functionName: 'positions', data })
  const range = { tickLower: stored[5], tickUpper: stored[6] }
  const priceAt = (flow: ReceiptFlow) => readPrices(pool, flow, { all, range, devnet, prices })
  // A collect of nothing is not a flow.
  const real = all.filter(({ kind, amount0, amount1 }) => kind !== 'collect' || amount0 + amount1 > 0n)
  const flows: Flow[] = []
  for (const flow of real) {
    const shared = { timeSec: flow.timestampSec, amounts: [flow.amount0, flow.amount1] as const }
    if (flow.kind === 'decrease') flows.push({ kind: 'decrease', liquidity: flow.liquidity, ...shared })
    else if (flow.kind === 'collect') flows.push({ kind: 'collect', ...shared, prices: await priceAt(flow) })
    else flows.push({ kind: 'increase', liquidity: flow.liquidity, ...shared, prices: await priceAt(flow) })
  }
  const liquidity = real.reduce((sum, each) => sum + (each.kind === 'decrease' ? -each.liquidity : each.liquidity), 0n)
  const sum = (kind: ReceiptFlow['kind'], token: 0 | 1) =>
    real.reduce((total, each) => total + (each.kind === kind ? (token === 0 ? each.amount0 : each.amount1) : 0n), 0n)
  const waiting = sumUncollected(real)
  const isOver = liquidity === 0n && collectable[0] + collectable[1] === 0n
  const last = real.at(-1) as ReceiptFlow
  const holding: Valuation = {
    timeSec: isOver ? last.timestampSec : timestampSec,
    prices: isOver ? await priceAt(last) : await pricesNow(pool, { devnet, prices, block }),
    principal,
    fees: [collectable[0] - waiting[0], collectable[1] - waiting[1]],
  }
  if (sum('increase', 0) + sum('increase', 1) === 0n) throw new Error(`Position ${tokenId} never held anything`)
  const is_closed = liquidity === 0n
  const figures = secondOpinion(flows, holding)
  // No farm holds positions here.
  const rewards = { pnl_with_rewards: figures['pnl_usd_value'], pnl_with_rewards_missing: null }
  return { pnl: { token_id: String(tokenId), chain_id: 1, ...figures, is_closed, ...rewards }, flows }
}

/** Sums principal withdrawn and not collected: withdrawn tokens are paid before fees. */
export function sumUncollected(flows: readonly ReceiptFlow[]): Pair<bigint> {
  let [waiting0, waiting1] = [0n, 0n]
  for (const { kind, amount0, amount1 } of flows) {
    if (kind === 'decrease') [waiting0, waiting1] = [waiting0 + amount0, waiting1 + amount1]
    if (kind !== 'collect') continue
    waiting0 = waiting0 > amount0 ? waiting0 - amount0 : 0n
    waiting1 = waiting1 > amount1 ? waiting1 - amount1 : 0n
  }
  return [waiting0, waiting1]
}

interface PriceContext {
  readonly devnet: Asked
  readonly prices: FeedPrices
}

/** A price in US dollars of a whole token: a fraction. */
type Fraction = readonly [bigint, bigint]

async function readPrices(
  pool: RandomPool,
  flow: ReceiptFlow,
  context: PriceContext & {
    readonly all: readonly ReceiptFlow[]
    readonly range: { readonly tickLower: number; readonly tickUpper: number }
  },
): Promise<Prices> {
  const { all, range, prices, devnet } = context
  const block = BigInt(flow.blockNumber)
  const own = await Promise.all(pool.tokens.map((token) => prices.at(token, block)))
  return perRawUnit(pool, own, async () => {
    const tell = all
      .filter((each) => each.blockNumber === flow.blockNumber && each.kind !== 'collect')
      .filter(({ amount0, amount1 }) => amount0 > 0n && amount1 > 0n && (amount0 > 999_999n || amount1 > 999_999n))
    const inside = tell.filter(({ transactionHash }) => transactionHash === flow.transactionHash)
    const ordered = (inside.length > 0 ? inside : tell).toSorted(
      (a, b) => Math.abs(a.logIndex - flow.logIndex) - Math.abs(b.logIndex - flow.logIndex) || a.logIndex - b.logIndex,
    )
    const [nearest] = ordered
    return nearest === undefined ? slotPrice(devnet, pool, block) : impliedPrice(nearest, range)
  })
}

async function pricesNow(
  pool: RandomPool,
  { devnet, prices, block }: PriceContext & { readonly block: bigint },
): Promise<Prices> {
  const own = await Promise.all(pool.tokens.map((token) => prices.at(token, block)))
  return perRawUnit(pool, own, () => slotPrice(devnet, pool, block))
}

async function perRawUnit(
  { tokens: [token0, token1] }: RandomPool,
  [own0, own1]: readonly (Fraction | undefined)[],
  pool: () => Promise<Fraction>,
): Promise<Prices> {
  const raw = ([numerator, denominator]: Fraction, { decimals }: RandomPoolToken) => ({
    numerator,
    denominator: denominator * 10n ** BigInt(decimals),
  })
  if (own0 !== undefined && own1 !== undefined) return [raw(own0, token0), raw(own1, token1)]
  const [raw1, raw0] = await pool()
  const [ten0, ten1] = [10n ** BigInt(token0.decimals), 10n ** BigInt(token1.decimals)]
  if (own0 !== undefined) {
    const price1 = eighteenDigits([own0[0] * raw0 * ten1, own0[1] * raw1 * ten0])
    return [raw(own0, token0), raw(price1, token1)]
  }
  if (own1 === undefined) throw new Error('Neither token has a feed')
  return [raw(eighteenDigits([own1[0] * raw1 * ten0, own1[1] * raw0 * ten1]), token0), raw(own1, token1)]
}

/** The first eighteen digits, the next one rounded, by the text of the number. */
function eighteenDigits([numerator, denominator]: Fraction): Fraction {
  const POINT = 120
  const digits = ((numerator * 10n ** BigInt(POINT)) / denominator).toString()
  const cut = Math.max(0, digits.length - 18)
  const up = cut > 0 && (digits[cut === 0 ? 0 : 18] ?? '0') >= '5' ? 1n : 0n
  return [(BigInt(digits.slice(0, digits.length - cut)) + up) * 10n ** BigInt(cut), 10n ** BigInt(POINT)]
}

async function slotPrice(devnet: Asked, { address }: RandomPool, block: bigint): Promise<Fraction> {
  const { sqrtPriceX96 } = await devnet.v3.readSlot0(address, block)
  return [sqrtPriceX96 ** 2n, 2n ** 192n]
}

/** Raw token1 per raw token0 that makes these amounts of this liquidity in this range. */
function impliedPrice(
  { liquidity, amount0, amount1 }: ReceiptFlow,
  { tickLower, tickUpper }: { readonly tickLower: number; readonly tickUpper: number },
): Fraction {
  const one = 2n ** 96n
  if (amount1 >= amount0) {
    const root: Fraction = [rootAt(tickLower) * liquidity + amount1 * one, one * liquidity]
    return [root[0] ** 2n, root[1] ** 2n]
  }
  // 1 / √P = 1 / √Pb + amount0 / L
  const upper = rootAt(tickUpper)
  const inverse: Fraction = [one * liquidity + amount0 * upper, upper * liquidity]
  return [inverse[1] ** 2n, inverse[0] ** 2n]
}

/** Square root of the price at a tick in Q96, by Uniswap's own library. */
function rootAt(tick: number): bigint {
  return BigInt(TickMath.getSqrtRatioAtTick(tick).toString())
}

interface FeedPrices {
  at(token: RandomPoolToken, block: bigint): Promise<Fraction | undefined>
}

const pricesKnown = new WeakMap<object, FeedPrices>()

/** Feeds' answers, each read once of a devnet. */
function pricesOfFeeds(devnet: Asked): FeedPrices {
  const before = pricesKnown.get(devnet.rpc)
  if (before !== undefined) return before
  const known = new Map<string, Promise<Fraction>>()
  const prices: FeedPrices = {
    async at({ feed }, block) {
      if (feed === undefined) return undefined
      const key = `${feed}:${block}`
      const answer = known.get(key) ?? readFeed(devnet, feed, block)
      known.set(key, answer)
      return answer
    },
  }
  pricesKnown.set(devnet.rpc, prices)
  return prices
}

async function readFeed(devnet: Asked, feed: Address, block: bigint): Promise<Fraction> {
  const asked = encodeFunctionData({ abi: ABI, functionName: 'latestRoundData' })
  const data = await call(devnet, { to: feed, data: asked, block })
  const [, answer] = decodeFunctionResult({ abi: ABI, functionName: 'latestRoundData', data })
  return [answer, 10n ** BigInt(FEED_DECIMALS)]
}

function call(
  { rpc }: Asked,
  { to, data, block }: { readonly to: Address; readonly data: Hex; readonly block: bigint },
): Promise<Hex> {
  return rpc.call<Hex>('eth_call', { to, data }, `0x${block.toString(16)}`)
}
