import * as v from 'valibot'
import { address, defineFamily, findDuplicates, startBlock } from '../contract.ts'
import type { EnumerableDeployment } from '../liquidity/enumerable/exchange.ts'
import { watchExchange } from '../liquidity/enumerable/watch/mod.ts'
import { serveProtocol } from '../liquidity/mod.ts'
import { EXCHANGE, PROTOCOL } from './protocol.ts'
import { UNISWAP_V3_DEPLOYMENTS } from './table.ts'

/** Positions of Uniswap V3 and its forks. A manager configured twice would be charged twice. */
export const UNISWAP_V3 = defineFamily({
  name: 'uniswap-v3',
  aliases: ['amm_a'],
  network: 'evm',
  revision: 9,
  entries: {
    uniswapV3: v.optional(
      v.array(
        v.strictObject({
          kind: v.optional(v.literal('uniswap', 'expected "uniswap" or "slipstream"')),
          manager: address,
          factory: address,
          startBlock,
          code: v.optional(v.pipe(v.string(), v.regex(/^[a-z0-9_]{1,64}$/)), 'uniswap_v3'),
          custodians: v.optional(v.array(v.strictObject({ kind: v.picklist(['masterchef']), address, startBlock }))),
        }),
      ),
    ),
  },
  builtIn: UNISWAP_V3_DEPLOYMENTS,
  getSetting: ({ uniswapV3 }) => uniswapV3,
  listKeys: { uniswapV3: 'manager' },
  listContracts: (deployments) =>
    deployments.flatMap(({ manager, code, custodians = [] }) => [
      { address: manager, name: `${code}'s manager ${manager}` },
      ...custodians.map(({ kind, address }) => ({ address, name: `${code}'s ${kind} ${address}` })),
    ]),
  findMistakes: (deployments, chainId) => [
    ...findDuplicates(deployments.map(({ manager }) => manager)).map(
      (manager) => `manager ${manager} of chain ${chainId} is described twice`,
    ),
    ...findDuplicates(deployments.flatMap(({ custodians = [] }) => custodians.map(({ address }) => address))).map(
      (custodian) => `custodian ${custodian} of chain ${chainId} is described twice`,
    ),
  ],
  watch: watchExchange(EXCHANGE, PROTOCOL),
  ...serveProtocol(PROTOCOL, (deployments: readonly EnumerableDeployment[]) => deployments),
})
