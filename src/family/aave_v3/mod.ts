import * as v from 'valibot'
import { defineFamily, once } from '../family.ts'
import { placesOf } from '../place.ts'
import { address, repeated, startBlock } from '../setting.ts'
import { createLendingReader } from './read/read.ts'
import { createEventReader } from './read/read_events.ts'
import { createRoutes } from './routes.ts'
import { eventsRoute } from './routes_events.ts'
import { AAVE_V3_DEPLOYMENTS } from './table/markets.ts'

/** Lending positions in the markets of Aave V3 and of forks that kept its contracts. */
export const AAVE_V3 = defineFamily({
  name: 'aave-v3',
  aliases: ['lending_a'],
  network: 'evm',
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
  settingOf: ({ aaveV3 }) => aaveV3,
  mistakesOf: (markets, chainId) =>
    repeated(markets.map(({ market }) => market)).map(
      (market) => `market "${market}" of chain ${chainId} is described twice`,
    ),
  routes({ chainIds, settings, connect }) {
    const reader = once(() => createLendingReader({ ...connect(), deployments: settings }))
    const markets = new Set([...settings.values()].flatMap((deployments) => deployments.map(({ market }) => market)))
    const places = once(() => placesOf(connect().clients, settings))
    const events = once(() => createEventReader(connect()))
    return [...createRoutes({ chainIds, markets, reader }), eventsRoute({ chainIds, markets, places, events })]
  },
})
