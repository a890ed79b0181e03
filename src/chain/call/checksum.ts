import { type Address, checksumAddress, type Hex } from 'viem'

/** Cached addresses; the cache is cleared when full. */
const KNOWN_MAX = 20_000
const addressesByDigits = new Map<string, Address>()

/**
 * Converts an address of 40 lower-case hexadecimal digits to its checksummed form, cached: an answer has hundreds of
 * addresses, most of them repeated. The hash takes microseconds; a lookup in viem's cache still takes a third of one.
 */
export function toChecksumAddress(digits: string): Address {
  const cached = addressesByDigits.get(digits)
  if (cached !== undefined) return cached
  const address = checksumAddress(`0x${digits}` as Hex)
  if (addressesByDigits.size >= KNOWN_MAX) addressesByDigits.clear()
  // `digits` may be a substring of an answer and would keep all of it in memory, so the key is a copy.
  addressesByDigits.set(address.slice(2).toLowerCase(), address)
  return address
}
