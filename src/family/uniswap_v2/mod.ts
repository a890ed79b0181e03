import * as v from 'valibot'
import { address, defineFamily, findDuplicates, startBlock } from '../contract.ts'
import { createHoldingsReader } from './holdings.ts'
import { UNISWAP_V2_FACTORIES } from './table.ts'

/** Uniswap V2: liquidity in the pairs that a caller of a portfolio names. */
export const UNISWAP_V2 = defineFamily({
  name: 'uniswap-v2',
  aliases: [],
  network: 'evm',
  entries: { uniswapV2: v.optional(v.array(v.strictObject({ factory: address, startBlock }))) },
  builtIn: UNISWAP_V2_FACTORIES,
  getSetting: ({ uniswapV2 }) => uniswapV2,
  listKeys: { uniswapV2: 'factory' },
  listContracts: (factories) => factories.map(({ factory }) => ({ address: factory, name: `factory ${factory}` })),
  findMistakes: (factories, chainId) =>
    findDuplicates(factories.map(({ factory }) => factory)).map(
      (factory) => `factory ${factory} of chain ${chainId} is described twice`,
    ),
  routes: () => [],
  holdings: ({ settings, connect }) => createHoldingsReader({ ...connect(), deployments: settings }),
})
