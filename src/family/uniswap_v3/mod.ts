import * as v from 'valibot'
import { toLowerHex } from '../../chain/call/words.ts'
import { once } from '../../lib/memoize.ts'
import { address, defineFamily, findDuplicates, startBlock } from '../contract.ts'
import { createHoldingsReader } from './holdings.ts'
import { createFlowStream } from './read/position_history/stream.ts'
import { createWithdrawnReader } from './read/position_history/withdrawn.ts'
import { createPositionReader } from './read/read.ts'
import { createWatcher } from './read/watch/watcher.ts'
import { listRoute } from './routes/list.ts'
import { positionRoute } from './routes/position.ts'
import { createUniswapV3Histories, positionHistoryRoutes } from './routes/position_history.ts'
import { createWatchable } from './routes/watch.ts'
import { UNISWAP_V3_DEPLOYMENTS } from './table/managers.ts'

/** Positions of Uniswap V3 and its forks. A manager configured twice would be charged twice. */
export const UNISWAP_V3 = defineFamily({
  name: 'uniswap-v3',
  aliases: ['amm_a'],
  network: 'evm',
  revision: 7,
  entries: {
    uniswapV3: v.optional(
      v.array(
        v.strictObject({
          manager: address,
          factory: address,
          startBlock,
          code: v.optional(v.pipe(v.string(), v.regex(/^[a-z0-9_]{1,64}$/)), 'uniswap_v3'),
        }),
      ),
    ),
  },
  builtIn: UNISWAP_V3_DEPLOYMENTS,
  getSetting: ({ uniswapV3 }) => uniswapV3,
  listKeys: { uniswapV3: 'manager' },
  listContracts: (deployments) =>
    deployments.map(({ manager, code }) => ({ address: manager, name: `${code}'s manager ${manager}` })),
  findMistakes: (deployments, chainId) =>
    findDuplicates(deployments.map(({ manager }) => manager)).map(
      (manager) => `manager ${manager} of chain ${chainId} is described twice`,
    ),
  histories({ settings, connect }) {
    const { clock } = connect()
    const stream = createFlowStream(clock)
    return [...settings].flatMap(([chainId, deployments]) =>
      deployments.map(({ manager, code, startBlock }) => ({
        chainId,
        title: `uniswap-v3 ${code}`,
        complete(reader, signal) {
          const target = { chainId, contract: toLowerHex(manager), startBlock }
          return reader.complete({ stream, target }, signal)
        },
      })),
    )
  },
  contracts({ settings, ...setup }) {
    const reader = createPositionReader({ ...setup, deployments: settings })
    return [...reader.targets.values()].flatMap((target) =>
      target.deployments.map((deployment) => ({
        read: (wallet, signal) =>
          reader.readWallet(wallet, { targets: [{ ...target, deployments: [deployment] }], signal }),
      })),
    )
  },
  holdings({ settings, connect }) {
    const services = connect()
    const reader = createPositionReader({ ...services, deployments: settings })
    return createHoldingsReader({ reader, readWithdrawn: createWithdrawnReader(services), clock: services.clock })
  },
  watch: ({ settings, connect }) => ({
    ...createWatchable(settings),
    watcher: () => createWatcher({ ...connect(), deployments: settings }),
  }),
  routes({ chainIds, settings, connect }) {
    const reader = once(() => createPositionReader({ ...connect(), deployments: settings }))
    const histories = once(() => createUniswapV3Histories({ ...connect(), reader: reader() }))
    const options = { chainIds, reader, histories }
    return [listRoute(options), positionRoute(options), ...positionHistoryRoutes(options)]
  },
})
