import { isIPv4, isIPv6 } from 'node:net'

interface Address {
  readonly version: 4 | 6
  readonly bits: bigint
}

/** A range of addresses of IPv4 or IPv6: its first address, and how many leading bits all of them share. */
export interface Network extends Address {
  readonly prefix: number
}

const WIDTH = { 4: 32, 6: 128 } as const
/** IPv4 addresses as an IPv6 socket sees them: ::ffff:0:0/96. */
const MAPPED = 0xffffn

/**
 * Reads `10.0.0.0/8`, `2001:db8::/32`, or a single address. Undefined for anything else, also if bits are set after the
 * prefix: whoever writes 10.0.0.5/8 may mean 10.0.0.5/32.
 */
export function parseNetwork(text: string): Network | undefined {
  const [host = '', length, ...rest] = text.split('/')
  const address = host.includes('%') ? undefined : addressOf(host)
  if (address === undefined || rest.length > 0) return undefined
  const width = WIDTH[address.version]
  const prefix = length === undefined ? width : /^(?:0|[1-9]\d{0,2})$/.test(length) ? Number(length) : Number.NaN
  if (!(prefix <= width)) return undefined
  const network = { ...address, prefix }
  return startOf(network) === address.bits ? network : undefined
}

/** True if an address lies in one of the networks. False for what is no address. */
export function isIn(networks: readonly Network[], text: string): boolean {
  // An address of a link may name it: fe80::1%eth0.
  const address = addressOf(text.split('%')[0] ?? '')
  if (address === undefined) return false
  return networks.some(
    (network) =>
      network.version === address.version && startOf({ ...address, prefix: network.prefix }) === network.bits,
  )
}

function startOf({ version, bits, prefix }: Network): bigint {
  const rest = BigInt(WIDTH[version] - prefix)
  return (bits >> rest) << rest
}

function addressOf(text: string): Address | undefined {
  if (isIPv4(text)) return { version: 4, bits: ipv4Bits(text) }
  if (!isIPv6(text)) return undefined
  const bits = ipv6Bits(text)
  // The same caller has this address on a socket for both versions.
  if (bits >> 32n === MAPPED) return { version: 4, bits: bits & 0xffffffffn }
  return { version: 6, bits }
}

function ipv4Bits(text: string): bigint {
  return text.split('.').reduce((bits, part) => (bits << 8n) | BigInt(part), 0n)
}

/** Of valid text: groups of hexadecimal digits, the last two perhaps as IPv4, and at most one `::`. */
function ipv6Bits(text: string): bigint {
  const [head = '', tail] = text.split('::')
  const before = groupsOf(head)
  const after = tail === undefined ? [] : groupsOf(tail)
  const groups = [...before, ...Array<bigint>(8 - before.length - after.length).fill(0n), ...after]
  return groups.reduce((bits, group) => (bits << 16n) | group, 0n)
}

function groupsOf(text: string): bigint[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [BigInt(`0x${group}`)]
    const bits = ipv4Bits(group)
    return [bits >> 16n, bits & 0xffffn]
  })
}
