import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'

export interface Network {
  readonly width: 32 | 128
  /** Holds only this range, as IPv6 addresses. */
  readonly addresses: BlockList
}

/** An address as a dual-stack socket has it: IPv4 is mapped, as in ::ffff:192.0.2.7. */
interface Address {
  readonly text: string
  /** Bits of an address of its own version. */
  readonly width: 32 | 128
}

const MAPPED = new BlockList()
MAPPED.addSubnet('::ffff:0:0', 96, 'ipv6')

/**
 * Parses `10.0.0.0/8`, `2001:db8::/32` or a single address; undefined for anything else. Rejects host bits after the
 * prefix: 10.0.0.5/8 may be a typo for /32.
 */
export function parseNetwork(text: string): Network | undefined {
  const [host = '', length, ...extraParts] = text.split('/')
  const address = host.includes('%') ? undefined : parseAddress(host)
  if (address === undefined || extraParts.length > 0) return undefined
  const { width } = address
  const prefix = length === undefined ? width : /^(?:0|[1-9]\d{0,2})$/.test(length) ? Number(length) : Number.NaN
  const bits = 128 - width + prefix
  if (!(prefix <= width) || toBits(address).includes('1', bits)) return undefined
  const addresses = new BlockList()
  addresses.addSubnet(address.text, bits, 'ipv6')
  return { width, addresses }
}

/** True if an address lies in one of the networks; false for text that is not an address. */
export function isInNetworks(networks: readonly Network[], text: string): boolean {
  // A link-local address may name its interface: fe80::1%eth0.
  const address = parseAddress(text.split('%')[0] ?? '')
  if (address === undefined) return false
  return networks.some(({ width, addresses }) => width === address.width && addresses.check(address.text, 'ipv6'))
}

function parseAddress(input: string): Address | undefined {
  const text = isIPv4(input) ? `::ffff:${input}` : input
  if (!isIPv6(text)) return undefined
  return { text, width: MAPPED.check(text, 'ipv6') ? 32 : 128 }
}

/** All 128 bits as binary digits. */
function toBits({ text }: Address): string {
  // A URL writes an address in groups of hexadecimal digits, with at most one `::` instead of groups of zero.
  const sides = new URL(`http://[${text}]`).hostname.slice(1, -1).split('::')
  const [before = [], after = []] = sides.map((side) => (side === '' ? [] : side.split(':')))
  const zeros = Array<string>(8 - before.length - after.length).fill('0')
  const groups = [...before, ...zeros, ...after]
  return groups.map((group) => Number.parseInt(group, 16).toString(2).padStart(16, '0')).join('')
}

/** True for loopback hosts, reachable from this machine only: `localhost`, `127.0.0.0/8` and `::1`. */
export function isLoopback(host: string): boolean {
  if (isIP(host) === 4) return host.startsWith('127.')
  return host === '::1' || host.toLowerCase() === 'localhost'
}
