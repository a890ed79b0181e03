import type { RefusalCode } from '../../http/exchange/gate.ts'
import { isInNetworks, parseNetwork } from '../../lib/text/network.ts'
import type { KeyRecord } from './key_cache.ts'

type Limit = 'networks' | 'endpoints' | 'creditsPerDay'

/**
 * Parses the limits of a key from the database's columns: lines, empty for no limit; a decimal number, 0 for none. An
 * unparsable network matches no address.
 */
export function parseKeyLimits({ networks, endpoints, creditsPerDay }: Record<Limit, string>): Pick<KeyRecord, Limit> {
  return {
    networks: networks === '' ? undefined : networks.split('\n').flatMap((text) => parseNetwork(text) ?? []),
    endpoints: endpoints === '' ? undefined : new Set(endpoints.split('\n')),
    creditsPerDay: creditsPerDay === '0' ? undefined : BigInt(creditsPerDay),
  }
}

/** True if the key works from the client's address, which is computed only if the key has networks. */
export function isAllowedNetwork(client: { readonly ip: string } | undefined, { networks }: KeyRecord): boolean {
  return networks === undefined || isInNetworks(networks, client?.ip ?? '')
}

/** Returns why the key may not call the endpoint; empty if it may, and for a path without an endpoint. */
export function getEndpointRefusal(endpoint: string | null, { endpoints }: KeyRecord): RefusalCode | '' {
  return endpoint === null || endpoints === undefined || endpoints.has(endpoint) ? '' : 'KEY_ENDPOINT_DISABLED'
}
