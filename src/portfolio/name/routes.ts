import * as v from 'valibot'
import type { ChainClient } from '../../chain/rpc/client.ts'
import { type Charge, PER_CALL } from '../../http/route/charge.ts'
import { defineRoute, type Route } from '../../http/route/route.ts'
import type { Clock } from '../../lib/clock.ts'
import { CodedError } from '../../lib/error.ts'
import { once } from '../../lib/memoize.ts'
import { EVM_ADDRESS, text } from '../../lib/text/text_format.ts'
import { ensName } from './name.ts'
import { createNameReader } from './read_name.ts'

/** ENS resolves names on Ethereum alone. */
const ENS_CHAIN_ID = 1
const CHARGE: Charge = { credits: 1, per: PER_CALL }

/** Success body of the name route, without `request_id`. */
const nameOutput = v.strictObject({
  data: v.strictObject({
    /** In its normal form. */
    name: v.string(),
    /** Checksummed. */
    wallet: text(EVM_ADDRESS),
  }),
})

/** Defines the route that resolves names of wallets. */
export function nameRoute(options: {
  /** Returns clients by chain id; called when a name is first read. */
  readonly connect: () => { readonly clients: ReadonlyMap<number, ChainClient>; readonly clock: Clock }
}): Route {
  const reader = once(() => {
    const { clients, clock } = options.connect()
    const client = clients.get(ENS_CHAIN_ID)
    return client === undefined ? undefined : createNameReader({ client, clock })
  })
  return defineRoute({
    method: 'GET',
    path: '/v1/names',
    tool: 'ens_wallet',
    summary: 'Resolves an ENS name.',
    description:
      "Asks ENS' Universal Resolver on Ethereum, or the first registry and the resolver that it names where there is " +
      'none. Look-ups outside the chain (ERC-3668) are not followed: such a name is 404, as is one without an address.',
    input: v.object({ name: ensName }),
    output: nameOutput,
    errors: [404, 503],
    charge: CHARGE,
    async read({ name }, { signal }) {
      const readName = reader()
      if (readName === undefined) {
        throw new CodedError('API_ENDPOINT_NOT_CONFIGURED', 'ENS names need Ethereum, which is not configured here')
      }
      const result = await readName(name, signal)
      if ('unresolved' in result) {
        throw new CodedError('NOT_FOUND', `Cannot find a wallet for "${name}": ${result.unresolved}`)
      }
      return result
    },
    untilMs: ({ untilMs }) => untilMs,
    present: ({ block, wallet }, { name }) => ({
      data: { name, wallet },
      asOf: [{ chainId: block.chainId, blockNumber: block.number }],
    }),
  })
}
