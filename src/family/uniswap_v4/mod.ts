import * as v from 'valibot'
import { address, defineFamily, startBlock } from '../contract.ts'
import { serveProtocol } from '../liquidity/mod.ts'
import { createWatchable } from '../liquidity/watchable.ts'
import { POSITION_EVENTS } from './event.ts'
import { PROTOCOL } from './protocol.ts'
import { UNISWAP_V4_DEPLOYMENTS, type UniswapV4Deployment } from './table.ts'
import { createWatcher } from './watch.ts'

/** The family of Uniswap V4, whose manager does not list the positions of a wallet. */
export const UNISWAP_V4 = defineFamily({
  name: 'uniswap-v4',
  aliases: ['amm_b'],
  network: 'evm',
  revision: 7,
  entries: {
    uniswapV4: v.optional(v.strictObject({ positionManager: address, poolManager: address, startBlock })),
  },
  builtIn: UNISWAP_V4_DEPLOYMENTS,
  getSetting: ({ uniswapV4 }) => uniswapV4,
  listContracts: ({ positionManager }) => [{ address: positionManager, name: `manager ${positionManager}` }],
  watch: ({ settings, connect }) => ({
    ...createWatchable(
      { name: PROTOCOL.name, events: POSITION_EVENTS },
      new Map([...settings].map(([chainId, { positionManager }]) => [chainId, [positionManager]])),
    ),
    watcher: () => createWatcher({ ...connect(), deployments: settings }),
  }),
  ...serveProtocol(PROTOCOL, (deployment: UniswapV4Deployment) => [deployment]),
})
