import { isIP } from 'node:net'
import { isInNetworks, type Network } from '../../lib/text/network.ts'

/** A request with the address of its connection, as an adapter gives it. */
interface ConnectionContext {
  readonly request: { readonly headers: Headers }
  readonly ip: string
}

/**
 * Tells the address that a request comes from: that of the connection, or, if a trusted proxy made the connection, the
 * last one that no trusted proxy has, by `X-Forwarded-For` or `Forwarded` (RFC 7239). It is empty if they do not tell:
 * if a header cannot be read, or if both are there and differ, because a client may have sent what its proxy does not
 * write. It is looked up when it is asked for.
 */
export function createClientAddress(
  trusted: readonly Network[],
): (context: ConnectionContext) => { readonly ip: string } {
  if (trusted.length === 0) return (context) => context
  return (context) => ({
    get ip() {
      return isInNetworks(trusted, context.ip) ? forwarded(context, trusted) : context.ip
    },
  })
}

/** The address in a line of the log, looked up only if the line is written. */
export class LoggedAddress {
  readonly #client: { readonly ip: string } | undefined

  constructor(client: { readonly ip: string } | undefined) {
    this.#client = client
  }

  toJSON(): string | undefined {
    return this.#client?.ip
  }
}

function forwarded({ request: { headers }, ip }: ConnectionContext, trusted: readonly Network[]): string {
  const chains = [
    hopsOf(headers.get('x-forwarded-for'), (part) => part),
    hopsOf(headers.get('forwarded'), nodeOf),
  ].filter((hops) => hops !== undefined)
  const found = new Set(chains.map((hops) => lastUntrusted(hops, trusted)))
  if (found.size > 1) return ''
  const [client = ip] = found
  return client
}

/** Addresses in the order of the header: each proxy adds that of its own client. Undefined without the header. */
function hopsOf(header: string | null, read: (part: string) => string): readonly string[] | undefined {
  return header === null ? undefined : header.split(',').map((part) => addressOf(read(part.trim())))
}

/** `for` of one part of `Forwarded`, such as `for="[2001:db8::1]:4711";proto=https`; empty without one. */
function nodeOf(part: string): string {
  return (
    /(?:^|;)\s*for\s*=\s*(?:"([^"]*)"|([^;\s]*))/i
      .exec(part)
      ?.slice(1)
      .find((text) => text !== undefined) ?? ''
  )
}

/** Without port and brackets; empty for what is not an address, such as `unknown`. */
function addressOf(text: string): string {
  const address = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text
  return isIP(address) === 0 ? '' : address
}

/** The first one if all are trusted. */
function lastUntrusted(hops: readonly string[], trusted: readonly Network[]): string {
  return hops.findLast((hop) => !isInNetworks(trusted, hop)) ?? hops[0] ?? ''
}
