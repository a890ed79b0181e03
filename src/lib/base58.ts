const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const DIGITS: ReadonlyMap<string, bigint> = new Map([...ALPHABET].map((letter, index) => [letter, BigInt(index)]))
/** Longest text that is looked at: 32 bytes need 44 letters, 64 bytes need 88. */
const LETTERS_MAX = 88

/** The bytes behind a base58 text (Bitcoin's alphabet), or undefined where it is none or longer than 88 letters. */
export function bytesFromBase58(text: string): Uint8Array | undefined {
  if (text.length === 0 || text.length > LETTERS_MAX) return undefined
  let value = 0n
  for (const letter of text) {
    const digit = DIGITS.get(letter)
    if (digit === undefined) return undefined
    value = value * 58n + digit
  }
  const zeros = leading(text, '1')
  const hex = value === 0n ? '' : evenHex(value)
  const bytes = new Uint8Array(zeros + hex.length / 2)
  for (let index = 0; index < hex.length; index += 2) {
    bytes[zeros + index / 2] = Number.parseInt(hex.slice(index, index + 2), 16)
  }
  return bytes
}

/** The bytes in base58: every leading zero byte is a `1`. */
export function base58FromBytes(bytes: Uint8Array): string {
  let zeros = 0
  while (zeros < bytes.length && bytes[zeros] === 0) zeros++
  let value = 0n
  for (const byte of bytes) value = (value << 8n) | BigInt(byte)
  let text = ''
  for (; value > 0n; value /= 58n) text = ALPHABET.charAt(Number(value % 58n)) + text
  return ALPHABET.charAt(0).repeat(zeros) + text
}

/** True for an address of Solana: base58 of exactly 32 bytes, case-sensitive. */
export function isBase58Address(text: string): boolean {
  return text.length >= 32 && text.length <= 44 && bytesFromBase58(text)?.length === 32
}

function leading(text: string, letter: string): number {
  let count = 0
  while (text.charAt(count) === letter) count++
  return count
}

function evenHex(value: bigint): string {
  const hex = value.toString(16)
  return hex.length % 2 === 0 ? hex : `0${hex}`
}
