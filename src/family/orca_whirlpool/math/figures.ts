import { isInRange, rangePrices, type TokenAmounts } from '../../../finance/math/liquidity.ts'
import { afterTransferFee, type TransferFee } from '../../../finance/math/transfer.ts'
import { sumE6, usdValue } from '../../../finance/price/price.ts'
import type { Decimal } from '../../../lib/number/decimal.ts'
import { collectable, computeOwed } from './owed.ts'
import type { RangeTicks, Whirlpool, WhirlpoolPosition } from './state.ts'
import { sqrtPriceAtTickX64 } from './tick.ts'
import { computeWithdrawal } from './withdrawal.ts'

/** Fields of a token that figures depend on. */
interface FigureToken {
  readonly decimals: number
  readonly transferFee: TransferFee | undefined
  readonly price: Decimal | undefined
}

/** A position and all inputs of its figures, at one slot. */
export interface FigureInput<Token extends FigureToken = FigureToken> {
  readonly pool: Whirlpool
  readonly state: WhirlpoolPosition
  readonly tokenA: Token
  readonly tokenB: Token
  /** Undefined without liquidity, because the ticks may no longer exist. */
  readonly ticks: RangeTicks | undefined
  /** One for each reward of the pool. */
  readonly rewards: readonly { readonly token: Token; readonly vaultAmount: bigint }[]
  /** By the cluster's clock, Unix seconds. */
  readonly timestampSec: bigint
}

/** Computes all figures of a position. */
export function computeFigures<Token extends FigureToken>(position: FigureInput<Token>) {
  const { pool, state, tokenA, tokenB, timestampSec } = position
  const { tickLower, tickUpper } = state
  const amounts = computeWithdrawal(pool, state)
  const owed = computeOwed(pool, state, { ticks: position.ticks, nowSec: timestampSec })
  const fees = { amount0: owed.feeA, amount1: owed.feeB }
  const rewards = position.rewards.map(({ token, vaultAmount }, index) => {
    const due = owed.rewards[index] ?? 0n
    const paid = collectable(due, vaultAmount)
    const worth = computeWorth(paid, token)
    // `collectable` is capped by the vault; US dollars (millionths) are of the amount after transfer fees.
    return { token, owed: due, collectable: paid, worth, usdE6: worth && sumE6([worth]) }
  })
  const computeWorths = ({ amount0, amount1 }: TokenAmounts) => [
    computeWorth(amount0, tokenA),
    computeWorth(amount1, tokenB),
  ]
  const rewardWorths = rewards.map(({ collectable: paid, worth }) => (paid === 0n ? ZERO : worth))
  const toX96 = (sqrtPriceX64: bigint) => sqrtPriceX64 << 32n
  const roots = {
    current: toX96(pool.sqrtPriceX64),
    lower: toX96(sqrtPriceAtTickX64(tickLower)),
    upper: toX96(sqrtPriceAtTickX64(tickUpper)),
  }
  return {
    /** Payout of withdrawing all liquidity, before transfer fees. */
    amounts,
    /** Fees that the program would write as owed now. */
    fees,
    rewards,
    inRange: isInRange(pool.tick, { tickLower, tickUpper }),
    ...rangePrices(roots, { decimals0: tokenA.decimals, decimals1: tokenB.decimals }),
    /** US dollars of the amounts after transfer fees, in millionths; undefined if a price is missing. */
    usd: {
      amountsE6: sumIfKnown(computeWorths(amounts)),
      feesE6: sumIfKnown(computeWorths(fees)),
      /** A reward of which nothing can be collected counts as zero, even without a price. */
      rewardsE6: sumIfKnown(rewardWorths),
      totalE6: sumIfKnown([...computeWorths(amounts), ...computeWorths(fees), ...rewardWorths]),
    },
  }
}

/** Converts an amount that a program pays to the amount after the token's transfer fee. */
export function toReceivedAmount(amount: bigint, { transferFee }: Pick<FigureToken, 'transferFee'>): bigint {
  return transferFee === undefined ? amount : afterTransferFee(amount, transferFee)
}

const ZERO: Decimal = { units: 0n, scale: 0 }

function computeWorth(amount: bigint, token: FigureToken): Decimal | undefined {
  const { decimals, price } = token
  return price && usdValue(toReceivedAmount(amount, token), { decimals, price })
}

function sumIfKnown(values: readonly (Decimal | undefined)[]): bigint | undefined {
  const knownValues = values.filter((value) => value !== undefined)
  return knownValues.length === values.length ? sumE6(knownValues) : undefined
}
