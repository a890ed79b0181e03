import { createByteReader } from './bytes.ts'

/** Bytes of a token account that are decoded: all up to the state; extensions follow later. */
export const TOKEN_ACCOUNT_BYTES = 109
const STATES = ['none', 'usable', 'frozen'] as const

/** Decoded account of a token program. */
export interface TokenAccount {
  readonly mint: string
  /** The wallet or program address that may transfer the tokens. */
  readonly owner: string
  /** Amount, base units. */
  readonly amount: bigint
  readonly isFrozen: boolean
}

/** Decodes the first bytes of a token account; undefined for other data. The caller must check the account's owner. */
export function decodeTokenAccount(data: Uint8Array): TokenAccount | undefined {
  if (data.length < TOKEN_ACCOUNT_BYTES) return undefined
  const bytes = createByteReader(data)
  const state = STATES[bytes.u8(108)]
  if (state === undefined || state === 'none') return undefined
  return { mint: bytes.key(0), owner: bytes.key(32), amount: bytes.u64(64), isFrozen: state === 'frozen' }
}
