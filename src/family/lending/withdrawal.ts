import * as v from 'valibot'
import { formatUsd, usdFigure } from '../../finance/figure.ts'
import { WITHDRAWAL_LIMITS, type Withdrawable, type WithdrawalLimit } from '../../finance/withdrawable.ts'
import { formatExact } from '../../lib/number/decimal.ts'
import { type Rational, rational } from '../../lib/number/rational.ts'
import { DECIMAL, named, text, UNSIGNED_INTEGER, withWords } from '../../lib/text/text_format.ts'

/** Schema of what a withdrawal pays. */
export const withdrawable = v.nullable(
  named(
    'Withdrawable',
    'What a withdrawal pays',
    v.strictObject({
      raw: withWords('Smallest units of the token', text(UNSIGNED_INTEGER)),
      amount: withWords('Whole tokens, all digits; null without decimals', v.nullable(text(DECIMAL))),
      usd: withWords('US dollars; null without a price', v.nullable(usdFigure)),
    }),
  ),
)

/** Schema of the reason why that is less than the amount. */
export const limitedBy = v.nullable(v.picklist(WITHDRAWAL_LIMITS))

/** Schemas of the two fields, as items of what a position supplies have them. */
export const withdrawalFields = {
  withdrawable: v.pipe(
    withdrawable,
    v.description(
      'What a withdrawal of it alone would pay now, health included; several together may bring less; null if unknown',
    ),
  ),
  limited_by: v.pipe(limitedBy, v.description('The first reason why withdrawable is less than the amount, else null')),
}

/** A rule by which a protocol refuses actions altogether. */
export interface Refusal<Action, Input> {
  readonly rule: string
  /** Its place in the contracts' source. */
  readonly source: string
  readonly refuses: readonly Action[]
  /** What a row says of it; of rules that refuse withdrawals. */
  readonly limitedBy?: WithdrawalLimit
  readonly holds: (input: Input) => boolean
}

/** A supply and what of it can be withdrawn. */
interface WithdrawableSupply {
  /** Smallest units. */
  readonly amount: bigint
  readonly decimals: number | undefined
  /** Absent: all of it. */
  readonly withdrawable: Withdrawable | undefined
  /** US dollars of all of it; undefined without a price. */
  readonly value: Rational | undefined
}

/**
 * Presents what a withdrawal of a supply alone pays; its value is that part of the supply's.
 *
 * @figure kamino/amount
 * @source the families' `computeWithdrawable`
 * @proof test/unit/family/lending/withdrawal_test.ts, test/contract/portfolio/withdrawable_test.ts
 */
export function presentWithdrawal({ amount, decimals, withdrawable: part, value }: WithdrawableSupply) {
  const raw = part === undefined ? amount : part.amount
  const limited_by = part?.limitedBy ?? null
  if (raw === undefined) return { withdrawable: null, limited_by }
  const usd = value && amount > 0n ? rational(value.numerator * raw, value.denominator * amount) : undefined
  return {
    withdrawable: {
      raw: String(raw),
      amount: decimals === undefined ? null : formatExact(raw, decimals),
      usd: usd === undefined ? null : formatUsd(usd),
    },
    limited_by,
  }
}
