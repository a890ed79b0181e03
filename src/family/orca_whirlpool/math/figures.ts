import { isInRange, rangePrices, type TokenAmounts } from '../../../finance/math/liquidity.ts'
import { afterTransferFee, type TransferFee } from '../../../finance/math/transfer.ts'
import { sumE6, usdValue } from '../../../finance/price/price.ts'
import type { Decimal } from '../../../lib/number/decimal.ts'
import { collectable, computeOwed } from './owed.ts'
import type { RangeTicks, Whirlpool, WhirlpoolPosition } from './state.ts'
import { sqrtPriceAtTickX64 } from './tick.ts'
import { computeWithdrawal } from './withdrawal.ts'

/** What the figures need to know of a token. */
interface FigureToken {
  readonly decimals: number
  readonly transferFee: TransferFee | undefined
  readonly price: Decimal | undefined
}

/** A position and all that its figures depend on, at one slot. */
export interface FigureInput<Token extends FigureToken = FigureToken> {
  readonly pool: Whirlpool
  readonly state: WhirlpoolPosition
  readonly tokenA: Token
  readonly tokenB: Token
  /** Undefined without liquidity: they may be gone then. */
  readonly ticks: RangeTicks | undefined
  /** One for each reward of the pool. */
  readonly rewards: readonly { readonly token: Token; readonly inVault: bigint }[]
  /** By the cluster's clock, Unix seconds. */
  readonly timestampSec: bigint
}

/** All figures of a position. */
export function computeFigures<Token extends FigureToken>(position: FigureInput<Token>) {
  const { pool, state, tokenA, tokenB, timestampSec } = position
  const { tickLower, tickUpper } = state
  const amounts = computeWithdrawal(pool, state)
  const owed = computeOwed(pool, state, { ticks: position.ticks, nowSec: timestampSec })
  const fees = { amount0: owed.feeA, amount1: owed.feeB }
  const rewards = position.rewards.map(({ token, inVault }, index) => {
    const due = owed.rewards[index] ?? 0n
    const paid = collectable(due, inVault)
    const worth = worthOf(paid, token)
    // `collectable` is what its vault can pay; US dollars are of what reaches the wallet, millionths.
    return { token, owed: due, collectable: paid, worth, usdE6: worth && sumE6([worth]) }
  })
  const both = ({ amount0, amount1 }: TokenAmounts) => [worthOf(amount0, tokenA), worthOf(amount1, tokenB)]
  const ofRewards = rewards.map(({ collectable: paid, worth }) => (paid === 0n ? NOTHING : worth))
  const toX96 = (sqrtPriceX64: bigint) => sqrtPriceX64 << 32n
  const roots = {
    current: toX96(pool.sqrtPriceX64),
    lower: toX96(sqrtPriceAtTickX64(tickLower)),
    upper: toX96(sqrtPriceAtTickX64(tickUpper)),
  }
  return {
    /** What withdrawing all liquidity would pay, before transfer fees. */
    amounts,
    /** What the program would write as owed now. */
    fees,
    rewards,
    inRange: isInRange(pool.tick, { tickLower, tickUpper }),
    ...rangePrices(roots, { decimals0: tokenA.decimals, decimals1: tokenB.decimals }),
    /** US dollars of what reaches the wallet, in millionths; undefined if a price is missing. */
    usd: {
      amountsE6: sumIfKnown(both(amounts)),
      feesE6: sumIfKnown(both(fees)),
      /** A reward of which nothing can be collected is worth nothing, whatever its price. */
      rewardsE6: sumIfKnown(ofRewards),
      totalE6: sumIfKnown([...both(amounts), ...both(fees), ...ofRewards]),
    },
  }
}

/** What reaches a wallet of an amount that a program pays. */
export function toReceivedAmount(amount: bigint, { transferFee }: Pick<FigureToken, 'transferFee'>): bigint {
  return transferFee === undefined ? amount : afterTransferFee(amount, transferFee)
}

const NOTHING: Decimal = { units: 0n, scale: 0 }

function worthOf(amount: bigint, token: FigureToken): Decimal | undefined {
  const { decimals, price } = token
  return price && usdValue(toReceivedAmount(amount, token), { decimals, price })
}

function sumIfKnown(values: readonly (Decimal | undefined)[]): bigint | undefined {
  const known = values.filter((value) => value !== undefined)
  return known.length === values.length ? sumE6(known) : undefined
}
