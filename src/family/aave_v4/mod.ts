import * as v from 'valibot'
import { once } from '../../lib/memoize.ts'
import { address, defineFamily, findDuplicates, startBlock } from '../contract.ts'
import { createEventReader } from '../lending/read_events.ts'
import { createDailyRounds, createLendingSeries } from '../lending/series.ts'
import { createHoldingsReader } from './holdings.ts'
import { createSpokeReader } from './read/read.ts'
import { createSpokeStream, createSpokeTargetReader } from './read/stream.ts'
import { createRoutes, createWatchable } from './routes.ts'
import { snapshotSpoke } from './snapshot.ts'
import { AAVE_V4_DEPLOYMENTS, type AaveV4Deployment } from './table.ts'
import { createWatcher } from './watch.ts'

const spoke = v.strictObject({ name: v.pipe(v.string(), v.regex(/^[a-z0-9_-]{1,64}$/)), address, startBlock })

/** Lending positions in the spokes of Aave V4, in each of which a wallet has an account of its own. */
export const AAVE_V4 = defineFamily({
  name: 'aave-v4',
  aliases: [],
  network: 'evm',
  hasOwnPrices: true,
  entries: { aaveV4: v.optional(v.strictObject({ accessManager: address, spokes: v.array(spoke) })) },
  builtIn: AAVE_V4_DEPLOYMENTS,
  getSetting: ({ aaveV4 }, builtIn) => aaveV4 && joinSpokes(aaveV4, builtIn),
  listContracts: ({ spokes }) => spokes.map(({ name, address }) => ({ address, name: `spoke ${name}` })),
  hasDebts: true,
  findMistakes: ({ spokes }, chainId) => [
    ...findDuplicates(spokes.map(({ name }) => name)).map(
      (name) => `spoke "${name}" of chain ${chainId} is described twice`,
    ),
    // Under two names, one spoke would count twice.
    ...findDuplicates(spokes.map(({ address }) => address)).map(
      (spokeAddress) => `spoke ${spokeAddress} of chain ${chainId} is described twice`,
    ),
  ],
  routes({ chainIds, settings, connect }) {
    const reader = once(() => createSpokeReader({ ...connect(), deployments: settings }))
    const markets = new Set([...settings.values()].flatMap(({ spokes }) => spokes.map(({ name }) => name)))
    const series = once(() => createLendingSeries(connect()))
    const history = once(() => createSpokeTargetReader(connect().clock))
    const events = once(() => createEventReader({ ...connect(), stream: createSpokeStream(connect()) }))
    return createRoutes({ chainIds, deployedIds: [...settings.keys()], markets, reader, history, events, series })
  },
  holdings: ({ settings, connect }) => createHoldingsReader(createSpokeReader({ ...connect(), deployments: settings })),
  watch: ({ settings, connect }) => ({
    ...createWatchable(settings),
    watcher: () => createWatcher({ ...connect(), deployments: settings }),
  }),
  histories({ settings, connect }) {
    const { clients, clock } = connect()
    const targets = createSpokeTargetReader(clock)
    const stream = createSpokeStream({ clock })
    return [...settings].flatMap(([chainId, { spokes }]) =>
      spokes.map((spoke) => ({
        chainId,
        title: `aave-v4 ${spoke.name}`,
        async complete(reader, work) {
          const client = clients.get(chainId)
          if (client === undefined) return
          const { target } = await targets.read(client, spoke, work)
          await reader.complete({ stream, target }, work)
        },
      })),
    )
  },
  contracts({ settings, ...setup }) {
    const reader = createSpokeReader({ ...setup, deployments: settings })
    return [...reader.targets.values()].flatMap((target) =>
      target.deployments.map((deployment) => ({
        read: (wallet, work) => reader.read([wallet], { targets: [{ ...target, deployments: [deployment] }], work }),
      })),
    )
  },
  work: {
    feature: 'snapshots',
    rounds({ settings, connect }) {
      const reader = createSpokeReader({ ...connect(), deployments: settings })
      const targets = [...reader.targets.values()].flatMap((target) =>
        target.deployments.map((deployment) => snapshotSpoke(reader, { ...target, deployments: [deployment] })),
      )
      return createDailyRounds(connect(), targets)
    },
  },
})

/** Joins a row's spokes to the built-in ones by their names, if both have the same access manager. */
function joinSpokes(row: AaveV4Deployment, builtIn: AaveV4Deployment | undefined): AaveV4Deployment {
  if (row.accessManager !== builtIn?.accessManager) return row
  const names = new Set(row.spokes.map(({ name }) => name))
  return { ...row, spokes: [...builtIn.spokes.filter(({ name }) => !names.has(name)), ...row.spokes] }
}
