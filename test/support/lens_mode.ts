import type { LensMode } from '../../src/chain/call/lens.ts'
import { type ChainClient, type Endpoint, RpcRefusedError } from '../../src/chain/rpc/client.ts'

/** The same client over endpoints that run lenses in one way, if one is given, and refuse the other unasked. */
export function withLensMode<Client extends ChainClient>(client: Client, way: LensMode | undefined): Client {
  if (way === undefined) return client
  const narrowed = (endpoint: Endpoint): Endpoint => ({
    ...endpoint,
    async call(request, work) {
      const { to, code } = request
      const asked = code !== undefined ? 'override' : to === undefined ? 'deployless' : way
      if (asked !== way) throw new RpcRefusedError(0, `The endpoint runs lenses by ${way} alone`)
      return await endpoint.call(request, work)
    },
  })
  const read: ChainClient['read'] = (attempt, options) =>
    client.read((endpoint, work) => attempt(narrowed(endpoint), work), options)
  return { ...client, read }
}
