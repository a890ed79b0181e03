import * as v from 'valibot'
import { address, defineFamily, startBlock } from '../../../../src/family/contract.ts'
import type { EnumerableDeployment } from '../../../../src/family/liquidity/enumerable/exchange.ts'
import { watchExchange } from '../../../../src/family/liquidity/enumerable/watch/mod.ts'
import { serveProtocol } from '../../../../src/family/liquidity/mod.ts'
import { EXCHANGE, PROTOCOL } from './protocol.ts'

/** An exchange that does not exist: this folder, and a line in the list of families. */
export const BAZAAR = defineFamily({
  name: 'bazaar',
  aliases: ['amm_z'],
  network: 'evm',
  entries: {
    bazaar: v.optional(
      v.strictObject({
        manager: address,
        factory: address,
        startBlock,
        stalls: v.optional(v.array(v.strictObject({ address, startBlock })), []),
      }),
    ),
  },
  builtIn: new Map<number, readonly EnumerableDeployment[]>(),
  getSetting: ({ bazaar }) => {
    if (bazaar === undefined) return undefined
    const { stalls, ...contracts } = bazaar
    const custodians = stalls.map((stall) => ({ ...stall, kind: 'stall' }))
    return [{ ...contracts, code: 'bazaar_v1', custodians }]
  },
  watch: watchExchange(EXCHANGE, PROTOCOL),
  ...serveProtocol(PROTOCOL, (deployments: readonly EnumerableDeployment[]) => deployments),
})
