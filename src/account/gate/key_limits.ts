import type { RefusalCode } from '../../http/exchange/gate.ts'
import { isInNetworks, parseNetwork } from '../../lib/text/network.ts'
import type { KeyRecord } from './key_cache.ts'

type Limit = 'networks' | 'endpoints' | 'creditsPerDay'

/**
 * Limits of a key for deciding, from what the database gives: lines, empty for no limit; a decimal number, 0 for none. A
 * network that cannot be read holds nobody.
 */
export function parseKeyLimits({ networks, endpoints, creditsPerDay }: Record<Limit, string>): Pick<KeyRecord, Limit> {
  return {
    networks: networks === '' ? undefined : networks.split('\n').flatMap((text) => parseNetwork(text) ?? []),
    endpoints: endpoints === '' ? undefined : new Set(endpoints.split('\n')),
    creditsPerDay: creditsPerDay === '0' ? undefined : BigInt(creditsPerDay),
  }
}

/** True if the key works from where the caller is; the address is asked for only if that matters. */
export function isAllowedNetwork(client: { readonly ip: string } | undefined, { networks }: KeyRecord): boolean {
  return networks === undefined || isInNetworks(networks, client?.ip ?? '')
}

/** Why the key may not call the endpoint; empty if it may. Paths without an endpoint lead nowhere anyway. */
export function getEndpointRefusal(endpoint: string | null, { endpoints }: KeyRecord): RefusalCode | '' {
  return endpoint === null || endpoints === undefined || endpoints.has(endpoint) ? '' : 'KEY_ENDPOINT_DISABLED'
}
