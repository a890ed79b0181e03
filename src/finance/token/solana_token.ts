import type { SolanaAccount } from '../../chain/solana/accounts.ts'
import { decodeMetadata } from '../../chain/solana/token/metadata.ts'
import { decodeMint, type RawTokenName, type SolanaMint } from '../../chain/solana/token/mint.ts'
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../chain/solana/token/program.ts'
import { memoize } from '../../lib/memoize.ts'
import { type RawTokenText, spamReason } from './spam/spam.ts'
import { toTokenDisplayText } from './text.ts'
import { DECIMALS_MAX } from './token.ts'

/** A token of Solana, fit to be shown. */
export interface SolanaToken extends RawTokenText {
  /** Its mint. */
  readonly address: string
  readonly decimals: number
  /** Text of which everything is seen, at most 64 code points. */
  readonly symbol: string
  readonly name: string
  readonly mint: SolanaMint
  /** True if neither its mint nor its name can change what is known of it: of the first program. */
  readonly isLasting: boolean
}

/** Tokens whose name was not written where it is looked for. */
const NAMES: ReadonlyMap<string, RawTokenName> = new Map([
  ['So11111111111111111111111111111111111111112', { symbol: 'SOL', name: 'Wrapped SOL' }],
  ['EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', { symbol: 'USDC', name: 'USD Coin' }],
  ['Es9vMFrzaCERmJfrf4H2FYD4KCoNkY11McCe8BenwNYB', { symbol: 'USDT', name: 'USDT' }],
])
const SYMBOL_LETTERS = 4

/**
 * A token from its mint's account and the one at `metadataAddress`; undefined if the first is not a mint of a token
 * program. Its name is that in the mint, else Metaplex's, else one of a few, else the first letters of its address.
 */
export function toSolanaToken(
  address: string,
  { mint: account, name }: { readonly mint: SolanaAccount | null; readonly name: SolanaAccount | null },
): SolanaToken | undefined {
  const isLasting = account?.owner === TOKEN_PROGRAM
  const mint = isLasting || account?.owner === TOKEN_2022_PROGRAM ? decodeMint(account.data) : undefined
  if (mint === undefined || mint.decimals > DECIMALS_MAX) return undefined
  const written = mint.named ?? decodeMetadata(name, address)
  const asWritten = written ?? NAMES.get(address) ?? { symbol: '', name: '' }
  return {
    address,
    decimals: mint.decimals,
    symbol: toTokenDisplayText(asWritten.symbol) || toFallbackSymbol(address),
    name: toTokenDisplayText(asWritten.name),
    mint,
    isLasting,
    asWritten,
  }
}

/** What a token is called that has no name: the first letters of its mint. */
export function toFallbackSymbol(mint: string): string {
  return mint.slice(0, SYMBOL_LETTERS)
}

/** Why a token of Solana is spam, as a sentence; undefined if it is not. */
export const solanaSpamReason = memoize((token: SolanaToken): { readonly reason: string | undefined } => ({
  reason: spamReason(token, NOT_LISTED),
}))

const NOT_LISTED: ReadonlySet<string> = new Set()
