import type { Route } from '../../../http/route/route.ts'
import type { LendingSeries } from '../../lending/series.ts'
import { snapshotsRoute as createSnapshotsRoute } from '../../lending/snapshots.ts'
import type { CometReader } from '../read/read.ts'
import { snapshotMarket } from '../snapshot.ts'
import { CHARGES, findMarketTarget, marketIdParameter, PROTOCOL } from './market.ts'

/** Creates the route for daily snapshots of one wallet in one market. */
export function snapshotsRoute({
  chainIds,
  markets,
  reader,
  series,
}: {
  /** Chains that have Compound V3. */
  readonly chainIds: readonly number[]
  readonly markets: ReadonlySet<string>
  readonly reader: () => CometReader
  readonly series: () => LendingSeries
}): Route {
  const protocol = {
    tool: PROTOCOL,
    name: PROTOCOL.name,
    operation: 'compound_v3',
    noun: 'market',
    charge: CHARGES.snapshots,
    description: DESCRIPTION,
  }
  return createSnapshotsRoute(protocol, {
    chainIds,
    marketId: marketIdParameter(markets),
    findMarket: (place) => snapshotMarket(reader(), findMarketTarget(reader(), place)),
    series,
  })
}

const DESCRIPTION =
  'One entry for each UTC midnight from the first one at which the market keeps a trace of the wallet up to the one ' +
  'that ended yesterday, oldest first; `timestamp` is that midnight. Each is read at the last block at or before it, by ' +
  'the formulas of the live list, at the prices of that block; nothing is interpolated, and rewards are left out. A ' +
  'market keeps a trace for ever of a wallet that lent or owed its base token while that earned rewards; of any other, ' +
  'until it has nothing there: then the list is empty, or begins later. A midnight with zeros is one at which the ' +
  'wallet had nothing; one at which a price was missing has no entry. Past midnights need an endpoint that keeps old ' +
  'state (an archive node); without one the header `X-Snapshots-From` says where the series begins.'
