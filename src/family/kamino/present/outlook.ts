import { healthFactor } from '../../../finance/math/lending.ts'
import { outlookLending } from '../../lending/outlook.ts'
import type { PositionOutlook } from '../../outlook.ts'
import type { AssessedObligation } from '../math/risk.ts'
import type { ObligationTarget } from '../read/accounts/account_cache.ts'

/**
 * Says what is to be seen to at an obligation, and what it earns. `position`: why it cannot be assessed, if it cannot. A
 * market in no table sets its own prices and rates, so that what it promises counts as nothing.
 */
export function outlookObligation(
  { address, market }: Pick<ObligationTarget, 'address' | 'market'>,
  options: {
    readonly position: AssessedObligation | string | undefined
    readonly isTrusted: boolean
    readonly nowSec: bigint
  },
): PositionOutlook {
  const { position, isTrusted, nowSec } = options
  const facts = {
    position: { family: 'kamino', market_id: market, obligation_address: address },
    code: 'kamino',
    title: `Kamino obligation ${address}`,
    nowSec,
  }
  if (typeof position !== 'object') {
    const value = `The obligation has no value because ${position ?? 'it is gone'}`
    return outlookLending({ ...facts, healthFactor: undefined, liquidatableBecause: [], dueAtSec: undefined, value })
  }
  const { totals, liquidatableBecause, dueAtSec } = position
  const value = isTrusted ? position : 'Its market is in no table, so that it could promise any interest'
  return outlookLending({ ...facts, healthFactor: healthFactor(totals), liquidatableBecause, dueAtSec, value })
}
