/** Why a withdrawal pays less than the amount, as words after a colon. */
const REASONS: Readonly<Record<string, string>> = {
  paused: 'withdrawals are paused',
  halted: 'the market refuses withdrawals',
  inactive: 'the reserve is not active',
  liquidity: 'no more is there',
  cap: 'no more may leave now',
  price: 'a price is missing',
  premium_threshold: 'the hub would refuse the premium',
  revision: 'this release does not know the contracts',
  gate: 'it needs a signature of the market’s authority',
}

interface Withdrawal {
  readonly withdrawable?: { amount: string | null; usd: string | null } | null
  readonly limited_by?: string | null
}

/**
 * Says what a withdrawal of a supply pays; undefined if that is all of it, or if only its account's debt holds it, which
 * the position's own figures say.
 */
export function formatWithdrawal({ withdrawable, limited_by: limit }: Withdrawal): string | undefined {
  if (limit === undefined || limit === null || limit === 'health') return undefined
  const { amount = null, usd = null } = withdrawable ?? {}
  const paid = amount ?? (usd === null ? 'an unknown amount' : `$${usd}`)
  return `A withdrawal pays ${paid}: ${REASONS[limit] ?? limit}`
}
