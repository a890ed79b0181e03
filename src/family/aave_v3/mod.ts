import * as v from 'valibot'
import { once } from '../../lib/memoize.ts'
import { address, defineFamily, findDuplicates, startBlock } from '../contract.ts'
import { createEventReader } from '../lending/read_events.ts'
import { createDailyRounds, createLendingSeries } from '../lending/series.ts'
import { createHoldingsReader } from './holdings.ts'
import { createLendingReader } from './read/read.ts'
import { createMarketReader } from './read/read_market.ts'
import { createLendingStream } from './read/stream.ts'
import { eventsRoute } from './routes/events.ts'
import { createRoutes } from './routes/list.ts'
import { createWatchable } from './routes/market.ts'
import { snapshotsRoute } from './routes/snapshots.ts'
import { snapshotMarket } from './snapshot.ts'
import { AAVE_V3_DEPLOYMENTS } from './table.ts'
import { createWatcher } from './watch.ts'

/** Lending positions in the markets of Aave V3 and of forks that kept its contracts. */
export const AAVE_V3 = defineFamily({
  name: 'aave-v3',
  aliases: ['lending_a'],
  network: 'evm',
  revision: 4,
  hasOwnPrices: true,
  entries: {
    aaveV3: v.optional(
      v.array(
        v.strictObject({
          market: v.pipe(v.string(), v.regex(/^[a-z0-9_-]{1,64}$/)),
          poolAddressesProvider: address,
          startBlock,
        }),
      ),
    ),
  },
  builtIn: AAVE_V3_DEPLOYMENTS,
  getSetting: ({ aaveV3 }) => aaveV3,
  listKeys: { aaveV3: 'market' },
  listContracts: (markets) =>
    markets.map(({ market, poolAddressesProvider }) => ({ address: poolAddressesProvider, name: `market ${market}` })),
  hasDebts: true,
  findMistakes: (markets, chainId) => [
    ...findDuplicates(markets.map(({ market }) => market)).map(
      (market) => `market "${market}" of chain ${chainId} is described twice`,
    ),
    // Under two names, one market would count twice.
    ...findDuplicates(markets.map(({ poolAddressesProvider }) => poolAddressesProvider)).map(
      (provider) => `the market of provider ${provider} of chain ${chainId} is described twice`,
    ),
  ],
  routes({ chainIds, settings, connect }) {
    const reader = once(() => createLendingReader({ ...connect(), deployments: settings }))
    const markets = new Set([...settings.values()].flatMap((deployments) => deployments.map(({ market }) => market)))
    const series = once(() => createLendingSeries(connect()))
    const history = once(() => createMarketReader(connect().clock))
    const events = once(() => createEventReader({ ...connect(), stream: createLendingStream(connect()) }))
    return [
      ...createRoutes({ chainIds, markets, reader }),
      eventsRoute({ chainIds: [...settings.keys()], markets, reader, history, events }),
      snapshotsRoute({ chainIds: [...settings.keys()], markets, reader, series }),
    ]
  },
  holdings({ settings, connect }) {
    return createHoldingsReader(createLendingReader({ ...connect(), deployments: settings }))
  },
  watch: ({ settings, connect }) => ({
    ...createWatchable(settings),
    watcher: () => createWatcher({ ...connect(), deployments: settings }),
  }),
  histories({ settings, connect }) {
    const { clients, clock } = connect()
    const markets = createMarketReader(clock)
    const stream = createLendingStream({ clock })
    return [...settings].flatMap(([chainId, deployments]) =>
      deployments.map((deployment) => ({
        chainId,
        title: `aave-v3 ${deployment.market}`,
        async complete(reader, work) {
          const client = clients.get(chainId)
          if (client === undefined) return
          const { target } = await markets.read(client, deployment, work)
          await reader.complete({ stream, target }, work)
        },
      })),
    )
  },
  contracts({ settings, ...setup }) {
    const reader = createLendingReader({ ...setup, deployments: settings })
    return [...reader.targets.values()].flatMap((target) =>
      target.deployments.map((deployment) => ({
        read: (wallet, work) => reader.read([wallet], { targets: [{ ...target, deployments: [deployment] }], work }),
      })),
    )
  },
  work: {
    feature: 'snapshots',
    rounds({ settings, connect }) {
      const reader = createLendingReader({ ...connect(), deployments: settings })
      const markets = [...reader.targets.values()].flatMap((target) =>
        target.deployments.map((deployment) => snapshotMarket(reader, { ...target, deployments: [deployment] })),
      )
      return createDailyRounds(connect(), markets)
    },
  },
})
