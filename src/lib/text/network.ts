import { BlockList, isIPv4, isIPv6 } from 'node:net'

export interface Network {
  readonly width: 32 | 128
  /** Holds this range alone, as addresses of IPv6. */
  readonly addresses: BlockList
}

/** An address as a socket for both versions has it: that of IPv4 is mapped, ::ffff:192.0.2.7. */
interface Address {
  readonly text: string
  /** How many bits its own version has. */
  readonly width: 32 | 128
}

const MAPPED = new BlockList()
MAPPED.addSubnet('::ffff:0:0', 96, 'ipv6')

/**
 * Reads `10.0.0.0/8`, `2001:db8::/32`, or a single address. Undefined for anything else, also if bits are set after the
 * prefix: whoever writes 10.0.0.5/8 may mean 10.0.0.5/32.
 */
export function parseNetwork(text: string): Network | undefined {
  const [host = '', length, ...rest] = text.split('/')
  const address = host.includes('%') ? undefined : addressOf(host)
  if (address === undefined || rest.length > 0) return undefined
  const { width } = address
  const prefix = length === undefined ? width : /^(?:0|[1-9]\d{0,2})$/.test(length) ? Number(length) : Number.NaN
  const bits = 128 - width + prefix
  if (!(prefix <= width) || bitsOf(address).includes('1', bits)) return undefined
  const addresses = new BlockList()
  addresses.addSubnet(address.text, bits, 'ipv6')
  return { width, addresses }
}

/** True if an address lies in one of the networks. False for what is not an address. */
export function isInNetworks(networks: readonly Network[], text: string): boolean {
  // An address of a link may name it: fe80::1%eth0.
  const address = addressOf(text.split('%')[0] ?? '')
  if (address === undefined) return false
  return networks.some(({ width, addresses }) => width === address.width && addresses.check(address.text, 'ipv6'))
}

function addressOf(given: string): Address | undefined {
  const text = isIPv4(given) ? `::ffff:${given}` : given
  if (!isIPv6(text)) return undefined
  return { text, width: MAPPED.check(text, 'ipv6') ? 32 : 128 }
}

/** All 128 bits, as text. */
function bitsOf({ text }: Address): string {
  // A URL writes an address in groups of hexadecimal digits, with at most one `::` in place of groups of zero.
  const sides = new URL(`http://[${text}]`).hostname.slice(1, -1).split('::')
  const [before = [], after = []] = sides.map((side) => (side === '' ? [] : side.split(':')))
  const zeros = Array<string>(8 - before.length - after.length).fill('0')
  const groups = [...before, ...zeros, ...after]
  return groups.map((group) => Number.parseInt(group, 16).toString(2).padStart(16, '0')).join('')
}
