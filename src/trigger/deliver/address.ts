import { lookup, Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import ip from 'ipaddr.js'
import { isInNetworks, type Network, parseNetwork } from '../../lib/text/network.ts'

/*
 * Addresses that a webhook may have. This machine connects to a URL chosen by a caller, so the URL must not lead to a
 * target that only this machine reaches: local programs, its network, the cloud's metadata service. The check runs when
 * a webhook is created and before each attempt, because a name may resolve differently later; the connection goes to
 * the checked address, never to the name.
 */

/** A webhook's URL cannot be used. The message is shown to the webhook's owner and never names a resolved address. */
export class AddressError extends Error {
  override readonly name = 'AddressError'
  /** `dns`: the name does not resolve now. `address`: webhooks may not reach its addresses. */
  readonly reason: 'dns' | 'address'

  constructor(reason: AddressError['reason'], expected: string) {
    super(`expected ${expected}`)
    this.reason = reason
  }
}

export interface AddressRules {
  /**
   * Private networks that webhooks may reach, also by plain http. Link-local addresses and services of clouds stay
   * blocked.
   */
  readonly allowed: readonly Network[]
  /** Resolves all addresses of a name. Throws if there is none, or no answer in time. */
  readonly resolve: (name: string) => Promise<readonly string[]>
}

/** A URL with the addresses to connect to. */
export interface WebhookTarget {
  readonly url: URL
  /** Checked addresses of the host, IPv4 first. At least one. */
  readonly addresses: readonly string[]
}

const URL_LENGTH_MAX = 2_048
const RESOLVE_TIMEOUT_MS = 2_000

/**
 * Creates a resolver that queries the network's name servers instead of using the thread pool of other lookups: callers
 * choose these names, and slow ones would use up all threads. If private networks are allowed, the system resolver is
 * used, which also knows local names: the hosts file and search domains.
 */
export function createNameResolver(
  allowed: readonly Network[],
  resolver: Pick<Resolver, 'resolve4' | 'resolve6'> = new Resolver({ timeout: RESOLVE_TIMEOUT_MS, tries: 2 }),
): AddressRules['resolve'] {
  if (allowed.length > 0) {
    return async (name) => (await lookup(name, { all: true })).map(({ address }) => address)
  }
  return async (name) => {
    const lookups = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    return lookups.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
  }
}

/**
 * Checks a URL and resolves its host. Throws `AddressError` unless it is `https` without name and password, and every
 * address of its host is public or in an allowed network. `http` suffices if all addresses are in allowed networks.
 */
export async function resolveWebhookTarget(text: string, { allowed, resolve }: AddressRules): Promise<WebhookTarget> {
  const url = text.length <= URL_LENGTH_MAX && URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !['https:', 'http:'].includes(url.protocol)) throw new AddressError('address', EXPECTED_URL)
  if (url.username !== '' || url.password !== '') throw new AddressError('address', 'a URL without name and password')
  if (url.protocol === 'http:' && allowed.length === 0) throw new AddressError('address', EXPECTED_URL)

  const host = url.hostname.replace(/^\[|\]$/g, '')
  const names = isIP(host) === 0 ? await resolve(host).catch(() => []) : [host]
  if (names.length === 0) throw new AddressError('dns', 'a URL whose host has an address')
  const addresses = names.map((each) => (isIP(each) === 0 ? undefined : ip.process(each)))
  const knownAddresses = addresses.filter((address) => address !== undefined)
  const isAllowed = (address: ip.IPv4 | ip.IPv6) => isInNetworks(allowed, address.toString())
  const isReachable = (address: ip.IPv4 | ip.IPv6) =>
    address.range() !== 'linkLocal' &&
    !isInNetworks(CLOUD_SERVICES, address.toString()) &&
    (isPublic(address) || isAllowed(address))
  if (knownAddresses.length < names.length || !knownAddresses.every(isReachable)) {
    throw new AddressError('address', 'a URL whose host has public addresses alone')
  }
  if (url.protocol === 'http:' && !knownAddresses.every(isAllowed)) throw new AddressError('address', EXPECTED_URL)
  const sorted = [...knownAddresses].sort((a, b) => a.kind().localeCompare(b.kind()))
  return { url, addresses: sorted.map((address) => address.toString()) }
}

const EXPECTED_URL = `an https URL of at most ${URL_LENGTH_MAX} characters`

/** The library reports unknown ranges as `unicast`, such as `::7f00:1`; in IPv6 only one block is allocated. */
function isPublic(address: ip.IPv4 | ip.IPv6): boolean {
  return address.range() === 'unicast' && (address.kind() === 'ipv4' || isInNetworks(GLOBAL_IPV6, address.toString()))
}

/** Services of a cloud to its machines whose address counts as public: Azure's. */
const CLOUD_SERVICES = ['168.63.129.16'].map(parseNetwork).filter((network) => network !== undefined)
const GLOBAL_IPV6 = ['2000::/3'].map(parseNetwork).filter((network) => network !== undefined)
