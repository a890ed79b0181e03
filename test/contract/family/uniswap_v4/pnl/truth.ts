import { SqrtPriceMath, TickMath } from '@pancakeswap/v3-sdk'
import { type Address, decodeFunctionResult, encodeFunctionData, type Hex, parseAbi, toHex, zeroAddress } from 'viem'
import type { Valuation } from '../../../../../src/finance/math/pnl/figures.ts'
import type { Flow, Pair, Prices } from '../../../../../src/finance/math/pnl/flow.ts'
import { TOKENS } from '../../../../devnet/addresses.ts'
import type { Devnet } from '../../../../devnet/mod.ts'
import { STATE_VIEW_ABI } from '../../../../devnet/uniswap_v4/abi.ts'
import { UNISWAP_V4 } from '../../../../devnet/uniswap_v4/addresses.ts'
import type { V4Currency } from '../../../../devnet/uniswap_v4/pools.ts'
import type { V4Act, V4RandomPosition } from '../../../../devnet/uniswap_v4/random_positions.ts'

/** What the chain itself shows of an act: by the owner's balances, StateView, and the formulas of another library. */
export interface ActTruth extends V4Act {
  readonly timeSec: bigint
  /** Change of the position's liquidity. */
  readonly delta: bigint
  /** Change of the owner's balances. */
  readonly paid: Pair<bigint>
  readonly principal: Pair<bigint>
  readonly fees: Pair<bigint>
  readonly sqrtPriceX96: bigint
}

type Node = Pick<Devnet, 'rpc' | 'client'>

const BALANCE_ABI = parseAbi(['function balanceOf(address owner) view returns (uint256)'])

/** What the chain shows of acts that are not transfers. In the block of an act nothing but acts of others happens. */
export async function truthsOfActs(
  node: Node,
  { acts, positions }: { readonly acts: readonly V4Act[]; readonly positions: readonly V4RandomPosition[] },
): Promise<ActTruth[]> {
  const lives = new Map(positions.map((life) => [life.tokenId, life]))
  const truths: ActTruth[] = []
  for (const act of acts) {
    const life = lives.get(act.tokenId)
    if (life === undefined) throw new Error(`Cannot find position ${act.tokenId}`)
    if (act.kind === 'transfer') continue
    truths.push(await truthOfAct(node, act, life))
  }
  return truths
}

async function truthOfAct(node: Node, act: V4Act, life: V4RandomPosition): Promise<ActTruth> {
  const { blockNumber: block, owner } = act
  const [currency0, currency1] = life.pool.currencies
  const [before0, before1, after0, after1, liquidityBefore, liquidityAfter, sqrtPriceX96, { timestamp }] =
    await Promise.all([
      balanceAt(node, currency0, owner, block - 1n),
      balanceAt(node, currency1, owner, block - 1n),
      balanceAt(node, currency0, owner, block),
      balanceAt(node, currency1, owner, block),
      liquidityAt(node, life, block - 1n),
      liquidityAt(node, life, block),
      priceAt(node, life, block),
      node.client.getBlock({ blockNumber: block }),
    ])
  const delta = liquidityAfter - liquidityBefore
  const paid = [after0 - before0, after1 - before1] as const
  const principal = computeAmounts(life, { sqrtPriceX96, delta })
  const sign = delta > 0n ? 1n : -1n
  const fees = [paid[0] + sign * principal[0], paid[1] + sign * principal[1]] as const
  return { ...act, timeSec: timestamp, delta, paid, principal, fees, sqrtPriceX96 }
}

/** Raw amounts of both currencies for a change of liquidity, by PancakeSwap's library. */
export function computeAmounts(
  { tickLower, tickUpper }: Pick<V4RandomPosition, 'tickLower' | 'tickUpper'>,
  { sqrtPriceX96, delta }: { readonly sqrtPriceX96: bigint; readonly delta: bigint },
): Pair<bigint> {
  const [liquidity, up] = [delta < 0n ? -delta : delta, delta > 0n]
  const [lower, upper] = [tickLower, tickUpper].map((tick) => BigInt(TickMath.getSqrtRatioAtTick(tick).toString()))
  if (lower === undefined || upper === undefined) throw new Error('Cannot find a root')
  const here = sqrtPriceX96 < lower ? lower : sqrtPriceX96 > upper ? upper : sqrtPriceX96
  return [
    here === upper ? 0n : BigInt(SqrtPriceMath.getAmount0Delta(here, upper, liquidity, up)),
    here === lower ? 0n : BigInt(SqrtPriceMath.getAmount1Delta(lower, here, liquidity, up)),
  ]
}

/** The same acts as flows, priced by feeds of constant answers; a currency without one by the pool. */
export function flowsOfTruths(truths: readonly ActTruth[], life: V4RandomPosition, unfed: readonly Address[]): Flow[] {
  return truths.flatMap(({ timeSec, delta, principal, fees, sqrtPriceX96 }): Flow[] => {
    const prices = pricesAt(life, sqrtPriceX96, unfed)
    const isPaid = fees[0] + fees[1] > 0n
    if (delta > 0n) {
      const increase: Flow = { kind: 'increase', timeSec, liquidity: delta, amounts: principal, prices }
      return isPaid ? [increase, { kind: 'collect', timeSec, amounts: fees, prices }] : [increase]
    }
    const amounts = [principal[0] + fees[0], principal[1] + fees[1]] as const
    const collect: Flow = { kind: 'collect', timeSec, amounts, prices }
    return delta === 0n ? [collect] : [{ kind: 'decrease', timeSec, liquidity: -delta, amounts: principal }, collect]
  })
}

/** US dollars a raw unit of each currency. */
export function pricesAt({ pool }: V4RandomPosition, sqrtPriceX96: bigint, unfed: readonly Address[]): Prices {
  const [currency0, currency1] = pool.currencies
  const own = (currency: V4Currency) => ({
    numerator: BigInt(currency.usd),
    denominator: 10n ** BigInt(currency.decimals),
  })
  const [raw1, raw0] = [sqrtPriceX96 ** 2n, 2n ** 192n]
  // Whole currency from the other one's price, to eighteen digits.
  const byPool = (from: V4Currency, to: V4Currency, [more, less]: readonly [bigint, bigint]) => {
    const digits = eighteenDigits(
      BigInt(from.usd) * more * 10n ** BigInt(to.decimals),
      less * 10n ** BigInt(from.decimals),
    )
    return { numerator: digits[0], denominator: digits[1] * 10n ** BigInt(to.decimals) }
  }
  if (unfed.includes(currency0.address)) return [byPool(currency1, currency0, [raw1, raw0]), own(currency1)]
  if (unfed.includes(currency1.address)) return [own(currency0), byPool(currency0, currency1, [raw0, raw1])]
  return [own(currency0), own(currency1)]
}

/** The first eighteen digits, the next one rounded, by the text of the number. */
function eighteenDigits(numerator: bigint, denominator: bigint): readonly [bigint, bigint] {
  const POINT = 120
  const digits = ((numerator * 10n ** BigInt(POINT)) / denominator).toString()
  const cut = Math.max(0, digits.length - 18)
  const up = cut > 0 && (digits[18] ?? '0') >= '5' ? 1n : 0n
  return [(BigInt(digits.slice(0, digits.length - cut)) + up) * 10n ** BigInt(cut), 10n ** BigInt(POINT)]
}

/** What a position holds at a block: principal by the other library, fees by StateView's growth. */
export async function readHolding(
  node: Node,
  life: V4RandomPosition,
  block: bigint,
): Promise<{ readonly liquidity: bigint; readonly sqrtPriceX96: bigint } & Pick<Valuation, 'principal' | 'fees'>> {
  const [sqrtPriceX96, info, inside] = await Promise.all([
    priceAt(node, life, block),
    infoAt(node, life, block),
    view(node, { functionName: 'getFeeGrowthInside', args: [life.pool.id, life.tickLower, life.tickUpper], block }),
  ])
  const [liquidity, last0, last1] = info
  const [now0, now1] = inside as readonly [bigint, bigint]
  const fees = ([now, last]: readonly [bigint, bigint]) => (BigInt.asUintN(256, now - last) * liquidity) >> 128n
  return {
    liquidity,
    sqrtPriceX96,
    principal: computeAmounts(life, { sqrtPriceX96, delta: -liquidity }),
    fees: [fees([now0, last0]), fees([now1, last1])],
  }
}

/** What the pool keeps about a position at a block. */
export async function infoAt(
  node: Node,
  { tokenId, pool, tickLower, tickUpper }: Pick<V4RandomPosition, 'tokenId' | 'pool' | 'tickLower' | 'tickUpper'>,
  block: bigint,
) {
  const salt = toHex(tokenId, { size: 32 })
  const args = [pool.id, UNISWAP_V4.positionManager, tickLower, tickUpper, salt] as const
  return (await view(node, { functionName: 'getPositionInfo', args, block })) as readonly [bigint, bigint, bigint]
}

async function liquidityAt(node: Node, life: V4RandomPosition, block: bigint): Promise<bigint> {
  const [liquidity] = await infoAt(node, life, block)
  return liquidity
}

async function priceAt(node: Node, { pool }: V4RandomPosition, block: bigint): Promise<bigint> {
  const [sqrtPriceX96] = (await view(node, { functionName: 'getSlot0', args: [pool.id], block })) as readonly [bigint]
  return sqrtPriceX96
}

function view(
  { client }: Node,
  { block, ...asked }: { functionName: string; args: readonly unknown[]; block: bigint },
): Promise<unknown> {
  const request = { address: UNISWAP_V4.stateView, abi: STATE_VIEW_ABI, ...asked, blockNumber: block }
  return client.readContract(request as never)
}

async function balanceAt({ client, rpc }: Node, { address }: V4Currency, holder: Address, block: bigint) {
  if (address === zeroAddress) return await client.getBalance({ address: holder, blockNumber: block })
  const data = encodeFunctionData({ abi: BALANCE_ABI, functionName: 'balanceOf', args: [holder] })
  const answer = await rpc.call<Hex>('eth_call', { to: address, data }, toHex(block))
  return decodeFunctionResult({ abi: BALANCE_ABI, functionName: 'balanceOf', data: answer })
}

/** Tokens that no feed prices in these tests: their pool does. */
export const UNFED: readonly Address[] = [TOKENS.dai.address, TOKENS.wbtc.address]
