import * as v from 'valibot'
import { address, defineFamily, type FamilySetup, findDuplicates, startBlock } from '../contract.ts'
import { watchExchange } from '../liquidity/enumerable/watch/mod.ts'
import { serveProtocol } from '../liquidity/mod.ts'
import { EXCHANGE, PROTOCOL } from './protocol.ts'
import { SLIPSTREAM_MANAGERS, type SlipstreamManager, toDeployments } from './table.ts'

const watch = watchExchange(EXCHANGE, PROTOCOL)

/**
 * Positions of Slipstream, staked or not. The generation of a gauge is told by which of its getters answer. A manager
 * configured twice would be charged twice.
 */
export const SLIPSTREAM = defineFamily({
  name: 'slipstream',
  aliases: ['amm_c'],
  network: 'evm',
  entries: {
    slipstream: v.optional(
      v.array(
        v.strictObject({
          manager: address,
          factory: address,
          voter: v.optional(address),
          startBlock,
          code: v.optional(v.pipe(v.string(), v.regex(/^[a-z0-9_]{1,64}$/)), 'slipstream'),
        }),
      ),
    ),
  },
  builtIn: SLIPSTREAM_MANAGERS,
  getSetting: ({ slipstream }): readonly SlipstreamManager[] | undefined => slipstream,
  listKeys: { slipstream: 'manager' },
  listContracts: (managers) => [
    ...managers.map(({ manager, code }) => ({ address: manager, name: `${code}'s manager ${manager}` })),
    ...[...new Set(managers.flatMap(({ voter }) => voter ?? []))].map((voter) => ({
      address: voter,
      name: `gauges of voter ${voter}`,
    })),
  ],
  findMistakes: (managers, chainId) =>
    findDuplicates(managers.map(({ manager }) => manager)).map(
      (manager) => `manager ${manager} of chain ${chainId} is described twice`,
    ),
  watch: ({ settings, ...setup }: FamilySetup<readonly SlipstreamManager[]>) =>
    watch({ ...setup, settings: new Map([...settings].map(([id, managers]) => [id, toDeployments(managers)])) }),
  ...serveProtocol(PROTOCOL, toDeployments),
})
