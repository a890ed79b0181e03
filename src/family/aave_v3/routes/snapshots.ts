import * as v from 'valibot'
import { SNAPSHOTS_MAX } from '../../../finance/series/series.ts'
import { chainIdWith, evmWallet, wholeNumber } from '../../../http/request/input.ts'
import { defineRoute, type Route } from '../../../http/route/route.ts'
import { presentSnapshots, snapshotsOutput } from '../../lending/present.ts'
import type { LendingSeries } from '../../lending/series.ts'
import { LENDING_TOOLS } from '../../tools.ts'
import type { LendingReader } from '../read/read.ts'
import { snapshotMarket } from '../snapshot.ts'
import { CHARGES, findMarketTarget, MARKET_DEFAULT, marketIdParameter, NAME, PROTOCOL } from './market.ts'

const FROM = 'X-Snapshots-From'

/** Creates the route for daily snapshots of one wallet in one market. */
export function snapshotsRoute(options: {
  /** Chains that have Aave V3. */
  readonly chainIds: readonly number[]
  readonly markets: ReadonlySet<string>
  readonly reader: () => LendingReader
  readonly series: () => LendingSeries
}): Route {
  const { chainIds, markets, reader, series } = options
  const input = v.object({
    chain_id: chainIdWith(NAME, chainIds),
    wallet: evmWallet,
    market_id: v.optional(marketIdParameter(markets), MARKET_DEFAULT),
    max_snapshots: v.optional(
      v.pipe(
        wholeNumber({ min: 1, max: SNAPSHOTS_MAX }),
        v.description('Number of latest days; absent: all.'),
        v.examples([30]),
      ),
    ),
  })
  return defineRoute({
    method: 'GET',
    path: '/v1/lending/aave-v3/position/:chain_id/snapshots',
    operation: 'aave_snapshots',
    tool: { ...LENDING_TOOLS.snapshots, protocol: PROTOCOL },
    summary: 'Daily snapshots of a wallet in one market: what it had at each UTC midnight.',
    description: DESCRIPTION,
    input,
    output: snapshotsOutput,
    errors: [503],
    feature: 'snapshots',
    headers: { [FROM]: 'First day of the series, if the endpoints do not reach back to the wallet’s first movement.' },
    charge: CHARGES.snapshots,
    read({ chain_id: chainId, wallet, market_id: market, max_snapshots: max }, { work }) {
      const target = findMarketTarget(reader(), { chainId, market })
      return series().read({ target: snapshotMarket(reader(), target), wallet, max }, work)
    },
    present: ({ snapshots, newest, isUnwitnessed, cutAt }, { chain_id }) => ({
      data: presentSnapshots(snapshots),
      ...(newest === undefined ? {} : { asOf: [{ chainId: chain_id, blockNumber: newest.number }] }),
      ...(isUnwitnessed && { unwitnessed: [chain_id] }),
      ...(cutAt === undefined ? {} : { headers: { [FROM.toLowerCase()]: formatDate(cutAt) } }),
    }),
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
  `run is missing, and the header \`${FROM}\` says where the series begins.`

function formatDate(day: number): string {
  return new Date(day * 86_400_000).toISOString().slice(0, 10)
}
