import * as v from 'valibot'
import { once } from '../../lib/memoize.ts'
import { address, defineFamily, type FamilyServices, startBlock } from '../contract.ts'
import { createHoldingsReader } from './holdings.ts'
import { CHANGE_STREAM, toChangeTarget } from './read/change/stream.ts'
import { createOwnedFinder } from './read/owned/mod.ts'
import { TRANSFER_STREAM } from './read/owned/transfers.ts'
import { createPositionReader } from './read/read.ts'
import { listRoute } from './routes/list.ts'
import { positionRoute } from './routes/position.ts'
import { createUniswapV4Histories, positionHistoryRoutes } from './routes/position_history.ts'
import type { UniswapV4Deployment } from './table/deployments.ts'
import { UNISWAP_V4_DEPLOYMENTS } from './table/managers.ts'

/** The family of Uniswap V4, whose manager does not list the positions of a wallet. */
export const UNISWAP_V4 = defineFamily({
  name: 'uniswap-v4',
  aliases: ['amm_b'],
  network: 'evm',
  revision: 6,
  entries: {
    uniswapV4: v.optional(v.strictObject({ positionManager: address, poolManager: address, startBlock })),
  },
  builtIn: UNISWAP_V4_DEPLOYMENTS,
  getSetting: ({ uniswapV4 }) => uniswapV4,
  listContracts: ({ positionManager }) => [{ address: positionManager, name: `manager ${positionManager}` }],
  histories({ settings }) {
    return [...settings].flatMap(([chainId, deployment]) => {
      const target = toChangeTarget(chainId, deployment)
      return [
        {
          chainId,
          title: 'uniswap-v4 transfers',
          complete: (reader, signal) => reader.complete({ stream: TRANSFER_STREAM, target }, signal),
        },
        {
          chainId,
          title: 'uniswap-v4 changes',
          complete: (reader, signal) => reader.complete({ stream: CHANGE_STREAM, target }, signal),
        },
      ]
    })
  },
  contracts({ settings, ...setup }) {
    // The wallet owns nothing, so there is nothing to find.
    const find = async () => []
    const reader = createPositionReader({ ...setup, deployments: settings, find })
    return [...reader.targets.values()].map((target) => ({
      read: (wallet, signal) => reader.readWallet(wallet, { targets: [target], signal }),
    }))
  },
  holdings({ settings, connect }) {
    const services = connect()
    return createHoldingsReader({ reader: createReader(services, settings), clock: services.clock })
  },
  routes({ chainIds, settings, connect }) {
    const reader = once(() => createReader(connect(), settings))
    const histories = once(() => createUniswapV4Histories({ ...connect(), reader: reader() }))
    const options = { chainIds, reader, histories }
    return [listRoute(options), positionRoute(options), ...positionHistoryRoutes(options)]
  },
})

function createReader(services: FamilyServices, deployments: ReadonlyMap<number, UniswapV4Deployment>) {
  return createPositionReader({ ...services, deployments, find: createOwnedFinder(services) })
}
