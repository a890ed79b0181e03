import * as v from 'valibot'
import { documented, evmAddress } from '../../http/request/input.ts'
import { type Charge, PER_CALL } from '../../http/route/charge.ts'
import type { Route } from '../../http/route/route.ts'
import { eventsRoute } from '../lending/events.ts'
import { LENDING_EVENT_TYPES } from '../lending/lending_event.ts'
import { marketRoutes } from '../lending/market_routes.ts'
import type { EventReader } from '../lending/read_events.ts'
import type { LendingSeries } from '../lending/series.ts'
import { findMarketTarget, snapshotsRoute } from '../lending/snapshots.ts'
import { LENDING_FIGURES } from '../lending/watched.ts'
import type { Watchable } from '../watch.ts'
import type { SpokeTarget } from './event/log.ts'
import { presentReduced, presentWallet } from './present/present.ts'
import { batchOutput, listOutput } from './present/schema.ts'
import type { SpokeReader } from './read/read.ts'
import type { SpokeTargetReader } from './read/stream.ts'
import { snapshotSpoke } from './snapshot.ts'
import type { AaveV4Deployment, AaveV4Spoke } from './table.ts'

/** Name of the family in errors. */
const NAME = 'Aave V4'

/** Schema of a spoke on any configured chain, by its name. */
function marketIdParameter(names: ReadonlySet<string>) {
  const expected = `expected one of ${[...names].map((name) => `"${name}"`).join(', ')}`
  return v.pipe(
    v.string(expected),
    // If no spoke is configured, every name passes: the route answers that none is configured.
    v.check((text) => names.size === 0 || names.has(text), expected),
    documented({ type: 'string', description: 'Name of a spoke.', examples: ['main'] }),
  )
}

const BEFORE_PAGES = 'counted before pagination'

/** Charges of the family's routes. */
const CHARGES = {
  list: { credits: 15, per: 'chain on which the wallet has a position', terms: BEFORE_PAGES },
  batch: {
    credits: 15,
    per: 'wallet and chain with a position',
    many: { from: 100, credits: 12 },
    terms: BEFORE_PAGES,
  },
  events: { credits: 1, per: PER_CALL },
  snapshots: { credits: 2, per: PER_CALL },
} satisfies Record<string, Charge>

/** The family as tools for agents name it. */
const PROTOCOL = { code: 'aave-v4', name: 'Aave V4' }

/** The spoke of a subject, and of a wallet's history, if the caller does not name one. */
const MARKET_DEFAULT = 'main'

/** Creates the description of the family's subject: a wallet in a spoke. */
export function createWatchable(settings: ReadonlyMap<number, AaveV4Deployment>): Watchable {
  return {
    subject(chainId) {
      const markets = new Set((settings.get(chainId)?.spokes ?? []).map(({ name }) => name))
      return v.strictObject({ wallet: evmAddress, market_id: v.optional(marketIdParameter(markets), MARKET_DEFAULT) })
    },
    figures: LENDING_FIGURES,
    events: LENDING_EVENT_TYPES,
    answerPath: ({ wallet, market_id }, chainId, blockNumber) =>
      `/v1/lending/aave-v4?wallet=${wallet}&chain_id=${chainId}&market_id=${market_id}&at_block=${blockNumber}`,
  }
}

/** Creates the list, the batch, the events and the daily snapshots; `chainIds` are all configured chains, with this family or without. */
export function createRoutes({
  chainIds,
  deployedIds,
  markets,
  reader,
  history,
  events,
  series,
}: {
  readonly chainIds: readonly number[]
  /** Chains that have spokes. */
  readonly deployedIds: readonly number[]
  /** Names of the spokes on them. */
  readonly markets: ReadonlySet<string>
  readonly reader: () => SpokeReader
  readonly history: () => SpokeTargetReader
  readonly events: () => EventReader<SpokeTarget>
  readonly series: () => LendingSeries
}): readonly Route[] {
  const protocol = {
    tool: PROTOCOL,
    name: NAME,
    operation: 'aave_v4',
    noun: 'spoke',
    summaries: {
      list:
        'Lists the positions of a wallet in Aave V4, one entry per chain, with its risk and yield in each spoke, where ' +
        'it has an account of its own.',
      batch: 'Lists health factor, net worth and net APY of many wallets in Aave V4, one entry per wallet and chain.',
    },
    charges: CHARGES,
    outputs: { list: listOutput, batch: batchOutput },
    getMarket: ({ name }: AaveV4Spoke) => name,
    presentWallet,
    presentReduced,
  } as const
  const marketId = marketIdParameter(markets)
  const places = { chainIds: deployedIds, marketId: v.optional(marketId, MARKET_DEFAULT) }
  const findSpoke = (place: Parameters<typeof findMarketTarget>[1]) =>
    findMarketTarget(reader().targets, place, protocol)
  return [
    ...marketRoutes(protocol, { chainIds, marketId, reader }),
    eventsRoute(
      { ...protocol, charge: CHARGES.events, description: EVENTS_DESCRIPTION },
      {
        ...places,
        findMarket(place, work) {
          const { client, deployments } = findSpoke(place)
          const [spoke] = deployments
          if (spoke === undefined) throw new Error('A found market has a deployment')
          return { client, pendingTarget: history().read(client, spoke, work) }
        },
        events,
      },
    ),
    snapshotsRoute(
      { ...protocol, charge: CHARGES.snapshots, description: SNAPSHOTS_DESCRIPTION },
      { ...places, findMarket: (place) => snapshotSpoke(reader(), findSpoke(place)), series },
    ),
  ]
}

const EVENTS_DESCRIPTION =
  'The list is proven: the shares of all its logs, added up, must be what the spoke has stored of the wallet at the last ' +
  'final block, in every reserve and to the unit; if a log is missing the answer is 503 and names the check `fold`. Debt ' +
  'that was written off, and shares that a liquidator received, count in that and are not shown. A repayment includes its ' +
  'premium; a price is what the spoke’s oracle said of the reserve at the block.'

const SNAPSHOTS_DESCRIPTION =
  'One entry for each UTC midnight from the first one at which the spoke keeps a trace of the wallet up to the one that ' +
  'ended yesterday, oldest first; `timestamp` is that midnight. Each is read at the last block at or before it, by the ' +
  'formulas of the live list, at the prices of the spoke’s oracle there; nothing is interpolated. A spoke keeps no ' +
  'trace for ever: of a wallet that took everything back it may store a flag of a collateral, or nothing. Then the list ' +
  'is empty, or begins with a later stay. A midnight with zeros is one at which the wallet had nothing; one at which the ' +
  'account could not be valued, because a price was missing, has no entry. Past midnights need an endpoint that keeps ' +
  'old state (an archive node); without one the header `X-Snapshots-From` says where the series begins.'
