import type { LendingEvent } from '../../../../../src/family/lending/lending_event.ts'

/** What is still owed at a counter, in units of the asset. */
interface Debt extends Pick<LendingEvent, 'market' | 'asset'> {
  readonly owed: bigint
}

/** What loans and repayments add up to, by counter and asset. */
export function sumDebts(rows: readonly LendingEvent[]): readonly Debt[] {
  const debts = new Map<string, Debt>()
  for (const { market, asset, kind, amount } of rows) {
    const key = `${market}:${asset}`
    const owed = (debts.get(key)?.owed ?? 0n) + (kind === 'borrow' ? amount : -amount)
    debts.set(key, { market, asset, owed })
  }
  return [...debts.values()]
}
