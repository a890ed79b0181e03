import * as v from 'valibot'
import { bytesToHex, type Hex } from 'viem'
import { namehash, normalize, packetToBytes } from 'viem/ens'
import { documented } from '../../http/request/input.ts'

const NAME_BYTES_MAX = 255
const EXPECTED_NAME = `expected an ENS name such as vitalik.eth, of at most ${NAME_BYTES_MAX} bytes`

/** Schema of an ENS name with at least two labels; yields its normal form (ENSIP-15), which folds case. */
export const ensName = v.pipe(
  v.string(EXPECTED_NAME),
  v.rawTransform(({ dataset, addIssue, NEVER }): string => {
    const name = tryNormalize(dataset.value)
    if (name?.includes('.') && Buffer.byteLength(name) <= NAME_BYTES_MAX) return name
    addIssue({ message: EXPECTED_NAME })
    return NEVER
  }),
  documented({
    type: 'string',
    maxLength: NAME_BYTES_MAX,
    description: `ENS name of at most ${NAME_BYTES_MAX} bytes; normalized by ENSIP-15.`,
    examples: ['vitalik.eth'],
  }),
)

function tryNormalize(text: string): string | undefined {
  try {
    return normalize(text)
  } catch {
    // An empty label, or characters that names must not have.
    return undefined
  }
}

/** Encodes a normalized name in DNS wire format. */
export function encodeDnsName(name: string): Hex {
  return bytesToHex(packetToBytes(name))
}

/** Computes the hashes of a normalized name, of its parent and so on, without the root. */
export function computeNamehashes(name: string): readonly Hex[] {
  const labels = name.split('.')
  return labels.map((_, index) => namehash(labels.slice(index).join('.')))
}
