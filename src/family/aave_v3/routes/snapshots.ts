import * as v from 'valibot'
import type { Route } from '../../../http/route/route.ts'
import type { LendingSeries } from '../../lending/series.ts'
import { snapshotsRoute as createSnapshotsRoute } from '../../lending/snapshots.ts'
import type { LendingReader } from '../read/read.ts'
import { snapshotMarket } from '../snapshot.ts'
import { CHARGES, findMarketTarget, MARKET_DEFAULT, marketIdParameter, NAME, PROTOCOL } from './market.ts'

/** Creates the route for daily snapshots of one wallet in one market. */
export function snapshotsRoute({
  chainIds,
  markets,
  reader,
  series,
}: {
  /** Chains that have Aave V3. */
  readonly chainIds: readonly number[]
  readonly markets: ReadonlySet<string>
  readonly reader: () => LendingReader
  readonly series: () => LendingSeries
}): Route {
  const protocol = {
    tool: PROTOCOL,
    name: NAME,
    operation: 'aave',
    noun: 'market',
    charge: CHARGES.snapshots,
    description: DESCRIPTION,
  }
  return createSnapshotsRoute(protocol, {
    chainIds,
    marketId: v.optional(marketIdParameter(markets), MARKET_DEFAULT),
    findMarket: (place) => snapshotMarket(reader(), findMarketTarget(reader(), place)),
    series,
  })
}

const DESCRIPTION =
  'One entry for each UTC midnight after the wallet’s first token movement in the market (a transfer of supply tokens ' +
  'to it counts) up to the one that ended yesterday, oldest first; `timestamp` is that midnight. Each is read at the ' +
  'last block at or before it, by the formulas of the live list; nothing is interpolated. Midnights before the first ' +
  'movement have no entry; from then on each has one, with zeros while the wallet has nothing. A midnight at which the ' +
  'market could not be valued, because a price was missing, has none. A wallet that never moved a token there has an ' +
  'empty list. Past midnights need an endpoint that keeps old state (an archive node). Without one the series begins ' +
  'when it is first asked for: the service then takes each midnight right after it has passed, one at which it did not ' +
  'run is missing, and the header `X-Snapshots-From` says where the series begins.'
