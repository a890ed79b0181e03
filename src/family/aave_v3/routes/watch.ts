import * as v from 'valibot'
import { evmAddress } from '../../../http/request/input.ts'
import { LENDING_EVENT_TYPES } from '../../lending/lending_event.ts'
import { LENDING_FIGURES } from '../../lending/watched.ts'
import type { Watchable } from '../../watch.ts'
import type { AaveV3Deployment } from '../table.ts'
import { MARKET_DEFAULT, marketIdParameter } from './market.ts'

/** Creates the description of the family's subject: a wallet in a market. */
export function createWatchable(settings: ReadonlyMap<number, readonly AaveV3Deployment[]>): Watchable {
  return {
    subject(chainId) {
      const markets = new Set((settings.get(chainId) ?? []).map(({ market }) => market))
      return v.strictObject({ wallet: evmAddress, market_id: v.optional(marketIdParameter(markets), MARKET_DEFAULT) })
    },
    figures: LENDING_FIGURES,
    events: LENDING_EVENT_TYPES,
    answerPath: ({ wallet, market_id }, chainId, blockNumber) =>
      `/v1/lending/aave-v3?wallet=${wallet}&chain_id=${chainId}&market_id=${market_id}&at_block=${blockNumber}`,
  }
}
