import { checksumAddress } from 'viem'
import type { UsdPrice } from '../../chain/price.ts'
import type { Both } from '../../finance/pnl/flow.ts'
import { formatExact, formatFixed } from '../../lib/number/decimal.ts'
import { figuresOf } from './figures.ts'
import type { PnlToken } from './pnl/flow_price.ts'
import type { Position, PricedToken, SpamPosition } from './position.ts'

/** Which of a position's fields an answer has. */
interface PresentOptions {
  /** Amounts, fees, prices and values. */
  readonly full: boolean
  /** Square-root price of the pool, only in the answer about one position. */
  readonly sqrtPrice: boolean
}

/** A position in an answer; with `full`, its figures too. */
export function presentPosition(position: Position, options: PresentOptions) {
  const { tokenId, chainId, deployment, owner, liquidity, pool } = position
  const wallet = checksumAddress(owner)
  return {
    token_id: tokenId.toString(),
    chain_id: chainId,
    manager_address: checksumAddress(deployment.manager),
    wallet,
    is_active: liquidity > 0n,
    position_state: {
      id: tokenId.toString(),
      owner: wallet,
      liquidity: liquidity.toString(),
      tickLower: position.tickLower.toString(),
      tickUpper: position.tickUpper.toString(),
      token0: presentToken(position.token0),
      token1: presentToken(position.token1),
      pool: {
        id: checksumAddress(pool.address),
        tick: pool.tick.toString(),
        feeTier: pool.fee.toString(),
        ...(options.sqrtPrice ? { sqrtPrice: pool.sqrtPriceX96.toString() } : {}),
      },
      chain: { id: chainId },
      protocol: { code: deployment.code },
    },
    ...(options.full ? presentFigures(position) : {}),
  }
}

/** A position that was left out, with the reason. */
export function presentSpam({ tokenId, chainId, manager, reason }: SpamPosition) {
  return { token_id: tokenId.toString(), chain_id: chainId, manager_address: checksumAddress(manager), reason }
}

function presentToken({ address, symbol, decimals, name }: PricedToken) {
  return { id: checksumAddress(address), symbol, decimals, name }
}

function presentFigures(position: Position) {
  const { token0, token1 } = position
  const { amounts, fees, inRange, prices, inverse, usd } = figuresOf(position)
  return {
    amounts: presentAmounts([amounts.amount0, amounts.amount1], [token0, token1]),
    uncollected_fees: presentAmounts([fees.amount0, fees.amount1], [token0, token1]),
    in_range: inRange,
    prices: { ...prices, inverse },
    usd: {
      token0_price: usdPrice(token0.price),
      token0_price_source: token0.price?.source ?? null,
      token1_price: usdPrice(token1.price),
      token1_price_source: token1.price?.source ?? null,
      amounts: usdText(usd?.amountsE6),
      uncollected_fees: usdText(usd?.feesE6),
      total: usdText(usd?.totalE6),
    },
  }
}

/** Raw units of both tokens in an answer, and whole tokens. */
export function presentAmounts([amount0, amount1]: Both<bigint>, [token0, token1]: Both<PnlToken>) {
  return { token0: presentAmount(amount0, token0), token1: presentAmount(amount1, token1) }
}

function presentAmount(raw: bigint, { decimals }: PnlToken) {
  return { raw: raw.toString(), amount: formatExact(raw, decimals) }
}

function usdPrice(price: UsdPrice | undefined): string | null {
  return price === undefined ? null : formatFixed(price.units, { scale: price.scale, digits: 6 })
}

function usdText(unitsE6: bigint | undefined): string | null {
  return unitsE6 === undefined ? null : formatFixed(unitsE6, { scale: 6, digits: 6 })
}
