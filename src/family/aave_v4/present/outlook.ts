import { outlookLending } from '../../lending/outlook.ts'
import type { PositionOutlook } from '../../outlook.ts'
import { findLiquidationReasons, getHealthFactor } from '../math/account.ts'
import type { ChainRead } from '../read/position.ts'
import { toLending } from './present.ts'

/** Says what is to be seen to in each spoke, and what it earns. */
export function outlookSpokes({ wallets, unanswerable, block: { timestampSec } }: ChainRead): PositionOutlook[] {
  const positions = wallets.flatMap((each) => each.positions)
  const known = positions.map((position) =>
    outlookLending({
      ...nameSpoke(position.market),
      healthFactor: getHealthFactor(position),
      liquidatableBecause: findLiquidationReasons(position),
      value: toLending(position),
      ...TIMELESS,
      nowSec: timestampSec,
    }),
  )
  const unknown = unanswerable.map(({ market, reason }) =>
    outlookLending({
      ...nameSpoke(market),
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

function nameSpoke(market: string) {
  return { position: { family: 'aave-v4', market_id: market }, code: 'aave_v4', title: `Aave V4 spoke ${market}` }
}
