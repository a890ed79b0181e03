import * as v from 'valibot'
import { configuredChainId, wholeNumber } from '../../http/request/input.ts'
import { PER_CALL } from '../../http/route/charge.ts'
import { defineRoute, type Route } from '../../http/route/route.ts'
import { presentSnapshot } from '../present.ts'
import { snapshotsOutput } from '../schema.ts'
import { SNAPSHOTS_DEFAULT, SNAPSHOTS_MAX, type SnapshotReader } from '../snapshots.ts'
import { addMidnightRates, midnightCurrencyParameter, presentMidnightRates } from './currency.ts'
import { portfolioParameters, tokensRule } from './input.ts'
import type { PortfolioOptions } from './rows.ts'

const FROM = 'X-Snapshots-From'

/** Defines the route that lists a wallet's daily snapshots. */
export function snapshotsRoute({
  chainIds,
  nativeDoubles,
  snapshots,
}: Pick<PortfolioOptions, 'chainIds' | 'nativeDoubles'> & {
  readonly snapshots: () => SnapshotReader
}): Route {
  const days = v.optional(
    v.pipe(wholeNumber({ min: 1, max: SNAPSHOTS_MAX }), v.description('Number of latest days.')),
    String(SNAPSHOTS_DEFAULT),
  )
  return defineRoute({
    method: 'GET',
    path: '/v1/portfolio/snapshots',
    operation: 'portfolio_snapshots',
    tool: { name: 'list_net_worth_snapshots', title: 'Daily net worth of a wallet' },
    summary: 'Daily snapshots of a wallet on one chain: what it was worth at each UTC midnight.',
    description: DESCRIPTION,
    input: v.pipe(
      v.object({
        ...portfolioParameters(chainIds),
        chain_id: configuredChainId(chainIds),
        max_snapshots: days,
        ...midnightCurrencyParameter,
      }),
      tokensRule(nativeDoubles),
    ),
    output: snapshotsOutput,
    errors: [503],
    feature: 'snapshots',
    headers: { [FROM]: 'First day of the series, if the endpoints do not reach back to the first one asked for.' },
    charge: { credits: 5, per: PER_CALL },
    read({ wallet, chain_id: chainId, tokens = [], include_unlisted, max_snapshots: span, currency }, { work }) {
      const query = { wallet, chainId, tokens, includeUnlisted: include_unlisted, days: span, currency }
      return snapshots().readSnapshots(query, work)
    },
    present: ({ snapshots: snapshotsShown, isUnwitnessed, cutAt, rates }, { chain_id: chainId }) => ({
      data: addMidnightRates(snapshotsShown.map(presentSnapshot), rates),
      ...(rates && { fx: presentMidnightRates(rates) }),
      asOf: snapshotsShown.slice(-1).map(({ blockNumber }) => ({ chainId, blockNumber })),
      ...(isUnwitnessed && { unwitnessed: [chainId] }),
      ...(cutAt === undefined ? {} : { headers: { [FROM.toLowerCase()]: formatDay(cutAt) } }),
    }),
  })
}

const DESCRIPTION =
  'One entry for each of the last `max_snapshots` UTC midnights, up to the one that ended yesterday, oldest first: the ' +
  'balance of that moment, read at the last block at or before it. Days before the first one on which the wallet had ' +
  'anything are left out; later ones with nothing are zeros; a midnight that could not be read is absent. What was read ' +
  'is stored for good; other lists of tokens, or other `tokens`, are read anew. Past midnights need an endpoint that ' +
  'keeps old state (an archive node). Without one the series begins when it is first asked for: the service then takes ' +
  `each midnight right after it has passed, and the header \`${FROM}\` says where the series begins.`

function formatDay(day: number): string {
  return new Date(day * 86_400_000).toISOString().slice(0, 10)
}
