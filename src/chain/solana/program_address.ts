import { createHash } from 'node:crypto'
import { decodeBase58Address, encodeBase58Address } from '../../lib/text/base58.ts'

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

/** The field of Ed25519. */
const P = 2n ** 255n - 19n
/** d of its curve: −121665 ÷ 121666. */
const D = 37_095_705_934_669_439_343_138_083_508_754_565_189_542_113_879_843_219_016_388_785_533_085_940_283_555n
const LOW_3 = 7n
const LOW_32 = 0xffff_ffffn
const LOW_63 = (1n << 63n) - 1n

/**
 * True if 32 bytes are a point of the curve, so that a private key may exist for them. Follows Solana's runtime: the
 * highest bit is ignored, and y may be unreduced. With x² = u ÷ v, a point exists if u·v is a square or zero.
 */
export function isOnCurve(bytes: Uint8Array): boolean {
  const y = decodeY(bytes)
  const square = (y * y) % P
  const u = square - 1n
  const v = D * square + 1n
  const product = (u * v) % P
  return product === 0n || isSquare(product < 0n ? product + P : product)
}

function decodeY(bytes: Uint8Array): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, 32)
  const [a, b, c, d] = [0, 8, 16, 24].map((at) => view.getBigUint64(at, true)) as [bigint, bigint, bigint, bigint]
  return a | (b << 64n) | (c << 128n) | ((d & LOW_63) << 192n)
}

/** True if `value`, from 1 to p − 1, is a square modulo p, by its Jacobi symbol, which is cheaper than a power. */
function isSquare(value: bigint): boolean {
  let [a, n] = [value, P]
  let nLow = Number(P & LOW_3)
  let isPositive = true
  while (a !== 0n) {
    const zeros = trailingZeros(a)
    a >>= BigInt(zeros)
    const aLow = Number(a & LOW_3)
    if (zeros % 2 === 1 && (nLow === 3 || nLow === 5)) isPositive = !isPositive
    if (aLow % 4 === 3 && nLow % 4 === 3) isPositive = !isPositive
    const remainder = n % a
    n = a
    nLow = aLow
    a = remainder
  }
  return isPositive
}

function trailingZeros(value: bigint): number {
  let zeros = 0
  for (let remaining = value; ; remaining >>= 32n) {
    const low = Number(remaining & LOW_32)
    if (low !== 0) return zeros + 31 - Math.clz32(low & -low)
    zeros += 32
  }
}
