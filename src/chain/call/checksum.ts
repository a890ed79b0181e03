import { type Address, checksumAddress, type Hex } from 'viem'

/** Addresses that are remembered with their checksum; then all are forgotten together. */
const KNOWN_MAX = 20_000
const known = new Map<string, Address>()

/**
 * An address with its checksum, of 40 hexadecimal digits in lower case. The hash takes microseconds, and the list of
 * viem's that remembers it a third of one: an answer has hundreds of addresses, most of them again and again.
 */
export function toChecksumAddress(digits: string): Address {
  const before = known.get(digits)
  if (before !== undefined) return before
  const address = checksumAddress(`0x${digits}` as Hex)
  if (known.size >= KNOWN_MAX) known.clear()
  // Not the digits themselves: as a part of an answer they would keep all of it in memory.
  known.set(address.slice(2).toLowerCase(), address)
  return address
}
