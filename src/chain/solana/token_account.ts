import { createByteReader } from './bytes.ts'

/** Bytes of a token account that say what is in it; extensions follow. */
export const TOKEN_ACCOUNT_BYTES = 109
const STATES = ['none', 'usable', 'frozen'] as const

/** What an account of a token program holds. */
export interface TokenAccount {
  readonly mint: string
  /** The wallet, or the program's address, that may move it. */
  readonly owner: string
  /** Base units. */
  readonly amount: bigint
  readonly isFrozen: boolean
}

/** Reads the first bytes of a token account; undefined if they are none. Who owns the account is for the caller to check. */
export function decodeTokenAccount(data: Uint8Array): TokenAccount | undefined {
  if (data.length < TOKEN_ACCOUNT_BYTES) return undefined
  const bytes = createByteReader(data)
  const state = STATES[bytes.u8(108)]
  if (state === undefined || state === 'none') return undefined
  return { mint: bytes.key(0), owner: bytes.key(32), amount: bytes.u64(64), isFrozen: state === 'frozen' }
}
