import { lookup, Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import ip from 'ipaddr.js'
import { isInNetworks, type Network, parseNetwork } from '../../lib/text/network.ts'

/*
 * Where a webhook may be. Whoever makes one names an address that this machine connects to, so it must lead to nothing
 * that only this machine reaches: other programs on it, its network, the cloud's description of it. Asked when a webhook
 * is made and before each try, because a name can answer otherwise later; the connection goes to the very address that
 * was looked at, never to the name.
 */

/** A webhook's URL cannot be used; the message is for whoever made it, and names no address that was found. */
export class AddressError extends Error {
  override readonly name = 'AddressError'
  /** `dns`: the name does not resolve now. `address`: what it leads to may not be reached. */
  readonly reason: 'dns' | 'address'

  constructor(reason: AddressError['reason'], expected: string) {
    super(`expected ${expected}`)
    this.reason = reason
  }
}

export interface AddressRules {
  /** Private networks that webhooks may reach, also by plain http. Link-local addresses stay closed. */
  readonly allowed: readonly Network[]
  /** All addresses of a name. Throws if it has none, or does not answer in time. */
  readonly resolve: (name: string) => Promise<readonly string[]>
}

/** Where to connect to post to a URL. */
export interface WebhookTarget {
  readonly url: URL
  /** Addresses of the host, each of which may be reached; those of IPv4 first. At least one. */
  readonly addresses: readonly string[]
}

const URL_LENGTH_MAX = 2_048
const RESOLVE_TIMEOUT_MS = 2_000

/**
 * Asks the network's name servers, without the threads that other lookups of the process wait for: strangers choose these
 * names, and those that answer slowly would use up all threads. With networks of its own the operator means names that
 * only the machine knows, too: its table of hosts, and domains that it searches.
 */
export function createNameResolver(
  allowed: readonly Network[],
  resolver: Pick<Resolver, 'resolve4' | 'resolve6'> = new Resolver({ timeout: RESOLVE_TIMEOUT_MS, tries: 2 }),
): AddressRules['resolve'] {
  if (allowed.length > 0) {
    return async (name) => (await lookup(name, { all: true })).map(({ address }) => address)
  }
  return async (name) => {
    const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    return found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
  }
}

/**
 * Checks a URL and finds where it leads. Throws `AddressError` unless it is `https` without name and password, and every
 * address of its host is public or in one of the allowed networks; if all are in these, `http` will do.
 */
export async function resolveWebhookTarget(text: string, { allowed, resolve }: AddressRules): Promise<WebhookTarget> {
  const url = text.length <= URL_LENGTH_MAX && URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !['https:', 'http:'].includes(url.protocol)) throw new AddressError('address', A_URL)
  if (url.username !== '' || url.password !== '') throw new AddressError('address', 'a URL without name and password')
  if (url.protocol === 'http:' && allowed.length === 0) throw new AddressError('address', A_URL)

  const host = url.hostname.replace(/^\[|\]$/g, '')
  const found = isIP(host) === 0 ? await resolve(host).catch(() => []) : [host]
  if (found.length === 0) throw new AddressError('dns', 'a URL whose host has an address')
  const addresses = found.map((each) => (isIP(each) === 0 ? undefined : ip.process(each)))
  const known = addresses.filter((address) => address !== undefined)
  const isAllowed = (address: ip.IPv4 | ip.IPv6) => isInNetworks(allowed, address.toString())
  const isOpen = (address: ip.IPv4 | ip.IPv6) =>
    address.range() !== 'linkLocal' && (isPublic(address) || isAllowed(address))
  if (known.length < found.length || !known.every(isOpen)) {
    throw new AddressError('address', 'a URL whose host has public addresses alone')
  }
  if (url.protocol === 'http:' && !known.every(isAllowed)) throw new AddressError('address', A_URL)
  const sorted = [...known].sort((a, b) => a.kind().localeCompare(b.kind()))
  return { url, addresses: sorted.map((address) => address.toString()) }
}

const A_URL = `an https URL of at most ${URL_LENGTH_MAX} characters`

/** What the library does not know is `unicast` to it, as `::7f00:1`; of IPv6 only one block was ever given out. */
function isPublic(address: ip.IPv4 | ip.IPv6): boolean {
  return address.range() === 'unicast' && (address.kind() === 'ipv4' || isInNetworks(GLOBAL_IPV6, address.toString()))
}

const GLOBAL_IPV6 = ['2000::/3'].map(parseNetwork).filter((network) => network !== undefined)
