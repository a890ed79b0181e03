import * as v from 'valibot'
import { once } from '../../lib/memoize.ts'
import { address, defineFamily, findDuplicates, startBlock } from '../contract.ts'
import { createEventReader } from '../lending/read_events.ts'
import { createDailyRounds, createLendingSeries } from '../lending/series.ts'
import { createHoldingsReader } from './holdings.ts'
import { createCometTargetReader } from './read/market_target.ts'
import { createCometReader } from './read/read.ts'
import { createCometStream } from './read/stream.ts'
import { eventsRoute } from './routes/events.ts'
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
    const series = once(() => createLendingSeries(connect()))
    const history = once(() => createCometTargetReader(connect()))
    const events = once(() => createEventReader({ ...connect(), stream: createCometStream(connect()) }))
    return [
      ...createRoutes({ chainIds, markets, reader }),
      eventsRoute({ chainIds: [...settings.keys()], markets, reader, history, events }),
      snapshotsRoute({ chainIds: [...settings.keys()], markets, reader, series }),
    ]
  },
  holdings: ({ settings, connect }) => createHoldingsReader(createCometReader({ ...connect(), deployments: settings })),
  watch: ({ settings, connect }) => ({
    ...createWatchable(settings),
    watcher: () => createWatcher({ ...connect(), deployments: settings }),
  }),
  histories({ settings, connect }) {
    const services = connect()
    const targets = createCometTargetReader(services)
    const stream = createCometStream(services)
    return [...settings].flatMap(([chainId, markets]) =>
      markets.map((market) => ({
        chainId,
        title: `compound-v3 ${market.market}`,
        async complete(reader, work) {
          const client = services.clients.get(chainId)
          if (client === undefined) return
          const { target } = await targets.read(client, market, work)
          await reader.complete({ stream, target }, work)
        },
      })),
    )
  },
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
      const reader = createCometReader({ ...connect(), deployments: settings })
      const markets = [...reader.targets.values()].flatMap((target) =>
        target.deployments.map((deployment) => snapshotMarket(reader, { ...target, deployments: [deployment] })),
      )
      return createDailyRounds(connect(), markets)
    },
  },
})
