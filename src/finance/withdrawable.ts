/** Reasons why a withdrawal pays less than the amount. */
export const WITHDRAWAL_LIMITS = [
  'paused',
  'halted',
  'inactive',
  'liquidity',
  'health',
  'premium_threshold',
  'cap',
  'price',
  'hook',
  'gate',
  'cooldown',
  'frozen',
  'revision',
] as const

export type WithdrawalLimit = (typeof WITHDRAWAL_LIMITS)[number]

/** What a withdrawal of a holding alone pays, if that is less than its amount. */
export interface Withdrawable {
  /** Smallest units; undefined if no endpoint tells. */
  readonly amount: bigint | undefined
  /** The first reason why it is less. */
  readonly limitedBy: WithdrawalLimit
}

/** Returns what a withdrawal pays that a rule of its protocol refuses. */
export function refuseWithdrawal({ limitedBy = 'halted' }: { readonly limitedBy?: WithdrawalLimit }): Withdrawable {
  return { amount: 0n, limitedBy }
}
