import { minBigint } from '../../lib/number/fixed_point.ts'

/** The fee that a token charges on each transfer. */
export interface TransferFee {
  /** Highest fee of one transfer, base units. */
  readonly max: bigint
  /** Hundredths of a percent. */
  readonly bps: bigint
}

/**
 * What reaches the receiver of a transfer, base units: the fee is rounded up, and at most the maximum.
 *
 * @figure orca-whirlpool/amount
 * @source spl-token-2022 `TransferFee::calculate_fee`
 * @proof test/unit/family/orca_whirlpool/rules_test.ts, test/unit/family/orca_whirlpool/vectors_test.ts
 */
export function afterTransferFee(amount: bigint, { max, bps }: TransferFee): bigint {
  return amount - minBigint((amount * bps + 9_999n) / 10_000n, max)
}
