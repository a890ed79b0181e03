import { createHash } from 'node:crypto'
import { decodeBase58Address, encodeBase58Address } from '../../../lib/text/base58.ts'
import { isOnCurve } from './curve.ts'

const SUFFIX = new TextEncoder().encode('ProgramDerivedAddress')
const BUMP_MAX = 255

/** A seed of a derived address: text, or bytes such as those of another address. */
export type Seed = string | Uint8Array

/**
 * Derives a program address from seeds: SHA-256 of the seeds, a bump that counts down from 255 until the hash is no
 * point of the curve, the program and a fixed text. Takes up to 0.1 ms before the code is compiled, so long lists must
 * yield to the event loop. Throws `RangeError` if there is none, which has a probability of 2^-256.
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
