import { createHash } from 'node:crypto'
import { decodeBase58Address, encodeBase58Address } from '../../../lib/text/base58.ts'
import { isOnCurve } from './curve.ts'

const SUFFIX = new TextEncoder().encode('ProgramDerivedAddress')
const BUMP_MAX = 255

/** A part of what an address is derived from: text, or bytes such as those of another address. */
export type Seed = string | Uint8Array

/**
 * The address of an account that a program derives from seeds: SHA-256 of the seeds, a number that counts down from 255
 * until nobody can hold the key, the program and a fixed text. Up to 0.1 ms each at first, so lists of them need turns.
 * Throws `RangeError` if there is none, which has a chance of 2^-256.
 */
export function deriveProgramAddress(program: string, seeds: readonly Seed[]): string {
  const prefix = createHash('sha256')
  for (const seed of seeds) prefix.update(seed)
  const owner = decodeBase58Address(program)
  for (let bump = BUMP_MAX; bump >= 0; bump--) {
    const hash = prefix.copy().update(Uint8Array.of(bump)).update(owner).update(SUFFIX).digest()
    if (!isOnCurve(hash)) return encodeBase58Address(hash)
  }
  throw new RangeError('Cannot derive an address: every number gives a point of the curve')
}
