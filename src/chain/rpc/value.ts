import type { Hex } from 'viem'
import { UpstreamError } from '../../lib/error.ts'

const QUANTITY = /^0x[0-9a-f]{1,64}$/i
const BYTES = /^0x[0-9a-f]*$/i

/** Reads a JSON-RPC quantity of at most 256 bits. Throws `UpstreamError` for anything else, such as `-0x10` or 16. */
export function parseQuantity(value: unknown): bigint {
  if (typeof value !== 'string' || !QUANTITY.test(value))
    throw new UpstreamError('Expected a quantity of at most 256 bits')
  return BigInt(value)
}

/** Reads JSON-RPC bytes: `0x` and an even number of hexadecimal digits. Throws `UpstreamError` for anything else. */
export function parseBytes(value: unknown): Hex {
  if (!isBytes(value)) throw new UpstreamError('Expected bytes in hexadecimal')
  return value
}

/** True for `0x` and an even number of hexadecimal digits. */
export function isBytes(value: unknown): value is Hex {
  return typeof value === 'string' && value.length % 2 === 0 && BYTES.test(value)
}
