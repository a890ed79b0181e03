import * as v from 'valibot'
import { takeDailySnapshots } from '../../finance/series/daily.ts'
import { createSnapshotSeries } from '../../finance/series/series.ts'
import { createSnapshotTaker } from '../../finance/series/snapshot_taker.ts'
import { createSnapshotStore } from '../../finance/series/store.ts'
import { createMidnights } from '../../history/midnight.ts'
import { createRecheck } from '../../history/recheck.ts'
import { createWork } from '../../lib/async/work.ts'
import { once } from '../../lib/memoize.ts'
import { address, defineFamily, type FamilyServices, findDuplicates, startBlock } from '../contract.ts'
import { createSeriesStartFinder, lendingSnapshots } from '../lending/series.ts'
import { createHoldingsReader } from './holdings.ts'
import { createCometReader } from './read/read.ts'
import { createRoutes } from './routes/list.ts'
import { createWatchable } from './routes/market.ts'
import { snapshotsRoute } from './routes/snapshots.ts'
import { snapshotMarket } from './snapshot.ts'
import { COMPOUND_V3_MARKETS } from './table.ts'
import { createWatcher } from './watch.ts'

/** Lending positions in the markets of Compound V3, in each of which a wallet lends or owes one base token. */
export const COMPOUND_V3 = defineFamily({
  name: 'compound-v3',
  aliases: [],
  network: 'evm',
  entries: {
    compoundV3: v.optional(
      v.array(
        v.strictObject({
          market: v.pipe(v.string(), v.regex(/^[a-z0-9._-]{1,64}$/)),
          comet: address,
          rewards: v.optional(address),
          startBlock,
        }),
      ),
    ),
  },
  builtIn: COMPOUND_V3_MARKETS,
  getSetting: ({ compoundV3 }) => compoundV3,
  listKeys: { compoundV3: 'market' },
  listContracts: (markets) => markets.map(({ market, comet }) => ({ address: comet, name: `market ${market}` })),
  hasDebts: true,
  findMistakes: (markets, chainId) => [
    ...findDuplicates(markets.map(({ market }) => market)).map(
      (market) => `market "${market}" of chain ${chainId} is described twice`,
    ),
    // Under two names, one market would count twice.
    ...findDuplicates(markets.map(({ comet }) => comet)).map(
      (comet) => `market ${comet} of chain ${chainId} is described twice`,
    ),
  ],
  routes({ chainIds, settings, connect }) {
    const reader = once(() => createCometReader({ ...connect(), deployments: settings }))
    const markets = new Set([...settings.values()].flatMap((each) => each.map(({ market }) => market)))
    const series = once(() => {
      const services = connect()
      const parts = { ...createSnapshotParts(services), recheck: createRecheck(services.clock), clock: services.clock }
      return createSnapshotSeries({ ...parts, findSeriesStart: createSeriesStartFinder(parts) })
    })
    return [
      ...createRoutes({ chainIds, markets, reader }),
      snapshotsRoute({ chainIds: [...settings.keys()], markets, reader, series }),
    ]
  },
  holdings: ({ settings, connect }) => createHoldingsReader(createCometReader({ ...connect(), deployments: settings })),
  watch: ({ settings, connect }) => ({
    ...createWatchable(settings),
    watcher: () => createWatcher({ ...connect(), deployments: settings }),
  }),
  contracts({ settings, ...setup }) {
    const reader = createCometReader({ ...setup, deployments: settings })
    return [...reader.targets.values()].flatMap((target) =>
      target.deployments.map((deployment) => ({
        read: (wallet, work) => reader.read([wallet], { targets: [{ ...target, deployments: [deployment] }], work }),
      })),
    )
  },
  work: {
    feature: 'snapshots',
    rounds({ settings, connect }) {
      const services = connect()
      const { clock, log } = services
      const reader = createCometReader({ ...services, deployments: settings })
      const targets = [...reader.targets.values()].flatMap((target) =>
        target.deployments.map((deployment) => snapshotMarket(reader, { ...target, deployments: [deployment] })),
      )
      const parts = { ...createSnapshotParts(services), targets, clock, log }
      return (signal) => takeDailySnapshots(parts, createWork(signal))
    },
  },
})

/** Parts for taking snapshots: the stored midnights and snapshots, and the reader of new ones. */
function createSnapshotParts({ db, clock, holder }: FamilyServices) {
  const midnights = createMidnights({ db, clock })
  const store = createSnapshotStore(db, { holder, table: lendingSnapshots(db) })
  return { midnights, store, taker: createSnapshotTaker({ midnights, store, clock }) }
}
