import * as v from 'valibot'
import { SNAPSHOTS_MAX } from '../../finance/series/series.ts'
import { chainIdWith, evmWallet, wholeNumber } from '../../http/request/input.ts'
import type { Charge } from '../../http/route/charge.ts'
import { defineRoute, type Route } from '../../http/route/route.ts'
import { CodedError } from '../../lib/error.ts'
import { type FamilyTarget, notConfiguredError } from '../moment.ts'
import { LENDING_TOOLS } from '../tools.ts'
import { presentSnapshots, snapshotsOutput } from './present.ts'
import type { LendingSeries, SnapshotMarket } from './series.ts'

/** What the route of daily snapshots asks of a protocol. */
interface SnapshotProtocol {
  /** The family as tools for agents name it; its code is its path segment. */
  readonly tool: { readonly code: string; readonly name: string }
  /** In errors: `Aave V3`. */
  readonly name: string
  /** Prefix of its operations. */
  readonly operation: string
  /** What it calls a market: `spoke`. */
  readonly noun: string
  readonly charge: Charge
  readonly description: string
}

const FROM = 'X-Snapshots-From'

/** Creates the route for daily snapshots of one wallet in one market of a protocol. */
export function snapshotsRoute(
  { tool, name, operation, noun, charge, description }: SnapshotProtocol,
  {
    chainIds,
    marketId,
    findMarket,
    series,
  }: {
    /** Chains that have the protocol. */
    readonly chainIds: readonly number[]
    /** Schema of a market on any of them, with the default if there is one. */
    readonly marketId: v.GenericSchema<string | undefined, string>
    /** Throws `CodedError` for a market that the chain does not have. */
    readonly findMarket: (place: MarketPlace) => SnapshotMarket
    readonly series: () => LendingSeries
  },
): Route {
  return defineRoute({
    method: 'GET',
    path: `/v1/lending/${tool.code}/position/:chain_id/snapshots`,
    operation: `${operation}_snapshots`,
    tool: { ...LENDING_TOOLS.snapshots, protocol: tool },
    summary: `Daily snapshots of a wallet in one ${noun}: what it had at each UTC midnight.`,
    description,
    input: v.object({
      chain_id: chainIdWith(name, chainIds),
      wallet: evmWallet,
      market_id: marketId,
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
    charge,
    read: ({ chain_id: chainId, wallet, market_id: market, max_snapshots: max }, { work }) =>
      series().read({ target: findMarket({ chainId, market }), wallet, max }, work),
    present: ({ snapshots, newest, isUnwitnessed, cutAt }, { chain_id }) => ({
      data: presentSnapshots(snapshots),
      ...(newest === undefined ? {} : { asOf: [{ chainId: chain_id, blockNumber: newest.number }] }),
      ...(isUnwitnessed && { unwitnessed: [chain_id] }),
      ...(cutAt === undefined ? {} : { headers: { [FROM.toLowerCase()]: formatDate(cutAt) } }),
    }),
  })
}

function formatDate(day: number): string {
  return new Date(day * 86_400_000).toISOString().slice(0, 10)
}

/** A market by its name on a chain. */
interface MarketPlace {
  readonly chainId: number
  readonly market: string
}

/** Finds one market of one chain. Throws `CodedError` INVALID_PARAMETER if the chain does not have it. */
export function findMarketTarget<Deployment>(
  targets: ReadonlyMap<number, FamilyTarget<Deployment>>,
  { chainId, market }: MarketPlace,
  {
    name,
    noun,
    getMarket,
  }: { readonly name: string; readonly noun: string; readonly getMarket: (deployment: Deployment) => string },
): FamilyTarget<Deployment> {
  const target = targets.get(chainId)
  if (target === undefined) throw notConfiguredError(name)
  const deployments = target.deployments.filter((each) => getMarket(each) === market)
  if (deployments.length > 0) return { ...target, deployments }
  const names = target.deployments.map((each) => `"${getMarket(each)}"`).join(', ')
  throw new CodedError(
    'INVALID_PARAMETER',
    `Cannot read parameter "market_id": expected a ${noun} of chain ${chainId} (${names}), got "${market}"`,
  )
}
