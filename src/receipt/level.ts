import type { Payload } from './payload.ts'

/** What a receipt's level follows from. */
interface Grounds {
  readonly network: 'evm' | 'solana'
  /** Number of endpoints that gave the same bytes, by chain that was read. */
  readonly agreed: readonly number[]
  readonly isProven: boolean
}

/** Computes the level of a receipt. A verifier computes it again, so no receipt can have another one. */
export function computeLevel({ network, agreed, isProven }: Grounds): Payload['level'] {
  if (network === 'solana') return 'signed'
  if (isProven) return 'proven'
  return agreed.length > 0 && agreed.every((endpoints) => endpoints > 1) ? 'agreed' : 'replayable'
}
