import * as v from 'valibot'
import { createSnapshotStore } from '../../finance/lending/lending_snapshot.ts'
import { createMidnights } from '../../history/midnight.ts'
import { defineFamily, type FamilyServices, once } from '../family.ts'
import { address, repeated, startBlock } from '../setting.ts'
import { createLendingStream } from './event/stream.ts'
import { createLendingReader, type LendingReader } from './read/read.ts'
import { createEventReader } from './read/read_events.ts'
import { createMarketReader } from './read/read_market.ts'
import { startDaily } from './read/snapshot/daily.ts'
import { createHasMoved } from './read/snapshot/moved.ts'
import { createSnapshotSeries } from './read/snapshot/series.ts'
import { createSnapshotTaker } from './read/snapshot/take.ts'
import { createRoutes } from './routes.ts'
import { eventsRoute } from './routes_events.ts'
import { snapshotsRoute } from './routes_snapshots.ts'
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
    const series = once(() => {
      const services = connect()
      const parts = snapshotParts(services, reader)
      return createSnapshotSeries({ ...parts, hasMoved: createHasMoved(reader), clock: services.clock })
    })
    const events = once(() => createEventReader(connect()))
    return [
      ...createRoutes({ chainIds, markets, reader }),
      eventsRoute({ chainIds: [...settings.keys()], markets, reader, events }),
      snapshotsRoute({ chainIds: [...settings.keys()], markets, reader, series }),
    ]
  },
  histories({ settings, connect }) {
    const { clients, clock } = connect()
    const markets = createMarketReader(clock)
    const stream = createLendingStream({ clock })
    return [...settings].flatMap(([chainId, deployments]) =>
      deployments.map((deployment) => ({
        chainId,
        title: `aave-v3 ${deployment.market}`,
        async complete(reader, signal) {
          const client = clients.get(chainId)
          if (client === undefined) return
          const { place } = await markets.read(client, deployment, signal)
          await reader.complete({ stream, place }, signal)
        },
      })),
    )
  },
  contracts({ settings, ...setup }) {
    const reader = createLendingReader({ ...setup, deployments: settings })
    return [...reader.places.values()].flatMap((place) =>
      place.deployments.map((deployment) => ({
        read: (wallet, signal) => reader.read([wallet], { places: [{ ...place, deployments: [deployment] }], signal }),
      })),
    )
  },
  work: {
    feature: 'snapshots',
    start({ settings, connect }) {
      const services = connect()
      const { clock, log } = services
      const reader = createLendingReader({ ...services, deployments: settings })
      const places = [...reader.places.values()].flatMap((place) =>
        place.deployments.map((deployment) => ({ ...place, deployments: [deployment] })),
      )
      return startDaily({ ...snapshotParts(services, () => reader), places, clock, log })
    },
  },
})

/** What taking snapshots needs: the stored midnights and snapshots, and who reads new ones. */
function snapshotParts({ db, clock }: FamilyServices, reader: () => LendingReader) {
  const midnights = createMidnights({ db, clock })
  const store = createSnapshotStore(db)
  return { midnights, store, taker: createSnapshotTaker({ reader, midnights, store }) }
}
