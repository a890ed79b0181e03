import { type Decimal, rescale } from '../../lib/number/decimal.ts'
import { maxBigint, minBigint, mulDivUp } from '../../lib/number/fixed_point.ts'

/** A token whose price vouches for a limited value only. */
export interface BoundedToken {
  readonly decimals: number
  /** US dollars per whole token, for what is held and for what is owed. */
  readonly price: Decimal
  readonly debtPrice: Decimal
  /** US dollars that its price vouches for. */
  readonly boundUsd: Decimal
}

/** Amounts of a token on one chain, smallest units, over all wallets and positions of a question. */
export interface TokenTotals {
  /** Held at the token's bounded price. Above zero. */
  readonly held: bigint
  /** Held at a price of another source: it counts in full, and takes its part of debts and bound first. */
  readonly heldElsewhere: bigint
  readonly owed: bigint
}

/** The parts of an amount that count, and that do not. US dollars, exact but for the last digit. */
export interface SharedAmount {
  readonly value: Decimal
  /** Smallest units, rounded up. */
  readonly restRaw: bigint
  readonly restValue: Decimal
}

/**
 * Creates a function that returns how much of an amount counts: all amounts of the token together count what is owed in
 * the same token plus the bound, and each its proportional share. What is owed is repaid in kind: the holdings that
 * cover a debt are worth the debt, so that a loan that is still held changes no net worth.
 *
 * @figure value_usd
 * @source definition: min(value, owed in the token + bound)
 * @proof test/unit/finance/price/bound_test.ts
 */
export function createBoundShare(
  { decimals, price, debtPrice, boundUsd }: BoundedToken,
  { held, heldElsewhere, owed }: TokenTotals,
): (amount: bigint) => SharedAmount {
  const scale = Math.max(decimals + price.scale, decimals + debtPrice.scale, boundUsd.scale)
  const unitPrice = scaleUp({ units: price.units, scale: decimals + price.scale }, scale)
  const unitDebtPrice = scaleUp({ units: debtPrice.units, scale: decimals + debtPrice.scale }, scale)
  const covering = minBigint(held, maxBigint(owed - heldElsewhere, 0n))
  const bound = maxBigint(scaleUp(boundUsd, scale) - maxBigint(heldElsewhere - owed, 0n) * unitPrice, 0n)
  const free = (held - covering) * unitPrice
  const counted = covering * unitDebtPrice + minBigint(free, bound)
  const rest = free - minBigint(free, bound)
  return (amount) => ({
    value: { units: (counted * amount) / held, scale },
    restRaw: rest === 0n ? 0n : mulDivUp(amount * (held - covering), rest, held * free),
    restValue: { units: (rest * amount) / held, scale },
  })
}

function scaleUp({ units, scale }: Decimal, to: number): bigint {
  return rescale(units, { from: scale, to, rounding: 'half_away_from_zero' })
}
