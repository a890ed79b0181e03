import { outlookLending } from '../../lending/outlook.ts'
import type { PositionOutlook } from '../../outlook.ts'
import { getHealthFactor } from '../math/account.ts'
import { findLiquidationReasons } from '../math/rule.ts'
import type { ChainRead } from '../read/position.ts'
import { toLending } from './present.ts'

/** Says what is to be seen to in each market, and what it earns. */
export function outlookMarkets({ wallets, unanswerable, block: { timestampSec } }: ChainRead): PositionOutlook[] {
  const positions = wallets.flatMap((each) => each.positions)
  const known = positions.map((position) =>
    outlookLending({
      ...nameMarket(position.market),
      healthFactor: getHealthFactor(position),
      liquidatableBecause: findLiquidationReasons(position),
      value: toLending(position),
      ...TIMELESS,
      nowSec: timestampSec,
    }),
  )
  const unknown = unanswerable.map(({ market, reason }) =>
    outlookLending({
      ...nameMarket(market),
      healthFactor: undefined,
      liquidatableBecause: [],
      value: `The position has no value because ${reason}`,
      ...TIMELESS,
      nowSec: timestampSec,
    }),
  )
  return [...known, ...unknown]
}

/** No debt of Aave has a term. */
const TIMELESS = { dueAtSec: undefined }

function nameMarket(market: string) {
  return { position: { family: 'aave-v3', market_id: market }, code: 'aave_v3', title: `Aave V3 market ${market}` }
}
