import type { RefusalCode } from '../../http/exchange/gate.ts'
import { isInNetworks, parseNetwork } from '../../lib/text/network.ts'
import type { KeyFact } from './facts.ts'

type Limit = 'networks' | 'endpoints' | 'creditsPerDay'

/**
 * Limits of a key for deciding, from what the database gives: lines, empty for no limit; a decimal number, 0 for none. A
 * network that cannot be read holds nobody.
 */
export function limitsOf({ networks, endpoints, creditsPerDay }: Record<Limit, string>): Pick<KeyFact, Limit> {
  return {
    networks: networks === '' ? undefined : networks.split('\n').flatMap((text) => parseNetwork(text) ?? []),
    endpoints: endpoints === '' ? undefined : new Set(endpoints.split('\n')),
    creditsPerDay: creditsPerDay === '0' ? undefined : BigInt(creditsPerDay),
  }
}

/** True if the key works from where the caller is; the address is asked for only if that matters. */
export function comesFrom(client: { readonly ip: string } | undefined, { networks }: KeyFact): boolean {
  return networks === undefined || isInNetworks(networks, client?.ip ?? '')
}

/** Why the key may not call the endpoint; empty if it may. Paths without an endpoint lead nowhere anyway. */
export function notAllowed(endpoint: string | null, { endpoints }: KeyFact): RefusalCode | '' {
  return endpoint === null || endpoints === undefined || endpoints.has(endpoint) ? '' : 'KEY_ENDPOINT_DISABLED'
}
