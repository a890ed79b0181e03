import * as v from 'valibot'
import { SNAPSHOTS_MAX } from '../../../finance/series/series.ts'
import { chainIdWith, evmAddress, wholeNumber } from '../../../http/request/input.ts'
import { defineRoute, type Route } from '../../../http/route/route.ts'
import { presentSnapshots, snapshotsOutput } from '../../lending/present.ts'
import type { LendingSeries } from '../../lending/series.ts'
import { LENDING_TOOLS } from '../../tools.ts'
import type { CometReader } from '../read/read.ts'
import { snapshotMarket } from '../snapshot.ts'
import { CHARGES, findMarketTarget, marketIdParameter, PROTOCOL } from './market.ts'

const FROM = 'X-Snapshots-From'

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
  return defineRoute({
    method: 'GET',
    path: '/v1/lending/compound-v3/position/:chain_id/snapshots',
    operation: 'compound_v3_snapshots',
    tool: { ...LENDING_TOOLS.snapshots, protocol: PROTOCOL },
    summary: 'Daily snapshots of a wallet in one market: what it had at each UTC midnight.',
    description: DESCRIPTION,
    input: v.object({
      chain_id: chainIdWith(PROTOCOL.name, chainIds),
      wallet: evmAddress,
      market_id: marketIdParameter(markets),
      max_snapshots: v.optional(
        v.pipe(
          wholeNumber({ min: 1, max: SNAPSHOTS_MAX }),
          v.description('Number of latest days; absent: all.'),
          v.examples([30]),
        ),
      ),
    }),
    output: snapshotsOutput,
    errors: [503],
    feature: 'snapshots',
    headers: { [FROM]: 'First day of the series, if the endpoints do not reach back to the wallet’s first trace.' },
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
  'One entry for each UTC midnight from the first one at which the market keeps a trace of the wallet up to the one ' +
  'that ended yesterday, oldest first; `timestamp` is that midnight. Each is read at the last block at or before it, by ' +
  'the formulas of the live list, at the prices of that block; nothing is interpolated, and rewards are left out. A ' +
  'market keeps a trace for ever of a wallet that lent or owed its base token while that earned rewards; of any other, ' +
  'until it has nothing there: then the list is empty, or begins later. A midnight with zeros is one at which the ' +
  'wallet had nothing; one at which a price was missing has no entry. Past midnights need an endpoint that keeps old ' +
  `state (an archive node); without one the header \`${FROM}\` says where the series begins.`

function formatDate(day: number): string {
  return new Date(day * 86_400_000).toISOString().slice(0, 10)
}
