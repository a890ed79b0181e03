import * as v from 'valibot'
import { zeroHash } from 'viem'
import { once } from '../../lib/once_each.ts'
import { defineFamily } from '../family.ts'
import { address, startBlock } from '../setting.ts'
import { createPositionReader } from './read/read.ts'
import { createRoutes } from './routes.ts'
import { MORPHO_BLUE_DEPLOYMENTS } from './table/morphos.ts'

/** Morpho Blue: yield of a wallet in one of its isolated markets. */
export const MORPHO_BLUE = defineFamily({
  name: 'morpho-blue',
  aliases: ['lending_b', 'morpho'],
  network: 'evm',
  entries: { morphoBlue: v.optional(v.strictObject({ morpho: address, startBlock })) },
  builtIn: MORPHO_BLUE_DEPLOYMENTS,
  settingOf: ({ morphoBlue }) => morphoBlue,
  contracts({ settings, ...setup }) {
    const reader = createPositionReader({ ...setup, deployments: settings })
    return [...reader.places.values()].map((place) => ({
      // A market that nobody made: Morpho itself answers all the same.
      read: (wallet, signal) => reader.read(place, { marketIds: [zeroHash], wallet }, signal),
    }))
  },
  routes({ settings, connect }) {
    const reader = once(() => createPositionReader({ ...connect(), deployments: settings }))
    return createRoutes({ chainIds: [...settings.keys()], reader })
  },
})
