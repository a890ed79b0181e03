import * as v from 'valibot'
import { zeroHash } from 'viem'
import { once } from '../../lib/memoize.ts'
import { address, defineFamily, startBlock } from '../contract.ts'
import { createHoldingsReader } from './holdings.ts'
import { createEnteredMarketsReader, MARKET_STREAM, toStreamTarget } from './read/entered_markets.ts'
import { createPositionReader } from './read/read.ts'
import { listRoute } from './routes/list.ts'
import { WATCHABLE } from './routes/market.ts'
import { yieldRoute } from './routes/yield.ts'
import { MORPHO_BLUE_DEPLOYMENTS } from './table.ts'
import { createWatcher } from './watch.ts'

/** Morpho Blue: wallets' positions in its isolated markets. */
export const MORPHO_BLUE = defineFamily({
  name: 'morpho-blue',
  aliases: ['lending_b', 'morpho'],
  network: 'evm',
  revision: 6,
  entries: { morphoBlue: v.optional(v.strictObject({ morpho: address, startBlock })) },
  builtIn: MORPHO_BLUE_DEPLOYMENTS,
  getSetting: ({ morphoBlue }) => morphoBlue,
  listContracts: ({ morpho }) => [{ address: morpho, name: `at ${morpho}` }],
  hasDebts: true,
  contracts({ settings, ...setup }) {
    const reader = createPositionReader({ ...setup, deployments: settings })
    return [...reader.targets.values()].map((target) => ({
      // The market does not exist, but Morpho answers for it.
      read: (wallet, work) => reader.read(target, { marketIds: [zeroHash], wallet }, work),
    }))
  },
  routes({ chainIds, settings, connect }) {
    const reader = once(() => createPositionReader({ ...connect(), deployments: settings }))
    const entered = once(() => createEnteredMarketsReader({ ...connect(), reader: reader() }))
    return [listRoute({ chainIds, reader, entered }), yieldRoute({ chainIds: [...settings.keys()], reader })]
  },
  holdings({ settings, connect }) {
    const services = connect()
    const reader = createPositionReader({ ...services, deployments: settings })
    const { testimony } = services
    return createHoldingsReader({ reader, entered: createEnteredMarketsReader({ ...services, reader }), testimony })
  },
  watch: ({ settings, connect }) => ({
    ...WATCHABLE,
    watcher: () => createWatcher({ ...connect(), deployments: settings }),
  }),
  histories({ settings }) {
    return [...settings].map(([chainId, deployment]) => ({
      chainId,
      title: 'morpho-blue markets',
      complete: (reader, work) =>
        reader.complete({ stream: MARKET_STREAM, target: toStreamTarget(chainId, deployment) }, work),
    }))
  },
})
