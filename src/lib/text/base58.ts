import { base58 } from '@scure/base'

/** True for an address of Solana: base58 of exactly 32 bytes, case-sensitive. */
export function isBase58Address(text: string): boolean {
  if (text.length < 32 || text.length > 44) return false
  try {
    return base58.decode(text).length === 32
  } catch {
    // A letter that is not one of base58's.
    return false
  }
}
