import { decodeBase58Address } from '../../../lib/text/base58.ts'
import { deriveProgramAddress } from '../program_address.ts'

/** The two token programs: Token, and its successor with extensions. */
export const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
export const TOKEN_2022_PROGRAM = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb'
export const TOKEN_PROGRAMS = [TOKEN_PROGRAM, TOKEN_2022_PROGRAM] as const

const ASSOCIATED_PROGRAM = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL'

/** Derives a wallet's associated token account, the default account for a mint's tokens. */
export function deriveAssociatedTokenAddress(
  wallet: string,
  { mint, program }: { readonly mint: string; readonly program: string },
) {
  return deriveProgramAddress(ASSOCIATED_PROGRAM, [
    decodeBase58Address(wallet),
    decodeBase58Address(program),
    decodeBase58Address(mint),
  ])
}
