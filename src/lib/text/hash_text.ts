import { hash } from 'node:crypto'

const HASH_LENGTH = 16

/** Returns a short hash of `text`, hexadecimal. */
export function hashText(text: string): string {
  return hash('sha256', text, 'hex').slice(0, HASH_LENGTH)
}
