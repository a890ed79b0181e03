import { isIP } from 'node:net'
import { isInNetworks, type Network } from '../../lib/text/network.ts'

/** A request with the address of its connection, from the adapter. */
interface ConnectionContext {
  readonly request: { readonly headers: Headers }
  readonly ip: string
}

/**
 * Creates a function that finds a client's address: that of the connection, or, behind a trusted proxy, the last
 * untrusted one in `X-Forwarded-For` or `Forwarded` (RFC 7239). It is empty if a header is malformed, or if both
 * headers are present and differ, because a client may have sent the one that its proxy does not write. It is computed
 * on access.
 */
export function createClientAddress(
  trusted: readonly Network[],
): (context: ConnectionContext) => { readonly ip: string } {
  if (trusted.length === 0) return (context) => context
  return (context) => ({
    get ip() {
      return isInNetworks(trusted, context.ip) ? findForwardedClient(context, trusted) : context.ip
    },
  })
}

/** An address for a log line, computed only if the line is written. */
export class LoggedAddress {
  readonly #client: { readonly ip: string } | undefined

  constructor(client: { readonly ip: string } | undefined) {
    this.#client = client
  }

  toJSON(): string | undefined {
    return this.#client?.ip
  }
}

function findForwardedClient({ request: { headers }, ip }: ConnectionContext, trusted: readonly Network[]): string {
  const chains = [
    parseHops(headers.get('x-forwarded-for'), (part) => part),
    parseHops(headers.get('forwarded'), parseNode),
  ].filter((hops) => hops !== undefined)
  const clients = new Set(chains.map((hops) => findLastUntrusted(hops, trusted)))
  if (clients.size > 1) return ''
  const [client = ip] = clients
  return client
}

/** Parses addresses in the order of the header: each proxy appends that of its client. Undefined without the header. */
function parseHops(header: string | null, read: (part: string) => string): readonly string[] | undefined {
  return header === null ? undefined : header.split(',').map((part) => parseAddress(read(part.trim())))
}

/** Parses `for` of one part of `Forwarded`, such as `for="[2001:db8::1]:4711";proto=https`; empty without one. */
function parseNode(part: string): string {
  return (
    /(?:^|;)\s*for\s*=\s*(?:"([^"]*)"|([^;\s]*))/i
      .exec(part)
      ?.slice(1)
      .find((text) => text !== undefined) ?? ''
  )
}

/** Parses an address without port and brackets; empty for other text, such as `unknown`. */
function parseAddress(text: string): string {
  const address = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text
  return isIP(address) === 0 ? '' : address
}

/** Finds the last untrusted hop; the first hop if all are trusted. */
function findLastUntrusted(hops: readonly string[], trusted: readonly Network[]): string {
  return hops.findLast((hop) => !isInNetworks(trusted, hop)) ?? hops[0] ?? ''
}
